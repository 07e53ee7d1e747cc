"""Helpers: check a program written inline and look at what was said."""

from __future__ import annotations

import re

from linnet.check import CheckResult, check_source
from linnet.diag import Diagnostic, Source


def check(text: str) -> CheckResult:
    """Check a program; `module t` is put in front unless it has its own."""
    if re.search(r"^\s*module ", text, re.MULTILINE) is None:
        text = f"module t\n{text}"
    return check_source(Source("t.linnet", text))


def diagnostics(text: str) -> list[Diagnostic]:
    return list(check(text).problems)


def codes(text: str) -> list[str]:
    """The codes of all diagnostics, in order of place."""
    return [diagnostic.code for diagnostic in diagnostics(text)]


def errors(text: str) -> list[str]:
    """The codes without the warnings about style."""
    return [code for code in codes(text) if not code.startswith("W10")]


def body(statements: str, head: str = "fn f(x: Tensor[4; f32], i: i32) -> f32") -> list[str]:
    """The errors of one function around some statements, which end with a `return`."""
    return errors(f"{head} {{ {statements} }}")


def only(text: str) -> Diagnostic:
    """The single diagnostic of a program."""
    found = diagnostics(text)
    assert len(found) == 1, [(d.code, d.message) for d in found]
    return found[0]
