"""Checkpoints in place of names, and constants, on the command line."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from .conftest import EMBEDDED, ROOT, Run

FILES = ("config.json", "model.safetensors", "tokenizer.json")
SOURCE = """
module scaled

pub enum Form { Plain, Doubled }

pub const FORM = Form.Plain
pub const SCALE: f32 = 1.0

pub entry scaled<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] {
    return match FORM { Plain => x * SCALE Doubled => x * SCALE * 2.0 }
}
"""


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    folder = tmp_path / "my finetune"
    folder.mkdir()
    for name in FILES:
        shutil.copy(ROOT / "nest" / EMBEDDED / name, folder / name)
    return folder


def test_a_checkpoint_is_named_by_its_folder(run: Run, checkpoint: Path) -> None:
    args = ("--prompt", "Once upon a time", "--max-tokens", "8")
    named, found = run("generate", EMBEDDED, *args), run("generate", str(checkpoint), *args)
    assert (found.exit_code, found.stdout) == (0, named.stdout)
    assert named.stdout
    for command in ("inspect", "explain"):
        result = run(command, str(checkpoint))
        assert result.exit_code == 0
        assert "1857" in result.stdout  # its vocabulary, and not that of the entry
    shown = run("nest", "show", str(checkpoint))
    assert str(checkpoint) in shown.stdout


def test_a_repository_is_sought_without_the_network_where_that_is_asked_for(
    run: Run, tmp_path: Path
) -> None:
    result = run("generate", "owner/name", "--offline", "--prompt", "x", HF_HOME=str(tmp_path))
    assert result.exit_code == 1
    assert "the network is not used: offline was asked for" in result.stderr
    assert "owner/name at main" in result.stderr


def test_constants_are_given_by_name(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "scaled.linnet"
    file.write_text(SOURCE)

    def graph(*args: str) -> str:
        result = run("inspect", str(file), "--core-ir", *args)
        assert (result.exit_code, result.stderr) == (0, "")
        return result.stdout

    assert "2.0" not in graph()
    doubled = graph("--constant", "FORM=Doubled", "--constant", "SCALE=-2.5e-1")
    assert "2.0" in doubled
    assert "-0.25" in doubled


@pytest.mark.parametrize(
    ("given", "status", "said"),
    [
        ("SCALE", 2, "--constant: 'SCALE' must be NAME=VALUE, such as EPSILON=1e-6"),
        ("SCALE=1,5", 2, "--constant: 'SCALE=1,5': the value must be a number, true or false"),
        ("SCALE=nan", 1, "constants: SCALE = nan: it must be a number"),
        ("SCALE=-inf", 1, "constants: SCALE = -inf: it must be a finite number"),
        ("SCALE=Plain", 1, "constants: SCALE = Plain: it must be a number"),
        ("FORM=Double", 1, "constants: FORM = Double: it must be a variant of `Form`"),
        ("SCALES=1", 1, "constants: the source has no public constant `SCALES`; did you mean"),
    ],
)
def test_constants_that_cannot_be(
    run: Run, tmp_path: Path, given: str, status: int, said: str
) -> None:
    file = tmp_path / "scaled.linnet"
    file.write_text(SOURCE)
    result = run("compile", str(file), "--emit", "c", "--constant", given)
    assert result.exit_code == status
    assert result.stderr.startswith(f"error: {said}")
