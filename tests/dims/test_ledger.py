"""The ledger of the language reference, section 8.5: every line, both sides read from text."""

from __future__ import annotations

import pytest

from linnet.dims import Dim, Facts, Sym, holds, is_equal, parse, parse_clause, slice_extent

NAMES = {name: Dim.sym(Sym(name)) for name in "ABCDFGHKLMNPSW"}


def facts(text: str) -> Facts:
    items = [parse_clause(item, NAMES) for item in text.split(", ") if item]
    return Facts(items, [Sym(name) for name in NAMES])


@pytest.mark.parametrize(
    ("given", "goals"),
    [
        ("H % N == 0, N > 0", "N * (H / N) == H, B * S * N * (H / N) == B * S * H"),
        ("", "D / 2 + (D - D / 2) == D"),
        ("D % 2 == 0", "D - D / 2 == D / 2"),
        ("G > 0, H % G == 0", "B * G * (H / G) * K * D == B * H * K * D"),
        ("P > 0, H % P == 0, W % P == 0", "C * (H / P) * P * (W / P) * P == C * H * W"),
        ("", "(H + 2 - 3) / 1 + 1 == H, (4 * M + 2 - 3) / 2 + 1 == 2 * M"),
        ("", "(F + 2 - 3) / 2 + 1 == (F - 1) / 2 + 1"),
        (
            "N % P == 0, K % P == 0, K / P > 0, (N / P) % (K / P) == 0",
            "K / P > 0, (K / P) * ((N / P) / (K / P)) == N / P",
        ),
        ("N % P == 0, P == 1", "N / P == N"),
        ("H == 32 * B", "H * K == 32 * B * K, H / 32 == B"),
        ("S <= M, M <= C", "S <= C"),
        ("H % N == 0, N > 0, (H / N) % 2 == 0", "2 * ((H / N) / 2) == H / N"),
        ("N > 0, N <= 8, B >= S + 2", "N < 9, B > S, H % N < 8, N != 0"),
        ("", "(8 * D) / 8 == D, (8 * D) % 8 == 0"),
        ("A > 1, (L - 1) % A == 0", "A * ((L - 1) / A) == L - 1"),
        ("A * B == C * D", "C * D == A * B"),
    ],
)
def test_provable(given: str, goals: str) -> None:
    for goal in goals.split(", "):
        assert holds(parse_clause(goal, NAMES), facts(given)), goal


def test_maximum_of_ordered_sizes() -> None:
    goal = parse_clause("max(B, S) == B", NAMES)
    assert holds(goal, facts("N > 0, N <= 8, B >= S + 2"))


@pytest.mark.parametrize(
    ("given", "goal"),
    [
        ("N > 0", "N * (H / N) == H"),
        ("S <= M, M <= C", "C <= S"),
        ("N > 0, N <= 8, B >= S + 2", "N < 8"),
        ("A * B == C * D", "A == C"),
        ("", "A == B"),
        ("", "A != B"),
    ],
)
def test_not_provable(given: str, goal: str) -> None:
    assert not holds(parse_clause(goal, NAMES), facts(given))


@pytest.mark.parametrize(
    ("given", "size", "start", "stop", "step", "extent"),
    [
        ("", "3 * H", "0", "H", 1, "H"),
        ("", "3 * H", "H", "2 * H", 1, "H"),
        ("", "3 * H", "2 * H", "3 * H", 1, "H"),
        ("D % 2 == 0", "D", "0", "D", 2, "D / 2"),
        ("D % 2 == 0", "D", "1", "D", 2, "D / 2"),
        ("K >= 3", "K", "1", "3", 1, "2"),
    ],
)
def test_slice_extents(
    given: str, size: str, start: str, stop: str, step: int, extent: str
) -> None:
    known = facts(given)
    dims = [parse(text, NAMES) for text in (size, start, stop, extent)]
    assert is_equal(slice_extent(dims[0], known, dims[1], dims[2], step), dims[3], known)


def test_slice_of_every_second_needs_parity() -> None:
    size = NAMES["D"]
    assert not is_equal(slice_extent(size, facts(""), 0, None, 2), size.floordiv(2), facts(""))
