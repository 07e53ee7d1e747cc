"""What a side of a `select` knows about the loop variables its condition compares.

    select(j < 4, a[j], b[j - 4])           a's axis has 4 elements, b's has 8, j runs to 12

Neither load needs a clamp where it stands, since only the chosen side is computed. That holds
for an expression only as long as it is written inside the `?:`, so a load that relies on this
names the outermost select around it, and nothing between the two may become a variable.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from linnet.dims import Dim
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
from linnet.passes.bounds import UNKNOWN, Interval

_REVERSED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_NEGATED = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}


@dataclass(frozen=True)
class Guard:
    """Bounds of loop variables that hold inside `select`, by the sides that lead there."""

    select: Expr
    bounds: Mapping[Index, Interval]


def guards(body: Expr) -> dict[int, Guard]:
    """The guard of each load (by id) that stands on a side of a select and nowhere else."""
    uses = Counter(id(child) for expr in walk(body) for child in children(expr))
    found: dict[int, Guard] = {}
    stack: list[tuple[Expr, Guard | None]] = [(body, None)]
    seen: set[int] = set()
    while stack:
        expr, guard = stack.pop()
        if id(expr) in seen:
            continue
        seen.add(id(expr))
        if uses[id(expr)] > 1 or isinstance(expr, Reduce):
            guard = None  # computed once, before the selects that use it
        if isinstance(expr, Load) and guard is not None:
            found[id(expr)] = guard
        stack += [(part, own) for part, own in _parts(expr, guard)]
    return found


def _parts(expr: Expr, guard: Guard | None) -> Iterator[tuple[Expr, Guard | None]]:
    if not (isinstance(expr, Apply) and expr.fn == "select"):
        yield from ((child, guard) for child in children(expr))
        return
    condition, chosen, other = expr.args
    yield condition, guard
    yield chosen, _tighter(guard, expr, _facts(condition, holds=True))
    yield other, _tighter(guard, expr, _facts(condition, holds=False))


def _tighter(
    guard: Guard | None, select: Expr, facts: Iterable[tuple[Index, Interval]]
) -> Guard | None:
    bounds = dict(guard.bounds) if guard is not None else {}
    for index, new in facts:
        bounds[index] = _both(bounds.get(index, UNKNOWN), new)
    if not bounds:
        return None
    return Guard(select if guard is None else guard.select, bounds)


def _both(a: Interval, b: Interval) -> Interval:
    low = a.low.maximum(b.low) if a.low is not None and b.low is not None else a.low or b.low
    high = a.high.minimum(b.high) if a.high is not None and b.high is not None else a.high or b.high
    return Interval(low, high)


def _facts(condition: Expr, *, holds: bool) -> Iterator[tuple[Index, Interval]]:
    """Bounds that follow when `condition` holds, or when it does not."""
    match condition:
        case Apply(fn="and", args=args) if holds:
            for arg in args:
                yield from _facts(arg, holds=True)
        case Apply(fn="or", args=args) if not holds:
            for arg in args:
                yield from _facts(arg, holds=False)
        case Apply(fn=fn, args=(left, right)) if fn in _REVERSED:
            if isinstance(right, IndexRef):
                left, right, fn = right, left, _REVERSED[fn]
            bound = _number(right)
            if isinstance(left, IndexRef) and bound is not None:
                yield left.index, _interval(fn if holds else _NEGATED[fn], bound)


def _number(expr: Expr) -> Dim | None:
    match expr:
        case DimConst(dtype="i64", dim=dim):
            return dim
        case Const(dtype="i64", value=int() as value):
            return Dim.const(value)
    return None


def _interval(fn: str, bound: Dim) -> Interval:
    match fn:
        case "lt":
            return Interval(None, bound - 1)
        case "le":
            return Interval(None, bound)
        case "gt":
            return Interval(bound + 1, None)
        case _:
            return Interval(bound, None)
