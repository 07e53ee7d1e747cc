"""Scalar expressions: what one element of a `map` node is.

An expression is a DAG compared by identity: a sub-expression used twice is computed once.
`Index` objects are the loop variables; they too are compared by identity.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from linnet.dims import Dim


@dataclass(frozen=True, eq=False)
class Index:
    """A loop variable running over 0 .. domain - 1, an i64 where it is used as a number."""

    name: str
    domain: Dim


@dataclass(frozen=True, eq=False)
class Expr:
    """Base of scalar expressions. `dtype` is the element type of the value."""

    dtype: str


@dataclass(frozen=True, eq=False)
class Const(Expr):
    """A number already rounded to `dtype` (a Python float for floats, NaN and infinities
    included; an int in range for integers; a bool for bool)."""

    value: int | float | bool


@dataclass(frozen=True, eq=False)
class DimConst(Expr):
    """A dimension as a number of `dtype` (converted from i64 as `cast` does)."""

    dim: Dim


@dataclass(frozen=True, eq=False)
class IndexRef(Expr):
    """The position of a loop variable, as i64."""

    index: Index


@dataclass(frozen=True, eq=False)
class Load(Expr):
    """Element `at` of the node's operand number `operand`, one i64 position an axis.

    A position outside its axis is clamped into it; on an axis without elements the value is
    the dtype's zero. For a rank-0 operand `at` is empty."""

    operand: int
    at: tuple[Expr, ...]


@dataclass(frozen=True, eq=False)
class Apply(Expr):
    """`fn` of `FUNCTIONS` applied to operands; for `cast`, `dtype` is the target."""

    fn: str
    args: tuple[Expr, ...]


@dataclass(frozen=True, eq=False)
class Reduce(Expr):
    """`body` combined over all positions of `indices`, first index outermost, in increasing
    order, starting from the neutral element, in `dtype` (the body's dtype too)."""

    kind: str
    indices: tuple[Index, ...]
    body: Expr


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct sub-expressions of `expr`."""
    match expr:
        case Apply(args=args):
            return args
        case Load(at=at):
            return at
        case Reduce(body=body):
            return (body,)
        case _:
            return ()


def walk(expr: Expr) -> Iterator[Expr]:
    """Each distinct sub-expression once, operands before users. Iterative: depth is unbounded."""
    seen: set[int] = set()
    stack: list[tuple[Expr, bool]] = [(expr, False)]
    while stack:
        node, ready = stack.pop()
        if ready:
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(children(node)))
