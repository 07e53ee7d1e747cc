"""From names to declarations and back: definition, references, renaming, lists of symbols."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from linnet.check.entities import PRELUDE
from linnet.diag import Source, Span
from linnet.errors import UsageError
from linnet.lsp.analysis import Analysis
from linnet.lsp.scopes import Use
from linnet.lsp.symbols import Symbol
from linnet.syntax.tokens import KEYWORDS, RESERVED

_TYPED = (
    "param", "buffer", "state", "sub", "field", "variant", "function", "op", "entry", "parameter",
)  # fmt: skip
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def definition(analysis: Analysis, offset: int) -> Span | None:
    """Where the name at a place is declared."""
    use = analysis.certain_use_at(offset)
    return None if use is None else use.symbol.real.span


def references(analyses: Iterable[Analysis], symbol: Symbol) -> Iterator[Span]:
    """All places in these sources where a symbol is named, its declaration included."""
    for analysis in analyses:
        for use in analysis.uses:
            if is_same(use.symbol, symbol):
                yield use.span


def is_same(one: Symbol, other: Symbol) -> bool:
    """Whether two symbols are one declaration, maybe read at two times."""
    return one is other or (
        one.name == other.name
        and one.span.start == other.span.start
        and _is_same_file(one.span.source, other.span.source)
    )


def _is_same_file(one: Source, other: Source) -> bool:
    if one is other:
        return True
    if one.path is None or other.path is None:
        return False
    return one.path.resolve() == other.path.resolve()


def renamable(analysis: Analysis, offset: int) -> Use:
    """The name at a place, if it can be changed. Raises UsageError with the reason if not."""
    use = analysis.certain_use_at(offset)
    if use is None:
        raise UsageError("there is no name here that is declared in a source")
    symbol = use.symbol
    if symbol.kind == "module" or (symbol.kind == "import" and symbol.span.text != symbol.name):
        raise UsageError("a module is renamed by renaming its file")
    if symbol.kind == "import" and symbol.real.kind == "module":
        raise UsageError("a module is renamed by renaming its file")
    if symbol.span.source.path is not None and _is_library(analysis, symbol.span):
        raise UsageError("the standard library is not yours to rename")
    return use


def _is_library(analysis: Analysis, span: Span) -> bool:
    path = span.source.path
    std = analysis.graph.std.resolve()
    mine = analysis.source.path
    inside = path is not None and path.resolve().is_relative_to(std)
    return inside and not (mine is not None and mine.resolve().is_relative_to(std))


def rename(analyses: Iterable[Analysis], symbol: Symbol, name: str) -> list[Span]:
    """The places to change. Raises UsageError if `name` cannot be used there, or if it is not
    certain that these are all the places."""
    _check_name(name)
    analyses = list(analyses)
    spans: list[Span] = []
    for analysis in analyses:
        _ = analysis.types  # names behind dots are known to the checker
        mine = [use for use in analysis.uses if is_same(use.symbol, symbol)]
        if not mine:
            continue
        if symbol.kind in _TYPED and symbol.parent is not None:
            _check_certain(analysis)
        for use in mine:
            other = analysis.names.visible(use.span.start).get(name)
            if other is not None and not is_same(other, symbol):
                raise UsageError(f"`{name}` already means something in line {use.span.line}")
        for use in analysis.uses:
            if use.span.text == name and not is_same(use.symbol, symbol):
                seen = analysis.names.visible(use.span.start).values()
                if any(is_same(each, symbol) for each in seen):
                    raise UsageError(f"`{name}` is used in line {use.span.line} already")
        spans.extend(use.span for use in mine)
    if symbol.parent is not None and name in symbol.parent.children:
        raise UsageError(f"`{symbol.parent.name}` has a `{name}` already")
    return spans


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} is no name: letters, digits and _, no digit first")
    if name in KEYWORDS | RESERVED | PRELUDE:
        raise UsageError(f"`{name}` belongs to the language")


def _check_certain(analysis: Analysis) -> None:
    if any(d.is_error for d in analysis.diagnostics):
        raise UsageError(
            f"{analysis.source.name} has errors, so not all uses of the name are known"
        )


def workspace_symbols(analyses: Iterable[Analysis], query: str) -> Iterator[Symbol]:
    """Items and members whose name holds the letters of `query` in this order."""
    pattern = re.compile(".*".join(map(re.escape, query)), re.IGNORECASE)
    for analysis in analyses:
        yield from (symbol for symbol in analysis.items() if pattern.search(symbol.name))
