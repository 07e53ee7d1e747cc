"""Blocks, members, state, statements, returns, lints."""

from __future__ import annotations

import pytest

from check.programs import check, codes, errors, only

PROGRAMS = {
    "a scalar parameter": ("block B { param w: f32 }", ["E4101"]),
    "a block as parameter": ("block A { } block B { param a: A }", ["E4101"]),
    "a tensor as child": ("block B { sub a: Tensor[1; f32] }", ["E4101"]),
    "an array of tensors": ("block B { sub a: [Tensor[1; f32]; 2] }", ["E4101"]),
    "an optional state": ("block B { state s: Tensor[1; f32]? }", ["E4101"]),
    "a scalar state": ("block B { state s: i64 }", ["E4101"]),
    "an optional parameter": (
        "block B { param b: Tensor[1; f32]? = none buffer c: Tensor[1; f32]?"
        " fn go(x: Tensor[1; f32]) -> Tensor[1; f32] {"
        " let y = match b { some(v) => v none => x } return match c { some(v) => v none => y } } }",
        [],
    ),
    "none for what is not optional": ("block B { param b: Tensor[1; f32] = none }", ["E4101"]),
    "a value in source": ("block B { param b: Tensor[1; f32] = fill<f32>([1], 0.0) }", ["E4102"]),
    "a child with a value": ("block A { } block B { sub a: A = 3 }", ["E4102"]),
    "a block in itself": ("block A { sub a: A }", ["E2122"]),
    "blocks in each other": ("block A { sub b: B } block B { sub a: [A; 2] }", ["E2122"]),
    "a block demands its where list": (
        "block A<N: Dim> where N > 0 { } block B<N: Dim> { sub a: A<N> sub b: A<3> sub c: A<0> }",
        ["E2206", "E2206"],
    ),
    "an optional child": (
        "block A { pub fn go(x: f32) -> f32 { return x } } block B { sub a: A? = none"
        " fn go(x: f32) -> f32 { return match a { some(m) => m.go(x) none => x } } }",
        [],
    ),
    "an optional child unmatched": (
        "block A { pub fn go(x: f32) -> f32 { return x } } block B { sub a: A? = none"
        " fn go(x: f32) -> f32 { return a.go(x) } }",
        ["E2107"],
    ),
    "members of children at any depth": (
        "block A { param w: Tensor[2; f32] } block L { sub a: A } block B { sub l: [L; 3]"
        " fn go() -> Tensor[2; f32] { return l[0].a.w } }",
        [],
    ),
    "array positions": (
        "block A { param w: Tensor[2; f32] } block B { sub l: [A; 3] fn a(i: i32) -> Tensor[2;"
        " f32] { return l[i].w } fn b() -> Tensor[2; f32] { return l[3].w } fn c() -> Tensor[2;"
        " f32] { return l[0:1].w } fn d() -> Tensor[2; f32] { return l[-1].w } }",
        ["E3104", "E2209", "E3104", "E2209"],
    ),
    "an unknown member": (
        "block A { param w: Tensor[2; f32] } block B { sub a: A"
        " fn go() -> Tensor[2; f32] { return a.weight } }",
        ["E2107"],
    ),
    "a foreign state": (
        "block A { state s: Tensor[1; f32] } block B { sub a: A state t: Tensor[1; f32]"
        " fn go(x: Tensor[1; f32]) -> Tensor[1; f32] { t = x return a.s + t } }",
        [],
    ),
    "assigning a parameter of the model": (
        "block B { param w: Tensor[1; f32] fn go(x: Tensor[1; f32]) -> Tensor[1; f32] { w = x"
        " return w } }",
        ["E2108"],
    ),
    "a state keeps its type": (
        "block B { state s: Tensor[2; f32] fn go(x: Tensor[3; f32]) -> f32 { s = x return s[0] } }",
        ["E2109"],
    ),
    "an op assigns nothing": (
        "block B { state s: Tensor[1; f32] op go(x: Tensor[1; f32]) -> f32 { s = x return s[0] } }",
        ["E2108"],
    ),
    "methods of the outer block's children": (
        "block A<N: Dim> { param w: Tensor[N; f32] pub fn go() -> Tensor[N; f32] { return w } }"
        " block B<K: Dim> { sub a: [A<2 * K>; K] fn go() -> Tensor[2 * K; f32] {"
        " var y = fill<f32>([2 * K], 0.0) static for l in a { y = y + l.go() } return y } }",
        [],
    ),
    "nested blocks see the generics around them": (
        "block A<N: Dim> { block In { param w: Tensor[N; f32] fn go() -> Tensor[N; f32] { return w"
        " } } sub i: In fn go() -> Tensor[N; f32] { return i.go() } } block B { sub a: A<5> fn"
        " go() -> Tensor[5; f32] { return a.i.w } }",
        [],
    ),
    "static for over a range": (
        "fn f<N: Dim>(x: f32) -> f32 { var y = x static for i in 0..N { y = y + cast<f32>(i) }"
        " return y }",
        [],
    ),
    "its variable is no dimension": (
        "fn f<N: Dim>(x: f32) -> f32 { var y = x static for i in 0..N { let z = fill<f32>([i],"
        " 0.0) } return y }",
        ["E2123"],
    ),
    "static for over a tensor": (
        "fn f(x: Tensor[3; f32]) -> f32 { static for i in x { } return 1.0 }",
        ["E2121"],
    ),
    "static for to a value": (
        "fn f(n: i64) -> f32 { static for i in 0..n { } return 1.0 }",
        ["E2121"],
    ),
    "while": (
        "fn f(n: i64) -> i64 { var i = 0 while i < n { i = i + 1 } return i }",
        [],
    ),
    "while over a tensor": (
        "fn f(m: Tensor[2; bool]) -> f32 { while m { } return 1.0 }",
        ["E2114"],
    ),
    "a changed type in a loop": (
        "fn f(n: i64) -> i64 { var i = 0 while i < n { i = cast<i32>(i) } return i }",
        ["E2109"],
    ),
    "no return": ("fn f(x: f32) -> f32 { let _ = x }", ["E2120"]),
    "return in a loop": ("fn f(n: i64) -> i64 { while n > 0 { return n } }", ["E2120"]),
    "return too early": ("fn f(x: f32) -> f32 { return x let _ = x }", ["E2120"]),
    "return without a value": ("fn f(x: f32) -> f32 { return }", ["E2101"]),
    "return of a value for nothing": ("fn f(x: f32) { return x }", ["E2101"]),
    "no result, no return": ("fn f(x: f32) { }", []),
    "returned dtypes": ("fn f(x: f32) -> i32 { return x }", ["E2101"]),
    "for": ("fn f(x: f32) -> f32 { for i in 0..3 { } return x }", []),
    "yield": ("fn f(x: f32) -> f32 { yield x return x }", ["E2124"]),
    "grad": ("op f(x: f32) -> f32 { return x } grad(y, dy) { return dy }", ["E2190"]),
    "grad on a function": ("fn f(x: f32) -> f32 { return x } grad(y, dy) { return dy }", ["E2125"]),
    "an entry of a module": (
        "entry f<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] { return x }",
        [],
    ),
    "constants and enums in a block": (
        "block B<N: Dim> { const K = 2 enum E { A, B, } fn go(x: Tensor[N; f32]) -> Tensor[K * N;"
        " f32] { return concat(x, x, axis = 0) } fn is(e: E) -> bool { return e == E.A } }",
        [],
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    text, expected = PROGRAMS[name]
    assert errors(text) == expected


LINTS = {
    "use std.nn.activations::{gelu} fn f(x: f32) -> f32 { return x }": ["W1001"],
    "use std.nn.activations fn f(x: f32) -> f32 { return x }": ["W1001"],
    "fn f(x: f32) -> f32 { return 1.0 }": [],
    "fn f(x: f32) -> f32 { let y = x return x }": ["W1002"],
    "fn f(x: f32) -> f32 { let _y = x return x }": [],
    "fn f(x: f32) -> f32 { var y = x y = x return x }": ["W1002"],
    "fn f(x: f32?) -> f32 { return match x { some(v) => 1.0 none => 0.0 } }": ["W1002"],
    "fn f(x: f32?) -> f32 { return match x { some(_) => 1.0 none => 0.0 } }": [],
    "fn f(x: Tensor[4; f32]) -> f32 { let y[i] = x[i] return 1.0 }": ["W1002"],
    "fn f<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] { let n = N return x }": ["W1002"],
    "block B { param w: Tensor[1; f32] }": ["W1003"],
    "block A { param w: Tensor[1; f32] } block B { sub a: A fn f() -> Tensor[1; f32] { return a.w"
    " } }": [],
    "use std.nn.activations::{gelu} fn f(x: f32) -> f32 { return gone }": ["E1201"],
}


@pytest.mark.parametrize("text", LINTS)
def test_lints(text: str) -> None:
    assert codes(text) == LINTS[text]


def test_the_circle_of_blocks_is_shown() -> None:
    found = only("block A { sub b: B } block B { sub a: A }")
    assert found.notes == ("the circle: `A` → `B` → `A`",)


def test_nested_blocks_carry_the_generics_around_them() -> None:
    program = check(
        "block A<N: Dim> { block In<K: Dim> { param w: Tensor[N, K; f32] } sub i: In<3>"
        " fn go() -> Tensor[N, 3; f32] { return i.w } }"
    ).program
    assert program is not None
    block = program.blocks["t"]["A"].members["i"].type
    assert [g.name for g in block.decl.generics] == ["N", "K"]  # type: ignore[attr-defined]
    assert [str(a) for a in block.arguments] == ["N", "3"]  # type: ignore[attr-defined]
