"""`linnet init`: the package does what its README says, and nothing is ever overwritten."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from linnet.cli.init_command import STARTER
from tests.cli.conftest import ROOT, Run


def commands(readme: str) -> list[str]:
    blocks = re.findall(r"```console\n(.*?)```", readme, re.S)
    return [line for block in blocks for line in block.splitlines()]


def test_the_commands_of_the_readme_succeed(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "sea-level_2"
    result = run("init", str(folder))
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith(f"made {folder}: linnet.toml, README.md, run.py, ")
    readme = (folder / "README.md").read_text()
    assert readme.startswith("# sea-level_2\n")
    assert 'name = "sea-level_2"\n' in (folder / "linnet.toml").read_text()
    assert "module sea_level_2\n" in (folder / "src/lib.linnet").read_text()
    found = commands(readme)
    assert [line.split()[:2] for line in found] == [
        ["linnet", "check"],
        ["linnet", "fmt"],
        ["python", "run.py"],
    ]
    for line in found:
        words = {"linnet": [sys.executable, "-m", "linnet.cli"], "python": [sys.executable]}
        program, *rest = line.split()
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        ended = subprocess.run(
            [*words[program], *rest], cwd=folder, env=environment, capture_output=True, text=True
        )
        assert ended.returncode == 0, ended.stderr
        if program == "python":
            difference = ended.stdout.split()[-1]
            assert float(difference) < 1e-5


def test_every_file_that_the_readme_lists_is_there(run: Run, tmp_path: Path) -> None:
    assert run("init", str(tmp_path / "a")).exit_code == 0
    made = {str(p.relative_to(tmp_path / "a")) for p in (tmp_path / "a").rglob("*") if p.is_file()}
    table = re.findall(r"^\| `(.*?)` \|", (tmp_path / "a/README.md").read_text(), re.M)
    assert made == {*table, "README.md"}
    assert made == {str(p.relative_to(STARTER)) for p in STARTER.rglob("*.*") if p.suffix != ".pyc"}


def test_an_empty_folder_is_filled(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tide").mkdir()
    monkeypatch.chdir(tmp_path / "tide")
    assert run("init", ".").exit_code == 0
    assert "module tide\n" in Path("src/lib.linnet").read_text()


@pytest.mark.parametrize(
    "name", ["", "9x", "a b", "é", "-x", "x-", "block", "std", "effect", "a.b"]
)
def test_bad_names(run: Run, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("init", "--", name)
    assert result.exit_code == 2
    assert "NAME: " in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_what_exists_is_left_alone(run: Run, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/notes").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for name, why in [("full", "is not empty"), ("file", "exists and is no folder")]:
        result = run("init", str(tmp_path / name))
        assert result.exit_code == 1
        assert why in result.stderr
    result = run("init", str(tmp_path / "no/place"))
    assert (result.exit_code, "there is no folder" in result.stderr) == (1, True)
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["file", "full", "notes"]


def test_a_failure_leaves_nothing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Path, *_: object, **__: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    result = run("init", str(tmp_path / "a"))
    assert result.exit_code == 1
    assert result.stderr == f"error: {tmp_path / 'a'}: No space left on device\n"
    assert list(tmp_path.iterdir()) == []
