"""Medians, limits, agreement of ids, and who is compared with whom."""

from __future__ import annotations

import pytest

from linnet.bench.results import Figure, Row, Status, agreement
from tests.bench.made import DECODE, PREFILL, made


def test_figures_take_medians_and_spreads() -> None:
    figure = Figure([3.0, 1.0, 2.0])
    assert figure.median == 2.0
    assert figure.spread == 1.0


def test_the_bound_is_the_nearer_limit() -> None:
    result = made()  # 10 GB/s, 100 GFLOP/s
    assert result.bound(DECODE, 1) == pytest.approx(20.0)  # 0.5 GB: 50 ms a token
    assert result.bound(PREFILL, 1) == pytest.approx(900.0)  # 90 GFLOP: 900 ms


def test_a_share_is_at_most_one_either_way() -> None:
    result = made()
    ours = result.ours(1)
    assert ours is not None
    assert result.share(ours, DECODE) == pytest.approx(0.9)  # 18 of 20 tokens a second
    assert result.share(ours, PREFILL) == pytest.approx(0.75)  # 900 of 1200 ms


def test_the_lead_is_over_the_best_that_computes_the_same() -> None:
    result = made()
    lead = result.lead(DECODE.key, 1, higher_is_better=True)
    assert lead is not None
    factor, best = lead
    assert best.engine == "transformers"
    assert factor == pytest.approx(18 / 12)
    slow = result.lead(PREFILL.key, 1, higher_is_better=False)
    assert slow is not None
    assert slow[0] == pytest.approx(1500 / 1200)


def test_an_engine_with_other_ids_is_not_believed() -> None:
    row = Row("quick", "quick", 1, agreeing=3, compared=64)
    assert not row.is_believed
    assert Row("close", "close", 1, agreeing=40, compared=64).is_believed
    assert Row("short", "short", 1, agreeing=8, compared=8).is_believed
    assert Row("rounded", "rounded", 1, precision="bf16", agreeing=3, compared=64).is_believed
    assert not Row("silent", "silent", 1, Status.FAILED).is_believed


@pytest.mark.parametrize(
    ("ours", "theirs", "found"),
    [
        ([[1, 2, 3]], [[1, 2, 3]], (3, 3)),
        ([[1, 2, 3]], [[1, 9, 3]], (1, 3)),
        ([[1, 2], [3, 4]], [[1, 2], [9, 4]], (0, 2)),
        ([[1, 2], [3, 4], [5, 6]], [[1, 2], [9, 4], [5, 7]], (1, 2)),  # one row at a near tie
        ([[1, 2], [3, 4], [5, 6]], [[1, 2], [9, 4], [8, 6]], (0, 2)),  # most rows are others
    ],
)
def test_agreement_counts_leading_ids_of_the_row_in_the_middle(
    ours: list[list[int]], theirs: list[list[int]], found: tuple[int, int]
) -> None:
    assert agreement(ours, theirs) == found
