"""`linnet explain`: codes and plans."""

from __future__ import annotations

import pytest

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
