"""Types of the language, as the checker proves them and the lowering reads them.

A type is immutable and compared structurally; whether two dimensions are *provably* equal
is asked of `linnet.dims`, not of `==`. Generic parameters appear inside types as the
symbols the checker made for them (`Sym`, `Pack`, `DTypeVar`), so substitution is all that
instantiation needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from linnet.dims import Dim, Pack, Sym

if TYPE_CHECKING:
    from linnet.check.typed import BlockDecl, EnumDecl, StructDecl

FLOATS = ("f16", "bf16", "f32", "f64")
INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
NUMERIC = INTEGERS + FLOATS
SCALARS = ("bool", *NUMERIC)
CLASSES: dict[str, frozenset[str]] = {
    "DType": frozenset(SCALARS),
    "Numeric": frozenset(NUMERIC),
    "Integer": frozenset(INTEGERS),
    "Float": frozenset(FLOATS),
}


@dataclass(frozen=True)
class DTypeVar:
    """A dtype generic (`T: Float`). Two are the same iff name and uid are equal."""

    name: str
    kind: str
    uid: int = 0


DType = str | DTypeVar
"""A concrete element type by name, or a dtype generic."""

Axis = Dim | Pack
"""One entry of a shape: a dimension, or a pack that stands for any number of them."""

Shape = tuple[Axis, ...]


@dataclass(frozen=True)
class Type:
    """Base of all types."""


@dataclass(frozen=True)
class Scalar(Type):
    dtype: DType


@dataclass(frozen=True)
class Tensor(Type):
    """At least one axis or pack; a rank-0 value is a `Scalar`."""

    dtype: DType
    axes: Shape


@dataclass(frozen=True)
class Optional(Type):
    inner: Type


@dataclass(frozen=True)
class Tuple(Type):
    items: tuple[Type, ...]


@dataclass(frozen=True)
class Block(Type):
    """A block with all its generics given. `arguments` follows the declaration order."""

    decl: BlockDecl
    arguments: tuple[GenericArgument, ...]


@dataclass(frozen=True)
class Array(Type):
    """`[Layer<H>; Depth]`: `length` copies of a block."""

    item: Block
    length: Dim


@dataclass(frozen=True)
class Enum(Type):
    decl: EnumDecl
    arguments: tuple[GenericArgument, ...]


@dataclass(frozen=True)
class Struct(Type):
    """A record. `arguments` follows the declaration order; two are equal by declaration and
    arguments. What the fields are here says `substitute.field_types`."""

    decl: StructDecl
    arguments: tuple[GenericArgument, ...]


@dataclass(frozen=True)
class Unit(Type):
    """The result of a function without `->`."""


@dataclass(frozen=True)
class CompileTimeInt(Type):
    """A dimension used as a value before the context gives it a dtype."""

    value: Dim


@dataclass(frozen=True)
class FloatLiteral(Type):
    """A float literal (or a fold of several) before the context gives it a dtype. `value` is
    None where the number is not known to the checker: a branch chooses it, or a size is in it."""

    value: float | None


@dataclass(frozen=True)
class ShapeLiteral(Type):
    """`[B, 2 * H]` as an argument."""

    axes: Shape


@dataclass(frozen=True)
class NoneLiteral(Type):
    """`none` before the context gives it an optional type."""


@dataclass(frozen=True)
class Error(Type):
    """Poison: fits everything, and nothing more is said about it."""


GenericArgument = Dim | Shape | DType
"""What a generic is bound to: a dimension, a shape (for `*S`), or a dtype."""

GenericSymbol = Sym | Pack | DTypeVar
