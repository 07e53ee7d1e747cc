"""Loops in place that change one row only.

    out[i, j] = select(i == k, new[j], out[i, j])        visits row k and no other

In: a loop's body and the views it reads and writes. Out: the index that stands still, and where.
"""

from __future__ import annotations

from collections.abc import Sequence

from linnet.ir.expr import Apply, Expr, Index, IndexRef, Load, walk
from linnet.plan.types import View

_WIDE = 2**31
"""Positions below it are themselves in every signed dtype from i32 on."""


def only_row(
    indices: Sequence[Index], body: Expr, operands: Sequence[View], writes: View
) -> tuple[Index, Expr] | None:
    """The index that has one value wherever the loop changes anything, and that value: an integer
    of the loop's surroundings. None where there is no such index."""
    if not isinstance(body, Apply) or body.fn != "select":
        return None
    condition, _, otherwise = body.args
    if not _is_itself(otherwise, indices, operands, writes):
        return None
    if not isinstance(condition, Apply) or condition.fn != "eq":
        return None
    for one, other in (condition.args, condition.args[::-1]):
        index = _position(one)
        if index in indices and not _depends(other, indices):
            assert index is not None
            return index, other
    return None


def _is_itself(
    expr: Expr, indices: Sequence[Index], operands: Sequence[View], writes: View
) -> bool:
    """Whether `expr` reads the element that is being written."""
    if not isinstance(expr, Load):
        return False
    view = operands[expr.operand]
    same = (view.buffer, view.dims, view.strides, view.offset) == (
        writes.buffer,
        writes.dims,
        writes.strides,
        writes.offset,
    )
    places = [at.index if isinstance(at, IndexRef) else None for at in expr.at]
    return same and places == list(indices)


def _position(expr: Expr) -> Index | None:
    """The index whose position `expr` is, as i64 or in a dtype that holds it."""
    if isinstance(expr, IndexRef):
        return expr.index
    if isinstance(expr, Apply) and expr.fn == "cast" and expr.dtype == "i32":
        (inner,) = expr.args
        if isinstance(inner, IndexRef):
            domain = inner.index.domain
            return inner.index if domain.is_const and domain.value < _WIDE else None
    return None


def _depends(expr: Expr, indices: Sequence[Index]) -> bool:
    return any(isinstance(e, IndexRef) and e.index in indices for e in walk(expr))
