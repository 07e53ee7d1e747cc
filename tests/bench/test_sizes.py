"""Odd sizes against friendly ones: what is called and counted; speeds are for bench/sizes.py."""

from __future__ import annotations

import pytest

from linnet.bench import sizes
from linnet.bench.sizes import ALL, Case, Sizes, lines, text

SMALL = Sizes("linear", (("In", 5), ("Out", 3)))
ODD = Sizes("linear", (("In", 7), ("Out", 3)), SMALL)
MIX = Sizes("attention", (("H", 4), ("Hk", 2), ("K", 9), ("D", 3)), None)


def test_operations_are_counted_as_they_are_needed() -> None:
    assert ODD.operations(8) == 2 * 8 * 7 * 3
    pairs = sum(9 - 3 + q + 1 for q in range(3))  # of three queries, the last sees all nine keys
    assert MIX.operations(3) == 4 * 4 * 3 * pairs


def test_a_ratio_is_of_times_for_an_operation() -> None:
    cases = [
        Case(SMALL, 1, lambda: None, [3.0e-9, 4.0e-9]),
        Case(ODD, 1, lambda: None, [9.0e-9, 6.3e-9]),
    ]
    (line,) = lines(cases)
    assert line.ratio == pytest.approx((6.3 / 42) / (3.0 / 30))
    assert line.is_slow
    assert text([line], 1)[1].split()[-2:] == ["1.50", "slow"]


def test_every_program_runs_for_all_rows() -> None:
    small_mix = Sizes("attention", MIX.generics, MIX)
    found = sizes.measure([SMALL, ODD, MIX, small_mix], (1, 8), rounds=1)
    assert [(line.sizes, line.rows) for line in found] == [
        (size, rows) for size in (ODD, small_mix) for rows in (1, 8)
    ]
    assert all(line.per_operation > 0 for line in found)


def test_odd_sizes_do_about_as_much_as_those_they_stand_against() -> None:
    for odd in (one for one in ALL if one.like is not None):
        assert odd.like is not None
        assert 0.8 < odd.operations(8) / odd.like.operations(8) < 1.25
