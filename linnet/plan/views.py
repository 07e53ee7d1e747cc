"""Strided views: which moves of data need no move at all.

A map that only loads one element at positions `start + step * index` is a view of what it
reads; so is a reshape whose axes split or merge cleanly. Everything else is copied by a loop.
"""

from __future__ import annotations

import itertools

from linnet.dims import Dim, Facts
from linnet.ir.expr import Apply, Const, DimConst, Expr, Index, IndexRef, Load
from linnet.ir.node import MapAttrs
from linnet.passes.bounds import inside
from linnet.plan.types import Buffer, View

ONE = Dim.const(1)
ZERO = Dim.const(0)


def product(dims: tuple[Dim, ...]) -> Dim:
    """The number of elements of a shape."""
    total = ONE
    for dim in dims:
        total = total * dim
    return total


def dense_strides(dims: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """Row-major strides, in elements."""
    strides: list[Dim] = []
    step = ONE
    for dim in reversed(dims):
        strides.append(step)
        step = step * dim
    return tuple(reversed(strides))


def dense(buffer: Buffer) -> View:
    return View(buffer, buffer.dims, ZERO, dense_strides(buffer.dims))


def is_dense(view: View) -> bool:
    """Whether the elements lie one after another in row-major order (axes of size 1 have no
    say). The view may start anywhere in its buffer."""
    return all(
        stride == wanted or dim == ONE
        for dim, stride, wanted in zip(
            view.dims, view.strides, dense_strides(view.dims), strict=True
        )
    )


def last_contiguous(view: View) -> bool:
    return not view.dims or view.strides[-1] == ONE or view.dims[-1] == ONE


def row_stride(view: View) -> Dim | None:
    """The one stride between rows when all axes but the last collapse into one, else None.

    A view without rows to step over gives the length of a row."""
    if not last_contiguous(view):
        return None
    stride: Dim | None = None
    extent = ONE
    for dim, step in zip(reversed(view.dims[:-1]), reversed(view.strides[:-1]), strict=True):
        if dim == ONE:
            continue
        if stride is None:
            stride = step
        elif step != stride * extent:
            return None
        extent = extent * dim
    return stride if stride is not None else view.dims[-1]


def mapped(attrs: MapAttrs, operand: View, facts: Facts) -> View | None:
    """The view a map is, when its body is one load at affine positions inside the axes."""
    body = attrs.body
    if not isinstance(body, Load):
        return None
    offset = operand.offset
    strides = dict.fromkeys(attrs.indices, ZERO)
    for position, dim, stride in zip(body.at, operand.dims, operand.strides, strict=True):
        if not inside(position, dim, facts):
            return None
        found = affine(position)
        if found is None:
            return None
        start, steps = found
        offset = offset + start * stride
        for index, step in steps.items():
            if index not in strides:
                return None
            strides[index] = strides[index] + step * stride
    dims = tuple(index.domain for index in attrs.indices)
    return View(operand.buffer, dims, offset, tuple(strides[i] for i in attrs.indices))


def affine(position: Expr) -> tuple[Dim, dict[Index, Dim]] | None:
    """`position` as a start and a step for each index, if it is that simple."""
    match position:
        case IndexRef(index=index):
            return ZERO, {index: ONE}
        case DimConst(dim=dim):
            return dim, {}
        case Const(value=int() as value):
            return Dim.const(value), {}
        case Apply(fn="add" | "sub" as fn, args=(a, b)):
            left, right = affine(a), affine(b)
            if left is None or right is None:
                return None
            sign = 1 if fn == "add" else -1
            steps = dict(left[1])
            for index, step in right[1].items():
                steps[index] = steps.get(index, ZERO) + step * sign
            return left[0] + right[0] * sign, steps
        case Apply(fn="mul", args=(a, b)):
            left, right = affine(a), affine(b)
            if left is None or right is None:
                return None
            if left[1] and right[1]:
                return None
            varying, factor = (left, right[0]) if not right[1] else (right, left[0])
            return varying[0] * factor, {i: s * factor for i, s in varying[1].items()}
    return None


def reshaped(view: View, dims: tuple[Dim, ...]) -> View | None:
    """The same elements in row-major order under other dims, if strides can say it."""
    if is_dense(view):
        return View(view.buffer, dims, view.offset, dense_strides(dims))
    strides: list[Dim] = []
    old = list(zip(view.dims, view.strides, strict=True))
    new = list(dims)
    while new:
        if new[0] == ONE:
            strides.append(ZERO)
            new.pop(0)
            continue
        if old and old[0][0] == ONE:
            old.pop(0)
            continue
        group = _match(old, new)
        if group is None:
            return None
        used_old, used_new, step = group
        strides += [s * step for s in dense_strides(tuple(new[:used_new]))]
        del old[:used_old], new[:used_new]
    return View(view.buffer, dims, view.offset, tuple(strides))


def _match(old: list[tuple[Dim, Dim]], new: list[Dim]) -> tuple[int, int, Dim] | None:
    """The shortest leading groups of both with equal products, the old one collapsible."""
    for take_old in range(1, len(old) + 1):
        group = old[:take_old]
        if any(a[1] != b[1] * b[0] for a, b in itertools.pairwise(group)):
            return None
        count = product(tuple(dim for dim, _ in group))
        for take_new in range(1, len(new) + 1):
            if product(tuple(new[:take_new])) == count:
                return take_old, take_new, group[-1][1]
    return None
