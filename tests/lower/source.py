"""Programs written in a test, checked against the standard library."""

from __future__ import annotations

import tempfile
from pathlib import Path

from linnet.check import check_file
from linnet.check.typed import Program


def checked(text: str) -> Program:
    """The typed program of one module; a program with errors fails the test with them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.linnet"
        path.write_text(text, encoding="utf-8")
        result = check_file(path)
    found = [f"{d.code} {d.message}" for d in result.problems if d.is_error]
    assert result.program is not None, found
    return result.program
