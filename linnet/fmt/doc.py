"""Documents: text with the places where it may be broken, and the printer that decides.

After Wadler's "A prettier printer": a `Group` is set on one line if it fits into the width and
otherwise broken at all of its own `LINE`s and `SOFT`s. Two things are added for the sake of
comments. A `Note` knows whether it begins or ends a line, and the printer keeps that promise
whatever stands around it, so that no text is ever swallowed by a comment. And a group with a
`HARD` or such a `Note` inside is known to be broken from its construction on.

    str       text without line ends; " " alone is a blank that vanishes at the end of a line
    LINE      a blank, or a line end in a broken group        SOFT   nothing, or a line end
    HARD      always a line end                               BLANK  always an empty line
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

WIDTH = 100
INDENT = 4


class Line:
    """A place to break a line; `flat` is what stands there if it is not broken."""

    __slots__ = ("flat", "forced")

    def __init__(self, flat: str, forced: bool) -> None:
        self.flat = flat
        self.forced = forced


LINE = Line(" ", False)
SOFT = Line("", False)
HARD = Line("", True)
BLANK = Line("", True)


class Note:
    """A comment. `starts_line` and `ends_line` say that nothing else may stand before or behind
    it on its line."""

    __slots__ = ("ends_line", "forced", "starts_line", "text")

    def __init__(self, text: str, starts_line: bool, ends_line: bool) -> None:
        self.text = text
        self.starts_line = starts_line
        self.ends_line = ends_line
        self.forced = starts_line or ends_line or "\n" in text


class Concat:
    __slots__ = ("forced", "parts")

    def __init__(self, parts: Iterable[Doc]) -> None:
        self.parts: tuple[Doc, ...] = tuple(parts)
        self.forced = False
        for part in self.parts:
            if not isinstance(part, str) and part.forced:
                self.forced = True
                break


class Indent:
    """`doc`, its lines one step further to the right."""

    __slots__ = ("doc", "forced")

    def __init__(self, doc: Doc) -> None:
        self.doc = doc
        self.forced: bool = is_forced(doc)


class Group:
    """`doc` on one line, or broken at every place of its own. `broken` asks for the latter."""

    __slots__ = ("doc", "forced")

    def __init__(self, doc: Doc, broken: bool = False) -> None:
        self.doc = doc
        self.forced: bool = broken or is_forced(doc)


Doc: TypeAlias = "str | Line | Note | Concat | Indent | Group"
_Command: TypeAlias = tuple[int, bool, Doc]  # indentation, whether on one line, what


def is_forced(doc: Doc) -> bool:
    """Whether `doc` cannot stand on one line."""
    return not isinstance(doc, str) and doc.forced


def render(doc: Doc, width: int = WIDTH) -> str:
    """The text of `doc` in lines of at most `width` characters where that is possible. Takes no
    recursion, however deep `doc` is."""
    return _Printer(width).run(doc)


class _Printer:
    def __init__(self, width: int) -> None:
        self.width = width
        self.out: list[str] = []
        self.column = 0  # where the next text goes, blanks that are due not counted
        self.fresh = True  # nothing stands on the current line yet
        self.margin = 0  # indentation of the current line
        self.only_notes = True  # the current line holds comments alone, or nothing
        self.pending = False  # the last comment asks for a line end
        self.blank_due = False
        self.after_note = False

    def run(self, doc: Doc) -> str:
        stack: list[_Command] = [(0, False, doc)]
        while stack:
            indent, flat, this = stack.pop()
            if isinstance(this, str):
                if this == " ":
                    self.blank_due = True
                elif this:
                    self._text(this, indent)
            elif isinstance(this, Concat):
                stack.extend((indent, flat, part) for part in reversed(this.parts))
            elif isinstance(this, Group):
                on_one_line = not this.forced and (flat or self._fits(indent, this.doc, stack))
                stack.append((indent, on_one_line, this.doc))
            elif isinstance(this, Indent):
                stack.append((indent + INDENT, flat, this.doc))
            elif isinstance(this, Note):
                self._note(this, indent)
            elif this is BLANK:
                self._empty_line(indent)
            elif flat and not this.forced and not self.pending:
                self.blank_due = self.blank_due or this.flat == " "
            else:
                self._new_line(indent)
        return "".join(self.out)

    def _fits(self, indent: int, doc: Doc, stack: list[_Command]) -> bool:
        """Whether `doc` on one line, and what follows it up to the next line end that is
        possible, fits behind what is printed."""
        start = self.margin if self.fresh else self.column + self.blank_due
        if self.pending:
            start = self.margin if self.only_notes else indent + INDENT
        left = self.width - start
        rest = len(stack)
        local: list[tuple[bool, Doc]] = [(True, doc)]
        while left >= 0:
            if not local:
                if rest == 0:
                    return True
                rest -= 1
                local.append((stack[rest][1], stack[rest][2]))
            flat, this = local.pop()
            if isinstance(this, str):
                left -= len(this)
            elif isinstance(this, Concat):
                local.extend((flat, part) for part in reversed(this.parts))
            elif isinstance(this, Group | Indent):
                local.append((flat and not this.forced, this.doc))
            elif isinstance(this, Note):
                if this.starts_line or this.text.startswith("//"):
                    return True
                first, *more = this.text.split("\n", 1)
                left -= len(first) + 1
                if more or this.ends_line:
                    return left >= 0
            elif flat and not this.forced:
                left -= len(this.flat)
            else:
                return True
        return False

    def _text(self, text: str, indent: int) -> None:
        if self.pending:
            self._end_note(indent)
        if self.fresh:
            self.out.append(" " * self.margin)
            self.column = self.margin
        elif self.blank_due and not (self.after_note and text[0] in ",;:.?)]>"):
            self.out.append(" ")
            self.column += 1
        self.fresh = self.only_notes = self.blank_due = self.after_note = False
        self.out.append(text)
        self.column += len(text)

    def _note(self, note: Note, indent: int) -> None:
        if self.pending:
            self._end_note(indent)
        if note.starts_line and not self.fresh:
            self._new_line(indent + INDENT)
        if not self.fresh:
            hugs = not note.ends_line and self.out[-1][-1] in "([<"
            self.blank_due = self.blank_due or not hugs
        only_notes = self.only_notes
        if self.after_note:
            self.after_note, self.blank_due = False, True
        if self.fresh:
            self.column = self.margin
        lines = _aligned(note.text, self.column + (self.blank_due and not self.fresh))
        self._text(lines[0], indent)
        for line in lines[1:]:
            self.out.append("\n" + line)
            self.column = len(line)
        self.only_notes = only_notes
        self.pending = note.ends_line
        self.blank_due = self.after_note = not note.ends_line

    def _end_note(self, indent: int) -> None:
        """The line end that a comment asked for. What stood behind the comment goes on below
        it; what stood around it is continued further to the right."""
        self._new_line(self.margin if self.only_notes else indent + INDENT)

    def _new_line(self, indent: int) -> None:
        self.margin = indent
        if self.fresh:
            return
        self.out.append("\n")
        self.fresh = self.only_notes = True
        self.pending = self.blank_due = self.after_note = False

    def _empty_line(self, indent: int) -> None:
        if not self.out:
            return
        if not self.fresh:
            self._new_line(self.margin if self.only_notes else indent)
        if self.out[-2:] != ["\n", "\n"]:
            self.out.append("\n")


def _aligned(text: str, column: int) -> list[str]:
    """The lines of a comment that starts at `column`: those of a `/* … */` whose lines all begin
    with `*` stand below each other, others stay where they are."""
    first, *rest = (line.rstrip() for line in text.split("\n"))
    stripped = [line.lstrip() for line in rest]
    if all(line.startswith("*") for line in stripped):
        rest = [" " * (column + 1) + line for line in stripped]
    return [first, *rest]
