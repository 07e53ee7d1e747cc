"""Every production of expressions: the tree it gives, and that its span is exact."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from linnet.syntax import tree

Shown = Callable[[str], str]

A, B, C = "(Name a)", "(Name b)", "(Name c)"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("42", "(Int 42)"),
        ("1_000", "(Int 1000)"),
        ("0xF", "(Int 15)"),
        ("0b1_01", "(Int 5)"),
        ("9223372036854775807", "(Int 9223372036854775807)"),
        ("1.5e-3", "(Float 0.0015)"),
        ("2e3", "(Float 2000.0)"),
        ("true", "(Bool True)"),
        ("none", "(NoneLiteral)"),
        (r'"a\n\u{1F600}\0"', "(String a\n\U0001f600\0)"),
        ("some(a)", f"(Some {A})"),
        ("(a)", A),
        ("((a))", A),
        ("(a,)", f"(Tuple [{A}])"),
        ("(a, b,)", f"(Tuple [{A} {B}])"),
        ("[]", "(ShapeLiteral [])"),
        ("[a, 2,]", f"(ShapeLiteral [{A} (Int 2)])"),
        ("-a", f"(Unary - {A})"),
        ("-(-a)", f"(Unary - (Unary - {A}))"),
        ("!a", f"(Unary ! {A})"),
        ("-a.b", f"(Unary - (Attribute {A} b))"),
        ("a - b - c", f"(Binary - (Binary - {A} {B}) {C})"),
        ("a - (b - c)", f"(Binary - {A} (Binary - {B} {C}))"),
        ("(a - b) - c", f"(Binary - (Binary - {A} {B}) {C})"),
        ("if a { b } else { c }", f"(If {A} {B} {C})"),
        ("if a { b } else { if b { c } else { a } }", f"(If {A} {B} (If {B} {C} {A}))"),
    ],
)
def test_values(expression: Shown, text: str, shown: str) -> None:
    assert expression(text) == shown


LEVELS = [["||"], ["&&"], ["==", "!="], ["<", "<=", ">", ">="], ["|"], ["^"], ["&"],
          ["+", "-"], ["*", "/", "%"]]  # fmt: skip


@pytest.mark.parametrize("level", range(len(LEVELS)))
def test_operators_bind_by_level_and_to_the_left(expression: Shown, level: int) -> None:
    for op in LEVELS[level]:
        assert expression(f"a {op} b {op} c") == f"(Binary {op} (Binary {op} {A} {B}) {C})"
        for tighter in LEVELS[level + 1] if level + 1 < len(LEVELS) else []:
            right = f"(Binary {op} {A} (Binary {tighter} {B} {C}))"
            assert expression(f"a {op} b {tighter} c") == right
            left = f"(Binary {op} (Binary {tighter} {A} {B}) {C})"
            assert expression(f"a {tighter} b {op} c") == left


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a()", f"(Call {A} - [])"),
        ("a(b, c = a,)", f"(Call {A} - [(Argument - {B}) (Argument (Ident c) {A})])"),
        ("a<b>(c)", f"(Call {A} [{B}] [(Argument - {C})])"),
        ("a<b + 1,\n  [c], []>(c)",
         f"(Call {A} [(Binary + {B} (Int 1)) (ShapeLiteral [{C}]) (ShapeLiteral [])]"
         f" [(Argument - {C})])"),
        ("a.b<f32>(c).b",
         f"(Attribute (Call (Attribute {A} b) [(Name f32)] [(Argument - {C})]) b)"),
        ("a<b<c>(1)>(2)",
         f"(Call {A} [(Call {B} [{C}] [(Argument - (Int 1))])] [(Argument - (Int 2))])"),
        ("a<(b > c)>(b)", f"(Call {A} [(Binary > {B} {C})] [(Argument - {B})])"),
        ("a<b.c<f32>>(c)",
         f"(Call {A} [(NamedType [(Ident b) (Ident c)] [(Name f32)])] [(Argument - {C})])"),
        ("a<Tensor[b, *s; f32]>(c)",
         f"(Call {A} [(TensorType [{B} (Pack s)] (NamedType [(Ident f32)] -))]"
         f" [(Argument - {C})])"),
        # comparisons, not generic arguments
        ("a < b && b > (c)", f"(Binary && (Binary < {A} {B}) (Binary > {B} {C}))"),
        ("a < b", f"(Binary < {A} {B})"),
        ("a < (b > (c))", f"(Binary < {A} (Binary > {B} {C}))"),
        # the classic ambiguity is a call, because `>` is followed by `(`
        ("(a < b, c > (a))", f"(Call {A} [{B} {C}] [(Argument - {A})])"),
    ],
)  # fmt: skip
def test_calls(expression: Shown, text: str, shown: str) -> None:
    assert expression(text) == shown


@pytest.mark.parametrize(
    ("component", "shown"),
    [
        ("b", B),
        ("b + 1", f"(Binary + {B} (Int 1))"),
        ("...", "(Dots)"),
        ("*b", "(Pack b)"),
        (":", "(Slice - - -)"),
        ("b:", f"(Slice {B} - -)"),
        (":b", f"(Slice - {B} -)"),
        ("b:c", f"(Slice {B} {C} -)"),
        ("b:c:2", f"(Slice {B} {C} (Int 2))"),
        ("::2", "(Slice - - (Int 2))"),
        (": :2", "(Slice - - (Int 2))"),
        ("1::2", "(Slice (Int 1) - (Int 2))"),
        ("1: :2", "(Slice (Int 1) - (Int 2))"),
        ("::", "(Slice - - -)"),
    ],
)
def test_index_components(expression: Shown, component: str, shown: str) -> None:
    assert expression(f"a[{component}]") == f"(Index {A} [{shown}])"
    assert expression(f"a[0, {component},]") == f"(Index {A} [(Int 0) {shown}])"


@pytest.mark.parametrize("kind", ["sum", "prod", "max", "min", "any", "all"])
def test_reductions(expression: Shown, kind: str) -> None:
    assert expression(f"{kind}[b] a[b]") == (f"(Reduction {kind} - [(Ident b)] (Index {A} [{B}]))")
    assert expression(f"{kind}<f32>[b, c] a") == (
        f"(Reduction {kind} (Ident f32) [(Ident b) (Ident c)] {A})"
    )
    # The word alone is an ordinary name, also with generic arguments or behind a dot.
    assert expression(f"{kind}(a)") == f"(Call (Name {kind}) - [(Argument - {A})])"
    assert expression(f"{kind}<f32>(a)").startswith(f"(Call (Name {kind}) [(Name f32)]")
    assert expression(f"a.{kind}[0]") == f"(Index (Attribute {A} {kind}) [(Int 0)])"


def test_a_reduction_swallows_what_is_to_its_right(expression: Shown) -> None:
    body = f"(Binary - (Binary * {A} {B}) {C})"
    assert expression("c + sum[k] a * b - c") == (
        f"(Binary + {C} (Reduction sum - [(Ident k)] {body}))"
    )
    assert expression("(sum[k] a) * b") == f"(Binary * (Reduction sum - [(Ident k)] {A}) {B})"
    assert expression("sum[k] if a { b } else { c }") == (
        f"(Reduction sum - [(Ident k)] (If {A} {B} {C}))"
    )


def test_match_arms_need_no_separators(expression: Shown) -> None:
    text = "match a { some((b, _)) => b * 2 none => match b { Soft => 1 _ => 2 } }"
    inner = f"(Match {B} [(Arm (NamePattern Soft) (Int 1)) (Arm (NamePattern _) (Int 2))])"
    assert expression(text) == (
        f"(Match {A} [(Arm (SomePattern (TuplePattern [(NamePattern b) (NamePattern _)]))"
        f" (Binary * {B} (Int 2))) (Arm (NonePattern) {inner})])"
    )


def test_a_range_does_not_swallow_its_dots(statement: Shown) -> None:
    assert statement("static for i in 0..N { }") == (
        "(StaticFor (NamePattern i) (Int 0) (Name N) (Body [] False))"
    )


def test_parentheses_belong_to_the_span(good: Callable[[str], tree.Module]) -> None:
    (item,) = good("const it = (a + b) * c\n").items
    assert isinstance(item, tree.Const)
    assert isinstance(item.value, tree.Binary)
    assert item.value.left.span.text == "(a + b)"
    assert item.value.op_span.text == "*"


def test_a_long_chain_is_walked_without_recursion(good: Callable[[str], tree.Module]) -> None:
    length = 20_000
    (item,) = good("const it = " + " + ".join(str(n) for n in range(length)) + "\n").items
    assert isinstance(item, tree.Const)
    assert isinstance(item.value, tree.Binary)
    first, rest = tree.chain(item.value)
    values = [first, *(node.right for node in rest)]
    assert [v.value for v in values if isinstance(v, tree.Int)] == list(range(length))
    assert rest[-1] is item.value
    assert sum(isinstance(node, tree.Int) for node in tree.walk(item)) == length
