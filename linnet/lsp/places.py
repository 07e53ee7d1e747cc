"""Between offsets in a source and the lines and columns of an editor.

Editors count columns in UTF-16 units or, if they say so, in UTF-32 or UTF-8 units; lines end where
the protocol says they do, which is where `Source` says so too.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from linnet.diag import Source, Span

Encoding: TypeAlias = Literal["utf-8", "utf-16", "utf-32"]
Position: TypeAlias = tuple[int, int]  # line and column, both from 0


def units(text: str, encoding: Encoding) -> int:
    """The length of `text` as an editor counts it."""
    if encoding == "utf-32" or text.isascii():
        return len(text)
    width = 2 if encoding == "utf-16" else 1
    return len(text.encode("utf-16-le" if width == 2 else "utf-8", "surrogatepass")) // width


def position(source: Source, offset: int, encoding: Encoding) -> Position:
    """Where an editor sees a character offset."""
    line, column = source.line_column(min(offset, len(source.text)))
    start = source.line_starts[line - 1]
    return line - 1, units(source.text[start : start + column - 1], encoding)


def span_positions(span: Span, encoding: Encoding) -> tuple[Position, Position]:
    return position(span.source, span.start, encoding), position(span.source, span.end, encoding)


def offset_of(source: Source, line: int, column: int, encoding: Encoding) -> int:
    """The character offset of an editor's place; beyond the end of a line or of the text, that
    end."""
    if line >= len(source.line_starts):
        return len(source.text)
    text = source.line_text(line + 1)
    start = source.line_starts[line]
    if encoding == "utf-32" or text.isascii():
        return start + min(column, len(text))
    left = column
    for at, char in enumerate(text):
        left -= units(char, encoding)
        if left < 0:
            return start + at
    return start + len(text)
