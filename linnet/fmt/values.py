"""What the layouts of all constructs share: lists, names with dots, and what follows a `=`."""

from __future__ import annotations

from typing import Any

from linnet.fmt.doc import LINE, Concat, Doc, Group, Indent
from linnet.fmt.pieces import Chain, Enclosed, Items, Piece, chained, listed, seq

Values = list[Any]


def handed_on(v: Values) -> Any:
    if len(v) == 2:  # a list and the comma that ends it
        v[0].separators.append(v[1])
    return v[0]


def piece_of(value: Any) -> Any:
    """What stands for itself as a piece: chains are made up when they are whole."""
    if isinstance(value, Chain):
        return chained(value)
    if isinstance(value, Enclosed):
        return listed(value)
    return value


def spaced(v: Values) -> Piece:
    """Words in a row."""
    parts: list[Any] = []
    for value in v:
        if value is not None:
            parts += [" ", piece_of(value)] if parts else [piece_of(value)]
    return seq(*parts)


def joined(v: Values) -> Piece:
    """Without blanks."""
    return seq(*map(piece_of, v))


# --- lists --------------------------------------------------------------------------------


def first(v: Values) -> Items:
    return Items([piece_of(v[0])])


def next_(v: Values) -> Items:
    items: Items = v[0]
    items.separators.append(v[1])
    items.elements.append(piece_of(v[2]))
    return items


def append(v: Values) -> Items:
    items: Items = v[0]
    items.elements.append(piece_of(v[1]))
    return items


def no_elements(v: Values) -> Items:
    return Items()


def empty(v: Values) -> Enclosed | None:
    return Enclosed(v[0], Items(), v[1]) if v else None


def absent(v: Values) -> None:
    return None


def in_brackets(v: Values) -> Enclosed:
    items = v[1] if isinstance(v[1], Items) else Items([piece_of(v[1])])
    return Enclosed(v[0], items, v[2])


def arguments(open: Piece, items: Items | None, close: Piece) -> Piece:
    return listed(Enclosed(open, items or Items(), close))


def dotted(items: Items) -> Piece:
    parts: list[Piece] = []
    for at, element in enumerate(items.elements):
        parts.append(element)
        if at < len(items.separators):
            parts.append(items.separators[at])
    return seq(*parts)


# --- values ---


def assigned(equal: Piece | None, value: Any) -> list[Any]:
    """` = value`, the value below if it does not fit and does not itself break well."""
    if equal is None:
        return []
    piece = piece_of(value)
    if piece.hugs and piece.lead is None:
        return [" ", equal, " ", piece]
    body = Piece(Group(Indent(Concat((LINE, *leading(piece))))), None, piece.trail)
    return [" ", equal, body]


def leading(piece: Piece) -> list[Doc]:
    return [piece.doc] if piece.lead is None else [piece.lead, piece.doc]


def typed(v: Values) -> list[Any]:
    """`name: type` and maybe ` = value`, without the words before."""
    name, colon, type, *rest = v
    return [name, colon, " ", piece_of(type), *assigned(*(rest or (None, None)))]


def range_(start: Any, dots: Piece, stop: Any) -> Piece:
    return seq(piece_of(start), dots, piece_of(stop))
