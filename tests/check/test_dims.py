"""Dimensions in types and values: proofs, divisors, `where`, reshape and its kin."""

from __future__ import annotations

import pytest

from check.programs import errors, only

HALVES = (
    "pub fn halves<B: Dim, H: Dim>(x: Tensor[B, H; f32]) -> Tensor[B, 2, H / 2; f32] {where}"
    "{{ return reshape(x, [B, 2, H / 2]) }}"
)


def test_reshape_without_a_divisibility_fact() -> None:
    found = only(HALVES.format(where=""))
    assert found.code == "E2203"
    assert found.primary is not None
    assert found.primary.span.text == "reshape(x, [B, 2, H / 2])"
    assert found.help == ("add `H % 2 == 0` to the where list of `halves`",)


@pytest.mark.parametrize(
    ("where", "expected"),
    [("where H % 2 == 0", []), ("where H % 4 == 0", []), ("where H % 3 == 0", ["E2203"])],
)
def test_reshape_with_one(where: str, expected: list[str]) -> None:
    assert errors(HALVES.format(where=where)) == expected


def test_the_fact_is_demanded_of_the_caller() -> None:
    call = "fn f(x: Tensor[5, 7; f32]) -> f32 { let y = halves(x) return y[0, 0, 0] }"
    found = only(f"{HALVES.format(where='where H % 2 == 0')}\n{call}")
    assert found.code == "E2206"
    assert found.primary is not None
    assert found.primary.span.text == "halves"
    assert found.primary.text == "here it means `1 == 0`"


