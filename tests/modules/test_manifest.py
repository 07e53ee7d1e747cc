"""`linnet.toml`: what is accepted, and one report a fault, at its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from linnet.diag import Problems
from linnet.modules import load
from linnet.modules.manifest import read_manifest

PACKAGE = '[package]\nname = "reeds"\nversion = "0.1.0"\nlanguage = "0.1"\n'


def read(folder: Path, text: str | bytes) -> list[tuple[int, str]]:
    """Line and message of each report."""
    path = folder / "linnet.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    problems = Problems()
    read_manifest(path, "linnet.toml", problems)
    assert set(problems.codes()) <= {"E5001"}
    return [(d.primary.span.line, d.message) for d in problems if d.primary is not None]


def test_a_sound_manifest(tmp_path: Path) -> None:
    (tmp_path / "linnet.toml").write_text(
        PACKAGE + '[dependencies]\nshared = { path = "../shared" }\n'
    )
    problems = Problems()
    manifest = read_manifest(tmp_path / "linnet.toml", "linnet.toml", problems)
    assert problems.codes() == ()
    assert (manifest.name, manifest.readable) == ("reeds", True)
    dependency = manifest.dependencies["shared"]
    assert dependency.folder == tmp_path.parent / "shared"
    assert dependency.span.text == 'shared = { path = "../shared" }'


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "the table `[package]` is missing"),
        ("package = 3\n", 1, "the table `[package]` is missing"),
        (PACKAGE.replace("name", "nmae"), 2, "unknown key `nmae`"),
        (PACKAGE.replace('version = "0.1.0"\n', ""), 1, "`version` is missing in `[package]`"),
        (PACKAGE.replace('"0.1.0"', "1"), 3, "`version` must be a string"),
        (PACKAGE.replace('"0.1"', '"0.2"'), 4,
         "this compiler speaks language 0.1, the package asks for 0.2"),
        (PACKAGE + "[dependncies]\n", 5, "unknown table `dependncies`"),
        ("dependencies = 3\n" + PACKAGE, 1, "`dependencies` must be a table"),
        (PACKAGE + '[dependencies]\na = "1.0"\n', 6,
         "dependency `a` must have exactly one field, `path`, a string"),
        (PACKAGE + '[dependencies]\na = { path = "x", git = "y" }\n', 6,
         "dependency `a` must have exactly one field, `path`, a string"),
        (PACKAGE + "[dependencies]\na = { path = 3 }\n", 6,
         "dependency `a` must have exactly one field, `path`, a string"),
        (PACKAGE + '[dependencies]\nstd = { path = "x" }\n', 6, "`std` cannot name a dependency"),
        (PACKAGE + '[dependencies]\ncrate = { path = "x" }\n', 6,
         "`crate` cannot name a dependency"),
        (PACKAGE + '[dependencies]\n"a-b" = { path = "x" }\n', 6,
         "`a-b` cannot name a dependency"),
    ],
)  # fmt: skip
def test_faults(tmp_path: Path, text: str, line: int, message: str) -> None:
    assert (line, message) in read(tmp_path, text)


def test_text_that_is_no_toml(tmp_path: Path) -> None:
    ((line, message),) = read(tmp_path, "[package]\nname = \n")
    assert line == 2
    assert message.startswith("`linnet.toml` is no valid TOML")
    ((_, message),) = read(tmp_path, b"\xff\xfe")
    assert message == "`linnet.toml` cannot be read: it is not UTF-8"


def test_all_faults_together(tmp_path: Path) -> None:
    text = '[package]\nname = 3\nlanguage = "9"\n[dependencies]\na = 1\nb = 2\n'
    assert len(read(tmp_path, text)) == 5


def test_a_broken_manifest_is_reported_once_and_excuses_imports(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "linnet.toml").write_text("[package\n")
    root = tmp_path / "src/lib.linnet"
    root.write_text("module a\nuse crate.b::{c}\nuse dep.d\n")
    problems = Problems()
    load(root, problems)
    assert problems.codes() == ("E5001",)


def test_a_dependency_that_is_no_package(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "linnet.toml").write_text(
        PACKAGE + '[dependencies]\ndep = { path = "elsewhere" }\nbad = 3\n'
    )
    root = tmp_path / "src/lib.linnet"
    root.write_text("module a\nuse dep.d\nuse dep.e\nuse bad.f\n")
    problems = Problems()
    load(root, problems)
    assert [(d.code, d.primary.span.line) for d in problems if d.primary] == [
        ("E5001", 6), ("E5001", 7),
    ]  # fmt: skip
