"""Diagnostics as data, and the collector every stage of the front end reports to.

A stage adds what it finds and goes on; nobody words, sorts or prints anything twice. Drawing
is the business of `render`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from linnet.diag.codes import CODES, Severity
from linnet.diag.span import Span


@dataclass(frozen=True, slots=True)
class Label:
    """A place and what there is to say about it. `text` may be empty."""

    span: Span
    text: str = ""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One report. `code` is a key of `codes.CODES`; `severity` follows from it when left out.

    `primary` marks the place to change (None: the report is about no place in source, or about
    `file` as a whole), `related` the places that explain. `notes` are facts, `help` the edits
    to make; each is one sentence without a final newline."""

    code: str
    message: str
    primary: Label | None = None
    related: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    help: tuple[str, ...] = ()
    severity: Severity | None = None
    file: str | None = None

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise KeyError(f"{self.code} is declared nowhere in linnet.diag.codes")
        if self.severity is None:
            object.__setattr__(self, "severity", CODES[self.code].severity)

    @property
    def is_error(self) -> bool:
        return self.severity == "error"


class Problems:
    """Everything found so far. Order of adding does not matter to anybody who reads it."""

    def __init__(self) -> None:
        self._found: dict[Diagnostic, None] = {}

    def add(self, diagnostic: Diagnostic) -> None:
        """Take a report; one that is equal in every part to an earlier one is dropped."""
        self._found.setdefault(diagnostic)

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        for diagnostic in diagnostics:
            self.add(diagnostic)

    def report(
        self,
        code: str,
        message: str,
        span: Span | None = None,
        label: str = "",
        *,
        related: Iterable[Label] = (),
        notes: Iterable[str] = (),
        help: str | Iterable[str] = (),
    ) -> None:
        """Build a diagnostic and add it; a single `help` may be given as a plain string."""
        self.add(
            Diagnostic(
                code,
                message,
                None if span is None else Label(span, label),
                tuple(related),
                tuple(notes),
                (help,) if isinstance(help, str) else tuple(help),
            )
        )

    def drop(self, code: str, within: Span) -> bool:
        """Take back the warnings `code` that begin in a stretch of source; whether there were
        any."""
        dropped = [
            d
            for d in self._found
            if d.code == code
            and not d.is_error
            and d.primary is not None
            and d.primary.span.source is within.source
            and within.start <= d.primary.span.start < within.end
        ]
        for diagnostic in dropped:
            del self._found[diagnostic]
        return bool(dropped)

    @property
    def has_errors(self) -> bool:
        return any(d.is_error for d in self._found)

    def sorted(self) -> tuple[Diagnostic, ...]:
        """By place (file name, offset), then code: the same on every run. Warnings are left out
        while there is an error, as they may only be its shadow."""
        keep_warnings = not self.has_errors
        return tuple(sorted((d for d in self._found if d.is_error or keep_warnings), key=_place))

    def codes(self) -> tuple[str, ...]:
        """The codes of `sorted()`, in that order."""
        return tuple(d.code for d in self.sorted())

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(self.sorted())

    def __len__(self) -> int:
        return len(self.sorted())

    def __bool__(self) -> bool:
        """A collector is always true: it is never mistaken for a missing one when it is empty."""
        return True


def _place(diagnostic: Diagnostic) -> tuple[str, int, int, str, str]:
    if diagnostic.primary is None:
        return (diagnostic.file or "", -1, -1, diagnostic.code, diagnostic.message)
    span = diagnostic.primary.span
    return (span.source.name, span.start, span.end, diagnostic.code, diagnostic.message)
