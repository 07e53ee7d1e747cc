"""What people read: the message of each common slip, as golden files.

Each file holds the program and its diagnostics. A program has exactly the codes its name says,
and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from linnet.diag import Problems, Source
from linnet.diag.render import render_all
from linnet.syntax.parse import parse

BODY = "module reed\n\nfn drift(x: f32) -> f32 {{\n    {}\n    return x\n}}\n"
ITEM = "module reed\n\n{}\n\nconst LAST = 1\n"
MEMBER = "module reed\n\nblock Pond<H: Dim> {{\n    {}\n    param last: Tensor[H; f32]\n}}\n"

PROGRAMS: dict[str, str] = {
    # text
    "E1001-unknown-character": BODY.format("let y = x − 1.0"),
    "E1001-foreign-letter": BODY.format("let größe = x"),
    "E1001-control-character": BODY.format("let y = x\x07"),
    "E1001-matrix-operator": BODY.format("let y = x @ x"),
    "E1001-foreign-comments": "# a\nmodule reed\n# b\nconst A = 1  # c\n",
    "E1001-not-utf8": BODY.format("// caf\udce9"),
    "E1002-comment-never-closed": "module reed\n\n/* outer /* inner */\nconst A = 1\n",
    "E1003-string-not-closed": BODY.format('let s = "open'),
    "E1003-unknown-escape": BODY.format(r'let s = "a\d"'),
    "E1004-reserved-word": BODY.format("let yield = x"),
    "E1005-leading-zero": BODY.format("let y = x * 08"),
    "E1005-dot-without-digit": BODY.format("let y = x * 2."),
    # expected something else
    "E1101-missing-expression": BODY.format("let y = x + *"),
    "E1101-missing-bracket": BODY.format("let y = drift(x, (x + 1.0]"),
    "E1101-missing-equals": BODY.format("let y x"),
    "E1101-missing-type": "module reed\n\nfn drift(x) -> f32 {\n    return x\n}\n",
    "E1101-lone-call": BODY.format("drift(x)"),
    "E1101-lone-expression": BODY.format("x.forward(x)"),
    "E1101-lone-method": BODY.format("x.deep.forward(x)"),
    "E1101-element-assigned": BODY.format("x[0] = 1.0"),
    "E1101-not": BODY.format("let y = not x"),
    "E1101-and": BODY.format("let y = x > 0.0 and x < 1.0"),
    "E1101-or": BODY.format("let y = (x > 0.0 or x < 1.0)"),
    "E1101-place-in-tuple": BODY.format("let y = x.0"),
    "E1101-comma-before-dtype": ITEM.format("fn a<N: Dim>(x: Tensor[N, f32]) {\n}"),
    "E1101-generic-without-kind": ITEM.format("fn a<N>(x: Tensor[N; f32]) {\n}"),
    "E1101-def": ITEM.format("def a(x: f32) {\n}"),
    "E1101-import": ITEM.format("import std.nn.linear"),
    "E1101-let-among-items": ITEM.format("let A = 3"),
    "E1101-lone-if": BODY.format("if x > 0.0 { x } else { 0.0 }"),
    "E1101-compound-assignment": BODY.format("x += 1.0"),
    "E1101-two-statements-in-one": BODY.format("let y = x x"),
    "E1101-semicolon": BODY.format("let y = x;\n    let z = y;"),
    "E1101-double-equals": BODY.format("let y == x"),
    "E1101-single-equals": BODY.format("let y = if x = 0.0 { x } else { 1.0 }"),
    "E1101-two-signs": BODY.format("let y = - -x"),
    "E1101-else-if": BODY.format("let y = if x > 1.0 { x } else if x > 0.0 { 0.0 } else { 1.0 }"),
    "E1101-missing-else": BODY.format("let y = if x > 0.0 { x }"),
    "E1101-self": BODY.format("let y = self.weight"),
    "E1101-arm-with-parenthesis": BODY.format("let y = match x { none => x (a, b) => a }"),
    "E1101-first-arm-with-parenthesis": BODY.format("let y = match x { (a, b) => a }"),
    "E1101-value-named-like-a-reduction": BODY.format("let y = all[..., 0]"),
    "E1101-keyword-as-name": BODY.format("let state = x"),
    "E1101-brace-before-item": "module reed\n\nfn a() {\n    let x = 1\n\nfn b() {\n}\n",
    "E1101-brace-at-end": "module reed\n\nblock Pond {\n    fn a() {\n    }\n",
    "E1101-stray-brace": ITEM.format("fn a() {\n}\n}"),
    "E1101-struct-comma": ITEM.format("struct Pair { left: f32, right: f32 }"),
    "E1101-op-without-result": ITEM.format("op a(x: f32) {\n}"),
    "E1101-where-item": ITEM.format("fn a<N: Dim, M: Dim>() where N > 0 && M > 0, N + M {\n}"),
    "E1101-unknown-kind": ITEM.format("fn a<N: Size>() {\n}"),
    "E1101-member-outside-block": ITEM.format("param w: f32\nstate s: f32"),
    "E1101-public-member": MEMBER.format("pub param w: f32"),
    "E1101-state-with-value": MEMBER.format("state s: Tensor[H; f32] = none"),
    "E1101-use-after-item": ITEM.format("const A = 1\nuse std.random"),
    "E1101-use-in-block": MEMBER.format("use std.random"),
    "E1101-use-renamed": "module reed\n\nuse std.random::uniform as u\n",
    "E1101-second-module": ITEM.format("const A = 1\nmodule other"),
    "E1101-nesting": BODY.format("let y = " + "(" * 250 + "x" + ")" * 250),
    "E1101-chain": BODY.format("let y = x" + ".y" * 250),
    "E1102-no-module-line": "// a comment\nfn a() {\n}\n",
    "E1102-misspelt": "modul reed\nfn a() {\n}\n",
    "E1102-empty-file": "",
    "E1103-extern": ITEM.format("extern fn a(x: f32) -> f32"),
    "E1103-use-super": "module reed\n\nuse super.pond::{fish}\n",
    "E1103-scalar-tensor": ITEM.format("fn a(x: Tensor[; f32]) {\n}"),
    "E1103-payload": ITEM.format("enum Shade { Plain, Mixed(f32, f32) }"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_message(name: str, golden: Callable[[str, str], None]) -> None:
    source = Source("reed.linnet", PROGRAMS[name])
    problems = Problems()
    parse(source, problems)
    assert set(problems.codes()) == {name.split("-")[0]}
    program = PROGRAMS[name].encode("utf-8", "backslashreplace").decode()
    golden(f"diagnostics/{name}.txt", f"{program}\n{render_all(problems)}\n")
