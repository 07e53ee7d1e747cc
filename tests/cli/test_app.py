"""The root of the command line: help, unknown commands, what is said of each command."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from linnet.cli.app import COMMANDS, cli
from tests.cli.conftest import Run


def test_help_lists_every_command(run: Run) -> None:
    text = run("--help").stdout
    for name, summary in COMMANDS.items():
        assert f"{name} " in text
        assert summary in text
    assert "130 interrupted" in text


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(run: Run, name: str) -> None:
    result = run(name, "--help")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"Usage: linnet {name} ")


def test_options_show_their_variables(run: Run) -> None:
    text = " ".join(run("generate", "--help").stdout.split())
    for name in ("MAX_TOKENS", "TEMP", "TOP_K", "SEED", "THREADS", "CHECKPOINT", "TARGET"):
        assert f"env var: LINNET_{name}" in text


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["wat"], "there is no command 'wat'\n"),
        (["generat"], "there is no command 'generat'; did you mean 'generate'?"),
        (["--wat"], "no such option"),
        ([], ""),
    ],
)
def test_bad_command_lines_exit_2(run: Run, args: list[str], said: str) -> None:
    result = run(*args)
    assert result.exit_code == 2
    assert said in result.stderr.lower()


def test_a_mistake_of_ours_is_not_hidden(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **options: object) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr("linnet.nest.load", fail)
    with pytest.raises(ZeroDivisionError):
        run("generate")


def test_commands_are_those_of_the_table() -> None:
    import click

    assert cli.list_commands(click.Context(cli)) == list(COMMANDS)


@pytest.mark.parametrize("group", [(), ("nest",)])
def test_a_group_alone_shows_its_help(run: Run, group: tuple[str, ...]) -> None:
    result = run(*group)
    assert result.exit_code == 2
    assert result.stdout.startswith("Usage: linnet")
    assert "error" not in result.stderr


def test_an_option_for_what_is_an_argument(run: Run) -> None:
    result = run("generate", "--model", "x")
    assert result.exit_code == 2
    assert "there is no --model: give it as `linnet generate NAME`" in result.stderr


def test_a_profile_of_a_file_says_what_it_needs(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "pond.linnet"
    source.write_text("module pond\n")
    result = run("profile", str(source))
    assert result.exit_code == 1
    assert "has no card, and a profile needs one" in result.stderr


def test_a_terminal_without_line_drawing_gets_ascii(
    tmp_path: Path, start: Callable[..., subprocess.Popen[bytes]]
) -> None:
    source = tmp_path / "pond.linnet"
    source.write_text("module pond\nfn f(x: f32) -> i32 { return x }\n")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    shown = start("check", str(source), env=environment).communicate()[1].decode("ascii")
    assert f"  -- {source}:2:30\n2 | fn f(x: f32)" in shown
    assert "help: convert it: `cast<i32>(...)`" in shown


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_a_full_stdout_is_named(start: Callable[..., subprocess.Popen[bytes]]) -> None:
    with open("/dev/full", "wb") as full:
        process = start("explain", "E2203", stdout=full)
        assert process.stderr is not None
        said = process.stderr.read().decode()
        process.wait()
    assert said == "error: stdout: No space left on device\n"
    assert process.returncode == 1
