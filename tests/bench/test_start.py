"""A start, step by step: the steps are those of a load, and a warm one needs no front end."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from linnet.bench.start import BEGIN, IMPORTS, TOKEN, Request, Start, document, start, text
from linnet.cli.app import cli
from linnet.errors import UsageError
from tests.bench.conftest import EMBEDDED


def test_the_steps_make_up_the_whole() -> None:
    found = start(Request(EMBEDDED, threads=1, rounds=1))
    assert list(found.steps)[:2] == [BEGIN, IMPORTS]
    assert list(found.steps)[-1] == TOKEN
    assert "numpy" in found.steps
    assert min(found.steps.values()) >= 0
    assert sum(found.steps.values()) == pytest.approx(found.total)
    assert found.packing is not None
    assert 0 < found.packing < found.total
    assert found.user + found.system > 0
    assert found.peak > found.weights > 0
    assert not found.is_random
    with pytest.raises(UsageError, match="rounds"):
        start(Request(EMBEDDED, rounds=0))


def test_the_report_says_what_it_is_about() -> None:
    steps = {"interpreter": 0.010, "numpy": 0.1, "first token, after 16": 0.05}
    found = Start("m", 2, steps, 0.16, 0.07, 0.2, 0.1, 642_000_000, 498_000_000, True)
    shown = [line.split() for line in text(found)]
    assert ["numpy", "100.0", "110.0"] in shown
    said = "\n".join(text(found))
    assert "a new process with 2 threads" in said
    assert "random weights of the right shapes" in said
    assert "weights are packed, 70.0 ms" in said
    assert "642 MB, for weights of 498 MB" in said
    assert document(found)["steps"]["numpy"] == 0.1


def test_the_command_gives_the_same_as_data() -> None:
    result = CliRunner().invoke(cli, ["profile", EMBEDDED, "--start", "-t", "1", "--json"])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["threads"] == 1
    assert TOKEN in told["steps"]
