"""The generated pages of the documentation site: nothing that is declared is missing from them."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from linnet.diag import Problems, Source
from linnet.diag.codes import CODES
from linnet.diag.examples import EXAMPLES
from linnet.syntax import tree
from linnet.syntax.parse import parse

ROOT = Path(__file__).parents[2]
LIBRARY = sorted((ROOT / "stdlib").rglob("*.linnet"))


def site() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_site", ROOT / "scripts" / "docs_site.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SITE = site()
PAGES: dict[str, str] = SITE.pages()


def test_every_code_is_in_the_error_index_with_its_programs() -> None:
    text = PAGES["errors.md"]
    assert sorted(re.findall(r"\{ #(\w+) \}", text)) == sorted(CODES)
    for number, example in EXAMPLES.items():
        section = text.partition(f"{{ #{number} }}")[2].partition("\n### ")[0]
        for program in (example.wrong, example.right):
            assert len([line for line in program.split("\n") if line and line in section]) > 1


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: path.stem)
def test_every_public_item_of_the_library_is_described(path: Path) -> None:
    name = ".".join(("std", *path.relative_to(ROOT / "stdlib").with_suffix("").parts))
    page = PAGES[f"library/{name}.md"]
    module = parse(Source(path.name, path.read_text("utf-8")), Problems())
    public = [item for item in module.items if item.public]
    assert public
    assert module.doc
    for item in public:
        section = page.partition(f"\n## {item.name}\n")[2].partition("\n## ")[0]
        assert item.doc, f"{item.name} has no documentation"
        assert item.doc.split("`")[0].strip()[:20] in section.replace("\\", "")
        for part in (*getattr(item, "generics", ()), *getattr(item, "parameters", ())):
            assert part.span.text in section
        if isinstance(item, tree.Function) and item.result is not None:
            assert item.result.span.text in section
    assert f"[{name}]({name}.md)" in PAGES["library/index.md"]


def test_a_signature_ends_where_the_body_begins() -> None:
    text = """module m
pub block B<N: Dim>
where N > 0 {
    param w: Tensor[N; f32]
    /// Doc.
    pub fn f(
        x: f32
    ) -> f32 {
        return x
    }
}
"""
    block = parse(Source("m", text), Problems()).items[0]
    assert isinstance(block, tree.Block)
    assert SITE.signature(block) == (
        "pub block B<N: Dim>\nwhere N > 0 {\n    param w: Tensor[N; f32]\n}"
    )
    assert SITE.signature(block.members[1]) == "pub fn f(\n    x: f32\n) -> f32"


def test_prose_marks_nothing_up_but_code() -> None:
    assert SITE.prose("x [*S, H] of `a[*b]`\n\n    y[i] = 1") == (
        r"x \[\*S, H\] of `a[*b]`" + "\n\n    y[i] = 1"
    )
