"""Drawing diagnostics: as text for people, as JSON for tools.

    error[E2203]: reshape may change the number of elements
      ┌─ pond.linnet:12:12
    12 │     return reshape(x, [B, P, W / P])
       │            ^^^^^^^^^^^^^^^^^^^^^^^^^ has B * P * (W / P) elements, x has B * W
       = note: W / P rounds down; nothing in scope says that P divides W
       = help: add `W % P == 0` to the where list of `part`

`^` marks the place to change, `-` the places that explain. Takes `Diagnostic`s and words
nothing. Columns are counted in code points; on screen, tabs are four cells wide and wide
characters two, and the marks are drawn accordingly.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any

from linnet.diag.diagnostic import Diagnostic, Label
from linnet.diag.span import Source, Span

TAB = 4
MAX_LINE = 160

_COLOURS = {"error": "31;1", "warning": "33;1", "note": "36;1", "mark": "31;1", "explain": "34;1"}


def render(diagnostic: Diagnostic, *, colour: bool = False) -> str:
    """One diagnostic as lines of text, without a final newline. `colour` adds ANSI colours."""
    return _Drawing(diagnostic, colour).text()


def render_all(diagnostics: Iterable[Diagnostic], *, colour: bool = False) -> str:
    """Several diagnostics with an empty line between them, and a count as the last line;
    empty if there are none."""
    found = list(diagnostics)
    if not found:
        return ""
    parts = [render(diagnostic, colour=colour) for diagnostic in found]
    errors = sum(d.severity == "error" for d in found)
    warnings = sum(d.severity == "warning" for d in found)
    counts = [_count(n, word) for n, word in ((errors, "error"), (warnings, "warning")) if n]
    return "\n\n".join([*parts, " and ".join(counts)] if counts else parts)


def to_json(diagnostics: Iterable[Diagnostic]) -> dict[str, Any]:
    """The document of `check --json`: lines and columns from 1 (columns in code points),
    offsets in bytes from 0, ends exclusive."""
    found = list(diagnostics)
    return {
        "version": 1,
        "diagnostics": [_json(diagnostic) for diagnostic in found],
        "summary": {
            "errors": sum(d.severity == "error" for d in found),
            "warnings": sum(d.severity == "warning" for d in found),
        },
    }


# --- json -------------------------------------------------------------------------------


def _json(diagnostic: Diagnostic) -> dict[str, Any]:
    primary = diagnostic.primary
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity,
        "message": encodable(diagnostic.message),
        "label": encodable(primary.text) if primary is not None else "",
        "location": _location(primary.span) if primary is not None else None,
        "related": [
            {"label": encodable(label.text), "location": _location(label.span)}
            for label in diagnostic.related
        ],
        "notes": [encodable(note) for note in diagnostic.notes],
        "help": [encodable(help) for help in diagnostic.help],
    }


def _location(span: Span) -> dict[str, Any]:
    return {
        "file": encodable(span.source.name),
        "start": _position(span.source, span.start),
        "end": _position(span.source, span.end),
    }


def _position(source: Source, offset: int) -> dict[str, int]:
    line, column = source.line_column(offset)
    return {"line": line, "column": column, "offset": source.byte_offset(offset)}


def encodable(text: str) -> str:
    """`text` with lone surrogates replaced, as they could not be written in any encoding."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


# --- text -------------------------------------------------------------------------------


