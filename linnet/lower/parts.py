"""The tensors that a value consists of, and back: how a loop carries any kind of value.

A tuple is its parts one after another, a struct its fields. An optional is a scalar `bool`,
whether it has a value, and the parts of that value, zeros where there is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from typing import cast as as_type

from linnet.check.substitute import field_types
from linnet.check.types import Optional, Struct, Tuple, Type
from linnet.diag import Span
from linnet.ir import build as ir
from linnet.ir.node import Origin
from linnet.lower import arrays
from linnet.lower.choices import maybe, presence
from linnet.lower.values import Absent, Array, Maybe, Value

if TYPE_CHECKING:
    from linnet.lower.body import Body


def spread(body: Body, type: Type, value: Value, name: str, span: Span) -> list[tuple[str, Array]]:
    """The parts of `value`, of the declared `type`, with a name for each."""
    if isinstance(type, Struct):
        type = Tuple(field_types(type))
    if isinstance(type, Tuple):
        parts = zip(type.items, as_type(tuple[Value, ...], value), strict=True)
        return [
            leaf
            for k, (item, part) in enumerate(parts)
            for leaf in spread(body, item, part, f"{name}.{k}", span)
        ]
    if isinstance(type, Optional):
        origin = body.origin(span, name)
        inner = value.value if isinstance(value, Maybe) else value
        if isinstance(inner, Absent):
            inner = _zeros(body, type.inner, origin, span)
        there = presence(value, origin)
        return [(f"{name}.some", there), *spread(body, type.inner, inner, name, span)]
    return [(name, as_type(Array, value))]


def collect(type: Type, parts: Iterator[Array]) -> Value:
    """The value of `type` that consists of the next `parts`."""
    if isinstance(type, Struct):
        type = Tuple(field_types(type))
    if isinstance(type, Tuple):
        return tuple(collect(item, parts) for item in type.items)
    if isinstance(type, Optional):
        present = next(parts)
        return maybe(present, collect(type.inner, parts))
    return next(parts)


def _zeros(body: Body, type: Type, origin: Origin, span: Span) -> Value:
    match type:
        case Tuple(items):
            return tuple(_zeros(body, item, origin, span) for item in items)
        case Struct():
            return _zeros(body, Tuple(field_types(type)), origin, span)
        case Optional(inner):
            return _zeros(body, inner, origin, span)
    dtype = body.dtype_of_type(type)
    zero = ir.scalar(ir.const(False if dtype == "bool" else 0, dtype), origin)
    dims = body.dims(type, span)
    return arrays.fill(zero, dims, origin) if dims else zero
