"""`linnet explain`: codes and plans."""

from __future__ import annotations

import json

import pytest

from linnet.bench import client
from linnet.plan.cost import Limits
from tests.cli.conftest import EMBEDDED, ROOT, Run


def test_a_code_in_either_case(run: Run) -> None:
    page = run("explain", "E2203").stdout
    assert page.startswith("error[E2203]: reshape may change the number of elements\n")
    assert run("explain", "e2203").stdout == page
    assert run("explain", "W1001").stdout.startswith("warning[W1001]")


def test_a_common_code_has_a_wrong_and_a_repaired_program(run: Run) -> None:
    page = run("explain", "E2203").stdout
    wrong, _, right = page.partition("\nRepaired:\n")
    assert "\nWrong:\n" in wrong
    assert "W % P == 0" not in wrong
    assert "    where P > 0, W % P == 0 {" in right
    assert "say that P divides W: `where W % P == 0`" in " ".join(right.split())


def test_an_unknown_code(run: Run) -> None:
    result = run("explain", "E2299")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: there is no diagnostic E2299")


def test_a_code_by_its_number_alone(run: Run) -> None:
    assert run("explain", "2203").stdout == run("explain", "E2203").stdout
    assert run("explain", "1002").stdout.startswith("error[E1002]")
    result = run("explain", "e220")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: there is no diagnostic E220; did you mean 'E2")


def test_a_plan_names_kernels_and_memory(run: Run) -> None:
    text = run("explain", EMBEDDED, "--entry", "decode", "--target", "scalar").stdout
    assert "gpt2-tales for scalar, numerics equivalent" in text
    assert "entry decode:" in text
    assert "linear" in text
    assert "entry forward:" not in text


def test_with_a_checkpoint_it_says_what_was_taken(run: Run) -> None:
    folder = ROOT / "nest" / EMBEDDED
    text = run("explain", EMBEDDED, "--checkpoint", str(folder)).stdout
    assert text.startswith(f"weights: {folder}")
    assert "stored as f32" in text
    assert "entry prefill_slots:" in text


@pytest.mark.parametrize("extra", [["--entry", "decode"], ["--bind", "S=8"]])
def test_a_checkpoint_is_for_whole_models(run: Run, extra: list[str]) -> None:
    result = run("explain", EMBEDDED, "--checkpoint", ".", *extra)
    assert result.exit_code == 2


def test_costs_are_those_of_the_call_asked_for(run: Run) -> None:
    arguments = ("explain", EMBEDDED, "--entry", "prefill", "--target", "scalar", "--json")
    few, many = (
        json.loads(run(*arguments, "--size", f"S={size}").stdout)["entries"][0] for size in (8, 64)
    )
    assert (few["sizes"], many["sizes"]) == ({"S": 8}, {"S": 64})
    assert 7 < many["operations"] / few["operations"] < 9
    assert few["steps"][0]["least_seconds"] is None


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        (["--size", "Q=8"], "no entry has a size `Q`; there are S"),
        (["--size", "S=9999"], "`prefill` does not take S = 9999"),
        (["--target", "neon", "--limits"], "this machine does not run neon itself"),
    ],
)
def test_a_call_that_is_none(run: Run, extra: list[str], words: str) -> None:
    result = run("explain", EMBEDDED, "--entry", "prefill", *extra)
    assert result.exit_code != 0
    assert words in " ".join(result.stderr.split())


def test_limits_give_every_step_its_least_time(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    made = {1: Limits(1, 1e9, 1e10), 2: Limits(2, 2e9, 2e10)}
    monkeypatch.setattr(client, "machine_limits", lambda threads: made[threads])
    arguments = ("explain", EMBEDDED, "--entry", "decode", "--limits", "-t", "2")
    text = run(*arguments).stdout
    assert "limits on 1 thread: read 1.0 GB/s, multiply-add 10 GFLOP/s" in text
    assert "limits on 2 threads: read 2.0 GB/s, multiply-add 20 GFLOP/s" in text
    entry = json.loads(run(*arguments, "--json").stdout)["entries"][0]
    assert entry["limit"] == "memory"
    assert entry["least_seconds"] == pytest.approx(entry["read_bytes"] / 2e9)


def test_a_checkpoint_decides_about_the_plan_and_its_costs(run: Run) -> None:
    folder = ROOT / "nest" / EMBEDDED
    text = run("explain", EMBEDDED, "--checkpoint", str(folder), "--position", "3").stdout
    assert "position 3" in text
