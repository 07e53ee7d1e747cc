"""What is answered at a place: hover, definition, references, renaming, completion, repairs."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsp.checks import GPT2, analysed, applied, marked

from linnet.check.entities import PRELUDE
from linnet.diag import Problems, Source
from linnet.errors import UsageError
from linnet.lsp import actions, complete, hints, hover, navigate
from linnet.lsp.analysis import Analysis
from linnet.syntax.parse import parse

POND = """module pond

use std.nn.linear::{linear as flat}
use std.nn.activations::{gelu}

enum Kind { Soft, Hard }
const LIMIT = 3

/// A layer.
block Ripple<Width: Dim, T: Float> {
    param weight: Tensor[Width, Width; T]

    /// Takes any leading axes.
    fn forward<*L: Shape>(x: Tensor[*L, Width; T]) -> Tensor[*L, Width; T] {
        return x + flat(x, weight)
    }
}

pub block Pond<Depth: Dim, Width: Dim> {
    sub inlet: Ripple<Width, f32>
    sub layers: [Ripple<Width, f32>; Depth]
    state seen: Tensor[Width; f32]

    pub entry observe(x: Tensor[Width; f32], kind: f32) -> Tensor[Width; f32] {
        var row = inlet.forward(x)
        static for layer in layers {
            row = layer.forward(row)
        }
        let next[w] = gelu(row)[w] * seen[w]
        let soft = Kind.Soft
        let row = next + inlet.weight[0, :]
        seen = row
        return seen
    }
}
"""


@pytest.fixture(scope="module")
def pond() -> Analysis:
    analysis = analysed(POND)
    assert not [d for d in analysis.diagnostics if d.is_error]
    return analysis


def at(text: str, nth: int = 0) -> int:
    """Where the text marked by `^` in POND stands."""
    plain, (mark,) = marked(text)
    start = -1
    for _ in range(nth + 1):
        start = POND.index(plain, start + 1)
    return start + mark


@pytest.mark.parametrize(
    ("place", "nth", "said"),
    [
        ("row = in^let", 0, "sub inlet: Ripple<Width, f32>"),
        ("inlet.for^ward", 0, "fn forward<*L: Shape>(x: Tensor[*L, Width; T]) -> Tensor[*L, "),
        ("inlet.for^ward", 0, "here: `Tensor[Width; f32]`"),
        ("inlet.for^ward", 0, "Takes any leading axes."),
        ("lay^er.forward", 0, "layer: Ripple<Width, f32>"),
        ("^next + ", 0, "next: Tensor[Width; f32]"),
        ("se^en[w]", 0, "state seen: Tensor[Width; f32]"),
        ("[^w] = ", 0, "index w"),
        ("Kind.So^ft", 0, "Kind.Soft"),
        ("Rip^ple<Width, f32>\n", 0, "block Ripple<Width: Dim, T: Float>"),
        ("fl^at(x", 0, "op linear<"),
        ("LIM^IT", 0, "const LIMIT = 3"),
        ("x +^ flat", 0, "Tensor[*L, Width; T]"),
        ("<^Depth", 0, "Depth: Dim"),
    ],
)  # fmt: skip
def test_hover(pond: Analysis, place: str, nth: int, said: str) -> None:
    found = hover.hover(pond, at(place, nth))
    assert found is not None
    assert said in found[1]


@pytest.mark.parametrize(
    ("place", "declared"),
    [
        ("inlet.for^ward", "fn ^forward"),
        ("layer.for^ward", "fn ^forward"),
        ("in ^layers", "sub ^layers"),
        ("= next + in^let.weight", "sub ^inlet"),
        ("inlet.wei^ght[0", "param ^weight"),
        ("Kind.So^ft", "{ ^Soft"),
        ("let soft = Ki^nd", "enum ^Kind"),
        ("gelu(ro^w)", "var ^row"),
        ("seen = ro^w", "let ^row"),
        ("[^w] * seen", "let next[^w"),
        ("seen[^w]", "let next[^w"),
        ("Tensor[*^L, Width; T] {", "<*^L"),
    ],
)
def test_definition(pond: Analysis, place: str, declared: str) -> None:
    span = navigate.definition(pond, at(place))
    assert span is not None
    assert span.start == at(declared)


def test_definition_leads_into_the_library(pond: Analysis) -> None:
    span = navigate.definition(pond, at("ge^lu(row)"))
    assert span is not None
    assert span.source.path is not None
    assert span.source.path.name == "activations.linnet"
    assert span.text == "gelu"
    other = navigate.definition(pond, at("fl^at(x"))
    assert other is not None
    assert other.text == "linear"


SOURCES = [
    GPT2,
    *sorted((GPT2.parents[2] / "stdlib").rglob("*.linnet")),
    *sorted((GPT2.parents[2] / "tests/programs").glob("*.linnet")),
    *sorted((GPT2.parents[2] / "tests/conformance/accept").glob("*.linnet")),
]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_every_name_is_known(path: Path) -> None:
    """By the checker, and without it where it gives the same."""
    text = path.read_bytes().decode("utf-8")
    plain, checked = analysed(text, str(path)), analysed(text, str(path))
    assert not [d for d in checked.diagnostics if d.is_error]
    known = {use.span.start for use in checked.uses}
    paths = {part.span.start for use in checked.module.uses for part in use.path}
    paths |= {part.span.start for part in checked.module.path}
    names = [t for t in checked.module.tokens if t.type == "NAME" and t.start not in known]
    assert {t.text for t in names if t.start not in paths} <= PRELUDE | {"axis"}
    for use in checked.uses:
        assert use.span.text == use.symbol.name or use.symbol.kind == "module", use

    def told(analysis: Analysis) -> dict[int, int]:
        return {use.span.start: use.symbol.span.start for use in analysis.uses}

    assert told(plain).items() <= told(checked).items()


@pytest.mark.parametrize(
    ("place", "name", "count"),
    [
        ("sub in^let", "mouth", 3),
        ("fn for^ward", "run", 3),
        ("var ro^w", "wave", 4),
        ("let ro^w", "wave", 2),
        ("<^Width: Dim, T", "W", 5),
        ("flat(x, wei^ght)", "kernel_", 3),
        ("linear as fl^at", "affine", 2),
        ("[^w] = ", "v", 3),
        ("{ So^ft", "Gentle", 2),
        ("sub lay^ers", "deep", 2),
    ],
)
def test_rename(pond: Analysis, place: str, name: str, count: int) -> None:
    use = navigate.renamable(pond, at(place))
    spans = navigate.rename([pond], use.symbol, name)
    assert len(spans) == count
    renamed = applied(POND, [(span.start, span.end, name) for span in spans])
    again = analysed(renamed)
    assert not [d for d in again.diagnostics if d.is_error]
    assert len(again.uses) == len(pond.uses)
    assert len([u for u in again.uses if u.span.text == name]) == count


def test_rename_reaches_named_arguments_and_parentheses() -> None:
    text = """module m

