"""The command: compiled code against the interpreter and, where it is installed, transformers."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from linnet.bench.client import Client, WorkerError
from linnet.cli.app import cli
from linnet.compare.run import WORKER

TESTS = Path(__file__).parents[1]


def run(*arguments: str | Path) -> Result:
    words = ["compare", *map(str, arguments)]
    return CliRunner().invoke(cli, words, prog_name="linnet")


def document(*arguments: str | Path) -> tuple[int, dict[str, Any]]:
    result = run(*arguments, "--json")
    return result.exit_code, json.loads(result.stdout)


def test_compiled_code_agrees_with_the_definition(tiny: Path) -> None:
    result = run("gpt2", "--with", "interpreter", "--checkpoint", tiny, "--tokens", "7,300,12")
    assert result.exit_code == 0, result.output
    assert "tokens 7,300,12" in result.stdout
    assert "blocks.1.attn.forward: attention" in result.stdout
    assert result.stdout.rstrip().endswith("of 47")
    status, found = document(
        "gpt2", "--with", "interpreter", "--checkpoint", tiny, "--entry", "prefill"
    )
    assert status == 0
    assert found["agree"]
    assert {value["state"] for value in found["values"]} == {"equal"}
    assert any(value["op"] == "write_span" for value in found["values"])


def test_a_tolerance_that_nothing_meets_names_the_first_op(tiny: Path) -> None:
    status, found = document(
        *("gpt2", "--with", "interpreter", "--checkpoint", tiny, "--tolerance", "0")
    )
    assert status == 1
    first = next(value for value in found["values"] if value["state"] == "differs")
    assert first["label"] == found["finding"]["look_at"]["label"]
    assert (first["block"], first["op"]) == ("blocks.0.ln_1", "layer_norm")
    assert 0 < first["relative"] < 1e-6
    assert first["ours"] != first["theirs"]
    assert found["finding"]["came_in_equal"][0]["label"] == "forward: x"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--with", "abacus"], "there is no stack 'abacus'; there are transformers, interpreter"),
        (["--tokens", "1,x"], "must be token ids, such as 1,2,3"),
        (["--tokens", "1", "--prompt", "a"], "give tokens or a prompt, not both"),
        (["--tolerance", "1.5"], "tolerance must lie between 0 and 1"),
    ],
)
def test_options_that_cannot_be(arguments: list[str], words: str) -> None:
    result = run("gpt2", *arguments)
    assert result.exit_code == 2
    assert words in result.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--tokens", "512"], "512 is no token id: there are 512"),
        (["--entry", "decode", "--tokens", "1,2"], "entry `decode` takes 1 tokens"),
        (["--entry", "nothing"], "has no entry `nothing`"),
    ],
)
def test_input_that_does_not_fit(tiny: Path, arguments: list[str], words: str) -> None:
    result = run("gpt2", "--checkpoint", tiny, "--with", "interpreter", *arguments)
    assert result.exit_code == 1
    assert words in result.output


def test_without_the_other_stack_it_says_how_to_name_one(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linnet.compare.run.sys.executable", "/nowhere/either")
    result = run("gpt2", "--checkpoint", tiny, "--python", "/nowhere/python")
    assert result.exit_code == 1
    assert "transformers is not installed here: /nowhere/python: " in result.output
    assert "--python PATH" in result.output


def transformers() -> str | None:
    """An interpreter that has the other stack: this one, or one that the environment names."""
    for python in (*os.environ.get("LINNET_BENCH_PYTHON", "").split(), None):
        try:
            with Client(module=WORKER, **({"python": python} if python else {})) as client:
                client.ask("check")
        except WorkerError:
            continue
        return python or sys.executable
    return None


FAMILIES = {
    "gpt2": None,
    "llama": "llama-2",
    "bert": "bert-2",
    "vit": "vit-1",
    "gpt-neox": "gpt-neox-1",
    "opt": "opt-2",
}


@pytest.mark.parametrize("model", FAMILIES)
def test_it_agrees_with_transformers(model: str, tiny: Path) -> None:
    python = transformers()
    if python is None:
        pytest.skip("transformers is not installed")
    stored = FAMILIES[model]
    checkpoint = tiny if stored is None else TESTS / "data" / "families" / stored
    status, found = document(model, "--checkpoint", checkpoint, "--python", python)
    assert status == 0, found["finding"]
    states = [value["state"] for value in found["values"]]
    assert states.count("equal") > 0.7 * len(states)
    assert len(found["modules"]) > 15


def test_a_fault_is_found_with_transformers(tiny: Path, tmp_path: Path) -> None:
    python = transformers()
    if python is None:
        pytest.skip("transformers is not installed")
    folder = tmp_path / "gpt2"
    shutil.copytree(TESTS.parent / "nest" / "gpt2", folder)
    source = folder / "gpt2.linnet"
    text = source.read_text()
    source.write_text(text.replace("gelu(c_fc", "max(0.0, c_fc").replace("{gelu}", "{relu}"))
    status, found = document(folder, "--checkpoint", tiny, "--python", python)
    assert status == 1
    assert found["finding"]["look_at"]["block"] == "blocks.0.mlp"
    assert "max(0.0" in source.read_text().splitlines()[found["finding"]["look_at"]["line"] - 1]
