"""What an editor shows beside and in the text: inferred types, and colours by meaning."""

from __future__ import annotations

from collections.abc import Iterator

from linnet.lsp.analysis import Analysis
from linnet.lsp.symbols import Symbol
from linnet.syntax import tree

TOKEN_TYPES = (
    "namespace", "type", "class", "enum", "enumMember", "struct", "typeParameter", "parameter",
    "variable", "property", "function", "method",
)  # fmt: skip
TOKEN_MODIFIERS = ("declaration", "readonly", "defaultLibrary")
_TOKEN_OF = {
    "module": "namespace", "type": "type", "block": "class", "enum": "enum", "struct": "struct",
    "variant": "enumMember", "generic": "typeParameter", "parameter": "parameter",
    "variable": "variable", "index": "variable", "constant": "variable", "field": "property",
    "param": "property", "buffer": "property", "state": "property", "sub": "property",
    "function": "function", "op": "function", "entry": "function", "import": "namespace",
}  # fmt: skip


def inlay_hints(analysis: Analysis, start: int, end: int) -> Iterator[tuple[int, str]]:
    """Offsets between two places and the text to show there: the types of bindings that are
    written without one."""
    for node in tree.walk(analysis.module):
        match node:
            case tree.Let(type=None):
                named = [p for p in tree.walk(node.pattern) if isinstance(p, tree.NamePattern)]
                spans = [(part.span, part.span.end) for part in named]
            case tree.Var(type=None):
                spans = [(node.name_span, node.name_span.end)]
            case tree.IndexLet():
                close = analysis.source.text.find("]", node.outputs[-1].span.end)
                spans = [(node.name_span, close + 1)] if node.outputs else []
            case _:
                continue
        for span, at in spans:
            if start <= at <= end:
                text = analysis.types.text_at(span)
                if text is not None:
                    yield at, f": {text}"


def semantic_tokens(analysis: Analysis) -> Iterator[tuple[int, int, int, int]]:
    """Start, length, type and modifiers of each name, in order, none over another. The last two
    are an index into `TOKEN_TYPES` and a sum of bits by the order of `TOKEN_MODIFIERS`."""
    done = 0
    for use in analysis.uses:
        if use.span.start < done or "\n" in use.span.text:
            continue
        symbol = use.symbol.real
        modifiers = int(use.span.start == use.symbol.span.start) and int(
            use.span.source is use.symbol.span.source
        )
        if _is_fixed(symbol):
            modifiers |= 2
        if _is_library(analysis, symbol):
            modifiers |= 4
        yield (
            use.span.start,
            use.span.end - use.span.start,
            TOKEN_TYPES.index(_token(symbol)),
            modifiers,
        )
        done = use.span.end


def _token(symbol: Symbol) -> str:
    if symbol.kind in ("function", "op", "entry"):
        inside = symbol.parent is not None and symbol.parent.kind == "block"
        return "method" if inside else "function"
    return _TOKEN_OF[symbol.kind]


def _is_fixed(symbol: Symbol) -> bool:
    if symbol.kind == "variable":
        return not isinstance(symbol.node, tree.Var)
    return symbol.kind in ("constant", "param", "buffer", "parameter", "generic", "index")


def _is_library(analysis: Analysis, symbol: Symbol) -> bool:
    path = symbol.span.source.path
    return path is not None and path.is_relative_to(analysis.graph.std)
