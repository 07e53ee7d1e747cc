"""Diagnostics: places in source, reports as data, their codes, and how they are drawn."""

from __future__ import annotations

from linnet.diag.codes import CODES, Code, Severity
from linnet.diag.diagnostic import Diagnostic, Label, Problems
from linnet.diag.span import Source, Span

__all__ = [
    "CODES",
    "Code",
    "Diagnostic",
    "Label",
    "Problems",
    "Severity",
    "Source",
    "Span",
]
