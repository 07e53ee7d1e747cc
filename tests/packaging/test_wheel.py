"""A wheel built from the tree and installed elsewhere behaves the same from any directory."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder a wheel of this tree was installed to."""
    built = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run(
        [*command, "wheel", "--no-deps", "--no-build-isolation", "-w", built, ROOT], check=True
    )
    (wheel,) = built.glob("*.whl")
    target = tmp_path_factory.mktemp("site ü")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    return target


def run(installed: Path, where: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    return subprocess.run(
        [sys.executable, "-c", "from linnet.cli import main; main()", *arguments],
        cwd=where,
        env=environment,
        text=True,
        capture_output=True,
        timeout=200,
    )


def test_the_wheel_carries_all_that_is_needed(installed: Path) -> None:
    data = installed / "linnet" / "_data"
    places = {folder: data / folder for folder in ("stdlib", "nest", "codegen")}
    for folder, place in (places | {"linnet": installed / "linnet"}).items():
        wanted = {file.relative_to(ROOT / folder) for file in files(ROOT / folder)}
        assert wanted
        assert not {str(file) for file in wanted if not (place / file).is_file()}
    assert {item.name.partition("-")[0] for item in installed.iterdir()} == {"linnet"}


def files(folder: Path) -> list[Path]:
    return [p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts]


def test_text_is_the_same_from_any_directory(installed: Path, tmp_path: Path) -> None:
    arguments = ("generate", "--prompt", "Once upon a time", "--max-tokens", "20")
    elsewhere = run(installed, tmp_path, *arguments)
    here = run(ROOT, ROOT, *arguments)
    assert elsewhere.returncode == here.returncode == 0, elsewhere.stderr + here.stderr
    assert elsewhere.stdout == here.stdout
    assert elsewhere.stdout.strip()


def test_zoo_entries_are_found(installed: Path, tmp_path: Path) -> None:
    listed = run(installed, tmp_path, "nest", "list")
    assert listed.returncode == 0, listed.stderr
    assert "gpt2-tales" in listed.stdout
