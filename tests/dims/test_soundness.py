"""What the prover says is compared with every assignment of small sizes."""

from __future__ import annotations

from hypothesis import given, settings

from linnet.dims import (
    Clause,
    Dim,
    Facts,
    Proved,
    Refuted,
    Sym,
    never,
    parse_clause,
    prove,
    suggest,
)

from . import strategies as some

PROPERTY = settings(max_examples=250, deadline=None, derandomize=True)


def satisfying(clauses: list[Clause]) -> list[dict[Sym, int]]:
    return [v for v in some.sizes(6) if all(c.holds(v) for c in clauses)]


@PROPERTY
@given(some.facts, some.claims)
def test_verdicts_agree_with_all_small_sizes(given: list[Clause], claim: Clause) -> None:
    facts = Facts(given, some.SYMBOLS)
    outcomes = [claim.holds(v) for v in satisfying(given)]
    verdict = prove(claim, facts)
    if isinstance(verdict, Proved):
        assert all(outcomes)
    if isinstance(verdict, Refuted):
        values = {s: verdict.example.get(s.name, 0) for s in some.SYMBOLS}
        assert not claim.holds(values)
    if never(claim, facts):
        assert not any(outcomes)


@PROPERTY
@given(some.facts, some.edge_claims)
def test_nothing_false_is_proven_at_the_edge_of_i64(given: list[Clause], claim: Clause) -> None:
    facts = Facts(given, some.SYMBOLS)
    if isinstance(prove(claim, facts), Proved):
        assert all(claim.holds(v) for v in satisfying(given))
    if never(claim, facts):
        assert not any(claim.holds(v) for v in satisfying(given))


@PROPERTY
@given(some.facts, some.dims)
def test_normal_form_keeps_the_value(given: list[Clause], dim: Dim) -> None:
    normal = Facts(given, some.SYMBOLS).normalise(dim)
    for values in satisfying(given):
        try:
            expected = dim.evaluate(values)
        except ZeroDivisionError:
            continue
        assert normal.evaluate(values) == expected


@settings(max_examples=80, deadline=None, derandomize=True)
@given(some.facts, some.claims)
def test_suggested_items_are_sufficient(given: list[Clause], claim: Clause) -> None:
    text = suggest(claim, Facts(given, some.SYMBOLS))
    if text is None or "(" in text:  # commas inside `min( , )` are not worth a parser here
        return
    items = [parse_clause(item, some.NAMES) for item in text.split(", ")]
    assert all(claim.holds(v) for v in satisfying([*given, *items]))
