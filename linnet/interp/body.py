"""Evaluates the body of one map on the whole grid of its indices at once.

The grid is laid out with the map's indices last (rightmost) and the indices of each reduction
in front of those around it, so that values broadcast against each other as they are: a value
that does not depend on an index has extent 1 there, or lacks the axis. Each sub-expression is
computed once for each setting of the reductions it depends on. Big grids are cut along the first
index of the map, big reductions along their first index, which changes no order of operations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from linnet.dims import Dim
from linnet.interp.arrays import FUNCTIONS, HELD, Array, cast, combine
from linnet.ir.build import neutral
from linnet.ir.expr import (
    Apply,
    Const,
    DimConst,
    Expr,
    Index,
    IndexRef,
    Load,
    Reduce,
    children,
    walk,
)
from linnet.ir.node import MapAttrs
from linnet.ir.numbers import convert

CHUNK = 1 << 20
"""Elements of a grid that are computed at a time."""

Size = Callable[[Dim], int]


def evaluate_map(attrs: MapAttrs, dtype: str, args: Sequence[Array], size: Size) -> Array:
    """The value of a map: a new array of the indices' extents, held as `dtype`."""
    shape = tuple(max(size(i.domain), 0) for i in attrs.indices)
    result = np.empty(shape, HELD[dtype])
    if 0 in shape:
        return result
    plan = _plan(attrs.body)
    rows = max(1, CHUNK // max(1, math.prod(shape[1:])))
    for start in range(0, shape[0] if shape else 1, rows):
        part = slice(start, min(start + rows, shape[0])) if shape else slice(0, 1)
        grid = _Grid(plan, args, size)
        for axis, index in enumerate(attrs.indices):
            whole = slice(0, shape[axis])
            grid.bind(index, part if axis == 0 else whole, len(shape) - 1 - axis)
        grid.sizes = (part.stop - part.start, *shape[1:]) if shape else ()
        value = grid.value(attrs.body, None)
        if shape:
            result[part] = value
        else:
            result[()] = value
    return result


@dataclass
class _Plan:
    """`scope[e]` is the innermost reduction whose indices `e` depends on (None: none);
    `order[r]` lists the expressions of scope `r`, operands first."""

    scope: dict[int, Reduce | None] = field(default_factory=dict)
    order: dict[int, list[Expr]] = field(default_factory=dict)


def _plan(body: Expr) -> _Plan:
    free: dict[int, frozenset[Index]] = {}
    exprs = list(walk(body))
    owner: dict[Index, Reduce] = {}
    for expr in exprs:
        needs = frozenset[Index]().union(*(free[id(c)] for c in children(expr)))
        if isinstance(expr, IndexRef):
            needs |= {expr.index}
        if isinstance(expr, Reduce):
            needs -= set(expr.indices)
            owner.update(dict.fromkeys(expr.indices, expr))
        free[id(expr)] = needs
    depth: dict[int, int] = {}
    # A reduction stands before the ones around it, so walk backwards to meet those first.
    plan = _Plan()
    for expr in reversed(exprs):
        around = [owner[i] for i in free[id(expr)] if i in owner]
        innermost = max(around, key=lambda r: depth[id(r)], default=None)
        plan.scope[id(expr)] = innermost
        if isinstance(expr, Reduce):
            depth[id(expr)] = 1 + (depth[id(innermost)] if innermost is not None else 0)
    for expr in exprs:
        plan.order.setdefault(id(plan.scope[id(expr)]), []).append(expr)
    return plan


@dataclass
class _Grid:
    """The state of one evaluation: what is bound, and what is computed."""

    plan: _Plan
    args: Sequence[Array]
    size: Size
    sizes: tuple[int, ...] = ()
    ranges: dict[Index, tuple[slice, int]] = field(default_factory=dict)
    done: dict[int, Array] = field(default_factory=dict)

    def bind(self, index: Index, part: slice, place: int) -> None:
        """Let `index` run over `part`, along the grid's axis number `place` from the right."""
        self.ranges[index] = part, place

    def value(self, body: Expr, scope: Reduce | None) -> Array:
        """Compute all of `scope`, then give `body`."""
        for expr in self.plan.order.get(id(scope), ()):
            self.done[id(expr)] = self._compute(expr)
        return self.done[id(body)]

    def _compute(self, expr: Expr) -> Array:
        match expr:
            case Const(dtype=dtype, value=value):
                return np.asarray(value, HELD[dtype])
            case DimConst(dtype=dtype, dim=dim):
                return np.asarray(convert(self.size(dim), dtype), HELD[dtype])
            case IndexRef(index=index):
                part, place = self.ranges[index]
                return np.arange(part.start, part.stop).reshape(-1, *(1,) * place)
            case Load():
                return self._load(expr)
            case Apply(fn="cast", dtype=dtype, args=(arg,)):
                return cast(self.done[id(arg)], arg.dtype, dtype)
            case Apply(fn=fn, args=args):
                return FUNCTIONS[fn](args[-1].dtype, *(self.done[id(a)] for a in args))
            case Reduce():
                return self._reduce(expr)
        raise TypeError(f"no meaning for {expr!r}")

    def _load(self, expr: Load) -> Array:
        array = self.args[expr.operand]
        plain = self._plain(expr, array)
        if plain is not None:
            return plain
        at = [self.done[id(a)] for a in expr.at]
        if 0 in array.shape:
            shape = np.broadcast_shapes(*(a.shape for a in at))
            return np.zeros(shape, array.dtype)
        return np.asarray(
            array[tuple(np.clip(a, 0, n - 1) for a, n in zip(at, array.shape, strict=True))]
        )

    def _plain(self, expr: Load, array: Array) -> Array | None:
        """A load at different loop variables in range is a view: cut, turn, and spread."""
        parts: list[slice] = []
        places: list[int] = []
        for position, n in zip(expr.at, array.shape, strict=True):
            if not isinstance(position, IndexRef):
                return None
            part, place = self.ranges[position.index]
            if part.stop > n or place in places:
                return None
            parts.append(part)
            places.append(place)
        view = array[tuple(parts)]
        order = sorted(range(len(places)), key=lambda k: -places[k])
        shape = [1] * (max(places) + 1 if places else 0)
        for axis, place in enumerate(places):
            shape[-1 - place] = view.shape[axis]
        return view.transpose(order).reshape(shape)

    def _reduce(self, expr: Reduce) -> Array:
        start = np.asarray(neutral(expr.kind, expr.dtype), HELD[expr.dtype])
        extents = tuple(max(self.size(i.domain), 0) for i in expr.indices)
        if 0 in extents:
            return start
        rank = len(self.sizes)
        outer = self.sizes
        step = max(1, CHUNK // max(1, math.prod(extents[1:]) * math.prod(outer)))
        for low in range(0, extents[0], step):
            high = min(low + step, extents[0])
            lead = (high - low, *extents[1:])
            for k, index in enumerate(expr.indices):
                part = slice(low, high) if k == 0 else slice(0, extents[k])
                self.bind(index, part, rank + len(extents) - 1 - k)
            self.sizes = (*lead, *outer)
            value = self.value(expr.body, expr)
            self.sizes = outer
            value = value.reshape((1,) * (len(lead) + rank - value.ndim) + value.shape)
            rest = value.shape[len(lead) :]
            items = np.broadcast_to(value, (*lead, *rest)).reshape(-1, *rest)
            start = combine(expr.kind, expr.dtype, start, items)
        return start
