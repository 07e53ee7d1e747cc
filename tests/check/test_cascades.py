"""One mistake, one report: the expectations that are easy to miss."""

from __future__ import annotations

import pytest

from check.programs import errors

CASES = {
    "an unknown name poisons what uses it": (
        "fn f(x: f32) -> f32 { let a = gone + 1 let b = a * a return a + b + x }",
        ["E1201"],
    ),
    "a broken head silences its calls": (
        "fn g(x: Gone) -> Lost { return x } fn f() -> f32 { let a = g(1.0, 2) return a }",
        ["E1201", "E1201"],
    ),
    "two unbound indices are two reports, one of them once": (
        "fn f(x: Tensor[4, 4; f32]) -> Tensor[4; f32] {"
        " let y[i] = x[i, a] + x[b, i] + x[i, a] return y }",
        ["E3101", "E3101"],
    ),
    "dtypes before shapes": (
        "fn f(x: Tensor[4; f32]) -> Tensor[5; f64] { return x }",
        ["E2103"],
    ),
    "dtypes before shapes in operators": (
        "fn f(x: Tensor[4; f32], y: Tensor[5; f64]) -> Tensor[4; f32] { return x + y }",
        ["E2103"],
    ),
    "a parameter with a value": (
        "block B { param w: Tensor[4; f32] = gone(lost) fn go() -> Tensor[4; f32] { return w } }",
        ["E4102"],
    ),
    "match on a tensor": (
        "fn f(x: Tensor[4; f32]) -> f32 { return match x { some(v) => gone none => 1.0 } }",
        ["E2117", "E2117", "E1201", "E2117"],
    ),
    "match on a tensor with one wrong arm": (
        "fn f(x: Tensor[4; f32]) -> f32 { return match x { none => 1.0 _ => 2.0 } }",
        ["E2117", "E2117"],
    ),
    "an unclosed brace": (
        "fn f(x: f32) -> f32 { return x\nfn g(x: f32) -> f32 { return x + true }",
        ["E1101", "E2103"],
    ),
    "a failed let poisons its names": (
        "fn f() -> f32 { let (a, b) = gone() return a + b }",
        ["E1201"],
    ),
    "a bad body keeps its signature": (
        "fn g(x: f32) -> f32 { return gone } fn f() -> f64 { return g(1.0) }",
        ["E1201", "E2101"],
    ),
    "a prelude name declared": (
        "fn f(exp: f32) -> f32 { let sqrt = exp return sqrt }",
        ["E1207", "E1207"],
    ),
    "a failed import": (
        "use std.nn.gone::{a, b} fn f(x: f32) -> f32 { return a(b, x) }",
        ["E1202"],
    ),
    "a member of an impossible type": (
        "block B { param w: i32 fn go() -> f32 { return w * 2.0 } }",
        ["E4101"],
    ),
    "a block whose where list is wrong": (
        "block A<N: Dim> where N > gone { fn go() -> i64 { return N } }"
        " block B { sub a: A<3> fn go() -> i64 { return a.go() } }",
        ["E1201"],
    ),
    "an annotation stands even if the value does not fit": (
        "fn f(x: f32) -> f32 { let a: i32 = x return a }",
        ["E2101", "E2101"],
    ),
    "an erroneous generic argument": (
        "fn g<N: Dim>() -> Tensor[N; f32] { return fill<f32>([N], 0.0) }"
        " fn f() -> Tensor[4; f32] { return g<gone>() }",
        ["E1201"],
    ),
    "errors in the arguments of an unknown function": (
        "fn f() -> f32 { return gone(lost, 1.0 + true) }",
        ["E1201", "E1201", "E2104"],
    ),
    "a constant that fails": (
        "const A = gone const B = A + 1 fn f() -> i64 { return A + B }",
        ["E1201"],
    ),
    "a damaged statement": (
        "fn f() -> f32 { let a = = 3 return a + a }",
        ["E1101"],
    ),
    "a broken where list silences the proofs that may need it": (
        "fn f<N: Dim, M: Dim>(x: Tensor[N / M; f32], y: Tensor[M; f32]) -> Tensor[N; f32]"
        " where M > gone { return x + y }",
        ["E1201"],
    ),
    "a parameter with a prelude name": (
        "fn f(f32: i32) -> f64 { return cast<f32>(f32 + 1) }",
        ["E1207"],
    ),
    "a generic of an unknown kind": (
        "fn g<S: Size>(x: Tensor[S; f32]) -> Tensor[S; f32] { return x }"
        " fn f(x: Tensor[4; f32]) -> Tensor[4; f32] { return g<4>(x) }",
        ["E1101"],
    ),
    "a statement the parser gave up on": (
        "fn f(x: Tensor[4; f32]) -> f32 { let y = summ[i] x[i]\n return y }",
        ["E1101"],
    ),
    "kernels are answered once": (
        "kernel k(x: f32) -> y: f32 grid(1) { store(y, 0, x) }"
        " op f(x: f32) -> f32 kernel k { return x }",
        ["E2190"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_one_mistake_one_report(name: str) -> None:
    text, expected = CASES[name]
    assert errors(text) == expected
