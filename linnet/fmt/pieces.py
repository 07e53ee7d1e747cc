"""Pieces: documents on their way up the grammar, with the comments around them kept apart.

A piece is built when its rule is reduced, from the pieces of the symbols, so nothing here
recurs. The comments before the first and behind the last token of a piece stay outside of its
document: a group made of the piece is then not broken by a comment that only stands next to it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from linnet.fmt.doc import BLANK, HARD, LINE, SOFT, Concat, Doc, Group, Indent


@dataclass(slots=True)
class Piece:
    """`lead` and `trail` are the comments around `doc`. `blank` is whether an empty line stands
    before; `hugs` whether the piece, as a value, begins on the line of its `=`; `mark` is the
    terminal if it is a token."""

    doc: Doc
    lead: Doc | None = None
    trail: Doc | None = None
    blank: bool = False
    hugs: bool = False
    mark: str = ""

    @property
    def whole(self) -> Doc:
        """The document with its comments."""
        return Concat(part for part in (self.lead, self.doc, self.trail) if part is not None)


@dataclass(slots=True)
class Items:
    """The elements of a list and what separates them, which may end it too."""

    elements: list[Piece] = field(default_factory=list)
    separators: list[Piece] = field(default_factory=list)

    @property
    def is_ended(self) -> bool:
        """Whether a separator stands behind the last element."""
        return bool(self.elements) and len(self.separators) == len(self.elements)

    def docs(self, between: Doc) -> list[Doc]:
        """The elements with their separators, and `between` from one to the next."""
        docs: list[Doc] = []
        for at, element in enumerate(self.elements):
            if at:
                docs.append(between)
            docs.append(element.whole)
            if at < len(self.separators):
                docs.append(self.separators[at].whole)
        return docs

    def lines(self) -> list[Doc]:
        """The elements on lines of their own, empty lines between them kept."""
        docs: list[Doc] = []
        for at, element in enumerate(self.elements):
            if at:
                docs.append(BLANK if element.blank else HARD)
            docs.append(element.whole)
        return docs


@dataclass(slots=True)
class Enclosed:
    """A list in brackets."""

    open: Piece
    items: Items
    close: Piece


@dataclass(slots=True)
class Chain:
    """Operands of one strength with the operators between them."""

    level: str
    first: Piece
    rest: list[tuple[Piece, Piece]]


Part: TypeAlias = "Piece | Doc | None"


def seq(*parts: Part, hugs: bool = False) -> Piece:
    """One piece after the other. The first part that is not None is a piece."""
    given = [part for part in parts if part is not None]
    first, last = given[0], given[-1]
    assert isinstance(first, Piece)
    docs: list[Doc] = [first.doc]
    if len(given) > 1 and first.trail is not None:
        docs.append(first.trail)
    for part in given[1:-1]:
        docs.append(part.whole if isinstance(part, Piece) else part)
    trail = first.trail
    if len(given) > 1:
        trail = None
        if isinstance(last, Piece):
            if last.lead is not None:
                docs.append(last.lead)
            docs.append(last.doc)
            trail = last.trail
        else:
            docs.append(last)
    return Piece(Concat(docs), first.lead, trail, first.blank, hugs)


def grouped(piece: Piece, broken: bool = False) -> Piece:
    """The piece on one line if it fits."""
    return Piece(Group(piece.doc, broken), piece.lead, piece.trail, piece.blank, piece.hugs)


def enclosed(this: Enclosed, edge: Doc = SOFT) -> Piece:
    """A list between brackets, on one line or one element a line. Not in a group yet: `edge`
    stands inside of the brackets."""
    if not this.items.elements and this.close.lead is None:
        return seq(this.open, this.close)
    inner = [edge, *this.items.docs(LINE)] if this.items.elements else []
    if this.close.lead is not None:
        inner += [HARD, this.close.lead]
    return _between(this.open, Indent(Concat(inner)), edge, this.close)


def listed(this: Enclosed, edge: Doc = SOFT) -> Piece:
    """`enclosed` in a group, which is broken if the list ends in a comma."""
    return grouped(enclosed(this, edge), this.items.is_ended)


def braced(open: Piece, items: Items, close: Piece) -> Piece:
    """Elements on lines of their own between braces."""
    if not items.elements and close.lead is None:
        return seq(open, close)
    inner: list[Doc] = [HARD, *items.lines()] if items.elements else []
    if close.lead is not None:
        inner += [BLANK if items.elements and close.blank else HARD, close.lead]
    return _between(open, Indent(Concat(inner)), HARD, close)


def _between(open: Piece, inner: Doc, edge: Doc, close: Piece) -> Piece:
    trail = [] if open.trail is None else [open.trail]
    return Piece(
        Concat((open.doc, *trail, inner, edge, close.doc)), open.lead, close.trail, open.blank
    )


def chained(chain: Chain) -> Piece:
    """Operands on one line, or one a line, each behind its operator."""
    docs: list[Doc] = []
    last = chain.rest[-1][1]
    for operator, operand in chain.rest:
        docs += [LINE, operator.whole, " "]
        if operand is last:
            docs += [operand.doc] if operand.lead is None else [operand.lead, operand.doc]
        else:
            docs.append(operand.whole)
    first = chain.first
    head = [first.doc] if first.trail is None else [first.doc, first.trail]
    doc = Group(Concat((*head, Indent(Concat(docs)))))
    return Piece(doc, first.lead, last.trail, first.blank)
