"""`linnet check`: diagnostics on stderr or as a document on stdout, and the exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run

GOOD = """module good

pub fn twice<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] {
    return x + x
}
"""
BAD = GOOD.replace("good", "bad").replace("-> Tensor[N; f32]", "-> Tensor[N, N; f32]")
UNUSED = GOOD.replace("good", "unused").replace("    return", "    let spare = x\n    return")


@pytest.fixture
def sources(tmp_path: Path) -> dict[str, str]:
    for name, text in {"good": GOOD, "bad": BAD, "unused": UNUSED}.items():
        (tmp_path / f"{name}.linnet").write_text(text)
    return {name: str(tmp_path / f"{name}.linnet") for name in ("good", "bad", "unused")}


def test_a_good_source(run: Run, sources: dict[str, str]) -> None:
    result = run("check", sources["good"])
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "1 source checked, nothing to report\n"
    assert run("check", "-q", sources["good"]).stderr == ""


def test_errors_are_drawn_on_stderr(run: Run, sources: dict[str, str]) -> None:
    result = run("check", sources["good"], sources["bad"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error[E2202]: ")
    assert f"{sources['bad']}:4:" in result.stderr
    assert result.stderr.endswith("1 error\n")
    assert "\x1b" not in result.stderr
    assert "\x1b[" in run("check", sources["bad"], FORCE_COLOR="1").stderr


def test_json_is_one_document_for_all_sources(run: Run, sources: dict[str, str]) -> None:
    result = run("check", "--json", *sources.values())
    assert (result.exit_code, result.stderr) == (1, "")
    document = json.loads(result.stdout)
    assert document["version"] == 1
    assert document["summary"] == {"errors": 1, "warnings": 1}
    error = next(d for d in document["diagnostics"] if d["severity"] == "error")
    assert error["code"] == "E2202"
    assert error["location"]["file"] == sources["bad"]
    assert error["location"]["start"]["line"] == 4
    clean = json.loads(run("check", "--json", sources["good"]).stdout)
    assert clean["diagnostics"] == []


def test_warnings_fail_only_when_strict(run: Run, sources: dict[str, str]) -> None:
    result = run("check", sources["unused"])
    assert result.exit_code == 0
    assert result.stderr.startswith("warning[W1002]: ")
    assert run("check", "--strict", sources["unused"]).exit_code == 1


def test_a_model_is_checked_by_name(run: Run) -> None:
    assert run("check", "gpt2").exit_code == 0


def test_another_standard_library(run: Run, tmp_path: Path) -> None:
    library = tmp_path / "std"
    library.mkdir()
    (library / "pond.linnet").write_text(GOOD.replace("module good", "module std.pond"))
    source = tmp_path / "user.linnet"
    source.write_text(
        GOOD.replace("module good", "module user\n\nuse std.pond::{twice}")
        .replace("fn twice", "fn four")
        .replace("x + x", "twice(twice(x))")
    )
    assert run("check", str(source)).exit_code == 1
    result = run("check", "--std", str(library), str(source))
    assert result.exit_code == 0, result.stderr


def test_a_folder_stands_for_the_sources_below_it(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "a package"
    assert run("init", str(folder.with_name("pond"))).exit_code == 0
    folder.with_name("pond").rename(folder)
    result = run("check", str(folder))
    assert (result.exit_code, result.stderr) == (0, "2 sources checked, nothing to report\n")
    layers = folder / "src" / "layers.linnet"
    layers.write_text(layers.read_text() + "fn oops() -> f32 { return oops }\n")
    result = run("check", str(folder))
    assert result.exit_code == 1
    assert "layers.linnet:" in result.stderr
    (tmp_path / "bare").mkdir()
    assert run("check", str(tmp_path / "bare")).exit_code == 1


@pytest.mark.parametrize(
    ("args", "status", "said"),
    [
        ([], 2, "missing argument 'SOURCE...'"),
        (["nowhere.linnet"], 1, "there is no file nowhere.linnet"),
        (["--std", "nowhere", "gpt2"], 2, "--std: Directory 'nowhere' does not exist"),
        (["--wat", "gpt2"], 2, "no such option '--wat'"),
    ],
)
def test_bad_command_lines(run: Run, args: list[str], status: int, said: str) -> None:
    result = run("check", *args)
    assert result.exit_code == status
    assert result.stderr.startswith(f"error: {said}")
    assert result.stdout == ""


def test_a_file_that_is_no_text_is_no_traceback(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "noise.linnet"
    source.write_bytes(bytes(range(256)) * 8)
    result = run("check", str(source))
    assert result.exit_code == 1
    assert result.stderr.startswith("error[E1")


def test_sarif(run: Run, sources: dict[str, str]) -> None:
    result = run("check", "--format", "sarif", sources["bad"])
    assert (result.exit_code, result.stderr) == (1, "")
    document = json.loads(result.stdout)
    assert document["version"] == "2.1.0"
    (sarif,) = document["runs"]
    assert [rule["id"] for rule in sarif["tool"]["driver"]["rules"]] == ["E2202"]
    (found,) = sarif["results"]
    assert (found["ruleId"], found["ruleIndex"], found["level"]) == ("E2202", 0, "error")
    place = found["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == f"file://{sources['bad']}"
    assert place["region"] == {"startLine": 4, "startColumn": 12, "endLine": 4, "endColumn": 17}
    assert "help: " in found["message"]["text"] or "note: " in found["message"]["text"]
    clean = json.loads(run("check", "--format", "sarif", sources["good"]).stdout)
    assert clean["runs"][0]["results"] == []


def test_annotations_for_github(run: Run, sources: dict[str, str]) -> None:
    result = run("check", "--format", "github", sources["unused"])
    assert (result.exit_code, result.stderr) == (0, "")
    place = f"file={sources['unused']},line=4,endLine=4,col=9,endColumn=14,title=W1002"
    assert result.stdout.startswith(f"::warning {place}::local `spare` is never used%0A")
    assert result.stdout.count("\n") == 1
    assert run("check", "--format", "github", sources["good"]).stdout == ""


def test_one_form_at_a_time(run: Run, sources: dict[str, str]) -> None:
    result = run("check", "--json", "--format", "github", sources["good"])
    assert result.exit_code == 2
    assert "exclude each other" in result.stderr
