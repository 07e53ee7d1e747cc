"""Choices: `if` and `match`, settled while lowering where they can be, else by a select.

A choice at run time computes all sides; what one of them did to state counts only where it is
taken. An optional that only the run can tell becomes a `Maybe`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING
from typing import cast as as_type

from linnet.check import typed as t
from linnet.diag import Span
from linnet.ir import build as ir
from linnet.ir.node import Node, Origin
from linnet.lower import arrays
from linnet.lower.problems import unsupported
from linnet.lower.values import ABSENT, Absent, Array, Maybe, Value, View, dims_of, dtype_of, known

if TYPE_CHECKING:
    from linnet.lower.body import Body

Side = Callable[[], Value]


def if_expr(body: Body, expr: t.If, name: str) -> Value:
    """`if c { a } else { b }`."""
    condition = body.array(expr.condition)
    origin = body.origin(expr.span, name)
    then = partial(body.value, expr.then, name)
    otherwise = partial(body.value, expr.otherwise, name)
    return _choose(body, condition, then, otherwise, origin, expr.span)


def match_optional(body: Body, expr: t.MatchOptional, name: str) -> Value:
    """`match` on an optional."""
    scrutinee = body.value(expr.scrutinee)
    if expr.whole is not None:
        body.locals[expr.whole] = scrutinee

    def some(value: Value) -> Value:
        body.bind(expr.some_pattern, value)
        return body.value(expr.some_body, name)

    if isinstance(scrutinee, Absent):
        return body.value(expr.none_body, name)
    if not isinstance(scrutinee, Maybe):
        return some(scrutinee)
    origin = body.origin(expr.span, name)
    taken, none = partial(some, scrutinee.value), partial(body.value, expr.none_body, name)
    return _choose(body, scrutinee.present, taken, none, origin, expr.span)


def match_enum(body: Body, expr: t.MatchEnum, name: str) -> Value:
    """`match` on an enum: one arm for a constant, else a chain of selects over the arms."""
    scrutinee = body.array(expr.scrutinee)
    if expr.whole is not None:
        body.locals[expr.whole] = scrutinee
    number = known(scrutinee)
    if number is not None:
        return body.value(expr.bodies[int(number.value)], name)
    origin = body.origin(expr.span, name)
    arms: dict[int, tuple[t.TExpr, list[int]]] = {}
    for variant, arm in enumerate(expr.bodies):
        arms.setdefault(id(arm), (arm, []))[1].append(variant)
    return _chain(body, scrutinee, list(arms.values()), origin, expr.span)


def _chain(
    body: Body,
    scrutinee: Array,
    arms: Sequence[tuple[t.TExpr, list[int]]],
    origin: Origin,
    span: Span,
) -> Value:
    (arm, variants), *others = arms
    if not others:
        return body.value(arm, origin.name)

    def is_one(variant: int) -> Array:
        number = ir.scalar(ir.const(variant, "i32"), origin)
        return _scalar("eq", "bool", (scrutinee, number), origin)

    condition = is_one(variants[0])
    for variant in variants[1:]:
        condition = _scalar("or", "bool", (condition, is_one(variant)), origin)
    first = partial(body.value, arm, origin.name)
    rest = partial(_chain, body, scrutinee, others, origin, span)
    return _choose(body, condition, first, rest, origin, span)


def _scalar(fn: str, dtype: str, operands: Sequence[Array], origin: Origin) -> Array:
    return arrays.elementwise(dtype, (), operands, lambda *e: ir.apply(fn, *e), origin)


def _choose(
    body: Body, condition: Array, then: Side, otherwise: Side, origin: Origin, span: Span
) -> Value:
    number = known(condition)
    if number is not None:
        return then() if number.value else otherwise()
    context = body.context
    before = context.snapshot()
    chosen = then()
    after = context.snapshot()
    context.states = dict(before)
    other = otherwise()
    _merge_states(body, condition, after, span)
    return merge(condition, chosen, other, origin, span)


def _merge_states(body: Body, condition: Array, chosen: Mapping[str, Node], span: Span) -> None:
    states, leaves = body.context.states, body.context.leaves
    for path in sorted({*chosen, *states}):
        first = chosen[path] if path in chosen else leaves[path]
        second = states[path] if path in states else leaves[path]
        merged = merge(condition, first, second, body.origin(span, path), span)
        states[path] = as_type(Node, merged)


def merge(condition: Array, chosen: Value, other: Value, origin: Origin, span: Span) -> Value:
    """`chosen` where the scalar `condition` holds, else `other`; part by part."""
    if chosen is other:
        return chosen
    if isinstance(chosen, tuple) and isinstance(other, tuple):
        pairs = zip(chosen, other, strict=True)
        return tuple(merge(condition, a, b, origin, span) for a, b in pairs)
    if isinstance(chosen, Absent | Maybe) or isinstance(other, Absent | Maybe):
        return _merge_optionals(condition, chosen, other, origin, span)
    if not isinstance(chosen, (Node, View)) or not isinstance(other, (Node, View)):
        raise unsupported("a choice at run time between blocks", span)
    return arrays.elementwise(
        dtype_of(chosen), dims_of(chosen), (condition, chosen, other), ir.select, origin
    )


def _merge_optionals(
    condition: Array, chosen: Value, other: Value, origin: Origin, span: Span
) -> Value:
    there = [presence(value, origin) for value in (chosen, other)]
    values = [value.value if isinstance(value, Maybe) else value for value in (chosen, other)]
    present = merge(condition, there[0], there[1], origin, span)
    if isinstance(values[0], Absent):
        return maybe(present, values[1])
    if isinstance(values[1], Absent):
        return maybe(present, values[0])
    return maybe(present, merge(condition, values[0], values[1], origin, span))


def presence(value: Value, origin: Origin) -> Array:
    """Whether an optional has a value, as a scalar `bool`."""
    if isinstance(value, Maybe):
        return value.present
    return ir.scalar(ir.const(not isinstance(value, Absent), "bool"), origin)


def maybe(present: Value, value: Value) -> Value:
    """The optional that is there where `present` holds; plain where that is known."""
    array = as_type(Array, present)
    number = known(array)
    if number is None:
        return Maybe(array, value)
    return value if number.value else ABSENT
