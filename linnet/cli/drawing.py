"""Diagnostics on the terminal.

In go diagnostics as data; out, on stderr, their rendering and a line that counts them.
"""

from __future__ import annotations

from collections.abc import Sequence

from linnet.cli.terminal import Console, counted
from linnet.diag.diagnostic import Diagnostic


def draw(diagnostics: Sequence[Diagnostic], console: Console) -> None:
    """Show them all, and how many there are. With `quiet`, warnings are left out."""
    from linnet.diag.render import render

    errors = [d for d in diagnostics if d.is_error]
    for diagnostic in errors if console.quiet else diagnostics:
        console.report(render(diagnostic).rstrip("\n"))
        console.report("")
    if found := tally(diagnostics):
        console.note(found)


def tally(diagnostics: Sequence[Diagnostic]) -> str:
    """`2 errors, 1 warning`; empty for none."""
    errors = sum(d.is_error for d in diagnostics)
    warnings = len(diagnostics) - errors
    parts = [(errors, "error"), (warnings, "warning")]
    return ", ".join(counted(number, noun) for number, noun in parts if number)
