"""A part of the prover's trial; `python -m tests.tools.prover_trial` asks 200,000 questions."""

from __future__ import annotations

from tools.prover_trial import report, run

from linnet.dims import Dim, Sym, parse


def test_answers_agree_with_brute_force() -> None:
    tally = run(700, seed=20260)
    assert not tally.failures, report(tally, shown=10)
    assert tally.rate >= 0.97, report(tally, shown=10)
    assert tally.counts["suggested"] > 60
    assert tally.counts["refuted"] > 60


def test_a_negated_remainder_reads_back_as_itself() -> None:
    """`-` binds closer than `%`: without parentheses this would be read as `(-B) % 2`."""
    names = {"B": Dim.sym(Sym("B"))}
    dim = -names["B"].mod(2)
    assert str(dim) == "-(B % 2)"
    assert parse(str(dim), names) == dim
    assert parse(str(dim * 3 + 1), names) == dim * 3 + 1
