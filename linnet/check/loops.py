"""Loops: `static for`, `while`, the counted `for`, and the `for` that collects what it yields.

In: a loop of the syntax tree, and how its body is checked. Out: the typed loop. A loop's body is a
scope, and so is its variable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from linnet.check import show
from linnet.check.branches import condition
from linnet.check.context import Context, is_poison, poison
from linnet.check.fit import settle
from linnet.check.patterns import bind_name, bind_pattern
from linnet.check.proofs import counterexample, proved, suggestion
from linnet.check.substitute import tensor
from linnet.check.typed import (
    For,
    Scan,
    StaticForBlocks,
    StaticForRange,
    TExpr,
    TStmt,
    Variable,
    While,
)
from linnet.check.types import Array, CompileTimeInt, Error, Scalar, Tensor, Tuple, Type
from linnet.diag import Label
from linnet.dims import Clause, Dim
from linnet.syntax import tree

Round = Callable[[Context, tree.Body], tuple[TStmt, ...]]
"""Checks the body of a loop."""


def while_loop(ctx: Context, node: tree.While, round: Round) -> TStmt:
    """`while c { … }`."""
    test = condition(ctx, node.condition, "while")
    with ctx.inner_scope():
        body = round(ctx, node.body)
    return While(node.span, test, body)


# --- static for -------------------------------------------------------------------------


def static_for(ctx: Context, node: tree.StaticFor, round: Round) -> TStmt | None:
    """`static for` over a block array or a range of dimensions."""
    if node.stop is not None:
        return _static_range(ctx, node, node.stop, round)
    array = ctx.expr(node.subject)
    item: Type = Error()
    if isinstance(array.type, Array):
        item = array.type.item
    elif not is_poison(array):
        ctx.report(
            "E2121",
            "`static for` over something unknown at compile time",
            node.subject.span,
            f"this is {show.quoted(array.type)}",
            help="it takes an array of blocks, or a range `a..b` of dimensions",
        )
    with ctx.inner_scope():
        variable = _loop_variable(ctx, node, item)
        body = round(ctx, node.body)
    if is_poison(item):
        return None
    return StaticForBlocks(node.span, variable, array, body)


def _static_range(
    ctx: Context, node: tree.StaticFor, stop: tree.Expr, round: Round
) -> TStmt | None:
    what = ("E2121", "`static for` over something unknown at compile time")
    first, last = _bound(ctx, node.subject, *what), _bound(ctx, stop, *what)
    with ctx.inner_scope():
        variable = _loop_variable(ctx, node, Scalar("i64"))
        body = round(ctx, node.body)
    if first is None or last is None:
        return None
    return StaticForRange(node.span, variable, first, last, body)


def _bound(ctx: Context, node: tree.Expr, code: str, message: str) -> Dim | None:
    value = ctx.value(node)
    if isinstance(value.type, CompileTimeInt):
        return value.type.value
    if not is_poison(value):
        ctx.report(
            code,
            message,
            node.span,
            f"this is {show.quoted(value.type)}",
            help="the bounds of a range are dimensions",
        )
    return None


def _loop_variable(ctx: Context, node: tree.StaticFor, type: Type) -> Variable:
    pattern = bind_pattern(ctx, node.pattern, type)
    if pattern is not None and pattern.variable is not None:
        return pattern.variable
    return Variable("_", type, node.pattern.span)


# --- counted for ------------------------------------------------------------------------


def counted(ctx: Context, node: tree.For, round: Round) -> TStmt | None:
    """`for i in a..b { … }` as a statement: a loop of run time."""
    bounds = _range(ctx, node)
    with ctx.inner_scope():
        variable = _counter(ctx, node)
        body = round(ctx, node.body)
    return None if bounds is None else For(node.span, variable, *bounds, body)


def scan(ctx: Context, node: tree.For, round: Round) -> TExpr:
    """The same as a value: its body ends with `yield`, and the values are stacked."""
    bounds = _range(ctx, node)
    last = node.body.statements[-1] if node.body.statements else None
    with ctx.inner_scope():
        variable = _counter(ctx, node)
        if not isinstance(last, tree.Yield):
            round(ctx, node.body)
            if not node.body.damaged:
                ctx.report(
                    "E2124",
                    "a `for` that is a value does not end with `yield`",
                    node.span,
                    "nothing to collect",
                    help="end its body with `yield …`, or let the loop stand alone",
                )
            return poison(node.span)
        body = round(ctx, replace(node.body, statements=node.body.statements[:-1]))
        value = settle(ctx, ctx.value(last.value), keep_dims=False)
    if bounds is None or is_poison(value):
        return poison(node.span)
    stacked = _stacked(value.type, bounds[1] - bounds[0])
    if stacked is None:
        return ctx.bad(
            "E2101",
            f"{show.quoted(value.type)} cannot be collected",
            last.value.span,
            "`yield` takes scalars, tensors and tuples of them",
            at=node.span,
        )
    return Scan(stacked, node.span, For(node.span, variable, *bounds, body), value)


def _stacked(type: Type, size: Dim) -> Type | None:
    match type:
        case Scalar(dtype):
            return tensor(dtype, (size,))
        case Tensor(dtype, axes):
            return tensor(dtype, (size, *axes))
        case Tuple(items):
            parts = [_stacked(item, size) for item in items]
            whole = tuple(part for part in parts if part is not None)
            return Tuple(whole) if len(whole) == len(parts) else None
        case _:
            return None


def _counter(ctx: Context, node: tree.For) -> Variable:
    name = tree.NamePattern(node.variable.span, node.variable.name)
    if name.name == "_":
        return Variable("_", Scalar("i64"), name.span)
    return bind_name(ctx, name, Scalar("i64"))


def _range(ctx: Context, node: tree.For) -> tuple[Dim, Dim] | None:
    """The bounds of a `for`: compile-time integers, the second provably not below the first."""
    what = ("E2123", "the bounds of a `for` are compile-time integers")
    first, last = _bound(ctx, node.start, *what), _bound(ctx, node.stop, *what)
    if first is None or last is None:
        return None
    ordered = Clause.of(">=", last, first)
    if proved(ctx.facts, ordered):
        return first, last
    ctx.report(
        "E2123",
        "a `for` may end before it begins",
        node.stop.span,
        f"`{last} >= {first}` is not provable",
        related=(Label(node.start.span, "it begins here"),),
        notes=counterexample(ctx.facts, ordered),
        help=suggestion(ctx, ordered),
    )
    return None


# --- yield and for in a wrong place -----------------------------------------------------


def stray_yield(ctx: Context, node: tree.Yield) -> None:
    """E2124."""
    ctx.report(
        "E2124",
        "`yield` in a wrong place",
        node.span,
        "nothing collects this value",
        help="it is the last statement of a `for` that is bound: `let y = for i in a..b { … }`",
    )


def for_as_operand(ctx: Context, node: tree.For) -> TExpr:
    """E2124."""
    return ctx.bad(
        "E2124",
        "a `for` inside an expression",
        node.span,
        "it is the whole value of a statement, or a statement",
        help="bind it first: `let y = for …`",
    )
