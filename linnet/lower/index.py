"""Index notation: accesses, reductions and comprehensions as the body of one map.

A comprehension outside any other index notation is one map node; a reduction there is a map
without indices. Inside (a function with scalar parameters was called) both are views of the
map around them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from linnet.check import typed as t
from linnet.dims import Dim
from linnet.ir import build as ir
from linnet.ir.expr import Expr, Index
from linnet.ir.node import Origin
from linnet.lower.arrays import position
from linnet.lower.values import Array, At, Frame, dims_of, read, scalar_view, view

if TYPE_CHECKING:
    from linnet.lower.body import Body


def access(body: Body, expr: t.Access) -> Array:
    """`base[...]` with every axis addressed: one element."""
    frame = body.frame
    assert frame is not None, f"{expr.span}: access outside index notation"
    base = body.array(expr.base)
    own = dims_of(base)
    at: list[Expr] = []
    for component in expr.components:
        if isinstance(component, t.IndexVar):
            at.extend(body.indices[component])
            continue
        place = _fixed(body, component)
        if place is not None:
            body.context.inside(place, own[len(at)], component.span)
        at.append(position(body.scalar(component, frame)))
    return scalar_view(read(base, frame, at), frame)


def _fixed(body: Body, component: t.TExpr) -> Dim | None:
    """A position that is known at compile time."""
    match component:
        case t.DimValue(dim=dim):
            return body.bindings.dim(dim)
        case t.Literal(value=int() as value):
            return Dim.const(value)
    return None


def reduction(body: Body, expr: t.Reduce, origin: Origin) -> Array:
    """`sum[i, j] e`: a scalar."""
    if body.frame is not None:
        return scalar_view(_reduce(body, expr, body.frame), body.frame)
    inner = _inside(body)
    assert inner.frame is not None
    value = _reduce(inner, expr, inner.frame)
    return ir.map_node(inner.frame.operands.nodes, (), value, origin)


def _reduce(body: Body, expr: t.Reduce, frame: Frame) -> Expr:
    indices = []
    for variable in expr.indices:
        assert isinstance(variable.domain, Dim)
        loop = Index(variable.name, body.dim(variable.domain, variable.span))
        body.indices[variable] = (ir.index_ref(loop),)
        indices.append(loop)
    return ir.reduce(expr.kind, indices, body.scalar(expr.body, frame))


def comprehension(body: Body, expr: t.Comprehension, origin: Origin) -> Array:
    """`let y[o, *s] = e`: the tensor of the outputs' domains."""
    loops = [_loops(body, variable) for variable in expr.outputs]
    indices = tuple(i for group in loops for i in group)
    if body.frame is None:
        inner = _inside(body)
        assert inner.frame is not None
        refs = tuple(ir.index_ref(i) for i in indices)
        value = _element(inner, expr, loops, refs, inner.frame)
        return ir.map_node(inner.frame.operands.nodes, indices, value, origin)
    frame = body.frame
    inner = _inside(body)
    inner.frame = frame

    def at(positions: At) -> Expr:
        return _element(inner, expr, loops, positions, frame)

    dims = tuple(i.domain for i in indices)
    return view(body.dtype_of_type(expr.type), dims, frame, at)


def _loops(body: Body, variable: t.IndexVar) -> tuple[Index, ...]:
    """The loop variables of an output; a pack has one for each of its axes."""
    if isinstance(variable.domain, Dim):
        return (Index(variable.name, body.dim(variable.domain, variable.span)),)
    dims = body.shape(variable.domain, variable.span)
    names = (f"{variable.name}{k}" if len(dims) > 1 else variable.name for k in range(len(dims)))
    return tuple(Index(name, dim) for name, dim in zip(names, dims, strict=True))


def _element(
    body: Body, expr: t.Comprehension, loops: list[tuple[Index, ...]], at: At, frame: Frame
) -> Expr:
    start = 0
    for variable, group in zip(expr.outputs, loops, strict=True):
        body.indices[variable] = at[start : start + len(group)]
        start += len(group)
    return body.scalar(expr.body, frame)


def _inside(body: Body) -> Body:
    """The same activation, writing a map of its own."""
    inner = body.copied()
    inner.frame = Frame()
    return inner
