"""The layout of files, items, heads and statements.

One function for each alternative of the grammar, or for several that look alike; it takes the
values of their symbols. `layout` says which belongs to which.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linnet.fmt.doc import HARD, LINE, Concat, Indent
from linnet.fmt.pieces import Enclosed, Items, Piece, braced, enclosed, grouped, listed, seq
from linnet.fmt.values import (
    Values,
    arguments,
    assigned,
    dotted,
    piece_of,
    range_,
    spaced,
    typed,
)


@dataclass(slots=True)
class Where:
    """The clauses of a head."""

    word: Piece
    items: Items


# --- file ---------------------------------------------------------------------------------


def on_file(v: Values) -> Items:
    header, entries = v
    return entries if header is None else Items([header, *entries.elements])


def header(v: Values) -> Piece:
    return seq(v[0], " ", dotted(v[1]))


def use_module(v: Values) -> Piece:
    return seq(v[0], " ", dotted(v[1]))


def use_one(v: Values) -> Piece:
    return seq(use_module(v), v[2], v[3])


def use_many(v: Values) -> Piece:
    return seq(use_module(v), v[2], listed(Enclosed(*v[3:])))


# --- items --------------------------------------------------------------------------------


def item(v: Values) -> Piece:
    return spaced(v)


def public(v: Values) -> Piece:
    word: Piece = v[0]
    return word


def const(v: Values) -> Piece:
    return seq(v[0], " ", v[1], v[2], *assigned(v[3], v[4]))


def alias(v: Values) -> Piece:
    return seq(v[0], " ", v[1], piece_of(v[2]), *assigned(v[3], v[4]))


def struct(v: Values) -> Piece:
    return seq(v[0], " ", v[1], piece_of(v[2]), " ", braced(*v[3:]))


def field(v: Values) -> Piece:
    return seq(*typed(v))


def enum(v: Values) -> Piece:
    variants = Enclosed(v[3], v[4] if len(v) > 5 else Items(), v[-1])
    return seq(v[0], " ", v[1], piece_of(v[2]), " ", listed(variants, LINE))


def named_list(v: Values) -> Piece:
    """`name(…)`."""
    return seq(v[0], arguments(*v[1:]))


def head(v: Values, *more: Any) -> Piece:
    """`word name<generics>(parameters) -> result more`; parameters break first."""
    word, name, generics, params, result = v[:5]
    tail = enclosed(params)
    parts = [part for each in (result, *more) if each is not None for part in (" ", each)]
    ended = params.items.is_ended
    return seq(word, " ", name, piece_of(generics), grouped(seq(tail, *parts), ended))


def with_where(head: Piece, where: Where | None, *rest: Any) -> Piece:
    """A head, its clauses on lines below, and what follows them."""
    following = [part for each in rest if each is not None for part in (" ", each)]
    if where is None:
        return seq(head, *following)
    items = where.items
    if len(items.elements) == 1 and not items.is_ended:
        return seq(head, HARD, where.word, " ", items.elements[0], *following)
    clauses = Indent(Concat((HARD, *items.docs(HARD))))
    return seq(head, HARD, where.word, clauses, *([HARD, *following[1:]] if following else []))


def function(v: Values) -> Piece:
    return with_where(head(v), *v[5:])


def op(v: Values) -> Piece:
    return with_where(head(v, v[5]), *v[6:])


def kernel_ref(v: Values) -> Piece:
    return seq(v[0], " ", v[1], *(piece_of(part) for part in v[2:]))


def grad(v: Values) -> Piece:
    return seq(v[0], listed(Enclosed(v[1], Items([v[2], v[4]], [v[3]]), v[5])), " ", v[6])


def kernel(v: Values) -> Piece:
    arrow, results, grid, hints, where, tile = v[4:]
    if isinstance(results, Items):
        results = results.elements[0]
    result = seq(arrow, " ", piece_of(results))
    launch = [grid, *hints.elements]
    lines = Indent(Concat(doc for piece in launch for doc in (LINE, piece.whole)))
    whole = grouped(seq(head([*v[:4], result]), lines))
    return with_where(whole, where, tile)


def hint(v: Values) -> Items:
    items: Items = v[0]
    items.elements.append(seq(v[1], arguments(v[2], Items([piece_of(v[3])]), v[4])))
    return items


def block(v: Values) -> Piece:
    return with_where(seq(v[0], " ", v[1], piece_of(v[2])), v[3], braced(*v[4:]))


def member(v: Values) -> Piece:
    return seq(v[0], " ", *typed(v[1:]))


# --- heads --------------------------------------------------------------------------------


def generic(v: Values) -> Piece:
    return seq(*typed(v))


def pack_generic(v: Values) -> Piece:
    return seq(v[0], *typed(v[1:]))


def second(v: Values) -> Piece:
    """` -> type` and `: type` without the first blank."""
    return seq(v[0], " ", piece_of(v[1]))


def where(v: Values) -> Where:
    return Where(v[0], v[1])


# --- statements ---------------------------------------------------------------------------


def body(v: Values) -> Piece:
    return braced(*v)


def let(v: Values) -> Piece:
    return seq(v[0], " ", piece_of(v[1]), v[2], *assigned(v[3], v[4]))


def index_let(v: Values) -> Piece:
    return seq(v[0], " ", v[1], arguments(*v[2:5]), *assigned(v[5], v[6]))


def assign(v: Values) -> Piece:
    return seq(v[0], *assigned(v[1], v[2]))


def member_assign(v: Values) -> Piece:
    return seq(v[0], v[1], dotted(v[2]), *assigned(v[3], v[4]))


def static_range(v: Values) -> Piece:
    return seq(spaced(v[:4]), " ", range_(*v[4:7]), " ", v[7])
