"""Operators, literals, conditions, branches, patterns (E21xx)."""

from __future__ import annotations

import pytest

from check.programs import check, errors, only

X = "fn f(x: Tensor[4; f32], y: Tensor[4; f64], i: i32, b: bool, m: Tensor[4; bool], o: f32?)"

STATEMENTS = {
    # literals take the dtype of what they meet
    "let a = x * 2 + 1": [],
    "let a = i + 1.5": ["E2104"],
    "let a = x + 1.5": [],
    "let a: i8 = 127": [],
    "let a: i8 = 128": ["E2105"],
    "let a: i8 = -128": [],
    "let a: u8 = -1": ["E2105"],
    "let a: f16 = 65504.0": [],
    "let a: f16 = 65520.0": ["E2105"],
    "let a: f16 = 70000": [],
    "let a: f32 = 3.4028235e38": [],
    "let a: f32 = 1e39": ["E2105"],
    "let a: i32 = 1.0": ["E2101"],
    "let a: bool = 1": ["E2101"],
    "let a = m == 1": ["E2104"],
    "let a = 3 let c: i64 = a": [],
    "let a = 3.0 let c: f64 = a": [],
    "let a = 3 let c: i32 = a": ["E2101"],
    "let (a, c) = (3, 4.0) let d: i64 = a let e: f64 = c": [],
    "let a = 7 / 2 let c: Tensor[3; f32] = fill<f32>([7 / 2], 0.0)": [],
    "let a = 7 / 0": ["E2205"],
    "let a = 7.0 / 0.0": [],
    "let a: f32 = 1 / 2.0": [],
    "let a = 3 < 4 let c: bool = a": [],
    "let a = 9223372036854775807 + 1": ["E2123"],
    'let a = "text"': ["E2104"],
    # operators
    "let a = x + y": ["E2103"],
    "let a = x + i": ["E2103"],
    "let a = m + m": ["E2104"],
    "let a = -m": ["E2104"],
    "let a = m & m | (m ^ true)": [],
    "let a = x & x": ["E2104"],
    "let a = m < m": ["E2104"],
    "let a = m == m": [],
    "let a = b && i > 2 || !b": [],
    "let a = m && b": ["E2116"],
    "let a = !m": ["E2116"],
    "let a = 1 && b": ["E2116"],
    "let a = o + 1.0": ["E2104"],
    "let a = (x, x) + 1": ["E2104"],
    "let a = none + 1": ["E2104"],
    "let a = [4] + 1": ["E2101"],
    "let a = [4]": ["E2101"],
    # prelude
    "let a = exp(i)": ["E2104"],
    "let a: f32 = exp(1.0)": [],
    "let a = exp(1)": ["E2104"],
    "let a = exp(x, x)": ["E2102"],
    "let a = exp<f32>(x)": ["E2111"],
    "let a = abs(i)": [],
    "let a = abs(m)": ["E2104"],
    "let a = max(x, 0.0)": [],
    "let a = max(x, y)": ["E2103"],
    "let a = select(m, x, 0.0)": [],
    "let a = select(x, x, x)": ["E2114"],
    "let a = select(b, 1.0, 2.0)": ["E2104"],
    "let a = select(b, x, y)": ["E2103"],
    "let a = cast<i32>(x) + i": [],
    "let a = cast(x)": ["E2110"],
    "let a = cast<i32>(o)": ["E2101"],
    "let a = cast<i32, i32>(x)": ["E2111"],
    "let a = shl(i, 2) + shr(i, 1)": [],
    "let a = shl(x, 2)": ["E2104"],
    "let a = fill<f32>([2], 1.0)": [],
    "let a = fill([2], 1.0)": ["E2110"],
    "let a = fill([2], i)": [],
    "let a = fill<f32>([2], i)": ["E2101"],
    "let a = fill<i8>([2], 300)": ["E2105"],
    "let a = iota<bool>(4)": ["E2112"],
    "let a = iota(i)": ["E2123"],
    "let a = cumsum(x, axis = 0)": [],
    "let a = pad(x)": ["E2190"],
    # branches
    "let a = if b { x } else { x * 2 }": [],
    "let a = if b { 1 } else { 2 } let c: i64 = a": [],
    "let a: f32 = if b { 1.0 } else { 2 }": [],
    "let a = x * (if b { 1.0 } else { 2.0 })": [],
    "let a = if b { i } else { 2 }": [],
    "let a = if b { i } else { 2.0 }": ["E2115"],
    "let a = if b { x } else { y }": ["E2115"],
    "let a = if m { x } else { x }": ["E2114"],
    "let a = if i { x } else { x }": ["E2114"],
    "let a = if b { none } else { some(1.0) } let c: f64? = a": [],
    "let a = if b { none } else { none }": ["E2113"],
    # match
    "let a = match o { some(v) => v none => 0.0 }": [],
    "let a = match o { some(v) => v }": ["E2118"],
    "let a = match o { none => 0.0 }": ["E2118"],
    "let a = match o { none => 0.0 rest => 1.0 }": [],
    "let a = match o { _ => 1.0 some(v) => v }": ["E2117"],
    "let a = match o { some(v) => v none => 0.0 none => 1.0 }": ["E2117"],
    "let a = match o { some((p, q)) => p none => 0.0 }": ["E2117"],
    "let a = match o { some(v) => v none => i }": ["E2115"],
    "let a = match some(1) { some(v) => v none => 0 } let c: i64 = a": [],
    "let a = match none { some(v) => v none => 0 }": ["E2113"],
    "let a: f32? = match o { some(v) => some(v * 2.0) rest => rest }": [],
    "let a: f32? = match o { rest => rest }": [],
    # optionals and tuples
    "let a: f32? = 1.0": ["E2101"],
    "let a: f32? = some(1.0)": [],
    "let a: f32? = none": [],
    "let a = none": ["E2113"],
    "let a = (none, 1)": ["E2113"],
    "let (a, c) = (1, 2, 3)": ["E2117"],
    "let (a, c) = x": ["E2117"],
    "let some(a) = o": ["E2117"],
    "let a: (f32, i32) = (1.0, 2)": [],
    # assignment
    "var a = 1.0 a = 2": [],
    "var a = x a = y": ["E2109"],
    "var a = x a = x[0:3]": ["E2109"],
    "var a = i a = 1.5": ["E2109"],
    "let a = x a = x": ["E2108"],
    "x = x": ["E2108"],
    "gone = x": ["E1201"],
    # calls of things
    "let a = x(1)": ["E2106"],
    "let a = x.go()": ["E2107"],
    "let a = x.left": ["E2107"],
    "let a = 1(2)": ["E2106"],
}


