"""The `where` item a diagnostic proposes."""

from __future__ import annotations

import pytest

from linnet.dims import Clause, Dim, Facts, Pack, Sym, parse_clause, suggest

NAMES = {name: Dim.sym(Sym(name)) for name in ["A", "B", "C", "H", "K", "M", "N", "P", "S", "W"]}


def facts(text: str) -> Facts:
    return Facts([parse_clause(item, NAMES) for item in text.split(";") if item])


@pytest.mark.parametrize(
    ("given", "claim", "item"),
    [
        ("", "B * H == B * 2 * (H / 2)", "H % 2 == 0"),
        ("H % 3 == 0", "B * H == B * 2 * (H / 2)", "H % 2 == 0"),
        ("P > 0; H % P == 0", "C * (H / P) * P * (W / P) * P == C * H * W", "W % P == 0"),
        ("P > 0", "C * (H / P) * P * (W / P) * P == C * H * W", "H % P == 0, W % P == 0"),
        ("N > 0", "N * (H / N) == H", "H % N == 0"),
        ("N > 0; H % N == 0", "2 * ((H / N) / 2) == H / N", "(H / N) % 2 == 0"),
        ("", "H % N == 0", "H % N == 0"),
        ("", "N > 0", "N > 0"),
        ("", "S - 1 >= 0", "S > 0"),
        ("", "S <= M", "S <= M"),
        ("S <= M", "S < M", "S < M"),
        ("", "2 * S <= 7", "S <= 3"),
        ("", "B * S * H == B * S * K", "H == K"),
        ("N > 0; H % N == 0", "H / N > 0", "H > 0"),
        ("", "(8 * N) / N == 8", "N > 0"),
    ],
)
def test_the_item_that_closes_the_gap(given: str, claim: str, item: str) -> None:
    assert suggest(parse_clause(claim, NAMES), facts(given)) == item


@pytest.mark.parametrize(
    ("given", "claim"),
    [
        ("", "3 == 4"),
        ("H == 7", "H % 2 == 0"),
        ("A >= 2", "A == 1"),
        ("S > 0", "S >= 1"),  # already provable
        ("", "2 * A == 2 * B + 1"),
    ],
)
def test_nothing_to_propose(given: str, claim: str) -> None:
    assert suggest(parse_clause(claim, NAMES), facts(given)) is None


def test_a_pack_cannot_be_named_in_a_where_list() -> None:
    count = Dim.numel(Pack("L"))
    assert suggest(Clause.of("==", count, NAMES["H"]), facts("")) is None
    shared_pack = Clause.of("==", count * NAMES["H"], count * NAMES["K"])
    assert suggest(shared_pack, facts("")) == "H == K"


def test_a_poisoned_claim_has_no_remedy() -> None:
    assert suggest(Clause.of("==", NAMES["H"] * 2**62 * 4, 1), facts("")) is None
