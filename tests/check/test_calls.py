"""Calls: arguments, inference, defaults, demands (E2102, E2110 to E2112, E2202, E2206)."""

from __future__ import annotations

import pytest

from check.programs import check, errors, only

G = """
fn same<*S: Shape, T: Float>(x: Tensor[*S; T]) -> Tensor[*S; T] { return x }
fn last<*S: Shape, N: Dim, T: Float>(x: Tensor[*S, N; T], w: Tensor[N; T]) -> Tensor[*S, N; T] {
    return x * w
}
fn spread<B: Dim, N: Dim, D: Dim>(x: Tensor[B, N * D; f32]) -> Tensor[B, N, D; f32] {
    return reshape(x, [B, N, D])
}
fn scaled<T: Float>(x: Tensor[4; T], by: T, bias: Tensor[4; T]? = none) -> Tensor[4; T] {
    return match bias { some(b) => x * by + b none => x * by }
}
fn pairs<A: Dim, B: Dim = 2 * A>() -> Tensor[A, B; f32] { return fill<f32>([A, B], 0.0) }
fn narrow<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] where N > 0, N <= 8 { return x }
fn two<*S: Shape, *R: Shape>(x: Tensor[*S, *R; f32]) -> f32 { return 1.0 }
fn lone<N: Dim, T: Float>(s: T) -> Tensor[N; T] { return fill([N], s) }
fn pair(p: (f32, Tensor[4; f32])) -> f32 { let (a, _) = p return a }
"""

CALLS = {
    "let a = same(x)": [],
    "let a: f32 = same(s)": [],
    "let a: Tensor[2, 3; f32] = last(y, z)": [],
    "let a: Tensor[3; f32] = last(z, z)": [],
    "let a = last(y, x)": ["E2202"],
    "let a = last(y, h)": ["E2103"],
    "let a = last(y)": ["E2102"],
    "let a = last(y, z, z)": ["E2102"],
    "let a = last(x = y, w = z)": [],
    "let a = last(y, w = z)": [],
    "let a = last(w = z, x = y)": [],
    "let a = last(y, x = y)": ["E2102"],
    "let a = last(y, gone = z)": ["E2102"],
    "let a = last(w = z, y)": ["E2102"],
    "let a = last<[2], 3>(y, z)": [],
    "let a = last<[2], 3, f32, 1>(y, z)": ["E2111"],
    "let a = last<3>(y, z)": ["E2111"],
    "let a = last<[5]>(y, z)": ["E2202"],
    "let a = spread(y)": ["E2110"],
    "let a: Tensor[2, 3, 1; f32] = spread<2, 3, 1>(y)": [],
    "let a: Tensor[2, 1, 3; f32] = spread<2, 1, 3>(y)": [],
    "let a = spread<2, 2, 2>(y)": ["E2202"],
    "let a = scaled(x, 2)": [],
    "let a = scaled(x, 2.0, some(x))": [],
    "let a = scaled(x, 2.0, none)": [],
    "let a = scaled(x, 2.0, x)": ["E2101"],
    "let a = scaled(x, 2.0, bias = some(z))": ["E2101"],
    "let a = scaled(x, d)": ["E2101"],
    "let a = scaled(i, 2)": ["E2101"],
    "let a = scaled(x, true)": ["E2101"],
    "let a = scaled<i32>(x, 2)": ["E2112"],
    "let a = same(iota(4))": ["E2112"],
    "let a = same(1.0)": ["E2101"],
    "let a = lone<4>(2.0)": ["E2110"],
    "let a: Tensor[4; f32] = lone<4, f32>(2.0)": [],
    "let a = lone(s)": ["E2110"],
    "let a: Tensor[3, 6; f32] = pairs<3>()": [],
    "let a: Tensor[3, 1; f32] = pairs<3, 1>()": [],
    "let a = pairs()": ["E2110"],
    "let a = pairs<i>()": ["E2123"],
    "let a = narrow(x)": [],
    "let a = narrow(fill<f32>([9], 0.0))": ["E2206"],
    "let a = narrow(q)": ["E2206"],
    "let a = two(y)": ["E2110"],
    "let a = two<[2], [3]>(y)": [],
    "let a = pair((1.0, x))": [],
    "let a = pair((1, x))": [],
    "let a = pair((1.0, z))": ["E2101"],
    "let a = pair(x)": ["E2101"],
    "let a = same([4])": ["E2101"],
}

