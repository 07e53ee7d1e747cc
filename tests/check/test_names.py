"""Names, scopes, imports, visibility, sorts (E12xx)."""

from __future__ import annotations

import pytest

from check.programs import errors, only

CASES = {
    "items in any order": (
        "fn f() -> i64 { return g() } fn g() -> i64 { return N } const N = 3",
        [],
    ),
    "locals are not": ("fn f(x: f32) -> f32 { let a = b let b = x return a }", ["E1201"]),
    "shadowing": ("fn f(x: f32) -> f32 { let x = x + 1.0 let x = x * 2.0 return x }", []),
    "two items": ("fn f() -> i64 { return 1 } const f = 2", ["E1204"]),
    "item and import": (
        "use std.nn.activations::{gelu} fn gelu(x: f32) -> f32 { return x }",
        ["E1204"],
    ),
    "import renamed": (
        "use std.nn.activations::{gelu as g} fn gelu(x: Tensor[4; f32]) -> Tensor[4; f32] { return"
        " g(x) }",
        [],
    ),
    "the same import twice": (
        "use std.nn.activations::{gelu} use std.nn.activations::gelu"
        " fn f(x: Tensor[4; f32]) -> Tensor[4; f32] { return gelu(x) }",
        [],
    ),
    "two imports of one name": (
        "use std.nn.activations::{gelu, relu as gelu} fn f(x: f32) -> f32 { return x }",
        ["E1204"],
    ),
    "module import": (
        "use std.nn.activations fn f(x: Tensor[4; f32]) -> Tensor[4; f32] { return"
        " activations.gelu(x) }",
        [],
    ),
    "unknown item of a module": (
        "use std.nn.activations fn f(x: Tensor[4; f32]) -> Tensor[4; f32] { return"
        " activations.gone(x) }",
        ["E1201"],
    ),
    "unknown item imported": (
        "use std.nn.activations::{gone} fn f(x: f32) -> f32 { return gone(x) }",
        ["E1201"],
    ),
    "unknown module": ("use std.nn.gone::{x} fn f() -> f32 { return 1.0 }", ["E1202"]),
    "parameters twice": ("fn f(a: f32, a: f32) -> f32 { return a }", ["E1205"]),
    "generics twice": ("fn f<N: Dim, N: Dim>() -> i64 { return 1 }", ["E1205"]),
    "members twice": ("block B { param w: Tensor[1; f32] state w: Tensor[1; f32] }", ["E1205"]),
    "member and method": (
        "block B { param w: Tensor[1; f32] fn w() -> f32 { return 1.0 } }",
        ["E1205"],
    ),
    "variants twice": ("enum E { A, B, A, }", ["E1205"]),
    "prelude names": (
        "const exp = 1 fn f<T: Dim, Dim: Dim>(abs: f32) -> f32 { let min = 2.0 return 1.0 }",
        ["E1207", "E1207", "E1207", "E1207"],
    ),
    "prelude name of a member": ("block B { param fill: Tensor[1; f32] }", ["E1207"]),
    "reduction words are free": ("fn sum(any: f32) -> f32 { let prod = any return prod }", []),
    "member before module item": (
        "fn gate() -> f32 { return 1.0 } block B { param gate: Tensor[1; f32]"
        " fn go() -> Tensor[1; f32] { return gate } }",
        [],
    ),
    "function as a value": ("fn g() -> f32 { return 1.0 } fn f() -> f32 { return g }", ["E1208"]),
    "block as a value": ("block B { } fn f() -> f32 { return B }", ["E1208"]),
    "child as a value": (
        "block A { } block B { sub a: A fn go() -> f32 { let x = a return 1.0 } }",
        ["E1208"],
    ),
    "constant as a type": ("const N = 3 fn f(x: N) -> f32 { return 1.0 }", ["E1208"]),
    "pack as a value": (
        "fn f<*S: Shape>(x: Tensor[*S; f32]) -> f32 { let y = S return 1.0 }",
        ["E1208"],
    ),
    "dtype as a value": ("fn f<T: Float>(x: T) -> T { return x + T }", ["E1208"]),
    "no dtype for a tensor": ("fn f<N: Dim>(x: Tensor[4; N]) -> f32 { return 1.0 }", ["E1208"]),
    "cast to no dtype": ("fn f<N: Dim>(x: f32) -> f32 { return cast<N>(x) }", ["E1208"]),
    "method without call": (
        "block A { pub fn go() -> f32 { return 1.0 } }"
        " block B { sub a: A fn go() -> f32 { return a.go } }",
        ["E1208"],
    ),
    "parameters are not in their signature": (
        "fn f(n: i32, x: Tensor[n; f32]) -> f32 { return 1.0 }",
        ["E1201"],
    ),
    "scopes of loops end": (
        "block A { } block B { sub a: [A; 2] fn go() -> f32 {"
        " static for x in a { let y = 1.0 } return y } }",
        ["E1201"],
    ),
    "arms have scopes": (
        "fn f(x: f32?) -> f32 { let a = match x { some(v) => v none => 0.0 } return a + v }",
        ["E1201"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_names(name: str) -> None:
    text, expected = CASES[name]
    assert errors(text) == expected


def test_a_misspelt_name_gets_its_neighbour() -> None:
    found = only("fn f(width: f32) -> f32 { return widht }")
    assert found.help == ("did you mean `width`?",)


def test_a_library_name_gets_its_use_line() -> None:
    found = only("fn f(x: Tensor[4; f32]) -> Tensor[4; f32] { return softmax(x) }")
    assert found.help == ("import it: `use std.nn.softmax::{softmax}`",)


def test_a_duplicate_points_at_the_first() -> None:
    found = only("fn f() -> i64 { return 1 }\nfn f() -> i64 { return 2 }")
    assert found.primary is not None
    assert found.primary.span.line == 3
    assert found.related[0].span.line == 2
