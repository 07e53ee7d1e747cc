"""`linnet embed`: which texts it takes from where, what it writes, which values it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result
from support.minilm import minilm_folder

from tests.cli.conftest import EMBEDDED, ROOT, Run

NAME = "all-minilm-l6-v2"
CASES: list[dict[str, Any]] = json.loads(
    (ROOT / "tests" / "data" / "minilm" / "references.json").read_text("utf-8")
)["cases"]
TEXTS = [case["text"] for case in CASES[:5]]

Embed = Callable[..., Result]


@pytest.fixture
def embed(run: Run, request: pytest.FixtureRequest) -> Embed:
    """`linnet embed all-minilm-l6-v2 ARGS...` with the published files."""
    folder = minilm_folder(request.config)

    def call(*args: str, **options: Any) -> Result:
        return run("embed", NAME, *args, "--checkpoint", str(folder), **options)

    return call


def vectors(result: Result) -> list[list[float]]:
    assert result.exit_code == 0, result.stderr
    return [[float(x) for x in line.split()] for line in result.stdout.splitlines()]


def test_each_text_gives_a_line_of_numbers(embed: Embed) -> None:
    result = embed(*TEXTS)
    assert result.stderr == ""
    wanted = np.array([case["embedding"] for case in CASES[:5]])
    assert np.abs(np.array(vectors(result)) - wanted).max() < 1e-5


def test_texts_come_as_arguments_from_a_file_or_from_stdin(embed: Embed, tmp_path: Path) -> None:
    texts = ["the river", "", "Grüße aus München 🙂"]
    expected = embed(*texts).stdout
    assert len(expected.splitlines()) == 3
    for end in ("\n", "\r\n"):
        file = tmp_path / "my texts ü.txt"
        file.write_bytes(b"\xef\xbb\xbf" + end.join([*texts, ""]).encode())
        assert embed("--file", str(file), stdin="no").stdout == expected
        assert embed(stdin=file.read_bytes()).stdout == expected
        assert embed("--file", "-", stdin=file.read_bytes()).stdout == expected
    assert embed(stdin="\n".join(texts)).stdout == expected
    assert len(embed(stdin="\n").stdout.splitlines()) == 1
    assert embed(stdin="").stdout == ""


def test_json_is_one_document(embed: Embed) -> None:
    result = embed(*TEXTS[:2], "--json")
    document = json.loads(result.stdout)
    assert (document["model"], document["dimensions"]) == (NAME, 384)
    assert [row["text"] for row in document["embeddings"]] == TEXTS[:2]
    found = [row["embedding"] for row in document["embeddings"]]
    assert found == vectors(embed(*TEXTS[:2]))


def test_npy_holds_the_array(embed: Embed, tmp_path: Path) -> None:
    file = tmp_path / "vectors"
    result = embed(*TEXTS[:3], "--npy", str(file))
    assert (result.exit_code, result.stdout) == (0, "")
    stored = np.load(file)
    assert stored.dtype == np.float32
    assert stored.tolist() == np.array(vectors(embed(*TEXTS[:3])), np.float32).tolist()
    assert embed("--npy", str(file), stdin="").exit_code == 0
    assert np.load(file).shape == (0, 384)


def test_a_text_that_is_too_long(embed: Embed) -> None:
    text = "river " * 600
    result = embed("short", text)
    assert result.exit_code == 1
    assert "texts[1] has 602 tokens, and all-minilm-l6-v2 takes 512 at most" in result.stderr
    assert len(vectors(embed("short", text, "--truncate"))) == 2


def test_figures_are_for_those_who_ask(embed: Embed) -> None:
    result = embed("-v", "a", "b", "--batch-tokens", "3")
    assert "2 texts in " in result.stderr
    assert embed("a", "b").stdout == result.stdout


@pytest.mark.parametrize(
    ("args", "status", "message"),
    [
        (("a", "--npy", "x.npy", "--json"), 2, "--npy and --json exclude each other"),
        (("a", "--npy", "/no such folder/x.npy"), 2, "there is no such folder"),
        (("a", "--file", "x"), 2, "texts and --file exclude each other"),
        (("a", "--batch-tokens", "0"), 2, "--batch-tokens = 0: it must be 1 or more"),
        (("a", "--threads", "0"), 2, "threads"),
        (("--file", "missing.txt"), 1, "missing.txt: No such file or directory"),
    ],
)
def test_what_is_refused(embed: Embed, args: tuple[str, ...], status: int, message: str) -> None:
    result = embed(*args)
    assert (result.exit_code, result.stdout) == (status, "")
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_bytes_that_are_no_text_are_named(embed: Embed) -> None:
    result = embed(stdin=b"fine\n\xff\n")
    assert result.exit_code == 1
    assert "stdin is not UTF-8 text: byte 0xff at offset 5" in result.stderr


def test_at_a_terminal_without_texts_it_says_how_to_give_some(
    embed: Embed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linnet.cli.inputs.is_terminal", lambda stream: True)
    result = embed()
    assert result.exit_code == 2
    assert "there is no text: give some, or --file, or lines on stdin" in result.stderr


def test_models_for_something_else_are_refused_before_they_are_loaded(run: Run) -> None:
    result = run("embed", EMBEDDED, "a text")
    assert result.exit_code == 1
    assert 'cannot make embeddings: its card says task = "text-generation"' in result.stderr
    assert "linnet generate" in result.stderr
    result = run("generate", NAME, "-p", "Once", "--offline")
    assert result.exit_code == 1
    assert f'{NAME} cannot write text: its card says task = "embedding"' in result.stderr
    result = run("embed", "a text in place of a name")
    assert result.exit_code == 1
    assert "the model comes first, then the texts" in result.stderr


def test_the_help_lists_it(run: Run) -> None:
    assert "embed" in run("--help").stdout
    assert "[TEXT]..." in run("embed", "--help").stdout