struct Pair {
    left: f32
}

fn f(gain: f32, shift: f32 = 0.0) -> Pair {
    return Pair(left = (gain) + shift)
}

fn g(x: f32) -> f32 {
    return f(x, shift = x).left
}
"""
    for name, count in (("gain", 2), ("shift", 3), ("left", 3)):
        analysis = analysed(text)
        use = navigate.renamable(analysis, text.index(name))
        spans = navigate.rename([analysis], use.symbol, "other")
        assert len(spans) == count
        renamed = applied(text, [(s.start, s.end, "other") for s in spans])
        assert renamed == text.replace(name, "other")
        assert not analysed(renamed).diagnostics


@pytest.mark.parametrize(
    ("place", "name", "why"),
    [
        ("sub in^let", "layers", "already means something"),
        ("var ro^w", "x", "already means something"),
        ("sub in^let", "9x", "is no name"),
        ("sub in^let", "block", "belongs to the language"),
        ("sub in^let", "Tensor", "belongs to the language"),
        ("ge^lu(row)", "g", "standard library"),
        ("^pond", "lake", "renaming its file"),
        ("^return seen", "x", "no name here"),
    ],
)
def test_rename_refuses(pond: Analysis, place: str, name: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        navigate.rename([pond], navigate.renamable(pond, at(place)).symbol, name)


def completed(text: str) -> set[str]:
    plain, (offset,) = marked(text)
    return {c.name for c in complete.complete(analysed(plain), offset)}


def test_completion_behind_a_dot() -> None:
    def before(line: str) -> set[str]:
        return completed(POND.replace("        seen = row\n", f"        {line}\n"))

    ripple = {"weight", "forward"}
    assert before("let y = inlet.^") == ripple
    assert before("let y = inlet.we^") == ripple
    assert before("let y = layers[0].^") == ripple
    assert before("static for one in layers { let z = one.^ }") == ripple
    assert before("let y = Kind.^") == {"Soft", "Hard"}
    assert before("let y = nothing.^") == set()
    assert before("let y = 0..^") >= {"x", "Width"}


def test_completion_by_inferred_types() -> None:
    text = """module m

