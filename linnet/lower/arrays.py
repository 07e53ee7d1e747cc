"""The array operations of the language as maps, one function an operation.

In: values (nodes, or views inside index notation) and the dims of the result, which the
checker proved. Out: a value. Each operation says what one element is; `values.build` makes a
node or a view of it. Operations that move nothing give their operand back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from linnet.dims import Dim, product_of
from linnet.ir import build as ir
from linnet.ir.expr import Expr, Index
from linnet.ir.node import Node, Origin
from linnet.lower.values import (
    Array,
    At,
    Frame,
    aligned,
    build,
    dims_of,
    dtype_of,
    read,
)

Dims = tuple[Dim, ...]


def elementwise(
    dtype: str,
    dims: Dims,
    operands: Sequence[Array],
    function: Callable[..., Expr],
    origin: Origin | None,
) -> Array:
    """`function` of the operands' elements, right-aligned and stretched to `dims`."""

    def element(frame: Frame, at: At) -> Expr:
        return function(*(read(v, frame, aligned(v, at, dims)) for v in operands))

    return build(dtype, dims, operands, element, origin)


def cast(value: Array, dtype: str, origin: Origin | None) -> Array:
    """Each element as `dtype`."""
    if dtype_of(value) == dtype:
        return value
    return elementwise(dtype, dims_of(value), (value,), lambda e: ir.cast(e, dtype), origin)


def broadcast(value: Array, dims: Dims, origin: Origin | None) -> Array:
    """`value` stretched to `dims`, aligned from the right."""
    if dims_of(value) == dims:
        return value
    return elementwise(dtype_of(value), dims, (value,), lambda e: e, origin)


def permute(value: Array, axes: Sequence[int], origin: Origin | None) -> Array:
    """Axis `k` of the result is axis `axes[k]` of `value`."""
    if list(axes) == list(range(len(axes))):
        return value
    own = dims_of(value)

    def element(frame: Frame, at: At) -> Expr:
        return read(value, frame, [at[axes.index(k)] for k in range(len(axes))])

    return build(dtype_of(value), tuple(own[k] for k in axes), (value,), element, origin)


def reshape(value: Array, dims: Dims, origin: Origin | None) -> Array:
    """The same elements in row-major order under `dims`."""
    if isinstance(value, Node):
        return ir.reshape(value, dims, origin) if dims else _only_element(value, origin)

    def element(frame: Frame, at: At) -> Expr:
        return read(value, frame, _cut(_joined(at, dims), dims_of(value)))

    return build(dtype_of(value), dims, (value,), element, origin)


def _only_element(value: Node, origin: Origin | None) -> Array:
    zeros = [ir.const(0, "i64")] * value.type.rank
    return build(value.type.dtype, (), (value,), lambda f, at: read(value, f, zeros), origin)


def _joined(at: At, dims: Dims) -> Expr:
    """The row-major number of a position."""
    total: Expr = ir.const(0, "i64")
    for position, dim in zip(at, dims, strict=True):
        total = ir.apply("add", ir.apply("mul", total, ir.dim_const(dim)), position)
    return total


def _cut(number: Expr, dims: Dims) -> At:
    """The position with a row-major number."""
    at = []
    for k, dim in enumerate(dims):
        inner = ir.dim_const(product_of(dims[k + 1 :]))
        quotient = ir.apply("div", number, inner)
        at.append(ir.apply("mod", quotient, ir.dim_const(dim)) if k else quotient)
    return tuple(at)


def concat(values: Sequence[Array], axis: int, dims: Dims, origin: Origin | None) -> Array:
    """The values one after another along `axis`: a chain of selects over one map."""
    ends = [dims_of(values[0])[axis]]
    for value in values[1:]:
        ends.append(ends[-1] + dims_of(value)[axis])

    def element(frame: Frame, at: At) -> Expr:
        def part(k: int) -> Expr:
            start = ir.dim_const(ends[k - 1]) if k else ir.const(0, "i64")
            position = ir.apply("sub", at[axis], start) if k else at[axis]
            return read(values[k], frame, (*at[:axis], position, *at[axis + 1 :]))

        result = part(len(values) - 1)
        for k in range(len(values) - 2, -1, -1):
            before = ir.apply("lt", at[axis], ir.dim_const(ends[k]))
            result = ir.select(before, part(k), result)
        return result

    return build(dtype_of(values[0]), dims, values, element, origin)


def running_sum(value: Array, axis: int, origin: Origin | None) -> Array:
    """At each position of `axis` the sum of all up to it, in increasing order: written out for
    each element, as inside index notation. `loops.running_sum` takes one step an element."""
    dims, dtype = dims_of(value), dtype_of(value)

    def element(frame: Frame, at: At) -> Expr:
        index = Index("k", dims[axis])
        k = ir.index_ref(index)
        earlier = read(value, frame, (*at[:axis], k, *at[axis + 1 :]))
        zero = ir.const(0, dtype)
        return ir.reduce("sum", [index], ir.select(ir.apply("le", k, at[axis]), earlier, zero))

    return build(dtype, dims, (value,), element, origin)


def iota(dtype: str, dims: Dims, origin: Origin | None) -> Array:
    """0, 1, ... along the only axis."""
    return build(dtype, dims, (), lambda frame, at: ir.cast(at[0], dtype), origin)


def fill(value: Array, dims: Dims, origin: Origin | None) -> Array:
    """`dims` copies of a scalar."""
    return build(dtype_of(value), dims, (value,), lambda frame, at: read(value, frame), origin)


def with_row(
    value: Array, row: Array, number: Array, origin: Origin | None, axis: int = 0
) -> Array:
    """`value` with `row` at the position `number` of one of its axes."""

    def element(frame: Frame, at: At) -> Expr:
        here = ir.apply("eq", at[axis], read(number, frame))
        new = read(row, frame, (*at[:axis], *at[axis + 1 :]))
        return ir.select(here, new, read(value, frame, at))

    return build(dtype_of(value), dims_of(value), (value, row, number), element, origin)


@dataclass(frozen=True)
class Span:
    """An axis that is kept: positions start, start + step, ... ; `extent` of them."""

    start: Dim
    step: int
    extent: Dim


def cut(value: Array, axes: Sequence[Span | Array], origin: Origin | None) -> Array:
    """A slice: each axis of `value` is kept in part, or read at a scalar integer position."""
    own = dims_of(value)
    spans = [a for a in axes if isinstance(a, Span)]
    dims = tuple(s.extent for s in spans)
    if len(spans) == len(axes) and all(
        s.start == Dim.const(0) and s.step == 1 and s.extent == d
        for s, d in zip(spans, own, strict=True)
    ):
        return value

    def element(frame: Frame, at: At) -> Expr:
        rest = iter(at)
        return read(
            value,
            frame,
            [
                _along(a, next(rest)) if isinstance(a, Span) else position(read(a, frame))
                for a in axes
            ],
        )

    positions = [a for a in axes if not isinstance(a, Span)]
    return build(dtype_of(value), dims, (value, *positions), element, origin)


def _along(span: Span, position: Expr) -> Expr:
    if span.step != 1:
        position = ir.apply("mul", position, ir.const(span.step, "i64"))
    if span.start == Dim.const(0):
        return position
    return ir.apply("add", position, ir.dim_const(span.start))


def position(value: Expr) -> Expr:
    """An integer of any dtype as an i64 position; a huge u64 stays beyond every axis."""
    if value.dtype == "u64":
        value = ir.apply("min", value, ir.const(2**63 - 1, "u64"))
    return ir.cast(value, "i64")
