"""Diagnostics as SARIF 2.1.0, the form in which code hosts take results of checkers.

Only codes that occur are listed as rules. Columns count code points, ends are exclusive.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from linnet.diag.codes import CODES
from linnet.diag.diagnostic import Diagnostic, Label
from linnet.diag.render import encodable
from linnet.diag.span import Span

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def to_sarif(diagnostics: Iterable[Diagnostic], version: str) -> dict[str, Any]:
    """The document of `check --format sarif`; `version` is that of the compiler."""
    found = list(diagnostics)
    codes = sorted({diagnostic.code for diagnostic in found})
    driver = {"name": "linnet", "version": version, "rules": [_rule(code) for code in codes]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(diagnostic, codes) for diagnostic in found],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(number: str) -> dict[str, Any]:
    code = CODES[number]
    return {
        "id": number,
        "shortDescription": {"text": code.title},
        "fullDescription": {"text": code.explanation},
        "defaultConfiguration": {"level": code.severity},
    }


def _result(diagnostic: Diagnostic, codes: list[str]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": diagnostic.code,
        "ruleIndex": codes.index(diagnostic.code),
        "level": diagnostic.severity,
        "message": {"text": encodable("\n".join(lines(diagnostic)))},
        "locations": [],
    }
    if diagnostic.primary is not None:
        result["locations"] = [{"physicalLocation": _place(diagnostic.primary.span)}]
    elif diagnostic.file is not None:
        artifact = {"artifactLocation": {"uri": _uri(diagnostic.file)}}
        result["locations"] = [{"physicalLocation": artifact}]
    if diagnostic.related:
        result["relatedLocations"] = [_related(label) for label in diagnostic.related]
    return result


def lines(diagnostic: Diagnostic) -> list[str]:
    """A diagnostic without its places: the message, what the mark says, notes and help."""
    label = diagnostic.primary.text if diagnostic.primary is not None else ""
    return [
        diagnostic.message,
        *([label] if label else []),
        *(f"note: {note}" for note in diagnostic.notes),
        *(f"help: {help}" for help in diagnostic.help),
    ]


def _related(label: Label) -> dict[str, Any]:
    related: dict[str, Any] = {"physicalLocation": _place(label.span)}
    if label.text:
        related["message"] = {"text": encodable(label.text)}
    return related


def _place(span: Span) -> dict[str, Any]:
    first, last = span.source.line_column(span.start), span.source.line_column(span.end)
    region = dict(
        zip(("startLine", "startColumn", "endLine", "endColumn"), (*first, *last), strict=True)
    )
    return {"artifactLocation": {"uri": _uri(span.source.name)}, "region": region}


def _uri(name: str) -> str:
    """The URI of a file as it was named: relative, or with the scheme `file`."""
    path = Path(name)
    text = quote(encodable(path.as_posix()))
    return f"file://{text}" if path.is_absolute() else text