@pytest.mark.parametrize("statements", STATEMENTS)
def test_statements(statements: str) -> None:
    found = errors(f"{X} -> f32 {{ {statements} return 1.0 }}")
    assert found == STATEMENTS[statements]


PROGRAMS = {
    "classes of generics": (
        "fn f<T: DType>(x: Tensor[2; T]) -> Tensor[2; T] { return x + x }",
        ["E2104"],
    ),
    "a Float generic": ("fn f<T: Float>(x: Tensor[2; T]) -> Tensor[2; T] { return x * 0.5 }", []),
    "an Integer generic takes no fraction": (
        "fn f<T: Integer>(x: Tensor[2; T]) -> Tensor[2; T] { return x * 0.5 }",
        ["E2104"],
    ),
    "a Numeric generic takes no fraction": (
        "fn f<T: Numeric>(x: Tensor[2; T]) -> Tensor[2; T] { return x * 0.5 }",
        ["E2104"],
    ),
    "a DType generic might be bool": (
        "fn f<T: DType>(x: Tensor[2; T]) -> Tensor[2; bool] { return x == 1 }",
        ["E2104"],
    ),
    "dims are values": (
        "fn f<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] { return x * N + cast<f32>(N / 2) }",
        [],
    ),
    "symbolic let": (
        "fn f<N: Dim>(x: Tensor[N; f32]) -> Tensor[N / 2; f32] { let half = N / 2 return x[0:half]"
        " }",
        [],
    ),
    "a number in a let is no dimension": (
        "fn f(x: Tensor[8; f32]) -> Tensor[4; f32] { let four = 4 return x[0:four] }",
        ["E2209"],
    ),
    "symbolic float": ("fn f<N: Dim>() -> f32 { return 1.0 / N }", []),
    "division by a size that may be zero": (
        "fn f<N: Dim, M: Dim>() -> i64 { return N / M }",
        ["E2205"],
    ),
    "untyped constants": (
        "const N = 4 const E = 1e-6 fn f<T: Float>(x: Tensor[N; T]) -> Tensor[4; T] { return x + E"
        " * N }",
        [],
    ),
    "typed constants": (
        "const N: i64 = 4 const E: f32 = 1e-6 fn f(x: Tensor[4; f16]) -> Tensor[4; f16] { return x"
        " + E }",
        ["E2103"],
    ),
    "a typed constant is no dimension": (
        "const N: i64 = 4 fn f(x: Tensor[N; f32]) -> f32 { return 1.0 }",
        ["E2123"],
    ),
    "constants in a circle": ("const A = B const B = A + 1 fn f() -> i64 { return A }", ["E2122"]),
    "a constant of a tuple": (
        "const P = (1, 2.5) fn f() -> f64 { let (a, b) = P return b + cast<f64>(a) }",
        [],
    ),
    "bit operations of constants": (
        "const A = (1 & 3) | shl(1, 4) fn f() -> Tensor[A; f32] { return fill<f32>([17], 0.0) }",
        [],
    ),
    "bit operations of sizes": ("fn f<N: Dim>() -> i64 { return N & 1 }", ["E2123"]),
    "enums": (
        "enum Kind { Soft, Hard, } const K = Kind.Soft"
        " fn f(x: f32) -> f32 { return match K { Soft => x Hard => 0.0 } }"
        " fn g(k: Kind) -> bool { return k == Kind.Hard }",
        [],
    ),
    "enum without a case": (
        "enum K { A, B, } fn f(k: K) -> f32 { return match k { A => 1.0 } }",
        ["E2118"],
    ),
    "enum variant unknown": ("enum K { A, B, } fn f() -> bool { return K.C == K.A }", ["E2107"]),
    "some on an enum": (
        "enum K { A, } fn f(k: K) -> f32 { return match k { A => 1.0 some(v) => 2.0 } }",
        ["E2117"],
    ),
    "a misspelt variant": (
        "enum K { Soft, Hard, } fn f(k: K) -> f32 { return match k { Soft => 1.0 Herd => 2.0 } }",
        ["W1901"],
    ),
    "aliases": (
        "type Wide<B: Dim, T: Float = f32> = Tensor[B, 64; T]"
        " fn f<B: Dim>(x: Wide<B>) -> Tensor[B, 64; f32] { return x }",
        [],
    ),
    "aliases in a circle": (
        "type A = B type B = (A, f32) fn f(x: f32) -> f32 { return x }",
        ["E2122"],
    ),
    "what an alias demands is proven where it is used": (
        "type Part<N: Dim, P: Dim> = Tensor[N / P; f32]"
        " fn f<N: Dim, P: Dim>(x: Part<N, P>) -> f32 where P > 0 { return 1.0 }"
        " fn g<N: Dim, P: Dim>(x: Part<N, P>) -> f32 { return 1.0 }",
        ["E2205"],
    ),
    "too many type arguments": (
        "type A<N: Dim> = Tensor[N; f32] fn f(x: A<1, 2>) -> f32 { return 1.0 }",
        ["E2111"],
    ),
    "too few": ("type A<N: Dim> = Tensor[N; f32] fn f(x: A) -> f32 { return 1.0 }", ["E2111"]),
    "wrong sort": (
        "type A<N: Dim> = Tensor[N; f32] fn f(x: A<f32>) -> f32 { return 1.0 }",
        ["E2111"],
    ),
    "outside the class": (
        "type A<T: Float> = Tensor[1; T] fn f(x: A<i32>) -> f32 { return 1.0 }",
        ["E2112"],
    ),
    "a default outside the class": ("fn f<T: Float = i32>(x: f32) -> f32 { return x }", ["E2112"]),
    "a star without Shape": ("fn f<*N: Dim>(x: f32) -> f32 { return x }", ["E2111"]),
    "Shape without a star": ("fn f<S: Shape>(x: f32) -> f32 { return x }", ["E2111"]),
    "a block as parameter": ("block A { } fn f(a: A) -> f32 { return 1.0 }", ["E2101"]),
    "an optional entry parameter": (
        "block B { entry e(x: f32?) -> f32 { return 1.0 } }",
        ["E2190"],
    ),
    "bool constants in branches": ("fn f(x: f32) -> f32 { return if true { x } else { 0 } }", []),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    text, expected = PROGRAMS[name]
    assert errors(text) == expected


def test_float_literals_fold_in_f64_and_round_once() -> None:
    program = check("fn f() -> f32 { return 0.1 + 0.2 }").program
    assert program is not None
    statement = program.functions["t"]["f"].body[0]
    assert statement.value.value == 0.1 + 0.2  # type: ignore[attr-defined]


def test_a_cast_is_offered_for_dtypes() -> None:
    found = only("fn f(x: Tensor[4; f16], s: f32) -> Tensor[4; f16] { return x * s }")
    assert found.code == "E2103"
    assert found.help == ("convert one side: `cast<f16>(…)` or `cast<f32>(…)`",)


def test_missing_cases_are_spelled() -> None:
    found = only("fn f(x: f32?) -> f32 { return match x { some(v) => v } }")
    assert found.help == ("add `none => …`",)
