"""Formatting changes nothing but layout: comments at every gap, any layout, random programs."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from fmt.checks import (
    CASES,
    ROOT,
    assert_faithful,
    bare,
    check_comments,
    commented,
    formatted,
    repository_files,
    scattered,
)
from fuzz.author import module as random_module

from linnet.errors import SourceError

FILES = repository_files()
GRAMMAR = (Path(__file__).parent / "grammar.linnet").read_text("utf-8")


def names(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", FILES, ids=names)
def test_comments_at_every_gap_of_the_repository(path: Path) -> None:
    """Some of the cases, others for each file; `python -m tests.tools.comment_trial` tries all:
    every kind of comment in every gap of every file."""
    assert_faithful(path.read_bytes().decode("utf-8"))
    check_comments(path, random.Random(path.name).sample(CASES, 4))


@pytest.mark.parametrize("offset", range(23))
def test_single_comments_in_all_of_the_grammar(offset: int) -> None:
    """As above, but far from each other: no comment is helped by one beside it."""
    for each in commented(GRAMMAR, 23, offset):
        assert_faithful(each)


@pytest.mark.parametrize("path", FILES, ids=names)
def test_layout_does_not_depend_on_the_layout_before(path: Path) -> None:
    text = path.read_bytes().decode("utf-8")
    wanted = formatted(bare(text))
    given = scattered(text, random.Random(path.name))
    assert formatted(given).replace("\r\n", "\n") == wanted


@pytest.mark.parametrize("seed", range(6))
def test_random_programs(seed: int) -> None:
    text = random_module(seed, 4)
    assert_faithful(text)
    assert formatted(scattered(text, random.Random(seed))).replace("\r\n", "\n") == formatted(
        bare(text)
    )
    draw = random.Random(seed)
    for each in commented(text, 3, draw.randrange(3)):
        assert_faithful(each)


@pytest.mark.parametrize("seed", range(4))
def test_programs_that_nobody_would_write(seed: int) -> None:
    """Tokens left out, doubled and exchanged: what still parses is formatted faithfully."""
    draw = random.Random(seed)
    texts = [path.read_bytes().decode("utf-8") for path in FILES if path.stat().st_size < 3000]
    formed = 0
    for _ in range(400):
        text = changed(draw.choice(texts), draw)
        try:
            formatted(text)
        except SourceError:
            continue
        formed += 1
        assert_faithful(text)
    assert formed > 5


def changed(text: str, draw: random.Random) -> str:
    words = bare(text).split(" ")
    for _ in range(draw.choice((1, 1, 2))):
        at = draw.randrange(len(words))
        words[at : at + draw.randrange(2)] = draw.choice(([], [draw.choice(words)]))
    gaps = (" ", "\n", " /* c */ ", "\n// d\n", " // e\n")
    return "".join(word + draw.choice(gaps) for word in words)
