"""Diagnostics as workflow commands, which GitHub shows beside the lines they are about."""

from __future__ import annotations

from collections.abc import Iterable

from linnet.diag.diagnostic import Diagnostic
from linnet.diag.render import encodable
from linnet.diag.sarif import lines

_LEVELS = {"error": "error", "warning": "warning", "note": "notice"}


def to_github(diagnostics: Iterable[Diagnostic]) -> str:
    """One line a diagnostic, without a final newline."""
    return "\n".join(_command(diagnostic) for diagnostic in diagnostics)


def _command(diagnostic: Diagnostic) -> str:
    properties = {}
    if diagnostic.primary is not None:
        span = diagnostic.primary.span
        first, last = span.source.line_column(span.start), span.source.line_column(span.end)
        properties = {"file": span.source.name, "line": first[0], "endLine": last[0]}
        if first[0] == last[0]:  # columns are only taken for one line
            properties |= {"col": first[1], "endColumn": last[1]}
    elif diagnostic.file is not None:
        properties = {"file": diagnostic.file}
    properties["title"] = diagnostic.code
    head = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    text = _data("\n".join(lines(diagnostic)))
    return f"::{_LEVELS[str(diagnostic.severity)]} {head}::{text}"


def _data(text: str) -> str:
    text = encodable(text).replace("%", "%25")
    return text.replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