PROGRAMS = {
    "a product split and joined": (
        "fn f<B: Dim, N: Dim, H: Dim>(x: Tensor[B, H; f32]) -> Tensor[B, H; f32]"
        " where N > 0, H % N == 0 { return reshape(reshape(x, [B, N, H / N]), [B, H]) }",
        [],
    ),
    "divisor in a signature": (
        "fn f<N: Dim, H: Dim>(x: Tensor[H / N; f32]) -> f32 { return 1.0 }",
        ["E2205"],
    ),
    "divisor in a where list": (
        "fn f<N: Dim, H: Dim>(x: Tensor[H; f32]) -> f32 where H % N == 0 { return 1.0 }",
        [],
    ),
    "a where list justifies its signature": (
        "fn f<N: Dim, H: Dim>(x: Tensor[H / N; f32]) -> f32 where H % N == 0, N > 0 { return 1.0 }",
        [],
    ),
    "divisor zero": ("fn f<H: Dim>(x: Tensor[H / 0; f32]) -> f32 { return 1.0 }", ["E2205"]),
    "a negative dimension": ("fn f(x: Tensor[2 - 5; f32]) -> f32 { return 1.0 }", ["E2208"]),
    "a dimension of unknown sign": (
        "fn f<H: Dim>(x: Tensor[H - 5; f32]) -> f32 { return 1.0 }",
        [],
    ),
    "negative under a fact": (
        "fn f<H: Dim>(x: Tensor[H - 5; f32]) -> f32 where H < 5 { return 1.0 }",
        ["E2208"],
    ),
    "not compile-time": (
        "fn f(x: Tensor[4; f32], n: i64) -> f32 { let y = fill<f32>([n], 0.0) return 1.0 }",
        ["E2123"],
    ),
    "a float as dimension": ("fn f(x: Tensor[2.5; f32]) -> f32 { return 1.0 }", ["E2123"]),
    "a pack as dimension": ("fn f<*S: Shape>(x: Tensor[S; f32]) -> f32 { return 1.0 }", ["E2123"]),
    "a dimension as pack": ("fn f<N: Dim>(x: Tensor[*N; f32]) -> f32 { return 1.0 }", ["E1208"]),
    "an unknown dimension": ("fn f(x: Tensor[N; f32]) -> f32 { return 1.0 }", ["E1201"]),
    "an unknown pack": ("fn f(x: Tensor[*S; f32]) -> f32 { return 1.0 }", ["E1201"]),
    "min and max": (
        "fn f<N: Dim>(x: Tensor[max(N, 4); f32]) -> Tensor[N; f32] where N >= 4 { return x }",
        [],
    ),
    "too large": ("fn f(x: Tensor[9223372036854775807 + 1; f32]) -> f32 { return 1.0 }", ["E2123"]),
    "equalities": (
        "fn f<H: Dim, B: Dim>(x: Tensor[H; f32]) -> Tensor[32, B; f32] where H == 32 * B"
        " { return reshape(x, [32, B]) }",
        [],
    ),
    "permute": (
        "fn f<N: Dim>(x: Tensor[N, 3, 4; f32]) -> Tensor[4, N, 3; f32] { return permute(x, [2, 0,"
        " 1]) }",
        [],
    ),
    "no permutation": (
        "fn f(x: Tensor[2, 3; f32]) -> f32 { let y = permute(x, [0, 0]) return 1.0 }",
        ["E2210"],
    ),
    "axis from the back": (
        "fn f(x: Tensor[2, 3; f32]) -> f32 { let y = permute(x, [-1, 0]) return 1.0 }",
        ["E2210"],
    ),
    "permute a pack": (
        "fn f<*S: Shape>(x: Tensor[*S, 3; f32]) -> f32 { let y = permute(x, [0, 1]) return 1.0 }",
        ["E2101"],
    ),
    "permute by values": (
        "fn f<N: Dim>(x: Tensor[2, 3; f32]) -> f32 { let y = permute(x, [N, 1]) return 1.0 }",
        ["E2210"],
    ),
    "broadcast_to": (
        "fn f<N: Dim>(x: Tensor[1, 3; f32]) -> Tensor[N, 5, 3; f32] { return broadcast_to(x, [N,"
        " 5, 3]) }",
        [],
    ),
    "a scalar broadcast": ("fn f(x: f32) -> Tensor[2; f32] { return broadcast_to(x, [2]) }", []),
    "no broadcast_to": (
        "fn f<N: Dim>(x: Tensor[N; f32]) -> f32 { let y = broadcast_to(x, [2 * N]) return 1.0 }",
        ["E2207"],
    ),
    "broadcast_to fewer axes": (
        "fn f(x: Tensor[1, 2; f32]) -> f32 { let y = broadcast_to(x, [2]) return 1.0 }",
        ["E2207"],
    ),
    "operators broadcast": (
        "fn f<A: Dim, B: Dim, *S: Shape>(x: Tensor[A, 1; f32], y: Tensor[B; f32], z: Tensor[*S, B;"
        " f32]) -> Tensor[A, B; f32] { let w: Tensor[*S, B; f32] = z * y return x + y }",
        [],
    ),
    "operators that do not": (
        "fn f<A: Dim, B: Dim>(x: Tensor[A; f32], y: Tensor[B; f32]) -> f32 { let z = x + y return"
        " 1.0 }",
        ["E2207"],
    ),
    "a pack against an axis": (
        "fn f<*S: Shape>(x: Tensor[*S, 3; f32], y: Tensor[2, 3; f32]) -> f32 { let z = x + y"
        " return 1.0 }",
        ["E2207"],
    ),
    "concat": (
        "fn f<A: Dim, B: Dim, *S: Shape>(x: Tensor[*S, A, 3; f32], y: Tensor[*S, B, 3; f32])"
        " -> Tensor[*S, A + B, 3; f32] { return concat(x, y, axis = -2) }",
        [],
    ),
    "concat halves": (
        "fn f<*S: Shape, D: Dim>(x: Tensor[*S, D; f32]) -> Tensor[*S, D; f32]"
        " { return concat(x[..., D / 2:D], x[..., 0:D / 2], axis = -1) }",
        [],
    ),
    "concat across a pack": (
        "fn f<*S: Shape>(x: Tensor[*S, 3; f32]) -> f32 { let y = concat(x, x, axis = 1) return 1.0"
        " }",
        ["E2210"],
    ),
    "concat without axis": (
        "fn f(x: Tensor[3; f32]) -> f32 { let y = concat(x, x) return 1.0 }",
        ["E2102"],
    ),
    "concat along nothing": (
        "fn f(x: Tensor[3; f32]) -> f32 { let y = concat(x, x, axis = 1) return 1.0 }",
        ["E2210"],
    ),
    "concat along a value": (
        "fn f(x: Tensor[3; f32], i: i32) -> f32 { let y = concat(x, x, axis = i) return 1.0 }",
        ["E2209"],
    ),
    "concat of other dtypes": (
        "fn f(x: Tensor[3; f32], y: Tensor[3; f16]) -> f32 { let z = concat(x, y, axis = 0) return"
        " 1.0 }",
        ["E2103"],
    ),
    "concat of other sizes": (
        "fn f(x: Tensor[3, 2; f32], y: Tensor[3, 4; f32]) -> f32 { let z = concat(x, y, axis = 0)"
        " return 1.0 }",
        ["E2202"],
    ),
    "reshape of a scalar": (
        "fn f(x: f32) -> f32 { let y = reshape(x, [1]) return 1.0 }",
        ["E2101"],
    ),
    "reshape to no shape": (
        "fn f(x: Tensor[4; f32]) -> f32 { let y = reshape(x, 4) return 1.0 }",
        ["E2101"],
    ),
    "reshape to a scalar": ("fn f(x: Tensor[1; f32]) -> f32 { return reshape(x, []) }", []),
    "reshape of a pack": (
        "fn f<*S: Shape, A: Dim, B: Dim>(x: Tensor[*S, A, B; f32]) -> Tensor[*S, A * B; f32]"
        " { let y[*s, a] = x[*s, a, 0] return reshape(x, [A, B]) }",
        ["E2203"],
    ),
    "a constant of a module": (
        "const W = 8 fn f(x: Tensor[2 * W; f32]) -> Tensor[16; f32] { return x }",
        [],
    ),
    "where with a pack's name": (
        "fn f<*S: Shape>(x: Tensor[*S; f32]) -> f32 where S > 0 { return 1.0 }",
        ["E2123"],
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    text, expected = PROGRAMS[name]
    assert errors(text) == expected


def test_operators_offer_the_equality() -> None:
    head = "fn f<A: Dim, B: Dim>(x: Tensor[A; f32], y: Tensor[B; f32]) -> Tensor[A; f32]"
    found = only(f"{head} {{ return x + y }}")
    assert found.help == ("add `A == B` to the where list of `f`",)


def test_a_divisor_offers_its_bound() -> None:
    found = only("fn f<H: Dim, N: Dim>(x: Tensor[H; f32]) -> Tensor[H / N; f32] { return x }")
    assert found.code == "E2205"
    assert found.help == ("add `N > 0` to the where list of `f`",)


def test_a_shape_mismatch_shows_both_and_the_axis() -> None:
    found = only("fn f<A: Dim, B: Dim>(x: Tensor[2, A; f32]) -> Tensor[2, B; f32] { return x }")
    assert found.code == "E2202"
    assert found.primary is not None
    assert found.primary.text == "this is `Tensor[2, A; f32]`"
    assert found.notes[0] == "expected `Tensor[2, B; f32]`"
    assert found.notes[1] == "axis 1: `A` is not provably `B`"
