"""Comments that silence warnings, and a report of those that silence nothing.

    let y = x * 2.0      // linnet: allow(W1002)
    // linnet: allow(W1001, W1003) and a reason

At the end of a line a comment speaks of what it stands in or behind, alone on its line of what
follows: one statement, import, member, parameter or arm, or the head of what has a body. Behind a
closing brace it speaks of all that the brace closes. So it means the same however the code is
broken into lines. Errors cannot be silenced.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

from linnet.check.context import Run
from linnet.check.entities import ModuleScope
from linnet.check.names import nearest
from linnet.diag import Source, Span
from linnet.diag.codes import CODES
from linnet.syntax import tree

_COMMENT = re.compile(r"//\s*linnet:(.*)", re.S)
_ALLOW = re.compile(r"\s*allow\(\s*([^()]*?)\s*\).*", re.S)
_CODE = re.compile(r"[^\s,]+")


@dataclass(frozen=True)
class _Allowed:
    """One code of one comment, and the stretch of source it is allowed in."""

    code: str
    span: Span
    within: Span


def suppress(run: Run, modules: Iterable[ModuleScope], own: Iterable[ModuleScope]) -> None:
    """Drop the warnings that comments of `modules` allow; W1902 for comments of `own` that allow
    what nobody warns of."""
    reported_here = {id(module) for module in own}
    for module in modules:
        comments = [c for c in module.tree.comments if "linnet:" in c.text]
        if not comments:
            continue
        allowed: list[_Allowed] = []
        elements = _Elements(module.tree)
        for comment in comments:
            if _COMMENT.fullmatch(comment.text):
                allowed += _read(run, elements, comment, id(module) in reported_here)
        for one in allowed:
            used = run.problems.drop(one.code, one.within)
            if not used and id(module) in reported_here:
                _unused(run, one)


def _read(run: Run, elements: _Elements, comment: tree.Comment, report: bool) -> list[_Allowed]:
    found = _COMMENT.fullmatch(comment.text)
    assert found is not None
    codes = _ALLOW.fullmatch(found.group(1))
    if codes is None or not codes.group(1):
        if report:
            run.report(
                "W1902",
                "a comment for linnet that says nothing",
                comment.span,
                "not understood",
                help="write `// linnet: allow(W1002)`, with codes of warnings",
            )
        return []
    within = elements.spoken_of(comment)
    start = comment.span.start + found.start(1) + codes.start(1)
    source = comment.span.source
    return [
        _Allowed(code.group(), source.span(start + code.start(), start + code.end()), within)
        for code in _CODE.finditer(codes.group(1))
    ]


class _Elements:
    """The parts of a module that a comment can speak of, as stretches of its source."""

    def __init__(self, module: tree.Module) -> None:
        self._module = module
        self._simple: list[Span] = []
        self._closed: dict[int, Span] = {}
        nodes = list(tree.walk(module))
        bodies = sorted(node.span.start for node in nodes if isinstance(node, tree.Body))
        for node in nodes:
            if isinstance(node, _ELEMENTS):
                self._take(node, bodies)

    def _take(self, node: tree.Node, bodies: list[int]) -> None:
        span = node.span
        end = span.end
        place = bisect_left(bodies, span.start)
        if isinstance(node, tree.Block):
            heads = [
                node.name_span,
                *(g.span for g in node.generics),
                *(w.span for w in node.where),
            ]
            end = max(part.end for part in heads)
        elif place < len(bodies):
            end = min(end, bodies[place])
        if end < span.end:
            self._closed.setdefault(span.end, span)
        self._simple.append(span.source.span(span.start, end))

    def spoken_of(self, comment: tree.Comment) -> Span:
        """What a comment speaks of; the line itself where no element is."""
        source, tokens = self._module.source, self._module.tokens
        start = comment.span.start
        line = source.line_starts[comment.span.line - 1]
        place = bisect_left(tokens, start, key=lambda token: token.start)
        if source.text[line:start].strip():
            place -= 1
            if place > 0 and tokens[place].type in ("COMMA", "SEMICOLON"):
                place -= 1
            if place >= 0 and tokens[place].end in self._closed:
                return self._closed[tokens[place].end]
        if not 0 <= place < len(tokens):
            return comment.span
        token = tokens[place]
        around = [e for e in self._simple if e.start <= token.start and token.end <= e.end]
        return min(around, key=lambda e: e.end - e.start, default=_line_of(source, token.start))


_ELEMENTS = (
    tree.Statement | tree.Item | tree.Use | tree.Parameter | tree.Generic | tree.Field | tree.Arm
)


def _line_of(source: Source, offset: int) -> Span:
    line, _ = source.line_column(offset)
    start = source.line_starts[line - 1]
    return source.span(start, start + len(source.line_text(line)))


def _unused(run: Run, allowed: _Allowed) -> None:
    code = CODES.get(allowed.code)
    if code is None:
        near = nearest(allowed.code, [c for c in CODES if c.startswith("W")])
        label, help = "there is no such code", f"did you mean `{near}`?" if near else "remove it"
    elif code.severity == "error":
        label, help = "an error cannot be allowed", "repair what it is about"
    else:
        label, help = "what it stands by gives no such warning", "remove it"
    run.report("W1902", f"allowing {allowed.code} changes nothing", allowed.span, label, help=help)
