"""Damaged programs: one report for one mistake, the rest still read, and never an exception."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from linnet.diag import Problems, Source
from linnet.diag.render import render_all
from linnet.resources import folder
from linnet.syntax import tree
from linnet.syntax.parse import MAX_NESTING, MAX_REPORTS, parse

Codes = Callable[[str], list[str]]
Read = Callable[[str], tuple[tree.Module, Problems]]

PROGRAM = """\
module pond
use std.nn.linear::{linear}
const N = 4
pub block Pond<H: Dim>
where
    H > 0
{
    param w: Tensor[H, H; f32]
    fn turn<*L: Shape>(x: Tensor[*L, H; f32]) -> Tensor[*L, H; f32] {
        let (a, b) = split(x)
        let y[i] = match a { some(s) => sum[k] w[i, k] * s[k] none => 0.0 }
        static for l in layers {
            let z = l.forward<3>(a)
        }
        return linear(y, w)
    }
    state s: Tensor[H; f32]
}
fn last(x: f32) -> f32 {
    return if x > 0.0 { x } else { 0.0 }
}
"""


def names(module: tree.Module) -> list[str]:
    return [item.name for item in module.items]


def function(module: tree.Module, name: str) -> tree.Function:
    (found,) = (n for n in tree.walk(module) if isinstance(n, tree.Function) and n.name == name)
    return found


def test_the_program_of_these_tests_is_sound(codes: Codes) -> None:
    assert codes(PROGRAM) == []


def test_every_prefix_parses(read: Read) -> None:
    """As it is while somebody types it."""
    for length in range(len(PROGRAM) + 1):
        module, problems = read(PROGRAM[:length])
        for node in tree.walk(module):
            assert 0 <= node.span.start <= node.span.end <= length
        assert module.damaged <= problems.has_errors
        render_all(problems)


def test_every_file_of_the_library_parses_in_time() -> None:
    for path in sorted(folder("stdlib").rglob("*.linnet")):
        source = Source(path.name, path.read_text(encoding="utf-8"))
        problems = Problems()
        started = time.perf_counter()
        module = parse(source, problems)
        assert problems.codes() == ()
        assert not module.damaged
        assert time.perf_counter() - started < 1.0 + len(source.line_starts) / 400


def test_random_damage_never_raises() -> None:
    rng = random.Random(20)
    words = re.findall(r"\s+|\w+|.", PROGRAM)
    pool = sorted({*words, "/*", '"', "\0", "kernel", "extern", "self", "08", ";", "é", "pub"})
    for _ in range(400):
        damaged = words[:]
        for _ in range(rng.choice([1, 1, 2, 5, 30])):
            at = rng.randrange(len(damaged))
            match rng.randrange(3):
                case 0:
                    del damaged[at]
                case 1:
                    damaged.insert(at, rng.choice(pool))
                case _:
                    damaged[at] = rng.choice(pool)
        problems = Problems()
        module = parse(Source("damaged", "".join(damaged)), problems)
        assert module.damaged <= problems.has_errors
        render_all(problems)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("const N = 4", "const N ="),
        ("const N = 4", "const = 4"),
        ("use std.nn.linear::{linear}", "use std.nn.::{linear}"),
        ("use std.nn.linear::{linear}", "use std.nn.linear::{linear"),
        ("pub block Pond<H: Dim>", "pub block Pond<H Dim>"),
        ("    H > 0", "    H >"),
        ("param w: Tensor[H, H; f32]", "param w Tensor[H, H; f32]"),
        ("param w: Tensor[H, H; f32]", "param w: Tensor[H, H f32]"),
        ("(x: Tensor[*L, H; f32])", "(x: Tensor[*L, H; f32)"),
        ("let (a, b) = split(x)", "let (a, b) = split(x"),
        ("let (a, b) = split(x)", "let (a, b = split(x)"),
        ("some(s) => sum", "some(s) = sum"),
        ("static for l in layers {", "static for l on layers {"),
        ("static for l in layers {", "static l in layers {"),
        ("l.forward<3>(a)", "l.(a)"),
        ("return linear(y, w)", "return linear(y, w))"),
        ("return linear(y, w)", "return linear(y w)"),
        ("if x > 0.0 { x }", "if x > 0.0 { x"),
        ("else { 0.0 }", "0.0"),
        ("fn last(x: f32)", "fn last(x: f32"),
        ("fn last(x: f32)", "fn (x: f32)"),
        ("fn last(x: f32)", "last(x: f32)"),
        ("-> f32 {\n    return if", "-> f32\n    return if"),
    ],
)
def test_one_slip_gives_one_report(codes: Codes, old: str, new: str) -> None:
    assert PROGRAM.count(old) == 1
    assert codes(PROGRAM.replace(old, new)) == ["E1101"]


def test_several_slips_are_reported_together(read: Read) -> None:
    text = (
        PROGRAM.replace("const N = 4", "const N = ]")
        .replace("split(x)", "split(x")
        .replace("return linear(y, w)", "return linear(, w)")
        .replace("x > 0.0", "x > > 0.0")
    )
    module, problems = read(text)
    assert [(d.code, d.primary.span.line) for d in problems if d.primary] == [
        ("E1101", 3), ("E1101", 11), ("E1101", 15), ("E1101", 20),
    ]  # fmt: skip
    assert names(module) == ["N", "Pond", "last"]


def test_a_damaged_statement_is_marked_and_keeps_its_names(read: Read) -> None:
    module, _ = read(PROGRAM.replace("split(x)", "split(x"))
    body = function(module, "turn").body
    assert body.damaged
    damaged, *rest = body.statements
    assert isinstance(damaged, tree.DamagedStatement)
    assert [ident.name for ident in damaged.names] == ["a", "b"]
    assert [type(s).__name__ for s in rest] == ["IndexLet", "StaticFor", "Return"]
    assert not function(module, "last").body.damaged


def test_a_statement_before_a_slip_stays_whole(read: Read) -> None:
    module, problems = read("module a\nfn f() {\n    let x = 1 ]\n    return x\n}\n")
    assert problems.codes() == ("E1101",)
    kinds = [type(s).__name__ for s in function(module, "f").body.statements]
    assert kinds == ["Let", "DamagedStatement", "Return"]


def test_a_damaged_item_keeps_its_name(read: Read) -> None:
    module, _ = read(PROGRAM.replace("fn turn<*L: Shape>", "fn turn<*L Shape>"))
    (block,) = (item for item in module.items if isinstance(item, tree.Block))
    kinds = [(type(m).__name__, m.name) for m in block.members]
    assert kinds == [("Member", "w"), ("DamagedItem", "turn"), ("Member", "s")]
    module, _ = read(PROGRAM.replace("linear::{linear}", "linear::{linear, softmax as}"))
    assert [i.name for i in module.items if isinstance(i, tree.DamagedItem)] == [
        "linear", "softmax",
    ]  # fmt: skip


def test_a_missing_brace_of_a_function_keeps_the_function_and_what_follows(read: Read) -> None:
    module, problems = read("module a\nfn f() {\n    let x = 1\n\nfn g() {\n}\npub fn h() {\n}\n")
    assert problems.codes() == ("E1101",)
    assert names(module) == ["f", "g", "h"]
    assert [type(item) for item in module.items] == [tree.Function] * 3
    assert function(module, "f").body.damaged
    assert not function(module, "g").body.damaged


def test_a_missing_brace_of_a_loop_is_one_report(read: Read) -> None:
    text = PROGRAM.replace("(a)\n        }\n", "(a)\n")
    module, problems = read(text)
    assert problems.codes() == ("E1101",)
    assert names(module) == ["N", "Pond", "last"]


def test_a_missing_brace_of_a_block_leaves_the_items_after_it_in_the_module(read: Read) -> None:
    text = PROGRAM.replace("    state s: Tensor[H; f32]\n}\n", "    state s: Tensor[H; f32]\n")
    module, problems = read(text)
    assert problems.codes() == ("E1101",)
    assert names(module) == ["N", "Pond", "last"]


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("fn a() {\n    let x = 1\nfn b() {\n}\n", ["E1101"]),
        ("fn a() {\n", ["E1101"]),
        ("block A {\n    fn a() {\n        let x = 1\n    }\n", ["E1101"]),
        ("block A {\n    fn a() {\n        let x = 1\n    fn b() { }\n}\n", ["E1101"]),
        ("fn a() {\n    let x = match y { none => 1\n}\n", ["E1101"]),
        ("fn a() {\n} }\nfn b() {\n}\n", ["E1101"]),
        ("struct A { x: f32\nfn b() {\n}\n", ["E1101"]),
        ("enum A { X, Y\nfn b() {\n}\n", ["E1101"]),
    ],
)
def test_an_unclosed_brace_is_reported_once(codes: Codes, source: str, wanted: list[str]) -> None:
    assert codes("module a\n" + source) == wanted


NEST = "module a\nfn f() {{\n    let x = {}\n}}\nfn g() {{\n}}\n"


@pytest.mark.parametrize(
    "text",
    [
        NEST.format("(" * 100_000),
        NEST.format("(" * 5_000 + "1" + ")" * 5_000),
        NEST.format("[" * 5_000 + "]" * 5_000),
        NEST.format("sum[i] " * 5_000 + "1"),
        NEST.format("if c { " * 5_000 + "1" + " } else { 1 }" * 5_000),
        NEST.format("match x { none => " * 5_000 + "1" + " }" * 5_000),
        NEST.format("some(" * 5_000 + "1" + ")" * 5_000),
        NEST.format("a" + ".b" * 5_000),
        NEST.format("a" + "[0]" * 5_000),
        NEST.format("a" + "()" * 5_000),
        "module a\nconst x: " + "A<" * 5_000 + "B" + ">" * 5_000 + " = 1",
        "module a\nconst x: " + "(" * 5_000 + "B" + ",)" * 5_000 + " = 1",
        "module a\nfn f() {\n" + "static for a in b {\n" * 5_000 + "}" * 5_001,
        "module a\n" + "block B {\n" * 5_000 + "}" * 5_000,
    ],
)
def test_hostile_nesting_is_refused_once_and_quickly(read: Read, text: str) -> None:
    started = time.perf_counter()
    module, problems = read(text)
    assert time.perf_counter() - started < 10
    assert problems.codes() == ("E1101",)
    assert _depth(module) < 10 * MAX_NESTING


def _depth(module: tree.Module) -> int:
    deepest = 0
    waiting: list[tuple[tree.Node, int]] = [(module, 1)]
    while waiting:
        node, depth = waiting.pop()
        deepest = max(deepest, depth)
        waiting.extend((child, depth + 1) for child in tree.children(node))
    return deepest


def test_nesting_below_the_bound_is_accepted(codes: Codes) -> None:
    depth = MAX_NESTING - 10
    assert codes(NEST.format("(" * depth + "1" + ")" * depth)) == []
    assert codes(NEST.format("sum[i] " * (depth // 2) + "1")) == []


@pytest.mark.parametrize(
    "text",
    [
        "let\n" * 3_000, "fn\n" * 3_000, "}" * 3_000, ")" * 3_000, "x\n" * 3_000, "\0 " * 3_000,
        '"\n' * 3_000, "let x = (\n" * 3_000, "use\n" * 3_000, "pub " * 3_000, "<" * 3_000,
        "a<" * 3_000, "module a\n" * 3_000, "?" * 3_000, "param x\n" * 3_000, "08 " * 3_000,
    ],
)  # fmt: skip
def test_endless_mistakes_give_a_bounded_number_of_reports(read: Read, text: str) -> None:
    for head in ("", "module a\n", "module a\nfn f() {\n", "module a\nblock B {\n"):
        _, problems = read(head + text)
        assert 0 < len(problems) <= MAX_REPORTS + 2


def test_line_ends_do_not_change_what_is_found(tmp_path: Path, read: Read) -> None:
    text = PROGRAM.replace("split(x)", "split(x").replace("const N = 4", "const N = é")
    wanted = [(d.code, d.primary.span.line) for d in read(text)[1] if d.primary]
    for end in ("\r\n", "\r"):
        found = read("\ufeff" + text.replace("\n", end))[1]
        assert [(d.code, d.primary.span.line) for d in found if d.primary] == wanted
