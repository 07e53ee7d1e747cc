"""Comments that silence warnings, and a report of those that silence nothing.

    let y = x * 2.0      // linnet: allow(W1002)
    // linnet: allow(W1001, W1003) and a reason

At the end of a line a comment speaks of that line, alone on its line of the next line with code.
Errors cannot be silenced.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

from linnet.check.context import Run
from linnet.check.entities import ModuleScope
from linnet.check.names import nearest
from linnet.diag import Span
from linnet.diag.codes import CODES
from linnet.syntax import tree

_COMMENT = re.compile(r"//\s*linnet:(.*)", re.S)
_ALLOW = re.compile(r"\s*allow\(\s*([^()]*?)\s*\).*", re.S)
_CODE = re.compile(r"[^\s,]+")


@dataclass(frozen=True)
class _Allowed:
    """One code of one comment, and the line it is allowed on."""

    code: str
    span: Span
    line: int


def suppress(run: Run, modules: Iterable[ModuleScope], own: Iterable[ModuleScope]) -> None:
    """Drop the warnings that comments of `modules` allow; W1902 for comments of `own` that allow
    what nobody warns of."""
    reported_here = {id(module) for module in own}
    for module in modules:
        comments = [c for c in module.tree.comments if "linnet:" in c.text]
        if not comments:
            continue
        allowed: list[_Allowed] = []
        for comment in comments:
            if _COMMENT.fullmatch(comment.text):
                allowed += _read(run, module, comment, id(module) in reported_here)
        for one in allowed:
            used = run.problems.drop(one.code, module.tree.source, one.line)
            if not used and id(module) in reported_here:
                _unused(run, one)


def _read(run: Run, module: ModuleScope, comment: tree.Comment, report: bool) -> list[_Allowed]:
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
    line = _line(module, comment)
    start = comment.span.start + found.start(1) + codes.start(1)
    source = module.tree.source
    return [
        _Allowed(code.group(), source.span(start + code.start(), start + code.end()), line)
        for code in _CODE.finditer(codes.group(1))
    ]


def _line(module: ModuleScope, comment: tree.Comment) -> int:
    """The line a comment speaks of."""
    source = module.tree.source
    line = comment.span.line
    before = source.text[source.line_starts[line - 1] : comment.span.start]
    if before.strip():
        return line
    tokens = module.tree.tokens
    place = bisect_left(tokens, comment.span.end, key=lambda token: token.start)
    return line if place == len(tokens) else source.line_column(tokens[place].start)[0]


def _unused(run: Run, allowed: _Allowed) -> None:
    code = CODES.get(allowed.code)
    if code is None:
        near = nearest(allowed.code, [c for c in CODES if c.startswith("W")])
        label, help = "there is no such code", f"did you mean `{near}`?" if near else "remove it"
    elif code.severity == "error":
        label, help = "an error cannot be allowed", "repair what it is about"
    else:
        label, help = f"line {allowed.line} gives no such warning", "remove it"
    run.report("W1902", f"allowing {allowed.code} changes nothing", allowed.span, label, help=help)
