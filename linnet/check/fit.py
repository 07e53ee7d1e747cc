"""Make a value fit the place it stands in: literals take the place's dtype, the rest must agree.

In: a typed expression whose type may still be a literal's (`CompileTimeInt`, `FloatLiteral`,
`none`), and what the place requires. Out: the expression with its final type, or a poisoned
one after a diagnostic. Nothing else is ever converted.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace

from linnet.check import show
from linnet.check.context import Context, is_poison, poison
from linnet.check.proofs import (
    impossible,
    same_axis,
    same_dtype_class,
    same_type,
    suggestion,
)
from linnet.check.typed import (
    Cast,
    DimValue,
    If,
    Literal,
    MatchEnum,
    MatchOptional,
    NoneExpr,
    SomeExpr,
    TExpr,
    TupleExpr,
)
from linnet.check.types import (
    FLOATS,
    INTEGERS,
    Array,
    Axis,
    Block,
    CompileTimeInt,
    DType,
    DTypeVar,
    Error,
    FloatLiteral,
    NoneLiteral,
    Optional,
    Scalar,
    ShapeLiteral,
    Tensor,
    Tuple,
    Type,
)
from linnet.diag import Label
from linnet.dims import Clause, Dim


@dataclass(frozen=True)
class Place:
    """A place that requires a type, and the codes of the ways to miss it."""

    noun: str
    other: str = "E2101"
    dtype: str = "E2103"
    shape: str = "E2202"
    literal: str = "E2101"


ARGUMENT = Place("argument", literal="E2104")
RETURN = Place("returned value")
ANNOTATION = Place("value")
DEFAULT = Place("default")
FIELD = Place("field", "E2101", "E2101", "E2101", "E2101")
ASSIGNMENT = Place("assigned value", "E2109", "E2109", "E2109", "E2109")
BRANCH = Place("branch", "E2115", "E2115", "E2115", "E2115")
OPERAND = Place("operand", "E2104", "E2103", "E2207", "E2104")


def fit(
    ctx: Context,
    value: TExpr,
    wanted: Type,
    place: Place,
    related: tuple[Label, ...] = (),
) -> TExpr:
    """`value` as a `wanted`, or poison after a report."""
    adapted = adapt(ctx, value, wanted, place)
    if adapted is None or is_poison(adapted) or is_poison(wanted):
        return poison(value.span) if adapted is None else adapted
    if same_type(ctx.facts, adapted.type, wanted):
        return adapted
    return mismatch(ctx, adapted, wanted, place, related)


def adapt(ctx: Context, value: TExpr, wanted: Type, place: Place) -> TExpr | None:
    """Push `wanted` into the literals of `value`; other types stay. None after a report."""
    found = value.type
    if isinstance(found, Error) or isinstance(wanted, Error):
        return value
    if isinstance(found, CompileTimeInt | FloatLiteral) and isinstance(wanted, Scalar):
        return as_dtype(ctx, value, wanted.dtype, place)
    if isinstance(found, NoneLiteral) and isinstance(wanted, Optional):
        return NoneExpr(wanted, value.span)
    if not has_literal(found):
        return value
    match value, wanted:
        case SomeExpr(inner=inner), Optional(of):
            new = adapt(ctx, inner, of, place)
            return new and SomeExpr(Optional(new.type), value.span, new)
        case TupleExpr(items=items), Tuple(types) if len(items) == len(types):
            parts = [adapt(ctx, i, t, place) for i, t in zip(items, types, strict=True)]
            whole = [part for part in parts if part is not None]
            if len(whole) < len(parts):
                return None
            return TupleExpr(Tuple(tuple(p.type for p in whole)), value.span, tuple(whole))
        case If() | MatchOptional() | MatchEnum(), _:
            return map_branches(value, lambda branch: adapt(ctx, branch, wanted, place))
    return value


def has_literal(type: Type) -> bool:
    """Whether some part of the type still waits for its context."""
    match type:
        case CompileTimeInt() | FloatLiteral() | NoneLiteral():
            return True
        case Optional(inner):
            return has_literal(inner)
        case Tuple(items):
            return any(has_literal(item) for item in items)
        case _:
            return False


def map_branches(value: TExpr, change: Callable[[TExpr], TExpr | None]) -> TExpr | None:
    """`value`, an `if` or `match`, with `change` applied to what its branches give."""
    if isinstance(value, If):
        then, otherwise = change(value.then), change(value.otherwise)
        if then is None or otherwise is None:
            return None
        return replace(value, type=then.type, then=then, otherwise=otherwise)
    if isinstance(value, MatchOptional):
        some, none = change(value.some_body), change(value.none_body)
        if some is None or none is None:
            return None
        return replace(value, type=some.type, some_body=some, none_body=none)
    assert isinstance(value, MatchEnum)
    changed = [change(body) for body in value.bodies]
    bodies = tuple(body for body in changed if body is not None)
    if len(bodies) < len(changed):
        return None
    return replace(value, type=bodies[0].type, bodies=bodies)


# --- literals ---------------------------------------------------------------------------


def as_dtype(ctx: Context, value: TExpr, dtype: DType, place: Place) -> TExpr | None:
    """A literal-typed expression as a scalar of `dtype`. None after a report."""
    found = value.type
    wanted = Scalar(dtype)
    if isinstance(found, CompileTimeInt):
        if not same_dtype_class(dtype, "Numeric"):
            return _wrong_class(ctx, value, dtype, place)
        if not found.value.is_const:
            return DimValue(wanted, value.span, found.value)
        number = found.value.value
        if isinstance(dtype, str) and dtype in INTEGERS and not in_range(number, dtype):
            low, high = integer_range(dtype)
            return _out_of_range(ctx, value, str(number), dtype, f"{low} to {high}")
        return Literal(wanted, value.span, float(number) if dtype in FLOATS else number)
    assert isinstance(found, FloatLiteral)
    if not same_dtype_class(dtype, "Float"):
        return _wrong_class(ctx, value, dtype, place)
    if found.value is not None:
        finite = math.isfinite(found.value)  # folding may well end in infinity
        if isinstance(dtype, str) and finite and math.isinf(round_to(found.value, dtype)):
            limit = f"at most {LARGEST[dtype]} in magnitude"
            return _out_of_range(ctx, value, value.span.text, dtype, limit)
        return Literal(wanted, value.span, found.value)
    if isinstance(value, If | MatchOptional | MatchEnum):
        return map_branches(value, lambda branch: as_dtype(ctx, branch, dtype, place))
    # Folded in f64 and rounded once, like any other float literal.
    wide = replace(value, type=Scalar("f64"))
    return wide if dtype == "f64" else Cast(wanted, value.span, wide)


def integer_range(dtype: str) -> tuple[int, int]:
    """Smallest and largest value of an integer dtype."""
    bits = int(dtype[1:])
    return (0, 2**bits - 1) if dtype[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def in_range(number: int, dtype: str) -> bool:
    low, high = integer_range(dtype)
    return low <= number <= high


LARGEST = {"f16": "65504", "bf16": "3.3895314e38", "f32": "3.4028235e38", "f64": "1.7976931e308"}


def round_to(number: float, dtype: str) -> float:
    """A finite `number` rounded to a float dtype; infinite beyond the largest finite value."""
    if dtype == "f64":
        return number
    if dtype == "bf16":
        # Halfway between the largest bf16 and the next power of two.
        return math.copysign(math.inf, number) if abs(number) >= 2.0**128 - 2.0**119 else number
    try:
        code = "e" if dtype == "f16" else "f"
        return float(struct.unpack(code, struct.pack(code, number))[0])
    except OverflowError:
        return math.copysign(math.inf, number)


def _wrong_class(ctx: Context, value: TExpr, dtype: DType, place: Place) -> TExpr | None:
    """Report a literal of the wrong class; always None."""
    what = show.type_(value.type)
    named = show.dtype_class(dtype)
    help: tuple[str, ...] = ()
    if isinstance(dtype, DTypeVar):
        needed = "Float" if isinstance(value.type, FloatLiteral) else "Numeric"
        help = (f"constrain the generic: `{dtype.name}: {needed}`",)
    elif dtype == "bool":
        help = ("write `true` or `false`",)
    elif isinstance(value.type, FloatLiteral):
        help = ("write it without a fraction, or cast the other side to a float",)
    ctx.report(
        place.literal,
        f"{what} cannot be `{show.dtype(dtype)}`",
        value.span,
        f"this has to become `{named}`",
        notes=(_becomes(value.type),),
        help=help,
    )
    return None


def _becomes(literal: Type) -> str:
    if isinstance(literal, FloatLiteral):
        return "a float literal becomes what its context needs: f16, bf16, f32 or f64"
    return "an integer literal becomes what its context needs, any number but no `bool`"


def _out_of_range(ctx: Context, value: TExpr, text: str, dtype: str, limits: str) -> TExpr | None:
    """Report a literal that its dtype cannot hold; always None."""
    ctx.report(
        "E2105",
        f"{text} does not fit `{dtype}`",
        value.span,
        f"`{dtype}` holds {limits}",
        help="use a wider dtype or a smaller number",
    )
    return None


def settle(ctx: Context, value: TExpr, *, keep_dims: bool) -> TExpr:
    """The value a binding without annotation keeps: literals become `i64` and `f64`.

    With `keep_dims` a symbolic compile-time integer stays one."""
    found = value.type
    if isinstance(found, CompileTimeInt):
        if keep_dims and not found.value.is_const:
            return value
        return as_dtype(ctx, value, "i64", ANNOTATION) or poison(value.span)
    if isinstance(found, FloatLiteral):
        return as_dtype(ctx, value, "f64", ANNOTATION) or poison(value.span)
    if isinstance(found, NoneLiteral):
        return none_without_context(ctx, value)
    if isinstance(found, ShapeLiteral):
        return ctx.bad(
            "E2101",
            "a shape is not a value",
            value.span,
            "shapes stand only as arguments",
            help="give the shape where `reshape`, `fill` or `broadcast_to` needs it",
        )
    if not has_literal(found):
        return value
    if isinstance(value, TupleExpr):
        items = tuple(settle(ctx, item, keep_dims=False) for item in value.items)
        if any(is_poison(item) for item in items):
            return poison(value.span)
        return TupleExpr(Tuple(tuple(item.type for item in items)), value.span, items)
    if isinstance(value, SomeExpr):
        inner = settle(ctx, value.inner, keep_dims=False)
        if is_poison(inner):
            return poison(value.span)
        return SomeExpr(Optional(inner.type), value.span, inner)
    if isinstance(value, If | MatchOptional | MatchEnum):
        return map_branches(value, lambda b: settle(ctx, b, keep_dims=False)) or value
    return value


def none_without_context(ctx: Context, value: TExpr) -> TExpr:
    return ctx.bad(
        "E2113",
        "`none` with no optional type around it",
        value.span,
        "nothing says which optional this is",
        help="annotate the binding, as in `let x: f32? = none`",
    )


# --- what is said when it does not fit --------------------------------------------------


def mismatch_code(found: Type, wanted: Type, place: Place) -> str:
    """The code of a mismatch: by dtype, by shape, or by anything else."""
    if isinstance(found, Tensor) and isinstance(wanted, Tensor):
        return place.dtype if found.dtype != wanted.dtype else place.shape
    return place.other


def mismatch(
    ctx: Context,
    value: TExpr,
    wanted: Type,
    place: Place,
    related: tuple[Label, ...] = (),
    help: tuple[str, ...] = (),
) -> TExpr:
    """Report that `value` is no `wanted`; `help` takes the place of what follows from the types."""
    found = value.type
    tensors = isinstance(found, Tensor) and isinstance(wanted, Tensor)
    expected = (f"expected {show.quoted(wanted)}",) if tensors else ()
    return ctx.bad(
        mismatch_code(found, wanted, place),
        _headline(found, wanted, place),
        value.span,
        f"this is {show.quoted(found)}",
        related=related,
        notes=(*expected, *shape_notes(ctx, found, wanted)),
        help=help or _repair(found, wanted) or shape_help(ctx, found, wanted),
    )


def _headline(found: Type, wanted: Type, place: Place) -> str:
    if not (isinstance(found, Tensor) and isinstance(wanted, Tensor)):
        return f"{place.noun} is {show.quoted(found)} where {show.quoted(wanted)} is needed"
    if found.dtype != wanted.dtype:
        has, needs = show.dtype(found.dtype), show.dtype(wanted.dtype)
        return f"{place.noun} has element type `{has}` where `{needs}` is needed"
    if len(found.axes) != len(wanted.axes):
        has, needs = (show.count(len(t.axes), "axis", "axes") for t in (found, wanted))
        return f"{place.noun} has {has} where {needs} {'is' if needs[:2] == '1 ' else 'are'} needed"
    return f"{place.noun} has another shape than needed"


def _first_difference(ctx: Context, found: Type, wanted: Type) -> tuple[int, Axis, Axis] | None:
    """The first axis in which two types that agree otherwise are not provably equal."""
    match found, wanted:
        case Optional(a), Optional(b):
            return _first_difference(ctx, a, b)
        case Tuple(parts), Tuple(others) if len(parts) == len(others):
            pairs = zip(parts, others, strict=True)
            differences = (_first_difference(ctx, part, other) for part, other in pairs)
            return next((one for one in differences if one is not None), None)
        case Tensor(dtype, axes), Tensor(other_dtype, others):
            if dtype != other_dtype or len(axes) != len(others):
                return None
            for number, (x, y) in enumerate(zip(axes, others, strict=True)):
                if not same_axis(ctx.facts, x, y):
                    return number, x, y
    return None


def shape_notes(ctx: Context, found: Type, wanted: Type) -> tuple[str, ...]:
    """Which axis differs first, and whether it always does."""
    difference = _first_difference(ctx, found, wanted)
    if difference is None:
        return ()
    number, a, b = difference
    certain = False
    if isinstance(a, Dim) and isinstance(b, Dim):
        certain = impossible(ctx.facts, Clause.of("==", a, b))
    verb = "is never" if certain else "is not provably"
    return (f"axis {number}: `{show.axis(a)}` {verb} `{show.axis(b)}`",)


def shape_help(ctx: Context, found: Type, wanted: Type) -> tuple[str, ...]:
    """The `where` item that would make the first differing axis equal."""
    difference = _first_difference(ctx, found, wanted)
    if difference is None:
        return ()
    _, a, b = difference
    if isinstance(a, Dim) and isinstance(b, Dim):
        return suggestion(ctx, Clause.of("==", a, b))
    return ()


def _repair(found: Type, wanted: Type) -> tuple[str, ...]:
    match found, wanted:
        case Tensor(), Tensor() if found.dtype != wanted.dtype:
            return (f"convert it: `cast<{show.dtype(wanted.dtype)}>(…)`",)
        case Scalar(), Scalar():
            return (f"convert it: `cast<{show.dtype(wanted.dtype)}>(…)`",)
        case Optional(inner), _ if inner == wanted:
            return ("take it apart: `match … { some(v) => … none => … }`",)
        case _, Optional() if not isinstance(found, Optional | Block | Array):
            return ("wrap it: `some(…)`",)
        case _:
            return ()