class _Drawing:
    def __init__(self, diagnostic: Diagnostic, colour: bool) -> None:
        self.diagnostic = diagnostic
        self.colour = colour
        labels = [] if diagnostic.primary is None else [(diagnostic.primary, "^")]
        labels += [(label, "-") for label in diagnostic.related]
        self.labels = labels
        self.gutter = max((len(str(label.span.line)) for label, _ in labels), default=1)

    def text(self) -> str:
        d = self.diagnostic
        severity = str(d.severity)
        out = [self._paint(severity, f"{severity}[{d.code}]") + f": {_one_line(d.message)}"]
        if not self.labels and d.file is not None:
            out.append(f"{' ' * self.gutter} ┌─ {_visible(d.file)}")
        for number, (source, labels) in enumerate(self._by_source()):
            line, column = source.line_column(labels[0][0].span.start)
            corner = "┌─" if number == 0 else "├─"
            out.append(f"{' ' * self.gutter} {corner} {_visible(source.name)}:{line}:{column}")
            out.extend(self._snippet(source, labels))
        for kind, texts in (("note", d.notes), ("help", d.help)):
            for text in texts:
                first, *rest = text.splitlines() or [""]
                out.append(f"{' ' * self.gutter} = {kind}: {_visible(first)}")
                out.extend(f"{' ' * self.gutter}         {_visible(line)}" for line in rest)
        return "\n".join(out)

    def _by_source(self) -> list[tuple[Source, list[tuple[Label, str]]]]:
        """The labels of each text together, the primary's text first."""
        groups: dict[int, tuple[Source, list[tuple[Label, str]]]] = {}
        for label, mark in self.labels:
            source = label.span.source
            groups.setdefault(id(source), (source, []))[1].append((label, mark))
        return list(groups.values())

    def _snippet(self, source: Source, labels: list[tuple[Label, str]]) -> list[str]:
        out: list[str] = []
        by_line: dict[int, list[tuple[Label, str]]] = {}
        for label, mark in labels:
            by_line.setdefault(label.span.line, []).append((label, mark))
        previous: int | None = None
        for line in sorted(by_line):
            if previous is not None and line > previous + 1:
                out.append(f"{' ' * self.gutter} ┆")
            text = source.line_text(line)
            start = source.line_starts[line - 1]
            window = _window(text, [label.span.start - start for label, _ in by_line[line]])
            shown = _cells(text[window[0] : window[1]])
            left = "…" if window[0] else ""
            right = "…" if window[1] < len(text) else ""
            out.append(f"{line:>{self.gutter}} │ {left}{shown}{right}".rstrip())
            for label, mark in sorted(by_line[line], key=lambda one: -one[0].span.start):
                out.append(self._marks(label, mark, text, start, window))
            previous = line
        return out

    def _marks(
        self, label: Label, mark: str, text: str, start: int, window: tuple[int, int]
    ) -> str:
        """The line of marks below one line of code. A span over several lines is marked to the
        end of its first."""
        first = min(max(label.span.start - start, window[0]), window[1])
        last = min(max(label.span.end - start, first), window[1])
        before = _width(text[window[0] : first]) + (1 if window[0] else 0)
        width = max(_width(text[first:last], before), 1)
        more = " …" if label.span.end > start + len(text) + 1 else ""
        drawn = self._paint("mark" if mark == "^" else "explain", mark * width + more)
        tail = f" {_one_line(label.text)}" if label.text else ""
        return f"{' ' * self.gutter} │ {' ' * before}{drawn}{tail}"

    def _paint(self, what: str, text: str) -> str:
        return f"\x1b[{_COLOURS[what]}m{text}\x1b[0m" if self.colour else text


def _window(text: str, starts: list[int]) -> tuple[int, int]:
    """The part of a very long line to show: around its first mark."""
    if len(text) <= MAX_LINE:
        return 0, len(text)
    begin = max(0, min(min(starts) - MAX_LINE // 4, len(text) - MAX_LINE))
    return begin, begin + MAX_LINE


def _cells(text: str) -> str:
    """`text` as it is printed: tabs as blanks, invisible characters as visible ones."""
    out: list[str] = []
    column = 0
    for char in text:
        if char == "\t":
            step = TAB - column % TAB
            out.append(" " * step)
        else:
            shown = _visible(char)
            out.append(shown)
            step = _char_width(char) if shown == char else len(shown)
        column += step
    return "".join(out)


def _width(text: str, column: int = 0) -> int:
    """Cells that `text` takes when it starts in cell `column`."""
    begin = column
    for char in text:
        if char == "\t":
            column += TAB - column % TAB
        else:
            shown = _visible(char)
            column += _char_width(char) if shown == char else len(shown)
    return column - begin


def _char_width(char: str) -> int:
    if char.isascii():
        return 1
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def _visible(text: str) -> str:
    """`text` without anything that could move the cursor, hide or reorder text."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_visible_char(char) for char in text)


def _visible_char(char: str) -> str:
    code = ord(char)
    if 0xD800 <= code <= 0xDFFF:
        return f"<{code & 0xFF:02X}>"  # an undecodable byte, as `surrogateescape` keeps it
    if unicodedata.category(char) in ("Cc", "Cf", "Cn", "Co", "Zl", "Zp"):
        return f"<U+{code:04X}>"
    return char


def _one_line(text: str) -> str:
    return _visible(" ".join(text.splitlines()))


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
