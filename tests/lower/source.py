"""Programs written in a test, checked against the standard library."""

from __future__ import annotations

from pathlib import Path

from linnet.check import check_source
from linnet.check.typed import Program
from linnet.diag import Source


def checked(text: str) -> Program:
    """The typed program of one module; a program with errors fails the test with them."""
    result = check_source(Source("m.linnet", text, Path("m.linnet")))
    found = [f"{d.code} {d.message}" for d in result.problems if d.is_error]
    assert result.program is not None, found
    return result.program
