"""Repairs that a diagnostic asks for in words, as edits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from linnet.diag import Diagnostic, Span
from linnet.lsp.analysis import Analysis
from linnet.lsp.scopes import enclosing
from linnet.syntax import tree

_CLAUSE = re.compile(r"add `(?P<clause>[^`]+)` to the where list of `(?P<owner>[^`]+)`")
_IMPORT = re.compile(r"import it: `(?P<line>use (?P<module>[\w.]+)::\{(?P<name>\w+)\})`")
_NEAR = re.compile(r"did you mean `(?P<name>\w+)`\?")


@dataclass(frozen=True)
class Action:
    """`title` says what is done; `span` is replaced by `text`."""

    title: str
    diagnostic: Diagnostic
    span: Span
    text: str


def actions(analysis: Analysis, start: int, end: int) -> Iterator[Action]:
    """The repairs for what is wrong between two places."""
    for diagnostic in analysis.diagnostics:
        primary = diagnostic.primary
        if primary is None or primary.span.source is not analysis.source:
            continue
        if primary.span.start > end or primary.span.end < start:
            continue
        for help in diagnostic.help:
            yield from _repairs(analysis, diagnostic, primary.span, help)


def _repairs(analysis: Analysis, diagnostic: Diagnostic, span: Span, help: str) -> Iterator[Action]:
    if match := _CLAUSE.search(help):
        edit = _add_clause(analysis, span, match["clause"], match["owner"])
        if edit is not None:
            yield Action(f"Add `where {match['clause']}` to `{match['owner']}`", diagnostic, *edit)
    elif match := _IMPORT.search(help):
        edit = _add_import(analysis, match["module"], match["name"], match["line"])
        yield Action(f"Add `{match['line']}`", diagnostic, *edit)
    elif (match := _NEAR.search(help)) and diagnostic.code == "E1201":
        yield Action(f"Change to `{match['name']}`", diagnostic, span, match["name"])


def _add_clause(analysis: Analysis, span: Span, clause: str, owner: str) -> tuple[Span, str] | None:
    """The edit that adds a clause to the head of the item `owner` around a place."""
    around = [
        symbol
        for symbol in enclosing(analysis.symbol.children.values(), span.start)
        if symbol.name == owner.rpartition(".")[2]
    ]
    if not around:
        return None
    item = around[-1].node
    if not isinstance(item, tree.Function | tree.Block):
        return None
    source = analysis.source
    if isinstance(item, tree.Function):
        brace = item.body.span.start
    else:
        brace = next(
            (t.start for t in analysis.module.tokens
             if t.type == "LBRACE" and t.start >= _head_end(item)), -1
        )  # fmt: skip
    if brace < 0:
        return None
    line = source.text.rfind("\n", 0, item.span.start) + 1
    margin = re.match(r"[ \t]*", source.text[line : item.span.start])
    indent = margin.group() if margin else ""
    if not item.where:
        blank = brace - len(source.text[:brace].rstrip())
        return source.span(brace - blank, brace), f"\n{indent}where {clause} "
    last = item.where[-1].span.end
    between = source.text[last:brace].strip()
    if between.startswith(",") or "/" in between:
        after = last + len(source.text[last:brace]) - len(source.text[last:brace].lstrip())
        at = after + 1 if between.startswith(",") else last
        text = f"\n{indent}    {clause}," if between.startswith(",") else f", {clause}"
        return source.span(at, at), text
    if len(item.where) > 1:
        return source.span(last, last), f",\n{indent}    {clause}"
    only = item.where[0].span
    word = source.text.rfind("where", 0, only.start)
    text = f"where\n{indent}    {only.text},\n{indent}    {clause}\n{indent}"
    return source.span(word, brace), text


def _head_end(item: tree.Block) -> int:
    ends = [item.name_span.end, *(g.span.end for g in item.generics)]
    return max([*ends, *(clause.span.end for clause in item.where)])


def _add_import(analysis: Analysis, module: str, name: str, line: str) -> tuple[Span, str]:
    """The edit that imports `name`: into the braces of an import of the module, or as a line of
    its own behind the last one."""
    source = analysis.source
    for use in analysis.module.uses:
        if use.path_text == module and use.picks and source.text[use.span.end - 1] == "}":
            at = use.picks[-1].span.end
            return source.span(at, at), f", {name}"
    if analysis.module.uses:
        at = analysis.module.uses[-1].span.end
        return source.span(at, at), f"\n{line}"
    if analysis.module.path:
        at = analysis.module.path[-1].span.end
        return source.span(at, at), f"\n\n{line}"
    return source.span(0, 0), f"{line}\n"
