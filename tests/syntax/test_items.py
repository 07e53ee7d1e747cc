"""Every production of files, items, heads, types and statements."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from linnet.diag import Problems
from linnet.syntax import tree

Good = Callable[[str], tree.Module]
Show = Callable[[object], str]
Shown = Callable[[str], str]

F32 = "(NamedType [(Ident f32)] -)"
EMPTY = "(Body [] False)"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("use std.random", "(Use [(Ident std) (Ident random)] -)"),
        ("use dep", "(Use [(Ident dep)] -)"),
        ("use crate::a", "(Use [(Ident crate)] [(Pick a -)])"),
        ("use a.b::{c as d, e,}", "(Use [(Ident a) (Ident b)] [(Pick c (Ident d)) (Pick e -)])"),
    ],
)
def test_imports(good: Good, show: Show, text: str, shown: str) -> None:
    (use,) = good(text).uses
    assert show(use) == shown
    assert use.span.text == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("const N = 4", "(Const N False - (Int 4))"),
        ("pub const E: f32 = 1.5", f"(Const E True {F32} (Float 1.5))"),
        ("type W<B: Dim> = Tensor[B; f32]",
         f"(Alias W False [(Generic B Dim False -)] (TensorType [(Name B)] {F32}))"),
        ("struct P<A: DType> { left: A right: A }",
         "(Struct P False [(Generic A DType False -)] [(Field left (NamedType [(Ident A)] -))"
         " (Field right (NamedType [(Ident A)] -))])"),
        ("struct Q { }", "(Struct Q False [] [])"),
        ("pub enum K { Soft, Hard, }", "(Enum K True [] [(Ident Soft) (Ident Hard)])"),
        ("enum K { }", "(Enum K False [] [])"),
        ("fn f() { }", f"(Function f False fn [] [] - [] {EMPTY} - -)"),
        ("pub entry e(x: f32 = 1.0,) -> f32 where N > 0, { }",
         f"(Function e True entry [] [(Parameter x {F32} (Float 1.0))] {F32}"
         f" [(Binary > (Name N) (Int 0))] {EMPTY} - -)"),
        ("op o<*S: Shape, T: Float = f32>(x: Tensor[*S; T]) -> T { }",
         "(Function o False op [(Generic S Shape True -) (Generic T Float False (Name f32))]"
         " [(Parameter x (TensorType [(Pack S)] (NamedType [(Ident T)] -)) -)]"
         f" (NamedType [(Ident T)] -) [] {EMPTY} - -)"),
        ("op o() -> f32 kernel k<N> { } grad(y, dy) { }",
         f"(Function o False op [] [] {F32} [] {EMPTY} (KernelRef k [(Name N)])"
         f" (Grad (Ident y) (Ident dy) {EMPTY}))"),
        ("kernel k() -> out: f32 grid(N / 128, 1) warps(4) stages(2) where N > 0 { st(out, 1) }",
         f"(Kernel k False [] [] [(Field out {F32})] [(Binary / (Name N) (Int 128)) (Int 1)]"
         " [(KernelHint warps (Int 4)) (KernelHint stages (Int 2))]"
         " [(Binary > (Name N) (Int 0))] (Body [(CallStatement (Call (Name st) -"
         " [(Argument - (Name out)) (Argument - (Int 1))]))] False))"),
        ("kernel k() -> (a: f32, b: f32,) grid(1)",
         f"(Kernel k False [] [] [(Field a {F32}) (Field b {F32})] [(Int 1)] [] [] -)"),
        ("block B<H: Dim> where H > 0 {\n"
         "  param w: Tensor[H; f32]? = none\n  buffer m: f32\n  state s: f32\n"
         "  sub c: [C<H>; 2]\n  sub d: D? = none\n  const N = 1\n  block I { }\n"
         "  pub fn f() { }\n}",
         "(Block B False [(Generic H Dim False -)] [(Binary > (Name H) (Int 0))] ["
         f"(Member w False param (OptionalType (TensorType [(Name H)] {F32})) (NoneLiteral)) "
         f"(Member m False buffer {F32} -) (Member s False state {F32} -) "
         "(Member c False sub (ArrayType (NamedType [(Ident C)] [(Name H)]) (Int 2)) -) "
         "(Member d False sub (OptionalType (NamedType [(Ident D)] -)) (NoneLiteral)) "
         f"(Const N False - (Int 1)) (Block I False [] [] []) "
         f"(Function f True fn [] [] - [] {EMPTY} - -)])"),
    ],
)  # fmt: skip
def test_items(good: Good, show: Show, text: str, shown: str) -> None:
    (item,) = good(text).items
    assert show(item) == shown
    assert item.span.text == text
    assert item.name_span.text == item.name


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a.b", "(NamedType [(Ident a) (Ident b)] -)"),
        ("A<B<C>>", "(NamedType [(Ident A)] [(NamedType [(Ident B)] [(Name C)])])"),
        ("A<2 * N, f32, [B, 2]>?",
         "(OptionalType (NamedType [(Ident A)] [(Binary * (Int 2) (Name N)) (Name f32)"
         " (ShapeLiteral [(Name B) (Int 2)])]))"),
        ("Tensor[N + 1, *S,; a.T<3>]",
         "(TensorType [(Binary + (Name N) (Int 1)) (Pack S)]"
         " (NamedType [(Ident a) (Ident T)] [(Int 3)]))"),
        ("(f32,)", f"(TupleType [{F32}])"),
        ("(f32, (f32, f32?),)", f"(TupleType [{F32} (TupleType [{F32} (OptionalType {F32})])])"),
        ("[f32; N / 2]", f"(ArrayType {F32} (Binary / (Name N) (Int 2)))"),
    ],
)  # fmt: skip
def test_types(good: Good, show: Show, text: str, shown: str) -> None:
    (item,) = good(f"const it: {text} = x").items
    assert isinstance(item, tree.Const)
    assert item.type is not None
    assert show(item.type) == shown
    assert item.type.span.text == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("let a = 1", "(Let (NamePattern a) - (Int 1))"),
        ("let _: f32 = a", f"(Let (NamePattern _) {F32} (Name a))"),
        ("let (a, (b, _),) = c",
         "(Let (TuplePattern [(NamePattern a) (TuplePattern [(NamePattern b) (NamePattern _)])])"
         " - (Name c))"),
        ("let some(a) = b", "(Let (SomePattern (NamePattern a)) - (Name b))"),
        ("let none = b", "(Let (NonePattern) - (Name b))"),
        ("let y[i, *s] = 1", "(IndexLet y [(Ident i) (Pack s)] (Int 1))"),
        ("let sum[i] = 1", "(IndexLet sum [(Ident i)] (Int 1))"),
        ("var v: f32 = a", f"(Var v {F32} (Name a))"),
        ("v = a", "(Assign v (Name a))"),
        ("grid = a", "(Assign grid (Name a))"),
        ("return", "(Return -)"),
        ("return a", "(Return (Name a))"),
        ("static for (i, l) in a.b { v = l }",
         "(StaticFor (TuplePattern [(NamePattern i) (NamePattern l)]) (Attribute (Name a) b) -"
         " (Body [(Assign v (Name l))] False))"),
        ("while a < b { return }",
         "(While (Binary < (Name a) (Name b)) (Body [(Return -)] False))"),
        ("for i in 0..N { yield i }",
         "(ForStatement (For (Ident i) (Int 0) (Name N) (Body [(Yield (Name i))] False)))"),
        ("let w = for i in a..b { yield i }",
         "(Let (NamePattern w) - (For (Ident i) (Name a) (Name b)"
         " (Body [(Yield (Name i))] False)))"),
    ],
)  # fmt: skip
def test_statements(statement: Shown, text: str, shown: str) -> None:
    assert statement(text) == shown


def test_statements_need_no_separators(good: Good) -> None:
    (item,) = good("fn f() { let a = g b = a return b }").items
    assert isinstance(item, tree.Function)
    assert [type(s).__name__ for s in item.body.statements] == ["Let", "Assign", "Return"]


def test_words_with_a_meaning_in_one_place_are_names_elsewhere(good: Good) -> None:
    good("fn grad(axis: i32, grid: i32, warps: i32, stages: i32, std: i32, load: i32) -> i32 {\n"
         "    let store = grid + grad(axis, grid, warps, stages, std, load)\n"
         "    let random = max(sum, prod) + min\n    return random.any\n}")  # fmt: skip


def test_documentation_is_attached_to_what_follows(good: Good) -> None:
    module = good(
        "/// Of the constant,\n///   indented.\npub const A = 1 // plain\n"
        "/** Of the block.\n * Second line.\n */\nblock B {\n"
        "    /// Of the member.\n    param w: f32\n    /// Of the method.\n    pub fn f() { }\n}\n"
        "//// a ruler\n/*** another ***/\n/**/\nconst C = 2\n"
    )
    a, b, c = module.items
    assert a.doc == "Of the constant,\n  indented."
    assert b.doc == "Of the block.\nSecond line."
    assert isinstance(b, tree.Block)
    assert [m.doc for m in b.members] == ["Of the member.", "Of the method."]
    assert c.doc == ""
    assert [comment.doc for comment in module.comments] == [
        True, True, False, True, True, True, False, False, False,
    ]  # fmt: skip


def test_the_module_line_and_its_documentation(
    read: Callable[[str], tuple[tree.Module, Problems]],
) -> None:
    module, problems = read("\ufeff// licence\r\n/// About.\r\nmodule a.b\r\nconst C = 1\r\n")
    assert problems.codes() == ()
    assert (module.name, module.doc) == ("a.b", "About.")
    assert [part.span.text for part in module.path] == ["a", "b"]
    assert module.items[0].span.line == 4


def test_nothing_of_the_text_is_lost(good: Good) -> None:
    """Tokens, comments and white space together give the text back."""
    module = good("/* a /* b */ */ pub fn f(x: f32) -> f32 { // c\n    return x + 1.0e3 // d\n}\n")
    pieces = sorted(
        [(t.start, t.end, t.text) for t in module.tokens]
        + [(c.span.start, c.span.end, c.text) for c in module.comments]
    )
    at = 0
    for start, end, text in pieces:
        assert module.source.text[at:start].strip() == ""
        assert module.source.text[start:end] == text
        at = end
    assert module.source.text[at:].strip() == ""
