"""Clauses at the entry boundary."""

from __future__ import annotations

import pytest

from linnet.dims import Clause, Dim, Pack, Sym, parse_clause

H, N = Dim.sym(Sym("H")), Dim.sym(Sym("N"))
NAMES = {"H": H, "N": N}


@pytest.mark.parametrize(
    ("text", "sizes", "expected"),
    [
        ("H % N == 0", (12, 4), True),
        ("H % N == 0", (12, 5), False),
        ("H % N == 0", (12, 0), False),
        ("H % N != 0", (12, 0), False),
        ("H / N >= 0", (0, 0), False),
        ("H <= N", (1025, 1024), False),
        ("H - N > -2", (3, 4), True),
        ("H < N", (3, 4), True),
    ],
)
def test_actual_sizes(text: str, sizes: tuple[int, int], expected: bool) -> None:
    clause = parse_clause(text, NAMES)
    assert clause.holds({"H": sizes[0], "N": sizes[1]}) is expected
    assert clause.holds({Sym("H"): sizes[0], Sym("N"): sizes[1]}) is expected


def test_words_and_place_survive_substitution() -> None:
    clause = Clause("<=", H, N, "H<=N", origin="here")
    bound = clause.substitute({Sym("H"): Dim.const(8)})
    assert (bound.text, bound.origin) == ("H<=N", "here")
    assert str(bound) == "8 <= N"
    assert bound == Clause.of("<=", 8, N)


def test_packs_and_symbols_are_found_on_both_sides() -> None:
    clause = Clause.of("==", Dim.numel(Pack("P")), H)
    assert clause.symbols() == {Sym("H")}
    assert clause.packs() == {Pack("P")}


def test_a_clause_beyond_i64_never_holds() -> None:
    assert not Clause.of("!=", H * 2**62 * 4, 1).holds({"H": 0})


def test_only_comparisons() -> None:
    with pytest.raises(ValueError):
        Clause.of("=", H, N)
    with pytest.raises(ValueError):
        parse_clause("H + N", NAMES)
    with pytest.raises(ValueError):
        parse_clause("H == N == 1", NAMES)
