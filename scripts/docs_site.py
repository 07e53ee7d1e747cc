"""What the documentation site has beside the pages of `docs/`, and what is done to those.

A hook of MkDocs (`mkdocs.yml` names it). Made anew by every build, so never out of date:

    errors.md            every diagnostic code with its explain page
    library/<name>.md    every module of the standard library, from its documentation comments
    library/index.md     the list of them

Links of pages to files outside of `docs/` become the names of those files, which must exist.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from linnet.diag import Problems, Source
from linnet.diag.codes import CODES
from linnet.diag.example import Example
from linnet.diag.examples import EXAMPLES
from linnet.syntax import tree
from linnet.syntax.parse import parse

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "stdlib"

GROUPS = {
    "E1": "Reading a file",
    "E2": "Types, shapes and proofs",
    "E3": "Index notation",
    "E4": "Blocks",
    "E5": "Packages",
    "W1": "Warnings",
}
"""Headings of the error index by the first two characters of the codes."""

_OUTSIDE = re.compile(r"\[([^\]]+)\]\((\.\./[^)#]+)(#[^)]*)?\)")


def pages() -> dict[str, str]:
    """The text of every generated page by its path in the site."""
    modules = {".".join(("std", *m.path)): m.text for m in _modules()}
    found = {f"library/{name}.md": text for name, text in modules.items()}
    found["library/index.md"] = _library_index()
    found["errors.md"] = error_index()
    return found


# --- the error index ----------------------------------------------------------------------------


def error_index() -> str:
    """Every code in order: what it means, a wrong program, the same repaired, and how."""
    parts = [
        "# Error index",
        "Each diagnostic has a code. `linnet explain E2203` prints in a terminal what stands here.",
    ]
    for start, title in GROUPS.items():
        codes = [number for number in sorted(CODES) if number.startswith(start)]
        parts += [f"## {title}", *(part for number in codes for part in _code(number))]
    return "\n\n".join(parts) + "\n"


def _code(number: str) -> Iterator[str]:
    code = CODES[number]
    yield f"### {number}: {code.title} {{ #{number} }}"
    yield prose(code.explanation)
    example = EXAMPLES.get(number)
    if example is None:
        return
    yield "Wrong:"
    yield from _programs(example, 0)
    yield "Repaired:"
    yield from _programs(example, 1)
    yield prose(example.advice)


def _programs(example: Example, which: int) -> Iterator[str]:
    for path, texts in example.beside.items():
        yield f"`{path}`"
        yield _fenced(texts[which], "toml" if path.endswith(".toml") else "linnet")
    if example.beside:
        yield "`src/lib.linnet`"
    yield _fenced((example.wrong, example.right)[which], "linnet")


def _fenced(text: str, language: str) -> str:
    # Undecodable bytes and control characters, which some examples are about, as escapes.
    shown = "".join(
        c if c.isprintable() or c in "\n\t" else f"\\x{ord(c) & 0xFF:02x}" for c in text.rstrip()
    )
    return f"````{language}\n{shown}\n````"


# --- the library --------------------------------------------------------------------------------


class _Module:
    """One module of the library, and its page."""

    def __init__(self, file: Path) -> None:
        self.path = file.relative_to(LIBRARY).with_suffix("").parts
        source = Source(str(file), file.read_text("utf-8"), file)
        self.tree = parse(source, Problems())
        self.public = [item for item in self.tree.items if item.public]

    @property
    def name(self) -> str:
        return ".".join(("std", *self.path))

    @property
    def text(self) -> str:
        parts = [f"# {self.name}", prose(self.tree.doc)]
        for item in self.public:
            parts += _item(item, 2)
        return "\n\n".join(part for part in parts if part) + "\n"


def _modules() -> list[_Module]:
    return [_Module(file) for file in sorted(LIBRARY.rglob("*.linnet"))]


def _library_index() -> str:
    lines = ["# Standard library", "", "| module | | |", "| --- | --- | --- |"]
    for module in _modules():
        summary = module.tree.doc.partition("\n\n")[0].replace("\n", " ")
        items = ", ".join(f"`{item.name}`" for item in module.public)
        lines.append(f"| [{module.name}]({module.name}.md) | {summary} | {items} |")
    return "\n".join(lines) + "\n"


def _item(item: tree.Item, level: int) -> Iterator[str]:
    yield f"{'#' * level} {item.name}"
    yield _fenced(signature(item), "linnet")
    yield prose(item.doc)
    if isinstance(item, tree.Block):
        for member in item.members:
            if isinstance(member, tree.Function) and member.public:
                yield from _item(member, level + 1)


def signature(item: tree.Item) -> str:
    """The head of an item as the source has it, and the members of a block."""
    text = item.span.source.text
    margin = item.span.start - text.rfind("\n", 0, item.span.start) - 1
    if isinstance(item, tree.Function):
        head = text[item.span.start : item.body.span.start].rstrip()
    elif isinstance(item, tree.Block):
        before = [item.name_span, *(part.span for part in (*item.generics, *item.where))]
        brace = text.index("{", max(span.end for span in before))
        members = [m for m in item.members if isinstance(m, tree.Member)]
        inside = "".join(f"\n    {m.span.text}" for m in members)
        head = f"{text[item.span.start : brace + 1]}{inside}\n}}"
    else:
        head = item.span.text
    return re.sub(rf"\n {{{margin}}}", "\n", head) if margin else head


def prose(doc: str) -> str:
    """A documentation comment as Markdown: only backquotes and indented lines are markup in it."""
    lines = []
    for line in doc.split("\n"):
        if line.startswith("    "):
            lines.append(line)
            continue
        parts = line.split("`")
        for at in range(0, len(parts), 2):
            parts[at] = re.sub(r"([\\\[\]<>*_])", r"\\\1", parts[at])
        lines.append("`".join(parts))
    return "\n".join(lines)


# --- MkDocs -------------------------------------------------------------------------------------


def on_config(config: Any) -> Any:
    """Put the modules of the library into the navigation, below their list."""
    for section in config["nav"]:
        for entry in next(iter(section.values())):
            if isinstance(entry, dict) and entry.get("Standard library"):
                modules = [{m.name: f"library/{m.name}.md"} for m in _modules()]
                entry["Standard library"] = ["library/index.md", *modules]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages."""
    from mkdocs.structure.files import File

    for path, text in pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links that leave `docs/` name the file instead."""

    def named(match: re.Match[str]) -> str:
        target = (ROOT / "docs" / page.file.src_uri).parent / match[2]
        if not target.exists():
            raise FileNotFoundError(f"{page.file.src_uri}: {match[2]} leads nowhere")
        place = target.resolve().relative_to(ROOT).as_posix()
        return f"{match[1]} (`{place}`)" if match[1].strip("`") != place else f"`{place}`"

    return _OUTSIDE.sub(named, markdown)
