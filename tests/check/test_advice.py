"""What to do instead: the help of reports on habits from other languages."""

from __future__ import annotations

import pytest

from check.programs import only

ADVICE = {
    "pack in a type": (
        "fn f<*S: Shape>(x: Tensor[S, 2; f32]) -> f32 { return 0.0 }",
        "write `*S` for all of its axes",
    ),
    "pack among sizes": (
        "fn f<*S: Shape>(x: Tensor[*S, 4; f32]) -> Tensor[*S, 2, 2; f32] "
        "{ return reshape(x, [S, 2, 2]) }",
        "`*S` stands in types alone; index notation keeps its axes: `let y[*s, i] = …`",
    ),
    "pack among generics": (
        "fn g<*S: Shape, N: Dim>(x: Tensor[*S; f32]) -> Tensor[*S, N; f32] { return g(x) }",
        "write it at the call: `g<S, N>(…)`, with a value for `N`",
    ),
    "sum": (
        "fn f<N: Dim>(x: Tensor[N; f32]) -> f32 { return sum(x) }",
        "a reduction names the indices it runs over: `sum[i] x[i]`",
    ),
    "mean": (
        "fn f<N: Dim>(x: Tensor[N; f32]) -> f32 { return mean(x) }",
        "divide a reduction by the size: `(sum[i] x[i]) / cast<f32>(N)`",
    ),
    "max of one": (
        "fn f<N: Dim>(y: Tensor[N; f32]) -> f32 { return max(y) }",
        "a reduction names the indices it runs over: `max[i] y[i]`",
    ),
    "method": (
        "fn f<N: Dim>(x: Tensor[N; f32]) -> f32 { return x.sum() }",
        "a reduction names the indices it runs over: `sum[i] x[i]`",
    ),
    "chain": (
        "fn f(x: f32) -> bool { return 0.0 < x < 1.0 }",
        "comparisons do not chain: `(0.0 < x) && (x < 1.0)`",
    ),
    "chain of variables": (
        "fn f(x: f32, y: f32) -> bool { return x < y <= x }",
        "comparisons do not chain: `(x < y) && (y <= x)`",
    ),
    "undeclared size": (
        "fn f(x: Tensor[N; f32]) { }",
        "declare it as a size: `<N: Dim>`",
    ),
    "misspelt module": ("use std.nn.linaer::linear", "did you mean `std.nn.linear`?"),
    "module elsewhere": ("use std.linear", "did you mean `std.nn.linear`?"),
    "state of another block": (
        "block K { state s: Tensor[2; f32] fn get() -> Tensor[2; f32] { return s } }"
        " block B { sub kid: K fn go(x: Tensor[2; f32]) { kid.s = x } }",
        "only the functions of that block assign its states; call one that does",
    ),
}


TURNED = "with {} the other way round it would fit: declare it `Tensor[{}; f32]`, or `permute` it"
LINEAR = (
    "fn linear<*S: Shape, I: Dim, O: Dim>(x: Tensor[*S, I; f32], w: Tensor[O, I; f32],"
    " b: Tensor[O; f32]) -> Tensor[*S, O; f32] {"
    " let y[*s, o] = (sum[i] x[*s, i] * w[o, i]) + b[o] return y }\n"
)
ADVICE |= {
    "a weight with its axes turned": (
        LINEAR + "fn f<B: Dim, I: Dim, O: Dim>(x: Tensor[B, I; f32], w: Tensor[I, O; f32],"
        " b: Tensor[O; f32]) -> Tensor[B, O; f32] { return linear(x, w, b) }",
        TURNED.format("its axes", "O, I"),
    ),
    "the same in numbers": (
        LINEAR + "fn f(x: Tensor[5, 3; f32], w: Tensor[3, 2; f32],"
        " b: Tensor[2; f32]) -> Tensor[5, 2; f32] { return linear(x, w, b) }",
        TURNED.format("its axes", "2, 3"),
    ),
    "keys with their axes turned": (
        "fn scores<B: Dim, Q: Dim, K: Dim, D: Dim>(q: Tensor[B, Q, D; f32],"
        " k: Tensor[B, K, D; f32]) -> Tensor[B, Q, K; f32] {"
        " let s[b, i, j] = sum[d] q[b, i, d] * k[b, j, d] return s }\n"
        "fn f(q: Tensor[2, 3, 4; f32], k: Tensor[2, 4, 5; f32]) -> Tensor[2, 3, 5; f32] {"
        " return scores(q, k) }",
        TURNED.format("its last two axes", "2, 5, 4"),
    ),
    "turned, it would not fit the bias": (
        LINEAR + "fn f<B: Dim, I: Dim, O: Dim>(x: Tensor[B, I; f32], w: Tensor[I, O; f32],"
        " b: Tensor[B; f32]) -> Tensor[B, O; f32] { return linear(x, w, b) }",
        "add `O == I` to the where list of `f`",
    ),
    "a child called like a module of PyTorch": (
        "block K { fn prepare(x: f32) -> f32 { return x } fn forward(x: f32) -> f32 { return x } }"
        " block B { sub kid: K fn go(x: f32) -> f32 { return kid(x) } }",
        "call a function of it: `kid.forward(…)`",
    ),
}


@pytest.mark.parametrize("name", ADVICE)
def test_advice(name: str) -> None:
    text, help = ADVICE[name]
    assert only(text).help == (help,)


def test_nothing_far_fetched_is_suggested_for_a_module() -> None:
    assert only("use std.math").help == ()


def test_a_member_is_never_assigned_from_outside() -> None:
    text = "block K { param w: Tensor[2; f32] } block B { sub kid: K fn go() { kid.w = kid.w } }"
    assert only(text).code == "E2108"
