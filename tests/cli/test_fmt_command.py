"""`linnet fmt`: what is written where, and what is left alone."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run

MESSY = "module  messy\nfn f(x:f32)->f32{return x}\n"
TIDY = "module messy\nfn f(x: f32) -> f32 {\n    return x\n}\n"
BROKEN = "module broken\nfn f( {  }\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {
        "messy.linnet": MESSY,
        "below/tidy.linnet": TIDY,
        "below/broken.linnet": BROKEN,
        ".hidden/messy.linnet": MESSY,
        "messy.txt": MESSY,
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_folder(run: Run, folder: Path) -> None:
    result = run("fmt", str(folder))
    assert (result.exit_code, result.stdout) == (1, "")
    assert "error[E1101]" in result.stderr
    assert "broken.linnet:2:7" in result.stderr
    assert result.stderr.endswith(
        "1 file reformatted, 1 file left unchanged, 1 file not formatted\n"
    )
    assert (folder / "messy.linnet").read_text() == TIDY
    assert (folder / "below/tidy.linnet").read_text() == TIDY
    assert (folder / "below/broken.linnet").read_text() == BROKEN
    assert (folder / ".hidden/messy.linnet").read_text() == MESSY
    assert (folder / "messy.txt").read_text() == MESSY
    assert sorted(p.name for p in folder.iterdir()) == [
        ".hidden",
        "below",
        "messy.linnet",
        "messy.txt",
    ]


def test_the_folder_one_is_in(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "below/broken.linnet").unlink()
    result = run("fmt", "--check")
    assert (result.exit_code, result.stdout) == (1, "messy.linnet\n")
    assert run("fmt").exit_code == 0
    assert run("fmt", "--check").exit_code == 0


def test_check_and_diff_write_nothing(run: Run, folder: Path) -> None:
    messy, tidy = str(folder / "messy.linnet"), str(folder / "below/tidy.linnet")
    result = run("fmt", "--check", messy, tidy, messy)
    assert (result.exit_code, result.stdout) == (1, f"{messy}\n")
    assert result.stderr == "1 file would be reformatted, 1 file left unchanged\n"
    result = run("fmt", "--diff", messy)
    assert result.exit_code == 1
    assert f"--- {messy}\n+++ {messy}\n" in result.stdout
    assert "-fn f(x:f32)->f32{return x}\n+module messy\n+fn f(x: f32) -> f32 {\n" in result.stdout
    assert (folder / "messy.linnet").read_text() == MESSY
    assert run("fmt", "--check", tidy).exit_code == run("fmt", "--diff", tidy).exit_code == 0


def test_stdin_goes_to_stdout(run: Run) -> None:
    result = run("fmt", "-", stdin="// é 😀\n" + MESSY)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "// é 😀\n" + TIDY, "")
    assert run("fmt", "-", stdin=TIDY).stdout == TIDY
    result = run("fmt", "-", stdin=BROKEN)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "<stdin>:2:7" in result.stderr
    assert run("fmt", "--check", "-", stdin=MESSY).exit_code == 1
    assert run("fmt", "--check", "-", stdin=TIDY).exit_code == 0
    assert run("fmt", "--diff", "-", stdin=MESSY).stdout.startswith("--- <stdin>\n")
    assert run("fmt", "-", "x.linnet").exit_code == 2


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_ends_and_byte_order_marks_are_kept(run: Run, tmp_path: Path, end: str) -> None:
    path = tmp_path / "a.linnet"
    path.write_bytes(("\ufeff" + MESSY.replace("\n", end)).encode())
    assert run("fmt", str(path)).exit_code == 0
    assert path.read_bytes() == ("\ufeff" + TIDY.replace("\n", end)).encode()


def test_links_and_permissions_are_kept(run: Run, folder: Path) -> None:
    real, link = folder / "messy.linnet", folder / "link.linnet"
    link.symlink_to(real)
    real.chmod(0o640)
    assert run("fmt", str(link)).exit_code == 0
    assert link.is_symlink()
    assert real.read_text() == TIDY
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
def test_the_owner_is_kept(run: Run, folder: Path) -> None:
    real = folder / "messy.linnet"
    os.chown(real, 12345, 54321)
    assert run("fmt", str(real)).exit_code == 0
    assert (real.stat().st_uid, real.stat().st_gid) == (12345, 54321)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_file_that_may_not_be_written_is_left(run: Run, folder: Path) -> None:
    real = folder / "messy.linnet"
    real.chmod(0o444)
    result = run("fmt", str(real))
    assert result.exit_code == 1
    assert "messy.linnet: Permission denied" in result.stderr
    assert real.read_text() == MESSY


def test_paths_that_cannot_be(run: Run, folder: Path) -> None:
    result = run("fmt", str(folder / "nowhere.linnet"))
    assert result.exit_code == 1
    assert result.stderr == f"error: {folder / 'nowhere.linnet'}: No such file or directory\n"
    (folder / "empty").mkdir()
    assert run("fmt", str(folder / "empty")).stderr == "no .linnet files here\n"


def test_a_failure_while_writing_leaves_the_file(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: str, target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    result = run("fmt", str(folder / "messy.linnet"))
    assert result.exit_code == 1
    assert "messy.linnet: No space left on device" in result.stderr
    assert (folder / "messy.linnet").read_text() == MESSY
    assert [p.name for p in folder.iterdir() if ".messy" in p.name] == []


def test_a_reader_that_leaves_is_no_failure(folder: Path) -> None:
    command = [sys.executable, "-m", "linnet.cli", "fmt", "--diff", str(folder / "messy.linnet")]
    read, write = os.pipe()
    os.close(read)
    ended = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
@pytest.mark.parametrize("rest", [("--check",), ("--diff",), ("-",)])
def test_a_full_stdout_is_told(folder: Path, rest: tuple[str, ...]) -> None:
    paths = () if rest == ("-",) else (str(folder / "messy.linnet"),)
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "linnet.cli", "fmt", *rest, *paths],
            input=MESSY, stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert ended.returncode == 1
    assert "No space left on device" in ended.stderr
    assert "Traceback" not in ended.stderr
