"""The vocabulary of the Core IR: node kinds, scalar functions, reductions.

Sets that describe a property stand beside the tables, so that no pass keeps a list of its own.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

INT_SIZES = {"i8": 1, "i16": 2, "i32": 4, "i64": 8, "u8": 1, "u16": 2, "u32": 4, "u64": 8}
FLOAT_SIZES = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8}
ITEM_SIZES = {"bool": 1, **INT_SIZES, **FLOAT_SIZES}
"""Bytes an element takes in memory, by dtype. `bool` is one byte holding 0 or 1."""


class Op(enum.Enum):
    """Kinds of tensor-valued nodes."""

    # leaves
    INPUT = "input"  # an entry parameter
    PARAM = "param"  # a weight (param or buffer member), by path
    STATE = "state"  # the value a state member has when the entry starts
    ARG = "arg"  # a parameter of an op's body
    # values
    MAP = "map"  # each element is one scalar expression of its position
    RESHAPE = "reshape"  # the same elements in row-major order under other dims
    CALL = "call"  # an op of the library or the user, with its body as a Function
    LOOP = "loop"  # `while`: carried values, a condition and a body (two Functions)
    GET = "get"  # one of the values of a LOOP


class Kind(enum.Enum):
    """Which dtypes a scalar function takes, and what it gives."""

    FLOAT = "float to the same float"
    NUMERIC = "numeric to the same dtype"
    INTEGER = "integer to the same dtype"
    BITS = "integer or bool to the same dtype"
    COMPARE = "two of one dtype to bool"
    LOGIC = "bool to bool"
    SPECIAL = "see verify"


@dataclass(frozen=True)
class Fn:
    """A scalar function. `arity` counts the operands, all of one dtype unless SPECIAL."""

    name: str
    arity: int
    kind: Kind


FUNCTIONS: dict[str, Fn] = {
    f.name: f
    for f in (
        *(Fn(n, 2, Kind.NUMERIC) for n in ("add", "sub", "mul", "div", "mod", "min", "max")),
        *(Fn(n, 1, Kind.NUMERIC) for n in ("neg", "abs")),
        *(Fn(n, 1, Kind.FLOAT) for n in ("exp", "log", "sqrt", "rsqrt", "sin", "cos", "tanh")),
        *(Fn(n, 2, Kind.BITS) for n in ("and", "or", "xor")),
        *(Fn(n, 2, Kind.INTEGER) for n in ("shl", "shr")),
        *(Fn(n, 2, Kind.COMPARE) for n in ("eq", "ne", "lt", "le", "gt", "ge")),
        Fn("not", 1, Kind.LOGIC),
        Fn("select", 3, Kind.SPECIAL),  # (bool, T, T) -> T; only the chosen side is defined
        Fn("cast", 1, Kind.SPECIAL),  # any dtype to any dtype, rules of language section 19
    )
}
"""`div` and `mod` on integers truncate toward zero and give 0 for a zero divisor; `min` and
`max` propagate NaN; `add`, `sub`, `mul`, `neg`, `abs` on integers wrap; a shift by the width
or more (or by a negative count) gives 0, sign fill for a signed `shr`."""

REDUCTIONS = frozenset({"sum", "prod", "max", "min", "any", "all"})
"""Over nothing they give 0, 1, the lowest, the highest value of the dtype, false, true."""
