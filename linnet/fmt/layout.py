"""From tokens to a document, by the grammar.

Drives the tables of the parser over the tokens of a file that is known to parse, and calls one
function for every reduction; `_LAYOUTS` at the end says which, by the name of the alternative in
`linnet.lark`. A function takes the values of its symbols and gives a `Piece`, or what its callers
need to choose a layout (`Items`, `Enclosed`, `Chain`, `Where`). Everything is built from the
inside out, so deep nesting and long chains take no stack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from linnet.fmt import declarations as d
from linnet.fmt import expressions as e
from linnet.fmt import values as v
from linnet.fmt.doc import HARD, Concat, Doc
from linnet.fmt.gaps import Gap
from linnet.fmt.pieces import Items, Piece
from linnet.fmt.values import Values
from linnet.syntax.table import table
from linnet.syntax.tokens import END, Token


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
        return v.handed_on
    if action == "binary":
        return lambda values: e.binary(origin, values)
    return _LAYOUTS.get(action, v.spaced)


_LAYOUTS: dict[str, Callable[[Values], Any]] = {
    "first": v.first, "next": v.next_, "append": v.append, "element": v.append,
    "no_elements": v.no_elements, "empty": v.empty, "absent": v.absent, "private": v.absent,
    "enclosed": v.in_brackets, "second": d.second,
    "file": d.on_file, "header": d.header, "missing_header": v.absent,
    "use_module": d.use_module, "use_one": d.use_one, "use_many": d.use_many,
    "pick": v.joined, "pick_as": v.spaced,
    "item": d.item, "public": d.public, "const": d.const, "alias": d.alias, "struct": d.struct,
    "field": d.field, "empty_enum": d.enum, "enum": d.enum, "variant": v.joined,
    "payload_variant": d.named_list, "fn": d.function, "entry": d.function, "op": d.op,
    "kernel_ref": d.kernel_ref, "grad": d.grad, "kernel": d.kernel, "grid": d.named_list,
    "hint": d.hint, "block": d.block, "member": d.member, "generic": d.generic,
    "pack_generic": d.pack_generic, "param": d.field, "where": d.where,
    "body": d.body, "let": d.let, "index_let": d.index_let, "var": d.let, "assign": d.assign,
    "member_assign": d.member_assign, "return_nothing": v.joined, "return_value": v.spaced,
    "static_for": v.spaced, "static_range": d.static_range, "while": v.spaced,
    "for_statement": v.joined, "yield": v.spaced, "call_statement": d.named_list,
    "for_loop": e.for_loop, "ident": v.joined, "pack": v.joined, "name_pattern": v.joined,
    "tuple_pattern": v.in_brackets, "some_pattern": e.inner_pattern,
    "none_pattern": v.joined, "if": e.if_, "match": e.match_, "name_arm": v.spaced,
    "some_arm": e.some_arm, "none_arm": v.spaced, "unary": v.joined, "call": e.call_with,
    "generic_call": e.generic_call, "index": e.index, "attribute": e.attribute,
    "argument": v.joined, "named_argument": e.named_argument,
    "int": v.joined, "float": v.joined, "string": v.joined, "broken": v.joined, "true": v.joined,
    "false": v.joined, "none": v.joined, "name": v.joined, "some": e.some, "group": e.group,
    "tuple": e.tuple_, "shape": e.shape, "reduction": e.reduction,
    "typed_reduction": e.typed_reduction, "dots": v.joined, "slice": e.slice_, "stride": e.slice_,
    "optional_type": v.joined, "tensor_type": e.tensor, "scalar_tensor_type": e.scalar_tensor,
    "tuple_type": e.tuple_, "array_type": e.array, "named_type": e.named_type,
    "type_args": v.in_brackets, "optional_arg": v.joined, "applied_arg": v.joined,
    "optional_applied_arg": v.joined, "optional_tensor_arg": e.tensor,
}  # fmt: skip
