"""What is said about the name or expression at a place."""

from __future__ import annotations

import re

from linnet.check import show
from linnet.diag import Span
from linnet.lsp.analysis import Analysis
from linnet.lsp.symbols import Symbol
from linnet.lsp.types import place, shown
from linnet.syntax import tree


def hover(analysis: Analysis, offset: int) -> tuple[Span, str] | None:
    """The span that is meant and Markdown about it, or None where there is nothing to say."""
    types = analysis.types
    use = analysis.use_at(offset, of_dots=True)
    if use is not None:
        lines = [f"```linnet\n{describe(analysis, use.symbol)}\n```"]
        call = types.call_of(use.symbol.real.span, use.span)
        if call is not None:
            lines.append(f"here: `{shown(call.type)}`")
        if use.symbol.real.doc:
            lines.append(use.symbol.real.doc)
        return use.span, "\n\n".join(lines)
    found = types.around(analysis.source, offset)
    if found is None:
        return None
    return found.span, f"```linnet\n{shown(found.type)}\n```"


def describe(analysis: Analysis, symbol: Symbol) -> str:
    """The declaration of a symbol on one line, with its type where the checker knows it."""
    symbol = symbol.real
    node = symbol.node
    if symbol.kind == "module":
        return f"module {symbol.name}"
    if symbol.kind in ("function", "op", "entry"):
        known = analysis.types.functions.get(place(symbol.span))
        return show.signature(known) if known is not None else _head(node)
    if symbol.kind in ("param", "buffer", "state", "sub"):
        known_type = analysis.types.text_at(symbol.span)
        return f"{symbol.kind} {symbol.name}: {known_type}" if known_type else _head(node)
    if symbol.kind in ("parameter", "variable"):
        known_type = analysis.types.text_at(symbol.span)
        if known_type is None and isinstance(node, tree.Parameter | tree.Field):
            known_type = " ".join(node.type.span.text.split())
        return f"{symbol.name}: {known_type}" if known_type else symbol.name
    if symbol.kind == "variant" and symbol.parent is not None:
        return f"{symbol.parent.name}.{symbol.name}"
    if symbol.kind == "index":
        return f"index {symbol.name}"
    return _head(node)


def _head(node: tree.Node) -> str:
    """The source of a declaration up to its braces, on one line."""
    text = re.split(r"[{]", node.span.text, maxsplit=1)[0]
    return " ".join(text.split())
