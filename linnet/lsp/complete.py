"""What can be written at a place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from linnet.check.entities import PRELUDE_FUNCTIONS, PRELUDE_TYPES
from linnet.lsp.analysis import Analysis
from linnet.lsp.hover import describe
from linnet.lsp.symbols import Symbol
from linnet.syntax.tokens import KEYWORDS
from linnet.syntax.tree import GENERIC_KINDS

_USE = re.compile(r"\buse\s+([A-Za-z0-9_.]*)$")
_PICK = re.compile(r"\buse\s+([A-Za-z0-9_.]+)\s*::\s*(?:\{[^}]*)?$")
_DOT = re.compile(r"((?:[A-Za-z_][A-Za-z0-9_]*(?:\[[^\[\]]*\])?\s*\.\s*)+)[A-Za-z0-9_]*$")
_KIND = re.compile(r"[<,]\s*\*?[A-Za-z_][A-Za-z0-9_]*\s*:\s*[A-Za-z]*$")
_WORD = re.compile(r"[A-Za-z0-9_]*$")
_LONGEST = 4_000  # characters before a place that are looked at


@dataclass(frozen=True)
class Candidate:
    """`kind` is that of a symbol, or "keyword", "prelude function", "prelude type", "kind"."""

    name: str
    kind: str
    detail: str = ""
    doc: str = ""


def complete(analysis: Analysis, offset: int) -> list[Candidate]:
    """All candidates at a place, whatever has been typed of the word there. Waits for the checker
    only where types that are written nowhere are needed."""
    if _is_in_comment(analysis, offset):
        return []
    before = analysis.source.text[max(offset - _LONGEST, 0) : offset]
    before = before[: len(before) - len(_tail(_WORD, before))]
    if match := _PICK.search(before):
        return _of(analysis, _public(_module(analysis, match.group(1))))
    if match := _USE.search(before):
        return [Candidate(name, "module") for name in _modules(analysis, match.group(1))]
    if _KIND.search(before) and not _is_type_position(before):
        return [Candidate(name, "kind") for name in GENERIC_KINDS]
    if match := _DOT.search(before):
        return _of(analysis, _behind_dot(analysis, offset, match.group(1)))
    return _everything(analysis, offset)


def _tail(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match.group() if match else ""


def _is_in_comment(analysis: Analysis, offset: int) -> bool:
    for comment in analysis.module.comments:
        span = comment.span
        if span.start < offset and (
            offset < span.end or (offset == span.end and comment.text.startswith("//"))
        ):
            return True
    return False


def _is_type_position(before: str) -> bool:
    """Whether `name :` stands in parentheses, so that a type follows and no kind of generic."""
    depth = {"(": 0, "<": 0}
    for char in reversed(before):
        if char == ")":
            depth["("] += 1
        elif char == ">":
            depth["<"] += 1
        elif char in depth:
            depth[char] -= 1
            if depth[char] < 0:
                return char == "("
        elif char in "{}":
            return True
    return True


def _of(analysis: Analysis, symbols: Iterable[Symbol]) -> list[Candidate]:
    return [
        Candidate(symbol.name, symbol.real.kind, _detail(analysis, symbol), symbol.real.doc)
        for symbol in symbols
    ]


def _detail(analysis: Analysis, symbol: Symbol) -> str:
    return describe(analysis, symbol) if analysis.is_checked else ""


def _everything(analysis: Analysis, offset: int) -> list[Candidate]:
    found = _of(analysis, analysis.names.visible(offset).values())
    names = {candidate.name for candidate in found}
    for words, kind in (
        (PRELUDE_FUNCTIONS, "prelude function"),
        (PRELUDE_TYPES, "prelude type"),
        (sorted(KEYWORDS), "keyword"),
    ):
        found.extend(Candidate(word, kind) for word in words if word not in names)
    return found


# --- imports ------------------------------------------------------------------------------


def _modules(analysis: Analysis, path: str) -> list[str]:
    """The next segments of a `use` path that begins with `path`, up to its last dot."""
    first, *rest = path.split(".")
    if not rest:
        return [root for root in ("std", "crate") if _folder(analysis, root) is not None]
    folder = _folder(analysis, first)
    if folder is None:
        return []
    folder = folder.joinpath(*rest[:-1])
    try:
        inside = sorted(folder.iterdir())
    except OSError:
        return []
    names = [p.stem for p in inside if p.suffix == ".linnet" or (p.is_dir() and p.name[0] != ".")]
    return list(dict.fromkeys(name for name in names if name.isidentifier() and name != "lib"))


def _folder(analysis: Analysis, root: str) -> Path | None:
    if root == "std":
        return analysis.graph.std
    if root == "crate" and analysis.source.path is not None:
        for above in analysis.source.path.resolve().parents:
            if (above / "linnet.toml").is_file():
                return above / "src"
    return None


def _module(analysis: Analysis, path: str) -> Symbol | None:
    """The module of a path; one that nothing imports yet is read for the purpose."""
    if path in analysis.symbols:
        return analysis.symbols[path]
    from linnet.diag import Problems
    from linnet.lsp.symbols import module_symbol
    from linnet.modules.load import read_source
    from linnet.syntax.parse import parse

    first, *rest = path.split(".")
    folder = _folder(analysis, first)
    if folder is None or not rest or not all(part.isidentifier() for part in rest):
        return None
    try:
        source = read_source(folder.joinpath(*rest).with_suffix(".linnet"))
    except OSError:
        return None
    return module_symbol(parse(source, Problems()))


def _public(module: Symbol | None) -> Iterator[Symbol]:
    for symbol in () if module is None else module.children.values():
        if getattr(symbol.node, "public", False):
            yield symbol


# --- members ------------------------------------------------------------------------------


def _behind_dot(analysis: Analysis, offset: int, path: str) -> list[Symbol]:
    """What can follow `a.b[0].`; the text before need not parse."""
    words = [re.sub(r"\[.*|\s", "", part) for part in path.split(".")[:-1]]
    first, *rest = words
    symbol = analysis.names.visible(offset).get(first)
    owner = None if symbol is None else analysis.inside(symbol)
    for word in rest:
        child = None if owner is None else owner.children.get(word)
        owner = None if child is None else analysis.inside(child)
    if owner is None:
        return []
    if owner.kind == "module":
        return list(_public(owner))
    if owner.kind == "enum":
        return list(owner.children.values())
    return [child for child in owner.children.values() if child.kind != "generic"]
