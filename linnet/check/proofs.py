"""Questions about dims, shapes and types that need the facts in scope.

The prover itself is `linnet.dims`; this module lifts it to shapes with packs and to types, and
words what a failed proof can offer: sizes that break it, and the `where` item that closes it.
"""

from __future__ import annotations

from dataclasses import dataclass

from linnet.check.context import Context
from linnet.check.types import (
    CLASSES,
    Array,
    Axis,
    Block,
    DType,
    DTypeVar,
    Enum,
    Error,
    GenericArgument,
    Optional,
    Scalar,
    Shape,
    Struct,
    Tensor,
    Tuple,
    Type,
)
from linnet.dims import Clause, Dim, Pack
from linnet.dims.facts import Facts
from linnet.dims.prove import Refuted, holds, is_equal, is_nonnegative, is_positive, never, prove
from linnet.dims.suggest import suggest

_BITS = CLASSES["Integer"] | {"bool"}


def same_dtype_class(dtype: DType, kind: str) -> bool:
    """Whether every dtype that `dtype` can be lies in the class `kind`."""
    members = _BITS if kind == "Bits" else CLASSES[kind]
    if isinstance(dtype, DTypeVar):
        return CLASSES[dtype.kind] <= members
    return dtype in members


def equal(facts: Facts, a: Dim, b: Dim) -> bool:
    return is_equal(a, b, facts)


def positive(facts: Facts, dim: Dim) -> bool:
    return is_positive(dim, facts)


def nonnegative(facts: Facts, dim: Dim) -> bool:
    return is_nonnegative(dim, facts)


def certainly_negative(facts: Facts, dim: Dim) -> bool:
    return not dim.is_size and is_nonnegative(-dim - 1, facts)


def impossible(facts: Facts, clause: Clause) -> bool:
    """Whether no sizes at all satisfy the clause."""
    return never(clause, facts)


def minimum(facts: Facts, a: Dim, b: Dim) -> Dim:
    """`min(a, b)`, decided where the facts decide it."""
    if is_nonnegative(b - a, facts):
        return a
    return b if is_nonnegative(a - b, facts) else a.minimum(b)


def same_axis(facts: Facts, a: Axis, b: Axis) -> bool:
    if isinstance(a, Pack) or isinstance(b, Pack):
        return a == b
    return is_equal(a, b, facts)


def same_shape(facts: Facts, a: Shape, b: Shape) -> bool:
    """Whether two shapes are provably one: the same packs at the same places, equal dims."""
    if len(a) != len(b):
        return False
    return all(same_axis(facts, x, y) for x, y in zip(a, b, strict=True))


def same_argument(facts: Facts, a: GenericArgument, b: GenericArgument) -> bool:
    if isinstance(a, Dim) and isinstance(b, Dim):
        return is_equal(a, b, facts)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return same_shape(facts, a, b)
    return a == b


def same_type(facts: Facts, a: Type, b: Type) -> bool:
    """Whether two types are provably one. Poison equals everything."""
    match a, b:
        case (Error(), _) | (_, Error()):
            return True
        case Scalar(x), Scalar(y):
            return x == y
        case Tensor(x, s), Tensor(y, t):
            return x == y and same_shape(facts, s, t)
        case Optional(x), Optional(y):
            return same_type(facts, x, y)
        case Tuple(x), Tuple(y):
            return len(x) == len(y) and all(
                same_type(facts, i, j) for i, j in zip(x, y, strict=True)
            )
        case (Block(d, x), Block(e, y)) | (Enum(d, x), Enum(e, y)) | (Struct(d, x), Struct(e, y)):
            return d is e and all(same_argument(facts, i, j) for i, j in zip(x, y, strict=True))
        case Array(x, n), Array(y, m):
            return same_type(facts, x, y) and is_equal(n, m, facts)
        case _:
            return a == b


@dataclass(frozen=True)
class Misfit:
    """The pair of axes that keeps two shapes from broadcasting."""

    left: Axis
    right: Axis


def broadcast(facts: Facts, a: Shape, b: Shape) -> Shape | Misfit:
    """The right-aligned broadcast of two shapes; a pack matches only itself."""
    longer = a if len(a) >= len(b) else b
    common = min(len(a), len(b))
    joined: list[Axis] = []
    for x, y in zip(a[len(a) - common :], b[len(b) - common :], strict=True):
        if same_axis(facts, x, y):
            joined.append(x)
        elif isinstance(x, Pack) or isinstance(y, Pack):
            return Misfit(x, y)
        elif is_equal(x, ONE, facts):
            joined.append(y)
        elif is_equal(y, ONE, facts):
            joined.append(x)
        else:
            return Misfit(x, y)
    return (*longer[: len(longer) - common], *joined)


ONE = Dim.const(1)


def proved(facts: Facts, clause: Clause) -> bool:
    """Whether the clause holds for all sizes, its divisors included."""
    return holds(clause, facts)


def counterexample(facts: Facts, clause: Clause) -> tuple[str, ...]:
    """A note with sizes that satisfy the facts and break the clause, if some were found."""
    verdict = prove(clause, facts)
    if not isinstance(verdict, Refuted) or not verdict.example:
        return ()
    sizes = ", ".join(f"{name} = {size}" for name, size in verdict.example.items())
    return (f"with {sizes} it does not hold",)


def suggestion(ctx: Context, clause: Clause) -> tuple[str, ...]:
    """The edit that would make `clause` provable, as a help line; empty if none is known."""
    if never(clause, ctx.facts):
        return ()
    item = suggest(clause, ctx.facts)
    if item is None:
        return ()
    return (f"add `{item}` to the where list of {owner(ctx)}",)


def owner(ctx: Context) -> str:
    """Whose `where` list a fact belongs in, as seen from `ctx`."""
    if ctx.function is not None:
        return f"`{ctx.function.decl.name}`"
    if ctx.block is not None:
        return f"`{ctx.block.decl.name}`"
    return "the declaration"
