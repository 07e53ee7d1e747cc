"""What an index expression can be: intervals over dims, and whether a load needs a clamp.

An analysis, not a rewrite. Bounds are dims; "inside the axis" is asked of the prover with
the entry's clauses as facts. A loop variable lies in [0, domain - 1] wherever it is read,
since a loop over nothing reads nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from linnet.dims import Dim, Facts, is_nonnegative
from linnet.ir.expr import Apply, Const, DimConst, Expr, Index, IndexRef


@dataclass(frozen=True)
class Interval:
    """`low <= value <= high`; None: no bound is known."""

    low: Dim | None
    high: Dim | None


UNKNOWN = Interval(None, None)
Known = Mapping[Index, Interval]
"""Bounds of loop variables that hold at some place, beside those of their domains."""


def interval(expr: Expr, known: Known | None = None) -> Interval:
    """Bounds of an i64 position. Reads through sums, differences and constant factors."""
    match expr:
        case IndexRef(index=index):
            here = (known or {}).get(index, UNKNOWN)
            return Interval(
                Dim.const(0) if here.low is None else here.low,
                index.domain - 1 if here.high is None else here.high,
            )
        case DimConst(dim=dim) if expr.dtype == "i64":
            return Interval(dim, dim)
        case Const(value=int() as value) if expr.dtype == "i64":
            return Interval(Dim.const(value), Dim.const(value))
        case Apply(fn="add", args=(a, b)) if expr.dtype == "i64":
            x, y = interval(a, known), interval(b, known)
            return Interval(_sum(x.low, y.low), _sum(x.high, y.high))
        case Apply(fn="sub", args=(a, b)) if expr.dtype == "i64":
            x, y = interval(a, known), interval(b, known)
            return Interval(_sum(x.low, _minus(y.high)), _sum(x.high, _minus(y.low)))
        case Apply(fn="mul", args=(a, b)) if expr.dtype == "i64":
            return _product(interval(a, known), interval(b, known))
        case Apply(fn="min", args=(a, b)) if expr.dtype == "i64":
            x, y = interval(a, known), interval(b, known)
            low = x.low.minimum(y.low) if x.low is not None and y.low is not None else None
            return Interval(low, x.high if y.high is None else y.high)
        case Apply(fn="max", args=(a, b)) if expr.dtype == "i64":
            x, y = interval(a, known), interval(b, known)
            high = x.high.maximum(y.high) if x.high is not None and y.high is not None else None
            return Interval(x.low if y.low is None else y.low, high)
    return UNKNOWN


def _sum(a: Dim | None, b: Dim | None) -> Dim | None:
    return None if a is None or b is None else a + b


def _minus(a: Dim | None) -> Dim | None:
    return None if a is None else -a


def _product(x: Interval, y: Interval) -> Interval:
    """Only with a factor that is one known non-negative number."""
    for factor, other in ((x, y), (y, x)):
        if factor.low is not None and factor.low == factor.high and factor.low.is_const:
            k = factor.low.value
            if k >= 0:
                return Interval(
                    None if other.low is None else other.low * k,
                    None if other.high is None else other.high * k,
                )
    return UNKNOWN


def inside(position: Expr, axis: Dim, facts: Facts, known: Known | None = None) -> bool:
    """Whether `position` provably lies in 0 .. axis - 1, so that no clamp is needed."""
    if isinstance(position, IndexRef) and position.index.domain == axis:
        return True
    bounds = interval(position, known)
    if bounds.low is None or bounds.high is None:
        return False
    return is_nonnegative(bounds.low, facts) and is_nonnegative(axis - 1 - bounds.high, facts)
