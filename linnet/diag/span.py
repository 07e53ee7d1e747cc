"""Places in source text.

A `Source` is one text with the name people see; a `Span` is a half-open stretch of it in
characters (code points) from 0. Lines, columns and byte offsets are worked out here, on
demand, and nowhere else: stages carry spans only. Nothing here reads files.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from linnet.diag.frozen import frozen_value


@dataclass(frozen=True, eq=False)
class Source:
    """One text. `name` is what diagnostics show, `path` the file it came from, if any.

    `text` is exactly what was decoded, byte-order mark and carriage returns included, so that
    offsets mean the same to everybody. Undecodable bytes stand in it as lone surrogates
    (`errors="surrogateescape"`). Two sources are equal only if they are one object."""

    name: str
    text: str = field(repr=False)
    path: Path | None = None

    @cached_property
    def line_starts(self) -> tuple[int, ...]:
        """Offset of the first character of each line. LF, CR LF and a lone CR end a line."""
        starts = [0]
        text = self.text
        if "\r" in text:
            starts.extend(
                at + 1
                for at, char in enumerate(text)
                if char == "\n" or (char == "\r" and text[at + 1 : at + 2] != "\n")
            )
            return tuple(starts)
        at = text.find("\n")
        while at >= 0:
            starts.append(at + 1)
            at = text.find("\n", at + 1)
        return tuple(starts)

    def line_column(self, offset: int) -> tuple[int, int]:
        """Line and column of a character offset, both from 1, columns in code points."""
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    def line_text(self, line: int) -> str:
        """The text of line `line` (from 1) without its line ending."""
        start = self.line_starts[line - 1]
        end = self.line_starts[line] if line < len(self.line_starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")

    def byte_offset(self, offset: int) -> int:
        """Offset in bytes of a character offset, as the text stands in UTF-8."""
        head = self.text[:offset]
        return len(head) if head.isascii() else len(head.encode("utf-8", "surrogateescape"))

    def span(self, start: int, end: int) -> Span:
        return Span(self, start, end)


@frozen_value
class Span:
    """The characters `start` (inclusive) to `end` (exclusive) of `source`."""

    source: Source
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    @property
    def line(self) -> int:
        """Line of the first character, from 1."""
        return self.source.line_column(self.start)[0]

    @property
    def column(self) -> int:
        """Column of the first character, from 1."""
        return self.source.line_column(self.start)[1]

    def to(self, other: Span) -> Span:
        """From the start of this span to the end of `other`, which stands in the same source."""
        return Span(self.source, self.start, other.end)

    @property
    def before(self) -> Span:
        """The empty span at the start."""
        return Span(self.source, self.start, self.start)

    @property
    def after(self) -> Span:
        """The empty span just behind the end."""
        return Span(self.source, self.end, self.end)

    def __str__(self) -> str:
        line, column = self.source.line_column(self.start)
        return f"{self.source.name}:{line}:{column}"
