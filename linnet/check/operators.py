"""Operators and the elementwise rules that the prelude shares with them.

Literals take the dtype of the other operand; two literals fold, integers exactly. For two
typed operands: one dtype, then its class, then shapes that broadcast. The first failure is
the only report.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

from linnet.check import show
from linnet.check.context import Context, is_poison, poison
from linnet.check.entities import Demand
from linnet.check.fit import OPERAND, as_dtype
from linnet.check.proofs import Misfit, broadcast, positive, same_dtype_class, suggestion
from linnet.check.substitute import tensor
from linnet.check.typed import Binary, DimValue, Literal, TExpr, Unary
from linnet.check.types import (
    Axis,
    CompileTimeInt,
    DType,
    DTypeVar,
    Enum,
    FloatLiteral,
    NoneLiteral,
    Optional,
    Scalar,
    Shape,
    Tensor,
    Type,
)
from linnet.diag import Label, Span
from linnet.dims import Clause, Dim

COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
BITWISE = ("|", "^", "&")
BOOL = Scalar("bool")

_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def is_literal(type: Type) -> bool:
    """A number whose dtype the context still has to give."""
    return isinstance(type, CompileTimeInt | FloatLiteral)


def binary(ctx: Context, op: str, left: TExpr, right: TExpr, span: Span) -> TExpr:
    """`left op right`."""
    if op in ("&&", "||"):
        return _logical(ctx, op, left, right, span)
    if is_poison(left) or is_poison(right):
        return poison(span)
    if is_literal(left.type) and is_literal(right.type):
        return _fold(ctx, op, left, right, span)
    if op in ("==", "!=") and isinstance(left.type, Enum) and left.type == right.type:
        return Binary(BOOL, span, op, left, right)
    what = f"`{op}`"
    chain = _chain_help(op, left, right)
    pair = operands(ctx, what, (left, right), span, allowed_class(op), chain)
    if pair is None:
        return poison(span)
    dtype, shape, (left, right) = pair
    return Binary(tensor("bool" if op in COMPARISONS else dtype, shape), span, op, left, right)


def _chain_help(op: str, left: TExpr, right: TExpr) -> str:
    """What to write for `a < b < c`, or nothing."""
    if op not in COMPARISONS or not (isinstance(left, Binary) and left.op in COMPARISONS):
        return ""
    sign = "&" if isinstance(left.type, Tensor) else "&&"
    middle = left.right.span.text
    second = f"({middle} {op} {right.span.text})"
    return f"comparisons do not chain: `({left.span.text}) {sign} {second}`"


def allowed_class(op: str) -> str:
    """The class of dtypes an operator takes; "Bits" is integers and `bool`."""
    if op in ("==", "!="):
        return "DType"
    return "Bits" if op in BITWISE else "Numeric"


def operands(
    ctx: Context, what: str, values: tuple[TExpr, ...], span: Span, kind: str, help: str = ""
) -> tuple[DType, Shape, tuple[TExpr, ...]] | None:
    """Bring the operands of an elementwise operation together.

    Gives the common dtype, the broadcast shape and the operands, literals adapted; None after
    a report. At least one operand must not be a literal. `what` is the operation's name;
    `help`, where given, is better advice than the usual when the dtypes do not fit."""
    for value in values:
        if not isinstance(value.type, Scalar | Tensor) and not is_literal(value.type):
            _not_an_operand(ctx, what, value)
            return None
    typed = [value for value in values if not is_literal(value.type)]
    dtype = dtype_of(typed[0].type)
    for value in typed[1:]:
        if dtype_of(value.type) != dtype:
            _dtypes_differ(ctx, what, typed[0], value, span, help)
            return None
    if not same_dtype_class(dtype, kind):
        _wrong_class(ctx, what, typed[0], kind, help)
        return None
    adapted: list[TExpr] = []
    for value in values:
        new = as_dtype(ctx, value, dtype, OPERAND) if is_literal(value.type) else value
        if new is None:
            return None
        adapted.append(new)
    shape = join_shapes(ctx, what, adapted, span)
    return None if shape is None else (dtype, shape, tuple(adapted))


def dtype_of(type: Type) -> DType:
    assert isinstance(type, Scalar | Tensor)
    return type.dtype


def axes_of(type: Type) -> Shape:
    return type.axes if isinstance(type, Tensor) else ()


def join_shapes(ctx: Context, what: str, values: list[TExpr], span: Span) -> Shape | None:
    """The broadcast shape of all values, or None after E2207."""
    shape = axes_of(values[0].type)
    shaped = values[0]
    for value in values[1:]:
        joined = broadcast(ctx.facts, shape, axes_of(value.type))
        if isinstance(joined, Misfit):
            _shapes_differ(ctx, what, shaped, value, joined, span)
            return None
        shape = joined
        if isinstance(value.type, Tensor):
            shaped = value
    return shape


# --- compile-time values ----------------------------------------------------------------


def _fold(ctx: Context, op: str, left: TExpr, right: TExpr, span: Span) -> TExpr:
    if isinstance(left.type, CompileTimeInt) and isinstance(right.type, CompileTimeInt):
        a, b = left.type.value, right.type.value
        if op in COMPARISONS:
            return _compare_dims(ctx, op, left, right, span)
        return fold_dims(ctx, op, a, b, span, right.span)
    if op in BITWISE:
        bad = left if isinstance(left.type, FloatLiteral) else right
        return ctx.bad(
            "E2104", f"`{op}` does not take a float literal", bad.span, "a float", at=span
        )
    x, y = _number(left), _number(right)
    if x is None or y is None:
        return _wide(ctx, op, left, right, span)
    if op in COMPARISONS:
        return Literal(BOOL, span, _COMPARE[op](x, y))
    return Literal(FloatLiteral(value := _arithmetic(op, x, y)), span, value)


def _number(value: TExpr) -> float | None:
    """The value of a literal as an f64, if it is known."""
    if isinstance(value.type, FloatLiteral):
        return value.type.value
    assert isinstance(value.type, CompileTimeInt)
    return float(value.type.value.value) if value.type.value.is_const else None


def _arithmetic(op: str, x: float, y: float) -> float:
    """IEEE arithmetic; `%` is the truncated remainder, as at run time."""
    try:
        match op:
            case "+":
                return x + y
            case "-":
                return x - y
            case "*":
                return x * y
            case "/":
                return x / y
            case _:
                return math.fmod(x, y)
    except ZeroDivisionError:
        zero_over_zero = x == 0 or math.isnan(x)
        sign = math.copysign(1.0, x) * math.copysign(1.0, y)
        return math.nan if zero_over_zero else math.copysign(math.inf, sign)
    except ValueError:
        return math.nan


def _wide(ctx: Context, op: str, left: TExpr, right: TExpr, span: Span) -> TExpr:
    """Arithmetic of float literals in which a size or a branch takes part: in f64."""
    a, b = (as_dtype(ctx, value, "f64", OPERAND) for value in (left, right))
    if a is None or b is None:
        return poison(span)
    return Binary(BOOL if op in COMPARISONS else FloatLiteral(None), span, op, a, b)


def _compare_dims(ctx: Context, op: str, left: TExpr, right: TExpr, span: Span) -> TExpr:
    a, b = dim_of_value(left), dim_of_value(right)
    if a.is_const and b.is_const:
        return Literal(BOOL, span, _COMPARE[op](a.value, b.value))
    wide = Scalar("i64")
    return Binary(BOOL, span, op, DimValue(wide, left.span, a), DimValue(wide, right.span, b))


def dim_of_value(value: TExpr) -> Dim:
    assert isinstance(value.type, CompileTimeInt)
    return value.type.value


def dim_value(ctx: Context, dim: Dim, span: Span) -> TExpr:
    """A compile-time integer as an expression; beyond i64 it is E2123."""
    if dim.poisoned:
        return ctx.bad(
            "E2123",
            "compile-time integer beyond the range of i64",
            span,
            "the result does not fit 64 bits",
            help="use smaller numbers",
        )
    return DimValue(CompileTimeInt(dim), span, dim)


def fold_dims(ctx: Context, op: str, a: Dim, b: Dim, span: Span, right_span: Span) -> TExpr:
    """`a op b` of compile-time integers; `/` and `%` round down and need a positive divisor."""
    match op:
        case "+":
            return dim_value(ctx, a + b, span)
        case "-":
            return dim_value(ctx, a - b, span)
        case "*":
            return dim_value(ctx, a * b, span)
        case "/" | "%":
            if not ctx.dividing_freely and not require_positive(ctx, b, right_span):
                return poison(span)
            return dim_value(ctx, a.floordiv(b) if op == "/" else a.mod(b), span)
        case _:
            return fold_bits(ctx, op, a, b, span)


def fold_bits(ctx: Context, op: str, a: Dim, b: Dim, span: Span) -> TExpr:
    """Bitwise operations and shifts, on numbers only."""
    if not (a.is_const and b.is_const):
        symbolic = b if a.is_const else a
        return ctx.bad(
            "E2123",
            f"`{op}` of compile-time integers needs numbers",
            span,
            f"`{symbolic}` is no number yet",
            help="cast one side first, as in `cast<i64>(…)`",
        )
    x, y = a.value, b.value
    match op:
        case "&":
            return dim_value(ctx, Dim.const(x & y), span)
        case "|":
            return dim_value(ctx, Dim.const(x | y), span)
        case "^":
            return dim_value(ctx, Dim.const(x ^ y), span)
        case "shl":
            wide = 0 if not 0 <= y < 64 else x << y
            return dim_value(ctx, Dim.const((wide + 2**63) % 2**64 - 2**63), span)
        case _:
            return dim_value(ctx, Dim.const(x >> y if 0 <= y < 64 else (-1 if x < 0 else 0)), span)


def require_positive(ctx: Context, divisor: Dim, span: Span) -> bool:
    """Prove `divisor > 0`, or report E2205."""
    if ctx.demands is not None:
        ctx.demands.append(Demand(Clause.of(">", divisor, 0), None))
        return True
    if positive(ctx.facts, divisor):
        return True
    ctx.report(
        "E2205",
        f"divisor is {divisor}"
        if divisor.is_const
        else f"divisor `{divisor}` might not be positive",
        span,
        "this has to be greater than 0" if divisor.is_const else "this may be zero or less",
        notes=("dividing dimensions needs a divisor that is provably greater than 0",),
        help=() if divisor.is_const else suggestion(ctx, Clause.of(">", divisor, 0)),
    )
    return False


# --- logic and unary --------------------------------------------------------------------


def _logical(ctx: Context, op: str, left: TExpr, right: TExpr, span: Span) -> TExpr:
    if _truth(ctx, op, left) and _truth(ctx, op, right):
        return Binary(BOOL, span, op, left, right)
    return poison(span)


def _truth(ctx: Context, op: str, value: TExpr) -> bool:
    if is_poison(value):
        return False
    if value.type == BOOL:
        return True
    tensor_like = isinstance(value.type, Tensor)
    instead = "`x ^ true`" if op == "!" else f"`{op[0]}`"
    ctx.report(
        "E2116",
        f"`{op}` takes scalar `bool` only",
        value.span,
        f"this is {show.quoted(value.type)}",
        help=f"for tensors write {instead}" if tensor_like else "compare it first, as in `x != 0`",
    )
    return False


def unary(ctx: Context, op: str, operand: TExpr, span: Span) -> TExpr:
    """`!x`, `-x` or `+x`."""
    if op == "!":
        return Unary(BOOL, span, op, operand) if _truth(ctx, op, operand) else poison(span)
    if is_poison(operand):
        return poison(span)
    match operand.type:
        case CompileTimeInt(dim):
            return dim_value(ctx, -dim if op == "-" else dim, span)
        case FloatLiteral(None):
            wide = as_dtype(ctx, operand, "f64", OPERAND)
            return poison(span) if wide is None else Unary(FloatLiteral(None), span, op, wide)
        case FloatLiteral(float() as number):
            signed = -number if op == "-" else number
            return Literal(FloatLiteral(signed), span, signed)
        case Scalar(dtype) | Tensor(dtype, _) if same_dtype_class(dtype, "Numeric"):
            return Unary(operand.type, span, op, operand)
        case Scalar() | Tensor():
            _wrong_class(ctx, f"`{op}`", operand, "Numeric")
        case _:
            _not_an_operand(ctx, f"`{op}`", operand)
    return poison(span)


# --- reports ----------------------------------------------------------------------------


def _not_an_operand(ctx: Context, what: str, value: TExpr) -> None:
    help: tuple[str, ...] = ()
    if isinstance(value.type, Optional | NoneLiteral):
        help = ("take the value out first: `match … { some(v) => … none => … }`",)
    ctx.report(
        "E2104",
        f"{what} does not take {show.quoted(value.type)}",
        value.span,
        "neither a scalar nor a tensor",
        help=help,
    )


def _dtypes_differ(
    ctx: Context, what: str, first: TExpr, second: TExpr, span: Span, advice: str = ""
) -> None:
    a, b = show.dtype(dtype_of(first.type)), show.dtype(dtype_of(second.type))
    ctx.report(
        "E2103",
        f"operands of {what} have different element types",
        span,
        f"`{a}` and `{b}`",
        related=(
            Label(first.span, f"this is {show.quoted(first.type)}"),
            Label(second.span, f"this is {show.quoted(second.type)}"),
        ),
        help=advice or f"convert one side: `cast<{a}>(…)` or `cast<{b}>(…)`",
    )


def _wrong_class(ctx: Context, what: str, value: TExpr, kind: str, advice: str = "") -> None:
    dtype = dtype_of(value.type)
    known = {"Bits": "integers and `bool`", "DType": "any dtype"}
    wanted = known.get(kind, f"{kind} dtypes")
    help: tuple[str, ...] = ()
    if advice:
        help = (advice,)
    elif isinstance(dtype, DTypeVar) and kind != "Bits":
        help = (f"constrain the generic: `{dtype.name}: {kind}`",)
    elif isinstance(dtype, DTypeVar):
        help = (f"constrain the generic: `{dtype.name}: Integer`",)
    elif dtype == "bool":
        help = ("convert it to a number first: `cast<i64>(…)`",)
    ctx.report(
        "E2104",
        f"{what} does not take `{show.dtype(dtype)}`",
        value.span,
        f"this is {show.quoted(value.type)}",
        notes=(f"{what} takes {wanted}", *_range_note(dtype)),
        help=help,
    )


def _range_note(dtype: DType) -> tuple[str, ...]:
    if isinstance(dtype, DTypeVar):
        return (f"`{dtype.name}: {dtype.kind}` may be any of {show.members(dtype.kind)}",)
    return ()


def _shapes_differ(
    ctx: Context, what: str, first: TExpr, second: TExpr, misfit: Misfit, span: Span
) -> None:
    ctx.report(
        "E2207",
        f"operands of {what} may not broadcast",
        span,
        _pair_text(misfit.left, misfit.right),
        related=(
            Label(first.span, f"this is {show.quoted(first.type)}"),
            Label(second.span, f"this is {show.quoted(second.type)}"),
        ),
        notes=(
            "aligned from the right, each pair of dimensions has to be provably equal, or one "
            "of them 1; a pack matches only itself",
        ),
        help=pair_help(ctx, misfit.left, misfit.right),
    )


def _pair_text(left: Axis, right: Axis) -> str:
    return f"`{show.axis(left)}` against `{show.axis(right)}`"


def pair_help(ctx: Context, left: Axis, right: Axis) -> tuple[str, ...]:
    """The `where` item that would make two dimensions equal, if there is one to offer."""
    if isinstance(left, Dim) and isinstance(right, Dim):
        return suggestion(ctx, Clause.of("==", left, right))
    return ()
