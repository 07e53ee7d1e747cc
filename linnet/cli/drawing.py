"""Diagnostics on the terminal.

In go diagnostics as data; out, on stderr, comes their rendering with a line that counts them.
"""

from __future__ import annotations

from collections.abc import Iterable

from linnet.cli.terminal import Console
from linnet.diag.diagnostic import Diagnostic


def draw(diagnostics: Iterable[Diagnostic], console: Console) -> None:
    """Show all of them; with `quiet`, only the errors."""
    from linnet.diag.render import render_all

    shown = [d for d in diagnostics if d.is_error or not console.quiet]
    if shown:
        console.report(render_all(shown, colour=console.colour))
