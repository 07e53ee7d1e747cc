"""The normal form: Python's integers are the reference."""

from __future__ import annotations

import operator
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnet.dims import Dim, Numel, Pack, Sym, parse, product_of

from . import strategies as some

H, N, S = (Dim.sym(Sym(name)) for name in "HNS")
PROPERTY = settings(max_examples=200, deadline=None, derandomize=True)

OPERATIONS: list[tuple[Callable[[Dim, Dim], Dim], Callable[[int, int], int]]] = [
    (Dim.__add__, operator.add),
    (Dim.__sub__, operator.sub),
    (Dim.__mul__, operator.mul),
    (Dim.floordiv, operator.floordiv),
    (Dim.mod, operator.mod),
    (Dim.minimum, min),
    (Dim.maximum, max),
]


@PROPERTY
@given(some.dims, some.dims, st.sampled_from(OPERATIONS), st.lists(st.integers(0, 9), min_size=3))
def test_operations_mean_what_they_mean_on_integers(
    a: Dim,
    b: Dim,
    operation: tuple[Callable[[Dim, Dim], Dim], Callable[[int, int], int]],
    sizes: list[int],
) -> None:
    values = dict(zip(some.SYMBOLS, sizes, strict=False))
    symbolic, reference = operation
    try:
        expected = reference(a.evaluate(values), b.evaluate(values))
    except ZeroDivisionError:
        return
    assert symbolic(a, b).evaluate(values) == expected


@PROPERTY
@given(some.dims, some.dims, some.dims)
def test_polynomial_identities_are_structural(a: Dim, b: Dim, c: Dim) -> None:
    assert (a + b) * c == c * b + a * c
    assert (a - b) * (a + b) == a * a - b * b
    assert hash(a + b) == hash(b + a)


@PROPERTY
@given(some.dims)
def test_printed_form_reads_back(dim: Dim) -> None:
    assert parse(str(dim), some.NAMES) == dim


@PROPERTY
@given(some.dims, some.small_dims, st.integers(0, 5), st.integers(0, 5))
def test_substitution_is_evaluation_in_two_steps(dim: Dim, by: Dim, b: int, c: int) -> None:
    first, *_ = some.SYMBOLS
    values = {"B": b, "C": c, "A": 2}
    try:
        expected = dim.evaluate({**values, "A": by.evaluate(values)})
    except ZeroDivisionError:
        return
    assert dim.substitute({first: by}).evaluate(values) == expected


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("H * 3", "3 * H"),
        ("S * N * (H / N)", "N * S * (H / N)"),
        ("-1 + S", "S - 1"),
        ("1 - S", "1 - S"),
        ("0 - S", "-S"),
        ("(2 * H) / (2 * N)", "H / N"),
        ("(6 * H + 1) / 4", "(3 * H) / 2"),
        ("(H / N) / 2 % 3", "((H / N) / 2) % 3"),
        ("(4 * S - 1) / 2 + 1", "2 * S"),
        ("(-S) % 2", "S % 2"),
        ("max(S + 1, S)", "S + 1"),
        ("min(S, H)", "min(H, S)"),
        ("H % 1", "0"),
        ("H - H", "0"),
        ("numel(P) * 2", "2 * numel(P)"),
    ],
)
def test_printed_form(text: str, printed: str) -> None:
    names = {"H": H, "N": N, "S": S, "P": Dim.numel(Pack("P"))}
    assert str(parse(text, names)) == printed


@pytest.mark.parametrize("text", ["", "H +", "H H", "(H", "min(H)", "numel(H)", "Q", "3x", "H $ 2"])
def test_malformed_text_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        parse(text, {"H": H})


def test_hostile_nesting_is_a_value_error() -> None:
    with pytest.raises(ValueError):
        parse("(" * 5000 + "H" + ")" * 5000, {"H": H})


def test_symbols_with_the_same_name_differ_by_uid() -> None:
    mine, theirs = Dim.sym(Sym("N", 1)), Dim.sym(Sym("N", 2))
    assert mine != theirs
    assert mine + theirs == theirs + mine
    assert len((mine - theirs).terms) == 2


def test_a_zero_divisor_is_representable_but_has_no_value() -> None:
    quotient = H.floordiv(N)
    assert quotient.evaluate({"H": 7, "N": 2}) == 3
    with pytest.raises(ZeroDivisionError):
        quotient.evaluate({"H": 7, "N": 0})
    with pytest.raises(ZeroDivisionError):
        H.mod(0).evaluate({"H": 7})


def test_constants_and_contents() -> None:
    assert Dim.const(7).is_const
    assert Dim.const(-7).floordiv(2).value == -4
    assert Dim.const(-7).mod(2).value == 1
    with pytest.raises(ValueError):
        _ = H.value
    mixed = H.floordiv(N) + Dim.numel(Pack("P"))
    assert mixed.symbols() == {Sym("H"), Sym("N")}
    assert mixed.packs() == {Pack("P")}
    assert (2 * H - 3).terms == ((2, (Sym("H"),)), (-3, ()))


def test_packs_count_elements() -> None:
    pack = Pack("P")
    shape = product_of([Dim.const(2), H, Dim.numel(pack)])
    assert shape.terms == ((2, (Sym("H"), Numel(pack))),)
    assert shape.substitute({}, {pack: S * N}) == 2 * H * S * N
    assert shape.evaluate({"H": 3, "*P": 5}) == 30
    assert product_of([]) == Dim.const(1)


def test_overflow_poisons_and_a_poisoned_dimension_equals_nothing() -> None:
    large = Dim.const(2**63 - 1)
    assert not large.poisoned
    for poisoned in (
        large + 1,
        large * 2 - large,
        H * large * 2,
        Dim.const(2**63),
        -Dim.const(-(2**63)),
    ):
        assert poisoned.poisoned
        assert poisoned != poisoned
        assert not poisoned.is_const
        assert (poisoned + 1).poisoned
        assert H.floordiv(poisoned).poisoned
        with pytest.raises(ValueError):
            poisoned.evaluate({"H": 1})


def test_growth_without_limit_is_poisoned_quickly() -> None:
    dim = H
    for _ in range(60):  # written out, each step doubles the last
        dim = (dim * N).minimum(dim * S + 1)
    assert dim.poisoned
    power = H + N + S + 1
    for _ in range(20):
        power = power * power
    assert power.poisoned