HEAD = (
    "fn f<N: Dim>(s: f32, x: Tensor[4; f32], y: Tensor[2, 3; f32], z: Tensor[3; f32],"
    " h: Tensor[3; f16], q: Tensor[N; f32], d: f64, i: i32) -> f32"
)


@pytest.mark.parametrize("statement", CALLS)
def test_calls(statement: str) -> None:
    assert errors(f"{G}\n{HEAD} {{ {statement} return 1.0 }}") == CALLS[statement]


PROGRAMS = {
    "a pack is passed on": (
        "use std.nn.linear::{linear}"
        " fn f<*L: Shape, A: Dim, B: Dim>(x: Tensor[*L, 3, A; f32], w: Tensor[B, A; f32])"
        " -> Tensor[*L, 3, B; f32] { return linear(x, w) }",
        [],
    ),
    "packs match themselves only": (
        "fn g<*S: Shape>(x: Tensor[*S; f32], y: Tensor[*S; f32]) -> f32 { return 1.0 } fn f<*A:"
        " Shape, *B: Shape>(x: Tensor[*A; f32], y: Tensor[*B; f32]) -> f32 { return g(x, y) }",
        ["E2202"],
    ),
    "a pack as explicit argument": (
        "fn g<*S: Shape>() -> f32 { return 1.0 } fn f<*A: Shape>(x: Tensor[*A; f32]) -> f32 {"
        " let a = g<A>() let b = g<[]>() return a + b + g<[2, 3]>() }",
        [],
    ),
    "result dims fold back": (
        "fn halves<B: Dim, H: Dim>(x: Tensor[B, H; f32]) -> Tensor[B, 2, H / 2; f32] where H % 2"
        " == 0 { return reshape(x, [B, 2, H / 2]) } fn f<K: Dim>(x: Tensor[3, 4 * K; f32]) ->"
        " Tensor[3, 2, 2 * K; f32] { return halves(x) }",
        [],
    ),
    "a method starts with the arguments of its block": (
        "block L<I: Dim, O: Dim, T: Float> { param w: Tensor[O, I; T]"
        " pub fn go<B: Dim>(x: Tensor[B, I; T]) -> Tensor[B, O; T]"
        " { let y[b, o] = sum[i] x[b, i] * w[o, i] return y } }"
        " block M<T: Float> { sub a: L<4, 8, T> sub b: L<8, 2, T>"
        " fn go(x: Tensor[3, 4; T]) -> Tensor[3, 2; T] { return b.go(a.go(x)) }"
        " fn bad(x: Tensor[3, 8; T]) -> Tensor[3, 8; T] { return a.go(x) } }",
        ["E2202"],
    ),
    "a private method stays in its module": (
        "use std.nn.norm::{layer_norm} use std.nn.linear::{Linear}"
        " block B { sub l: Linear<4, 4, f32> fn go(x: Tensor[4; f32]) -> Tensor[4; f32]"
        " { return layer_norm(l.forward(x), l.weight[0, :]) } }",
        [],
    ),
    "an unknown method": (
        "use std.nn.linear::{Linear} block B { sub l: Linear<4, 4>"
        " fn go(x: Tensor[4; bf16]) -> Tensor[4; bf16] { return l.backward(x) } }",
        ["E2107"],
    ),
    "recursion": ("fn f(x: f32) -> f32 { return f(x) }", ["E2119"]),
    "recursion in a circle": (
        "fn a(x: f32) -> f32 { return b(x) } fn b(x: f32) -> f32 { return c(x) }"
        " fn c(x: f32) -> f32 { return a(x) + b(x) }",
        ["E2119", "E2119"],
    ),
    "recursion through a child": (
        "block A { sub b: B pub fn go(x: f32) -> f32 { return b.go(x) } }"
        " block B { pub fn go(x: f32) -> f32 { return x } }",
        [],
    ),
    "a unit call is bound to nothing": (
        "block A { state s: Tensor[1; f32] fn set(x: Tensor[1; f32]) { s = x }"
        " fn go(x: Tensor[1; f32]) -> Tensor[1; f32] { let _ = set(x) return s }"
        " fn bad(x: Tensor[1; f32]) -> Tensor[1; f32] { let y = set(x) return s } }",
        ["E2101"],
    ),
    "another block's method needs an instance": (
        "block A { fn go() -> f32 { return 1.0 } block N { fn in() -> f32 { return 1.0 } } }",
        ["E1101"],
    ),
    "a nested block has no parent": (
        "block A { fn go() -> f32 { return 1.0 } block N { fn inner() -> f32 { return go() } } }",
        ["E1208"],
    ),
    "defaults": (
        "const E = 1e-5 fn g<N: Dim>(x: Tensor[N; f32], eps: f32 = E, n: i64 = N) -> f32 { return"
        " eps } fn f(x: Tensor[3; f32]) -> f32 { return g(x) + g(x, 2) + g(x, n = 3) }",
        [],
    ),
    "a default of another type": ("fn g(x: f32, n: i32 = 1.5) -> f32 { return x }", ["E2101"]),
    "a default that calls": (
        "fn h() -> f32 { return 1.0 } fn g(x: f32 = h()) -> f32 { return x }",
        ["E2190"],
    ),
    "a default cannot see the parameters": (
        "fn g(x: f32, y: f32 = x) -> f32 { return x }",
        ["E1201"],
    ),
    "a size that is negative for these arguments": (
        "fn g<K: Dim>(x: Tensor[K; f32]) -> Tensor[K - 5; f32] { return fill<f32>([K - 5], 0.0) }"
        " fn f(x: Tensor[3; f32]) -> f32 { let _ = g(x) return 1.0 }",
        ["E2208"],
    ),
    "dims of a where list": (
        "fn g<S: Dim, M: Dim>(x: Tensor[S; f32], t: Tensor[M; f32]) -> f32 where S <= M { return"
        " 1.0 } fn f<S: Dim, M: Dim, C: Dim>(x: Tensor[S; f32], t: Tensor[C; f32]) -> f32 where S"
        " <= M, M <= C { return g(x, t) }",
        [],
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    text, expected = PROGRAMS[name]
    assert errors(text) == expected


def test_a_generic_that_cannot_be_worked_out_is_spelled() -> None:
    body = "{ let _ = spread<2>(x) return 1.0 }"
    found = only(f"{G} fn f<H: Dim>(x: Tensor[2, H; f32]) -> f32 {body}")
    assert found.code == "E2110"
    assert found.help == ("write it at the call: `spread<2, N, D>(…)`, with a value for `N`",)


def test_an_unproven_clause_says_what_it_means_here() -> None:
    head = "fn f<N: Dim>(x: Tensor[N + 1; f32]) -> Tensor[N + 1; f32]"
    found = only(f"{G} {head} {{ return narrow(x) }}")
    assert found.code == "E2206"
    assert "`N <= 8`" in found.message
    assert found.primary is not None
    assert found.primary.text == "here it means `N + 1 <= 8`"
    assert found.help == ("add `N <= 7` to the where list of `f`",)


def test_the_suggested_item_is_enough() -> None:
    call = "{{ return narrow(x) }}"
    text = f"{G} fn f<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] where N <= 8%s {call[1:-1]}"
    found = only(text % "")
    assert found.help == ("add `N > 0` to the where list of `f`",)
    assert errors(text % ", N > 0") == []


def test_calls_carry_every_generic_and_default() -> None:
    body = "{ return scaled(x, 2) }"
    program = check(f"{G} fn f(x: Tensor[4; f16]) -> Tensor[4; f16] {body}").program
    assert program is not None
    call = program.functions["t"]["f"].body[0].value  # type: ignore[attr-defined]
    assert {s.name: a for s, a in call.generics.items()} == {"T": "f16"}
    assert call.arguments[1].type.dtype == "f16"
    assert call.arguments[2] is None
