"""The house style: how each alternative of the grammar is laid out.

Drives the tables of the parser over the tokens of a file that is known to parse, and calls one
function of this module for every reduction, named after the alternative in `linnet.lark`. A
function takes the values of its symbols and gives a `Piece`, or what its callers need to choose
a layout (`Items`, `Enclosed`, `Chain`, `Where`). Everything is built from the inside out, so
deep nesting and long chains take no stack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from linnet.fmt.doc import HARD, LINE, Concat, Doc, Group, Indent
from linnet.fmt.gaps import Gap
from linnet.fmt.pieces import (
    Chain,
    Enclosed,
    Items,
    Piece,
    braced,
    chained,
    enclosed,
    grouped,
    listed,
    seq,
)
from linnet.syntax.table import table
from linnet.syntax.tokens import END, Token

Values = list[Any]


@dataclass(slots=True)
class Where:
    """The clauses of a head."""

    word: Piece
    items: Items


def build(tokens: Sequence[Token], gaps: Iterable[Gap]) -> Doc:
    """The document of a whole file, from its tokens and the gaps before each of them and before
    the end. The tokens must parse."""
    moves, rules = table().states, table().rules
    calls = [(_call(rule.action, rule.origin), rule.size, rule.origin) for rule in rules]
    states, end = [table().start], table().end
    values: Values = []
    for piece in _pieces(tokens, gaps):
        while (move := moves[states[-1]][piece.mark]) < 0:
            call, size, origin = calls[-move - 1]
            taken: Values = []
            if size:
                taken = values[-size:]
                del states[-size:], values[-size:]
            values.append(call(taken))
            states.append(moves[states[-1]][origin])
            if piece.mark == END and states[-1] == end:
                return _file(values[-1], piece)
        states.append(move)
        values.append(piece)
    raise AssertionError("the tokens end before the file does")


def _pieces(tokens: Sequence[Token], gaps: Iterable[Gap]) -> list[Piece]:
    pieces: list[Piece] = []
    marks = [(token.text, token.type) for token in tokens]
    for (text, mark), gap in zip([*marks, ("", END)], gaps, strict=True):
        if pieces:
            pieces[-1].trail = gap.trail
        pieces.append(Piece(text, gap.lead, None, gap.blank, False, mark))
    return pieces


def _file(entries: Items, end: Piece) -> Doc:
    docs = entries.lines()
    last = Items([*entries.elements, end]).lines() if end.lead is not None else docs
    return Concat((*last, HARD))


def _call(action: str | None, origin: str) -> Callable[[Values], Any]:
    if action is None:
        return _handed_on
    if action == "binary":
        return lambda v: _binary(origin, v)
    return _LAYOUTS.get(action, _spaced)


def _handed_on(v: Values) -> Any:
    if len(v) == 2:  # a list and the comma that ends it
        v[0].separators.append(v[1])
    return v[0]


def _piece(value: Any) -> Any:
    """What stands for itself as a piece: chains are made up when they are whole."""
    if isinstance(value, Chain):
        return chained(value)
    if isinstance(value, Enclosed):
        return listed(value)
    return value


def _spaced(v: Values) -> Piece:
    """Words in a row."""
    parts: list[Any] = []
    for value in v:
        if value is not None:
            parts += [" ", _piece(value)] if parts else [_piece(value)]
    return seq(*parts)


def _joined(v: Values) -> Piece:
    """Without blanks."""
    return seq(*map(_piece, v))


# --- lists --------------------------------------------------------------------------------


def _first(v: Values) -> Items:
    return Items([_piece(v[0])])


def _next(v: Values) -> Items:
    items: Items = v[0]
    items.separators.append(v[1])
    items.elements.append(_piece(v[2]))
    return items


def _append(v: Values) -> Items:
    items: Items = v[0]
    items.elements.append(_piece(v[1]))
    return items


def _no_elements(v: Values) -> Items:
    return Items()


def _empty(v: Values) -> Enclosed | None:
    return Enclosed(v[0], Items(), v[1]) if v else None


def _absent(v: Values) -> None:
    return None


def _enclosed(v: Values) -> Enclosed:
    items = v[1] if isinstance(v[1], Items) else Items([_piece(v[1])])
    return Enclosed(v[0], items, v[2])


def _arguments(open: Piece, items: Items | None, close: Piece) -> Piece:
    return listed(Enclosed(open, items or Items(), close))


def _dotted(items: Items) -> Piece:
    parts: list[Piece] = []
    for at, element in enumerate(items.elements):
        parts.append(element)
        if at < len(items.separators):
            parts.append(items.separators[at])
    return seq(*parts)


# --- file ---------------------------------------------------------------------------------


def _on_file(v: Values) -> Items:
    header, entries = v
    return entries if header is None else Items([header, *entries.elements])


def _header(v: Values) -> Piece:
    return seq(v[0], " ", _dotted(v[1]))


def _use_module(v: Values) -> Piece:
    return seq(v[0], " ", _dotted(v[1]))


def _use_one(v: Values) -> Piece:
    return seq(_use_module(v), v[2], v[3])


def _use_many(v: Values) -> Piece:
    return seq(_use_module(v), v[2], listed(Enclosed(*v[3:])))


# --- items --------------------------------------------------------------------------------


def _item(v: Values) -> Piece:
    return _spaced(v)


def _public(v: Values) -> Piece:
    word: Piece = v[0]
    return word


def _assigned(equal: Piece | None, value: Any) -> list[Any]:
    """` = value`, the value below if it does not fit and does not itself break well."""
    if equal is None:
        return []
    piece = _piece(value)
    if piece.hugs and piece.lead is None:
        return [" ", equal, " ", piece]
    body = Piece(Group(Indent(Concat((LINE, *_leading(piece))))), None, piece.trail)
    return [" ", equal, body]


def _leading(piece: Piece) -> list[Doc]:
    return [piece.doc] if piece.lead is None else [piece.lead, piece.doc]


def _typed(v: Values) -> list[Any]:
    """`name: type` and maybe ` = value`, without the words before."""
    name, colon, type, *rest = v
    return [name, colon, " ", _piece(type), *_assigned(*(rest or (None, None)))]


def _const(v: Values) -> Piece:
    return seq(v[0], " ", v[1], v[2], *_assigned(v[3], v[4]))


def _alias(v: Values) -> Piece:
    return seq(v[0], " ", v[1], _piece(v[2]), *_assigned(v[3], v[4]))


def _struct(v: Values) -> Piece:
    return seq(v[0], " ", v[1], _piece(v[2]), " ", braced(*v[3:]))


def _field(v: Values) -> Piece:
    return seq(*_typed(v))


def _enum(v: Values) -> Piece:
    variants = Enclosed(v[3], v[4] if len(v) > 5 else Items(), v[-1])
    return seq(v[0], " ", v[1], _piece(v[2]), " ", listed(variants, LINE))


def _named_list(v: Values) -> Piece:
    """`name(…)`."""
    return seq(v[0], _arguments(*v[1:]))


def _head(v: Values, *more: Any) -> Piece:
    """`word name<generics>(parameters) -> result more`; parameters break first."""
    word, name, generics, params, result = v[:5]
    tail = enclosed(params)
    parts = [part for each in (result, *more) if each is not None for part in (" ", each)]
    ended = params.items.is_ended
    return seq(word, " ", name, _piece(generics), grouped(seq(tail, *parts), ended))


def _with_where(head: Piece, where: Where | None, *rest: Any) -> Piece:
    """A head, its clauses on lines below, and what follows them."""
    following = [part for each in rest if each is not None for part in (" ", each)]
    if where is None:
        return seq(head, *following)
    items = where.items
    if len(items.elements) == 1 and not items.is_ended:
        return seq(head, HARD, where.word, " ", items.elements[0], *following)
    clauses = Indent(Concat((HARD, *items.docs(HARD))))
    return seq(head, HARD, where.word, clauses, *([HARD, *following[1:]] if following else []))


def _function(v: Values) -> Piece:
    return _with_where(_head(v), *v[5:])


def _op(v: Values) -> Piece:
    return _with_where(_head(v, v[5]), *v[6:])


def _kernel_ref(v: Values) -> Piece:
    return seq(v[0], " ", v[1], *(_piece(part) for part in v[2:]))


def _grad(v: Values) -> Piece:
    return seq(v[0], listed(Enclosed(v[1], Items([v[2], v[4]], [v[3]]), v[5])), " ", v[6])


def _kernel(v: Values) -> Piece:
    arrow, results, grid, hints, where, tile = v[4:]
    if isinstance(results, Items):
        results = results.elements[0]
    result = seq(arrow, " ", _piece(results))
    launch = [grid, *hints.elements]
    lines = Indent(Concat(doc for piece in launch for doc in (LINE, piece.whole)))
    head = grouped(seq(_head([*v[:4], result]), lines))
    return _with_where(head, where, tile)


def _hint(v: Values) -> Items:
    items: Items = v[0]
    items.elements.append(seq(v[1], _arguments(v[2], Items([_piece(v[3])]), v[4])))
    return items


def _block(v: Values) -> Piece:
    return _with_where(seq(v[0], " ", v[1], _piece(v[2])), v[3], braced(*v[4:]))


def _member(v: Values) -> Piece:
    return seq(v[0], " ", *_typed(v[1:]))


# --- heads --------------------------------------------------------------------------------


def _generic(v: Values) -> Piece:
    return seq(*_typed(v))


def _pack_generic(v: Values) -> Piece:
    return seq(v[0], *_typed(v[1:]))


def _second(v: Values) -> Piece:
    """` -> type` and `: type` without the first blank."""
    return seq(v[0], " ", _piece(v[1]))


def _where(v: Values) -> Where:
    return Where(v[0], v[1])


# --- statements ---------------------------------------------------------------------------


def _body(v: Values) -> Piece:
    return braced(*v)


def _let(v: Values) -> Piece:
    return seq(v[0], " ", _piece(v[1]), v[2], *_assigned(v[3], v[4]))


def _index_let(v: Values) -> Piece:
    return seq(v[0], " ", v[1], _arguments(*v[2:5]), *_assigned(v[5], v[6]))


def _assign(v: Values) -> Piece:
    return seq(v[0], *_assigned(v[1], v[2]))


def _member_assign(v: Values) -> Piece:
    return seq(v[0], v[1], _dotted(v[2]), *_assigned(v[3], v[4]))


def _static_range(v: Values) -> Piece:
    return seq(_spaced(v[:4]), " ", _range(*v[4:7]), " ", v[7])


def _range(start: Any, dots: Piece, stop: Any) -> Piece:
    return seq(_piece(start), dots, _piece(stop))


def _for_loop(v: Values) -> Piece:
    loop = seq(_spaced(v[:3]), " ", _range(*v[3:6]), " ", v[6])
    loop.hugs = True
    return loop


def _inner_pattern(v: Values) -> Piece:
    return seq(v[0], v[1], v[2], v[3])


def _some_arm(v: Values) -> Piece:
    return seq(_inner_pattern(v), " ", v[4], " ", _piece(v[5]))


# --- expressions --------------------------------------------------------------------------


def _if(v: Values) -> Piece:
    word, condition, open, then, close, other, open_other, otherwise, close_other = v
    return seq(
        grouped(
            seq(
                word, " ", _piece(condition), " ", _branch(open, then, close), " ",
                other, " ", _branch(open_other, otherwise, close_other),
            )
        ),
        hugs=True,
    )  # fmt: skip


def _branch(open: Piece, value: Any, close: Piece) -> Piece:
    return enclosed(Enclosed(open, Items([_piece(value)]), close), LINE)


def _match(v: Values) -> Piece:
    return seq(v[0], " ", _piece(v[1]), " ", braced(*v[2:]), hugs=True)


def _binary(level: str, v: Values) -> Chain:
    left, operator, right = v
    if isinstance(left, Chain) and left.level == level:
        left.rest.append((operator, _piece(right)))
        return left
    return Chain(level, _piece(left), [(operator, _piece(right))])


def _call_with(v: Values) -> Piece:
    return seq(_piece(v[0]), _arguments(*v[1:]), hugs=True)


def _generic_call(v: Values) -> Piece:
    return seq(_piece(v[0]), listed(Enclosed(*v[1:4])), _arguments(*v[4:]), hugs=True)


def _index(v: Values) -> Piece:
    base = _piece(v[0])
    return seq(base, listed(Enclosed(*v[1:])), hugs=base.hugs)


def _attribute(v: Values) -> Piece:
    base = _piece(v[0])
    return seq(base, v[1], v[2], hugs=base.hugs)


def _named_argument(v: Values) -> Piece:
    return seq(v[0], *_assigned(v[1], v[2]))


def _some(v: Values) -> Piece:
    return seq(v[0], _arguments(v[1], Items([_piece(v[2])]), v[3]), hugs=True)


def _group(v: Values) -> Piece:
    return _arguments(v[0], Items([_piece(v[1])]), v[2])


def _tuple(v: Values) -> Piece:
    first = _piece(v[1])
    if len(v) == 4:  # one element, whose comma makes it a tuple
        return seq(v[0], first, v[2], v[3], hugs=True)
    rest: Items = v[3]
    items = Items([first, *rest.elements], [v[2], *rest.separators])
    piece = listed(Enclosed(v[0], items, v[4]))
    piece.hugs = True
    return piece


def _shape(v: Values) -> Piece:
    piece = listed(Enclosed(v[0], v[1] if len(v) > 2 else Items(), v[-1]))
    piece.hugs = True
    return piece


def _reduction(v: Values) -> Piece:
    return seq(v[0], listed(Enclosed(*v[1:4])), " ", _piece(v[4]))


def _typed_reduction(v: Values) -> Piece:
    return seq(*v[:4], listed(Enclosed(*v[4:7])), " ", _piece(v[7]))


def _slice(v: Values) -> Piece:
    """`a:b:c`; two colons in a row would be another token."""
    parts: list[Any] = []
    for value in v:
        if value is None:
            continue
        piece = _piece(value)
        if piece.mark == "COLON" and parts and parts[-1].mark == "COLON":
            parts.append(" ")
        parts.append(piece)
    return seq(*parts)


# --- types --------------------------------------------------------------------------------


def _tensor(v: Values) -> Piece:
    """`Tensor[dims; dtype]`, the dtype like one more element; maybe `?` behind."""
    tensor, open, dims, semicolon, dtype, close, *mark = v
    between = dims.separators
    if dims.is_ended:
        semicolon = seq(between[-1], semicolon)
        between = between[:-1]
    items = Items([*dims.elements, dtype], [*between, semicolon])
    return seq(tensor, grouped(enclosed(Enclosed(open, items, close)), dims.is_ended), *mark)


def _scalar_tensor(v: Values) -> Piece:
    return seq(*v[:3], " ", v[3], v[4])


def _named_type(v: Values) -> Piece:
    return seq(_dotted(v[0]), *map(_piece, v[1:]))


def _array(v: Values) -> Piece:
    items = Items([_piece(v[1]), _piece(v[3])], [v[2]])
    return listed(Enclosed(v[0], items, v[4]))


_LAYOUTS: dict[str, Callable[[Values], Any]] = {
    "first": _first, "next": _next, "append": _append, "element": _append,
    "no_elements": _no_elements, "empty": _empty, "absent": _absent, "private": _absent,
    "enclosed": _enclosed, "second": _second,
    "file": _on_file, "header": _header, "missing_header": _absent,
    "use_module": _use_module, "use_one": _use_one, "use_many": _use_many,
    "pick": _joined, "pick_as": _spaced,
    "item": _item, "public": _public, "const": _const, "alias": _alias, "struct": _struct,
    "field": _field, "empty_enum": _enum, "enum": _enum, "variant": _joined,
    "payload_variant": _named_list, "fn": _function, "entry": _function, "op": _op,
    "kernel_ref": _kernel_ref, "grad": _grad, "kernel": _kernel, "grid": _named_list,
    "hint": _hint, "block": _block, "member": _member, "generic": _generic,
    "pack_generic": _pack_generic, "param": _field, "where": _where,
    "body": _body, "let": _let, "index_let": _index_let, "var": _let, "assign": _assign,
    "member_assign": _member_assign, "return_nothing": _joined, "return_value": _spaced,
    "static_for": _spaced, "static_range": _static_range, "while": _spaced,
    "for_statement": _joined, "yield": _spaced, "call_statement": _named_list,
    "for_loop": _for_loop, "ident": _joined, "pack": _joined, "name_pattern": _joined,
    "tuple_pattern": lambda v: listed(Enclosed(*v)), "some_pattern": _inner_pattern,
    "none_pattern": _joined, "if": _if, "match": _match, "name_arm": _spaced,
    "some_arm": _some_arm, "none_arm": _spaced, "unary": _joined, "call": _call_with,
    "generic_call": _generic_call, "index": _index, "attribute": _attribute,
    "argument": _joined, "named_argument": _named_argument,
    "int": _joined, "float": _joined, "string": _joined, "broken": _joined, "true": _joined,
    "false": _joined, "none": _joined, "name": _joined, "some": _some, "group": _group,
    "tuple": _tuple, "shape": _shape, "reduction": _reduction,
    "typed_reduction": _typed_reduction, "dots": _joined, "slice": _slice, "stride": _slice,
    "optional_type": _joined, "tensor_type": _tensor, "scalar_tensor_type": _scalar_tensor,
    "tuple_type": _tuple, "array_type": _array, "named_type": _named_type,
    "type_args": _enclosed, "optional_arg": _joined, "applied_arg": _joined,
    "optional_applied_arg": _joined, "optional_tensor_arg": _tensor,
}  # fmt: skip
