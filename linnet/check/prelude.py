"""Calls of prelude functions: each has its own rule for arguments, dtypes and shapes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from linnet.check import show
from linnet.check.arguments import dtype_argument, positional, values_of
from linnet.check.context import Context, is_poison, poison
from linnet.check.fit import OPERAND, as_dtype
from linnet.check.operators import (
    dim_of_value,
    dim_value,
    fold_bits,
    is_literal,
    join_shapes,
    operands,
)
from linnet.check.proofs import minimum, same_dtype_class
from linnet.check.shaping import broadcast_to, concat, cumsum, fill, iota, permute, reshape
from linnet.check.substitute import tensor
from linnet.check.typed import Cast, DimValue, Literal, Prelude, TExpr
from linnet.check.types import (
    FLOATS,
    CompileTimeInt,
    DType,
    FloatLiteral,
    Scalar,
    Tensor,
)
from linnet.diag import Span
from linnet.syntax import tree

_FOLDED: dict[str, Callable[[float], float]] = {
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
    "rsqrt": lambda x: 1.0 / math.sqrt(x),
    "sin": math.sin,
    "cos": math.cos,
    "tanh": math.tanh,
    "abs": abs,
}
_LATER = ("pad", "gather", "scatter")
_OPERAND = replace(OPERAND, noun="argument")


def prelude_call(ctx: Context, node: tree.Call, name: str) -> TExpr | None:
    """The call of a prelude function; None if `name` is a prelude type."""
    if name in _LATER:
        return _later(ctx, node, name)
    if name in _FOLDED:
        return _elementwise(ctx, node, name)
    rule = _RULES.get(name)
    return None if rule is None else rule(ctx, node)


def _later(ctx: Context, node: tree.Call, name: str) -> TExpr:
    help = {
        "pad": "write it in index notation with `select`",
        "gather": "index with a tensor of positions: `let y[i] = x[at[i]]`",
        "scatter": "write it in index notation with `select`",
    }[name]
    return ctx.bad(
        "E2190",
        f"`{name}` is not supported by this compiler",
        node.callee.span,
        "known to the language, not built yet",
        at=node.span,
        help=help,
    )


def _elementwise(ctx: Context, node: tree.Call, name: str) -> TExpr:
    if not positional(ctx, node, 1):
        return poison(node.span)
    values = values_of(ctx, node)
    if values is None:
        return poison(node.span)
    value = values[0]
    kind = "Numeric" if name == "abs" else "Float"
    match value.type:
        case FloatLiteral(None):
            wide = as_dtype(ctx, value, "f64", _OPERAND)
            if wide is None:
                return poison(node.span)
            return Prelude(FloatLiteral(None), node.span, name, (wide,))
        case FloatLiteral(float() as number):
            folded = _fold(name, number)
            return Literal(FloatLiteral(folded), node.span, folded)
        case CompileTimeInt(dim) if name == "abs":
            return dim_value(ctx, dim.maximum(-dim), node.span)
    joined = None if is_literal(value.type) else operands(ctx, f"`{name}`", values, node.span, kind)
    if is_literal(value.type):
        ctx.report(
            "E2104",
            f"`{name}` does not take an integer",
            value.span,
            "a compile-time integer",
            help=f"cast it: `{name}(cast<f32>({value.span.text}))`",
        )
    if joined is None:
        return poison(node.span)
    return Prelude(value.type, node.span, name, values)


def _fold(name: str, number: float) -> float:
    try:
        return _FOLDED[name](number)
    except OverflowError:
        return math.inf
    except ZeroDivisionError:
        return math.inf
    except ValueError:
        return -math.inf if name == "log" and number == 0 else math.nan


def _extreme(name: str) -> Callable[[Context, tree.Call], TExpr]:
    def rule(ctx: Context, node: tree.Call) -> TExpr:
        if not positional(ctx, node, 2):
            return poison(node.span)
        values = values_of(ctx, node)
        if values is None:
            return poison(node.span)
        left, right = values
        if isinstance(left.type, CompileTimeInt) and isinstance(right.type, CompileTimeInt):
            a, b = dim_of_value(left), dim_of_value(right)
            smaller = minimum(ctx.facts, a, b)
            return dim_value(ctx, smaller if name == "min" else a.maximum(b), node.span)
        if is_literal(left.type) and is_literal(right.type):
            return _extreme_literals(ctx, node, name, values)
        joined = operands(ctx, f"`{name}`", values, node.span, "Numeric")
        if joined is None:
            return poison(node.span)
        dtype, shape, adapted = joined
        return Prelude(tensor(dtype, shape), node.span, name, adapted)

    return rule


def _extreme_literals(ctx: Context, node: tree.Call, name: str, values: tuple[TExpr, ...]) -> TExpr:
    wide = [as_dtype(ctx, value, "f64", _OPERAND) for value in values]
    known = [value for value in wide if value is not None]
    if len(known) < len(wide):
        return poison(node.span)
    if all(isinstance(value, Literal) for value in known):
        numbers = [value.value for value in known if isinstance(value, Literal)]
        chosen = float(min(numbers) if name == "min" else max(numbers))
        return Literal(FloatLiteral(chosen), node.span, chosen)
    return Prelude(FloatLiteral(None), node.span, name, tuple(known))


def _select(ctx: Context, node: tree.Call) -> TExpr:
    if not positional(ctx, node, 3):
        return poison(node.span)
    values = values_of(ctx, node)
    if values is None:
        return poison(node.span)
    condition, *choices = values
    if not isinstance(condition.type, Scalar | Tensor) or condition.type.dtype != "bool":
        return ctx.bad(
            "E2114",
            "the condition of `select` is not `bool`",
            condition.span,
            f"this is {show.quoted(condition.type)}",
            at=node.span,
            help="compare it, as in `x != 0`",
        )
    if all(is_literal(choice.type) for choice in choices):
        return ctx.bad(
            "E2104",
            "both choices of `select` are literals",
            node.span,
            "nothing gives them a dtype",
            help="cast one of them, as in `cast<f32>(…)`",
        )
    joined = operands(ctx, "`select`", tuple(choices), node.span, "DType")
    if joined is None:
        return poison(node.span)
    dtype, _, adapted = joined
    shape = join_shapes(ctx, "`select`", [condition, *adapted], node.span)
    if shape is None:
        return poison(node.span)
    return Prelude(tensor(dtype, shape), node.span, "select", (condition, *adapted))


def _shift(name: str) -> Callable[[Context, tree.Call], TExpr]:
    def rule(ctx: Context, node: tree.Call) -> TExpr:
        if not positional(ctx, node, 2):
            return poison(node.span)
        values = values_of(ctx, node)
        if values is None:
            return poison(node.span)
        left, right = values
        if isinstance(left.type, CompileTimeInt) and isinstance(right.type, CompileTimeInt):
            a, b = dim_of_value(left), dim_of_value(right)
            return fold_bits(ctx, name, a, b, node.span)
        if is_literal(left.type) and is_literal(right.type):
            return ctx.bad("E2104", f"`{name}` takes integers only", node.span, "a float literal")
        joined = operands(ctx, f"`{name}`", values, node.span, "Integer")
        if joined is None:
            return poison(node.span)
        dtype, shape, adapted = joined
        return Prelude(tensor(dtype, shape), node.span, name, adapted)

    return rule


# --- cast -------------------------------------------------------------------------------


def cast_target(ctx: Context, node: tree.Call) -> DType | None:
    """The `T` of `cast<T>(…)`: E2110 without one, E2111 with several, E1208 for no dtype."""
    written = node.type_args or ()
    if not written:
        ctx.report(
            "E2110",
            "`cast` needs the dtype to convert to",
            node.callee.span,
            help="write it: `cast<f32>(…)`",
        )
        return None
    if len(written) > 1:
        ctx.report("E2111", "`cast` takes one generic argument", node.callee.span)
        return None
    return dtype_argument(ctx, written[0])


def _cast(ctx: Context, node: tree.Call) -> TExpr:
    dtype = cast_target(ctx, node)
    fine = positional(ctx, node, 1, generics=True)
    if not fine:
        return poison(node.span)
    value = ctx.value(node.args[0].value)
    if dtype is None or is_poison(value):
        return poison(node.span)
    return cast_to(ctx, value, dtype, node.span)


def cast_to(ctx: Context, value: TExpr, dtype: DType, span: Span) -> TExpr:
    """`value` converted to `dtype`, literals by way of the dtype they have on their own."""
    match value.type:
        case Scalar():
            return Cast(Scalar(dtype), span, value)
        case Tensor(_, axes):
            return Cast(Tensor(dtype, axes), span, value)
        case CompileTimeInt(dim) if not dim.is_const and same_dtype_class(dtype, "Numeric"):
            return DimValue(Scalar(dtype), span, dim)
        case CompileTimeInt(dim):
            if dtype in FLOATS and dim.is_const:
                return Literal(Scalar(dtype), span, float(dim.value))
            wide = as_dtype(ctx, value, "i64", _OPERAND)
            return poison(span) if wide is None else Cast(Scalar(dtype), span, wide)
        case FloatLiteral():
            wide = as_dtype(ctx, value, "f64", _OPERAND)
            return poison(span) if wide is None else Cast(Scalar(dtype), span, wide)
        case _:
            return ctx.bad(
                "E2101",
                f"{show.quoted(value.type)} cannot be cast",
                value.span,
                "`cast` takes scalars, tensors and literals",
                at=span,
            )


_RULES: dict[str, Callable[[Context, tree.Call], TExpr]] = {
    "cast": _cast,
    "min": _extreme("min"),
    "max": _extreme("max"),
    "select": _select,
    "shl": _shift("shl"),
    "shr": _shift("shr"),
    "reshape": reshape,
    "permute": permute,
    "broadcast_to": broadcast_to,
    "concat": concat,
    "cumsum": cumsum,
    "iota": iota,
    "fill": fill,
}
