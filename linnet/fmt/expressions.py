"""The layout of expressions, patterns, arms and types; as in `declarations`, one function for
each alternative of the grammar, or for several that look alike.
"""

from __future__ import annotations

from typing import Any

from linnet.fmt.doc import LINE
from linnet.fmt.pieces import Chain, Enclosed, Items, Piece, braced, enclosed, grouped, listed, seq
from linnet.fmt.values import (
    Values,
    arguments,
    assigned,
    dotted,
    piece_of,
    range_,
    spaced,
)

# --- expressions --------------------------------------------------------------------------


def if_(v: Values) -> Piece:
    word, condition, open, then, close, other, open_other, otherwise, close_other = v
    return seq(
        grouped(
            seq(
                word, " ", piece_of(condition), " ", branch(open, then, close), " ",
                other, " ", branch(open_other, otherwise, close_other),
            )
        ),
        hugs=True,
    )  # fmt: skip


def branch(open: Piece, value: Any, close: Piece) -> Piece:
    return enclosed(Enclosed(open, Items([piece_of(value)]), close), LINE)


def match_(v: Values) -> Piece:
    return seq(v[0], " ", piece_of(v[1]), " ", braced(*v[2:]), hugs=True)


def binary(level: str, v: Values) -> Chain:
    left, operator, right = v
    if isinstance(left, Chain) and left.level == level:
        left.rest.append((operator, piece_of(right)))
        return left
    return Chain(level, piece_of(left), [(operator, piece_of(right))])


def call_with(v: Values) -> Piece:
    return seq(piece_of(v[0]), arguments(*v[1:]), hugs=True)


def generic_call(v: Values) -> Piece:
    return seq(piece_of(v[0]), listed(Enclosed(*v[1:4])), arguments(*v[4:]), hugs=True)


def index(v: Values) -> Piece:
    base = piece_of(v[0])
    return seq(base, listed(Enclosed(*v[1:])), hugs=base.hugs)


def attribute(v: Values) -> Piece:
    base = piece_of(v[0])
    return seq(base, v[1], v[2], hugs=base.hugs)


def named_argument(v: Values) -> Piece:
    return seq(v[0], *assigned(v[1], v[2]))


def some(v: Values) -> Piece:
    return seq(v[0], arguments(v[1], Items([piece_of(v[2])]), v[3]), hugs=True)


def group(v: Values) -> Piece:
    return arguments(v[0], Items([piece_of(v[1])]), v[2])


def tuple_(v: Values) -> Piece:
    first = piece_of(v[1])
    if len(v) == 4:  # one element, whose comma makes it a tuple
        return seq(v[0], first, v[2], v[3], hugs=True)
    rest: Items = v[3]
    items = Items([first, *rest.elements], [v[2], *rest.separators])
    piece = listed(Enclosed(v[0], items, v[4]))
    piece.hugs = True
    return piece


def shape(v: Values) -> Piece:
    piece = listed(Enclosed(v[0], v[1] if len(v) > 2 else Items(), v[-1]))
    piece.hugs = True
    return piece


def reduction(v: Values) -> Piece:
    return seq(v[0], listed(Enclosed(*v[1:4])), " ", piece_of(v[4]))


def typed_reduction(v: Values) -> Piece:
    return seq(*v[:4], listed(Enclosed(*v[4:7])), " ", piece_of(v[7]))


def slice_(v: Values) -> Piece:
    """`a:b:c`; two colons in a row would be another token."""
    parts: list[Any] = []
    for value in v:
        if value is None:
            continue
        piece = piece_of(value)
        if piece.mark == "COLON" and parts and parts[-1].mark == "COLON":
            parts.append(" ")
        parts.append(piece)
    return seq(*parts)


def for_loop(v: Values) -> Piece:
    loop = seq(spaced(v[:3]), " ", range_(*v[3:6]), " ", v[6])
    loop.hugs = True
    return loop


def inner_pattern(v: Values) -> Piece:
    return seq(v[0], v[1], piece_of(v[2]), v[3])


def some_arm(v: Values) -> Piece:
    return seq(inner_pattern(v), " ", v[4], " ", piece_of(v[5]))


# --- types --------------------------------------------------------------------------------


def tensor(v: Values) -> Piece:
    """`Tensor[dims; dtype]`, the dtype like one more element; maybe `?` behind."""
    tensor, open, dims, semicolon, dtype, close, *mark = v
    between = dims.separators
    if dims.is_ended:
        semicolon = seq(between[-1], semicolon)
        between = between[:-1]
    items = Items([*dims.elements, dtype], [*between, semicolon])
    return seq(tensor, grouped(enclosed(Enclosed(open, items, close)), dims.is_ended), *mark)


def scalar_tensor(v: Values) -> Piece:
    return seq(*v[:3], " ", v[3], v[4])


def named_type(v: Values) -> Piece:
    return seq(dotted(v[0]), *map(piece_of, v[1:]))


def array(v: Values) -> Piece:
    items = Items([piece_of(v[1]), piece_of(v[3])], [v[2]])
    return listed(Enclosed(v[0], items, v[4]))
