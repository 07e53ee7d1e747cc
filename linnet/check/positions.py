"""Positions in an axis: compile-time integers, and run-time integer scalars."""

from __future__ import annotations

from linnet.check import show
from linnet.check.context import Context, is_poison
from linnet.check.proofs import certainly_negative, nonnegative, same_dtype_class
from linnet.check.typed import TExpr
from linnet.check.types import CompileTimeInt, Scalar
from linnet.diag import Span
from linnet.dims import Dim
from linnet.syntax import tree


def integer_position(ctx: Context, node: tree.Expr) -> TExpr | None:
    """An expression as a position: a compile-time integer or an integer scalar of any dtype.

    None after E3104 or an error inside it."""
    value = ctx.value(node)
    if is_poison(value):
        return None
    if isinstance(value.type, CompileTimeInt):
        return value
    if isinstance(value.type, Scalar) and same_dtype_class(value.type.dtype, "Integer"):
        return value
    ctx.report(
        "E3104",
        "an index is an integer scalar",
        node.span,
        f"this is {show.quoted(value.type)}",
        help="cast it: `cast<i64>(…)`" if isinstance(value.type, Scalar) else (),
    )
    return None


def inside(ctx: Context, position: Dim, axis: Dim, span: Span) -> bool:
    """Whether a compile-time position may lie in its axis; E2209 if it certainly does not.

    What remains open is settled for the actual sizes before a run."""
    if certainly_negative(ctx.facts, position):
        return bad_position(ctx, f"index `{position}` is negative", span, axis)
    if nonnegative(ctx.facts, position - axis):
        return bad_position(ctx, f"index `{position}` lies outside its axis", span, axis)
    return True


def bad_position(ctx: Context, message: str, span: Span, axis: Dim) -> bool:
    ctx.report(
        "E2209",
        message,
        span,
        f"the axis has size `{axis}`",
        help="positions count from 0; the last element of an axis of size `N` is `x[N - 1]`",
    )
    return False
