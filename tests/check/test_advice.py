"""What to do instead: the help of reports on habits from other languages."""

from __future__ import annotations

import pytest

from check.programs import only

ADVICE = {
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


@pytest.mark.parametrize("name", ADVICE)
def test_advice(name: str) -> None:
    text, help = ADVICE[name]
    assert only(text).help == (help,)


def test_nothing_far_fetched_is_suggested_for_a_module() -> None:
    assert only("use std.math").help == ()


def test_a_member_is_never_assigned_from_outside() -> None:
    text = "block K { param w: Tensor[2; f32] } block B { sub kid: K fn go() { kid.w = kid.w } }"
    assert only(text).code == "E2108"
