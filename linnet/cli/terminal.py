"""What a person or a pipe sees: results on stdout, everything else on stderr.

`Console` is the only place of the command line that writes. Results are flushed at once;
progress is one line that is there only on a terminal and gone when its work is done; colour
appears where the stream is a terminal, and NO_COLOR, FORCE_COLOR and TERM=dumb are respected.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from typing import TextIO

RED, YELLOW, CYAN, BOLD = "31", "33", "36", "1"
STDOUT = "stdout"
"""The name by which errors of writing call the standard output."""

# What stands in for characters of diagnostics in an encoding that has none of them. Before the
# code of a line everything keeps its width, so that the marks below stay where they belong.
_PLAIN = {
    **{"┌": "-", "├": "-", "─": "-", "│": "|", "┆": ":"},
    **{"│ …": "| ~", "…": "...", "×": "x", "µ": "u", "–": "-", "—": "-", "≤": "<=", "≥": ">="},
}
_CLEAR_LINE = "\r\x1b[K"


class Console:
    """The streams of one run. `quiet` leaves only results and errors; `verbose` says more."""

    def __init__(self) -> None:
        self.quiet = False
        self.verbose = False
        self._line_open = False  # stdout stands in the middle of a line
        self._status = ""

    # Results.

    def out(self, text: str) -> None:
        """Write to stdout as it is, at once. Raises BrokenPipeError when nobody reads, another
        OSError with the name `STDOUT` when it takes no more."""
        if not text or sys.stdout is None:
            return
        self._hide_status()
        # Before the text is out: an interrupt may come while it is being written.
        self._line_open = not text.endswith("\n")
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            self._line_open = False
            raise OSError(error.errno, error.strerror, STDOUT) from None

    def line(self, text: str = "") -> None:
        """Write a line to stdout."""
        self.out(f"{plain(text, sys.stdout)}\n")

    def end_line(self) -> None:
        """Finish the line that stdout stands in, if it does."""
        if self._line_open:
            self.out("\n")

    # Everything else.

    def note(self, text: str) -> None:
        """Something worth knowing."""
        if not self.quiet:
            self.report(text)

    def detail(self, text: str) -> None:
        """Something for those who asked with -v."""
        if self.verbose and not self.quiet:
            self.report(text)

    def warning(self, text: str) -> None:
        if not self.quiet:
            self.report(f"{self.styled('warning', BOLD, YELLOW)}: {text}")

    def error(self, message: str, help: str | None = None) -> None:
        """What went wrong, and what to do. The first line carries the label."""
        self.report(f"{self.styled('error', BOLD, RED)}: {message}")
        if help:
            self.report(f"{self.styled('help', BOLD, CYAN)}: {help}")

    def report(self, text: str) -> None:
        """Write a line to stderr, whatever `quiet` says."""
        if sys.stderr is None:
            return
        self._hide_status()
        with contextlib.suppress(BrokenPipeError):
            sys.stderr.write(f"{plain(text, sys.stderr)}\n")
            sys.stderr.flush()

    @property
    def colour(self) -> bool:
        """Whether stderr is shown in colour."""
        return has_colour(sys.stderr)

    def styled(self, text: str, *styles: str) -> str:
        """`text` in these styles where stderr shows them."""
        return f"\x1b[{';'.join(styles)}m{text}\x1b[0m" if self.colour else text

    # Progress.

    @contextlib.contextmanager
    def progress(self, text: str) -> Iterator[None]:
        """Show what takes time, until it is done or something is written."""
        self.show_status(text)
        try:
            yield
        finally:
            self._hide_status()

    def show_status(self, text: str) -> None:
        """Put another text into the progress line."""
        if self.quiet or not is_terminal(sys.stderr) or os.environ.get("TERM") == "dumb":
            return
        self._hide_status()
        self._status = text
        sys.stderr.write(f"{text} ...")
        sys.stderr.flush()

    def _hide_status(self) -> None:
        if self._status:
            self._status = ""
            sys.stderr.write(_CLEAR_LINE)
            sys.stderr.flush()


def plain(text: str, stream: TextIO | None) -> str:
    """`text` as `stream` can show it: drawn in ASCII where its encoding has no better."""
    try:
        text.encode(getattr(stream, "encoding", None) or "utf-8", "surrogateescape")
    except (UnicodeEncodeError, LookupError):
        for char in sorted(_PLAIN, key=len, reverse=True):
            text = text.replace(char, _PLAIN[char])
    return text


def is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def has_colour(stream: TextIO | None) -> bool:
    """Whether to colour what goes to `stream`."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return is_terminal(stream) and os.environ.get("TERM") != "dumb"


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines with the cells of `rows` in columns, two spaces apart; the last is as it is."""
    count = max((len(row) for row in rows), default=0)
    widths = [max((len(row[k]) for row in rows if k < len(row)), default=0) for k in range(count)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip()
        for row in rows
    ]


def counted(number: int, noun: str) -> str:
    """`1 error`, `2 errors`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def size(count: int) -> str:
    """A number of bytes for people."""
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= scale:
            return f"{count / scale:.1f} {unit}"
    return f"{count} B"
