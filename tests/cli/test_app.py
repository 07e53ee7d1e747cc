"""The root of the command line: help, unknown commands, what is said of each command."""

from __future__ import annotations

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
    [(["wat"], "no such command 'wat'"), (["--wat"], "no such option"), ([], "")],
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