struct Pair<A: DType> {
    left: A
    right: A
}

fn halves(x: f32) -> Pair<f32> {
    return Pair<f32>(left = x, right = x)
}

fn f(given: Pair<i32>) -> f32 {
    let pair = halves(1.0)
    let z = pair.left
    let y = HERE
    return z
}
"""
    fields = {"left", "right"}
    assert completed(text.replace("HERE", "pair.^")) == fields
    assert completed(text.replace("HERE", "given.l^")) == fields
    assert completed(text.replace("HERE", "z.^")) == set()
    analysis = analysed(text.replace("HERE", "z"))
    span = navigate.definition(analysis, analysis.source.text.index("pair.left") + 5)
    assert span is not None
    assert span.start == text.index("left: A")


def test_completion_of_imports() -> None:
    assert "nn" in completed("module m\nuse std.^\n")
    assert "linear" in completed("module m\nuse std.nn.^\n")
    assert {"linear", "Linear"} <= completed("module m\nuse std.nn.linear::{^")
    assert {"linear", "Linear"} <= completed("module m\nuse std.nn.linear::^")
    assert completed("module m\nuse ^\n") == {"std"}


def test_completion_of_names() -> None:
    found = completed(POND.replace("        seen = row\n", "        let y = ^\n"))
    assert {"row", "x", "seen", "inlet", "Width", "LIMIT", "flat", "gelu", "exp", "f32"} <= found
    assert {"let", "match", "return"} <= found
    assert not {"weight", "layer", "w", "L", "linear"} & found
    assert completed("module m\nfn f<N: ^>()") == {
        "Dim", "Shape", "DType", "Numeric", "Integer", "Float",
    }  # fmt: skip
    assert "Tensor" in completed("module m\nfn f<N: Dim>(x: ^)")
    assert completed("module m\n// a ^") == set()


def test_hints_show_what_is_not_written(pond: Analysis) -> None:
    found = {POND[:offset].rsplit("\n", 1)[-1].strip(): text
             for offset, text in hints.inlay_hints(pond, 0, len(POND))}  # fmt: skip
    assert found == {
        "var row": ": Tensor[Width; f32]",
        "let next[w]": ": Tensor[Width; f32]",
        "let soft": ": Kind",
        "let row": ": Tensor[Width; f32]",
    }


def test_semantic_tokens_are_in_order_and_apart(pond: Analysis) -> None:
    end = 0
    told = {}
    for start, length, kind, modifiers in hints.semantic_tokens(pond):
        assert start >= end
        end = start + length
        told[start] = hints.TOKEN_TYPES[kind], modifiers
    assert told[at("block ^Ripple")] == ("class", 1)
    assert told[at("inlet.^forward")] == ("method", 0)
    assert told[at("^gelu(row)")] == ("function", 4)
    assert told[at("Kind.^Soft")] == ("enumMember", 0)
    assert told[at("(^x: Tensor[Width")] == ("parameter", 3)


def repaired(text: str, verb: str = "") -> tuple[list[str], str]:
    """The repairs offered for a text, and the text after the first that begins with `verb`."""
    analysis = analysed(text)
    found = list(actions.actions(analysis, 0, len(text)))
    first = next(action for action in found if action.title.startswith(verb))
    return [a.title for a in found], applied(text, [(first.span.start, first.span.end, first.text)])


HEAD = "module m\n\nfn f<N: Dim>(x: Tensor[N; f32]) -> Tensor[N / 2, 2; f32]"
BODY = "{\n    return reshape(x, [N / 2, 2])\n}\n"


@pytest.mark.parametrize(
    "where",
    [" ", "\nwhere N > 0 ", "\nwhere\n    N > 0,\n    N < 99\n", "\nwhere\n    N > 0,\n",
     "\nwhere N > 0 /* why */ "],
)  # fmt: skip
def test_the_clause_that_is_missing(where: str) -> None:
    titles, text = repaired(HEAD + where + BODY)
    assert titles == ["Add `where N % 2 == 0` to `f`"]
    assert not analysed(text).diagnostics
    if "/*" not in where:
        from linnet.fmt import format_source

        assert format_source(Source("", text)) == text


def test_the_import_that_is_missing() -> None:
    body = "\nfn f<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] {\n    return gelu(relu(x))\n}\n"
    for head in (
        "module m\n",
        "module m\n\nuse std.nn.linear\n",
        "module m\n\nuse std.nn.activations::{gelu}\n",
    ):
        text = head + body
        while any(d.code == "E1201" for d in analysed(text).diagnostics):
            titles, text = repaired(text, "Add")
            assert any(title.startswith("Add `use std.nn.activations::{") for title in titles)
        assert not any(d.is_error for d in analysed(text).diagnostics)


def test_the_name_that_is_nearly_right() -> None:
    text = "module m\n\nfn f(height: f32) -> f32 {\n    return heigth\n}\n"
    titles, text = repaired(text)
    assert titles == ["Change to `height`"]
    assert not analysed(text).diagnostics


def test_sources_that_are_being_edited_are_imported_as_they_are(tmp_path: Path) -> None:
    from linnet.lsp.workspace import Workspace

    (tmp_path / "src").mkdir()
    manifest = '[package]\nname = "p"\nversion = "0.1.0"\nlanguage = "0.1"\n'
    (tmp_path / "linnet.toml").write_text(manifest)
    lib, part = tmp_path / "src/lib.linnet", tmp_path / "src/part.linnet"
    lib.write_text("module p\n\nuse crate.part::{one}\n\nfn f() -> f32 {\n    return one()\n}\n")
    part.write_text("module p.part\n\npub fn one() -> f32 {\n    return 1.0\n}\n")
    space = Workspace()
    space.open(lib, lib.read_text())
    assert not space.analysis(lib).diagnostics
    assert space.analysis(lib) is space.analysis(lib)
    space.open(part, part.read_text().replace("one", "two"))
    assert [d.code for d in space.analysis(lib).diagnostics] == ["E1201"]
    space.close(part)
    assert not space.analysis(lib).diagnostics
    part.write_text(part.read_text().replace("pub ", ""))
    assert [d.code for d in space.analysis(lib).diagnostics] == ["E1203"]
    part.write_text(part.read_text().replace("fn one", "pub fn one"))
    use = navigate.renamable(space.analysis(part), part.read_text().index("one"))
    spans = navigate.rename(space.related(part), use.symbol, "first")
    assert sorted((s.source.path.name, s.line) for s in spans if s.source.path) == [
        ("lib.linnet", 3), ("lib.linnet", 6), ("part.linnet", 3),
    ]  # fmt: skip


def test_modules_that_are_known_are_not_read() -> None:
    source = Source(
        "gelu", "module std.nn.activations\n\npub fn gelu(x: f32) -> f32 { return x }\n"
    )
    path = (GPT2.parents[2] / "stdlib/nn/activations.linnet").resolve()
    text = (
        "module m\n\nuse std.nn.activations::{gelu}\n\nfn f() -> f32 {\n    return gelu(1.0)\n}\n"
    )
    analysis = analysed(text, known={path: parse(source, Problems())})
    assert not analysis.diagnostics
    span = navigate.definition(analysis, text.index("gelu(1"))
    assert span is not None
    assert span.source is source
