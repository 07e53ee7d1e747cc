"""What every test of the formatter asks of it, and the sources it is asked about."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path

from linnet.diag import Problems, Source
from linnet.fmt import format_source
from linnet.syntax import tree
from linnet.syntax.parse import parse

ROOT = Path(__file__).parents[2]

COMMENTS = (
    " // end {}\n",
    "\n// own {}\n",
    "\n// first {}\n// second\n",
    " //\n",
    " /* inline {} */ ",
    "\n/* own {} */\n",
    "\n\n/* apart {} */\n\n// and {}\n\n",
    "\n/* before {} */ ",
    " /* after {} */\n",
    " /* two {}\n  * lines */ ",
    "\n/* as\n     it\n\n   is {} */\n",
    " /* one {} */ /* two */ // three\n /* four */\n\n /** five */ ",
    "\n/// as of an item {}\n/// in two lines\n",
)
"""Kinds of comments and ways they can stand in the text."""


def module_of(text: str) -> tree.Module:
    problems = Problems()
    module = parse(Source("test.linnet", text), problems)
    assert not problems.has_errors, [d.message for d in problems]
    return module


def formatted(text: str) -> str:
    return format_source(Source("test.linnet", text))


def repository_files() -> list[Path]:
    """All sources of the repository that parse."""
    found = []
    for folder in ("stdlib", "nest", "tests"):
        for path in sorted((ROOT / folder).rglob("*.linnet")):
            problems = Problems()
            text = path.read_bytes().decode("utf-8", "surrogateescape")
            parse(Source(path.name, text), problems)
            if not problems.has_errors:
                found.append(path)
    return found


def shape(module: tree.Module) -> list[tuple[object, ...]]:
    """The tree without places: all nodes, parents first, with what they say themselves."""
    found = []
    for node in tree.walk(module):
        if isinstance(node, tree.Comment):
            continue  # blanks at line ends may go
        values = [getattr(node, field.name) for field in fields(node)]
        told = [v for v in values if isinstance(v, str | int | float | bool | None)]
        sizes = [len(v) for v in values if isinstance(v, tuple) and not _tokens(v)]
        found.append((type(node).__name__, *told, *sizes))
    return found


def _tokens(value: tuple[object, ...]) -> bool:
    return bool(value) and not isinstance(value[0], tree.Node)


def content(module: tree.Module) -> list[str]:
    """Tokens and comments in order: what stands in which gap."""
    found = [(token.start, token.text) for token in module.tokens]
    for comment in module.comments:
        found.append((comment.span.start, " ".join(comment.text.split())))
    return [text for _, text in sorted(found)]


def assert_faithful(text: str) -> str:
    """Formatting keeps the tree and every comment in its gap, and does nothing the second time."""
    once = formatted(text)
    assert formatted(once) == once
    before, after = module_of(text), module_of(once)
    assert content(after) == content(before)
    assert shape(after) == shape(before)
    outside = [line for line in once.replace("\r\n", "\n").split("\n") if line != line.rstrip()]
    assert not outside
    assert once.endswith("\n")
    assert not once.endswith(("\n\n", "\n\r\n"))
    return once


def commented(text: str, stride: int, offset: int) -> Iterator[str]:
    """`text` with comments in every `stride`-th gap between its tokens from `offset` on, each
    kind of comment in each of the gaps in turn."""
    for turn in range(len(COMMENTS)):
        yield with_comments(text, stride, offset, turn)


def with_comments(text: str, stride: int, offset: int, turn: int) -> str:
    """One text of `commented`: the first gap gets the comment of number `turn`."""
    places = [token.start for token in module_of(text).tokens] + [len(text)]
    parts, end = [], 0
    for number, place in enumerate(places):
        if number % stride == offset:
            comment = COMMENTS[(number // stride + turn) % len(COMMENTS)].format(number, number)
            parts += [text[end:place], comment]
            end = place
    return "".join([*parts, text[end:]])


STRIDE = 2
"""A comment's neighbours are so many tokens away."""

CASES = list(itertools.product(range(STRIDE), range(len(COMMENTS))))
"""Offsets and turns: together every kind of comment in every gap."""


def check_comments(path: Path, cases: Iterable[tuple[int, int]]) -> None:
    """Comments in the gaps of a file, for some of `CASES`."""
    text = path.read_bytes().decode("utf-8")
    for offset, turn in cases:
        assert_faithful(with_comments(text, STRIDE, offset, turn))


def scattered(text: str, draw: random.Random) -> str:
    """The tokens of `text` alone, with random blanks and line ends between them, but never an
    empty line."""
    gaps = (" ", "  ", "\t", "\n", " \n    ", "\r\n")
    tokens = module_of(text).tokens
    return "".join(token.text + draw.choice(gaps) for token in tokens)


def bare(text: str) -> str:
    """The tokens of `text` alone, on one line."""
    return " ".join(token.text for token in module_of(text).tokens)
