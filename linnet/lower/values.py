"""What an expression of the source becomes while a body is lowered.

    Node          a tensor or scalar of the graph
    View          a tensor or scalar that depends on loop variables of a map being written; its
                  elements are written out where they are used
    tuple         a tuple, value by value; a struct, field by field
    Absent        an optional without a value; one with a value is that value
    Maybe         an optional of which only the run can tell
    BlockValue    an instance of a block
    ArrayValue    an array of them

Reading is uniform: `read` gives the scalar expression of one element, whatever holds it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from linnet.check.types import Block
from linnet.dims import Dim
from linnet.ir.build import Operands, clamp, index_ref, indices_for, map_node
from linnet.ir.errors import BrokenIR
from linnet.ir.expr import Const, DimConst, Expr
from linnet.ir.node import MapAttrs, Node, Origin
from linnet.lower.manifest import BlockValue


@dataclass(eq=False)
class Frame:
    """One map while its body is written."""

    operands: Operands = field(default_factory=Operands)


At: TypeAlias = tuple[Expr, ...]


@dataclass(frozen=True, eq=False)
class View:
    """`at` writes the element at positions inside the axes, as an expression of `frame`."""

    dtype: str
    dims: tuple[Dim, ...]
    frame: Frame
    at: Callable[[At], Expr]


class Absent:
    """The only value of `none`."""


ABSENT = Absent()


@dataclass(frozen=True, eq=False)
class Maybe:
    """An optional that a choice at run time gave: `value` counts where the scalar `present`
    holds, and is some value of the same type elsewhere."""

    present: Array
    value: Value


@dataclass(frozen=True, eq=False)
class ArrayValue:
    """`[Layer<H>; Depth]` at a member path of `owner`."""

    owner: BlockValue
    item: Block
    path: str
    length: int

    def __getitem__(self, position: int) -> BlockValue:
        return self.owner.child(self.item, f"{self.path}.{position}")


Array: TypeAlias = Node | View
Value: TypeAlias = "Array | Absent | Maybe | BlockValue | ArrayValue | tuple[Value, ...]"


def dtype_of(value: Array) -> str:
    return value.type.dtype if isinstance(value, Node) else value.dtype


def dims_of(value: Array) -> tuple[Dim, ...]:
    return value.type.dims if isinstance(value, Node) else value.dims


def is_view(value: Value) -> bool:
    """Whether some part of a value depends on loop variables."""
    if isinstance(value, tuple):
        return any(is_view(part) for part in value)
    if isinstance(value, Maybe):
        return is_view(value.present) or is_view(value.value)
    return isinstance(value, View)


def known(value: object) -> Const | None:
    """The number that a scalar certainly is, if it is one."""
    body = _number(value)
    return body if isinstance(body, Const) else None


def _number(value: object) -> Expr | None:
    if isinstance(value, Node) and isinstance(value.attrs, MapAttrs) and not value.type.dims:
        body = value.attrs.body
        return body if isinstance(body, (Const, DimConst)) else None
    if isinstance(value, View) and not value.dims:
        body = value.at(())
        return body if isinstance(body, Const) else None
    return None


def read(value: Array, frame: Frame, at: Sequence[Expr] = ()) -> Expr:
    """The element at i64 positions `at`; one outside its axis is brought inside."""
    if isinstance(value, View):
        if value.frame is not frame:
            raise BrokenIR("a value of one map is read in another")
        inside = (clamp(p, d) for p, d in zip(at, value.dims, strict=True))
        return value.at(tuple(inside))
    number = _number(value)
    return frame.operands.load(value, at) if number is None else number


def aligned(value: Array, at: Sequence[Expr], dims: Sequence[Dim]) -> At:
    """Positions in `value` for positions `at` in `dims`, which it broadcasts to from the right:
    an axis of 1 is read at 0 wherever the wider one is."""
    own = dims_of(value)
    zero = Const("i64", 0)
    pairs = zip(own, dims[len(dims) - len(own) :], at[len(at) - len(own) :], strict=True)
    return tuple(
        zero if _is_one(dim) and not _is_one(wide) else position for dim, wide, position in pairs
    )


def _is_one(dim: Dim) -> bool:
    return dim.is_const and dim.value == 1


def build(
    dtype: str,
    dims: tuple[Dim, ...],
    sources: Sequence[Array],
    element: Callable[[Frame, At], Expr],
    origin: Origin | None,
    names: str = "ijklmnop",
) -> Array:
    """The value whose element at given positions is `element(frame, positions)`.

    A map node, unless one of `sources` (all that `element` reads) is a view: then a view of the
    same frame. A scalar view is written at once, so that two uses of it share its expression."""
    frame = next((v.frame for v in sources if isinstance(v, View)), None)
    if frame is None:
        frame = Frame()
        indices = indices_for(dims, names)
        body = element(frame, tuple(index_ref(i) for i in indices))
        return map_node(frame.operands.nodes, indices, body, origin)
    writer = frame
    if not dims:
        return scalar_view(element(writer, ()), writer)
    return view(dtype, dims, writer, lambda at: element(writer, at))


def view(dtype: str, dims: tuple[Dim, ...], frame: Frame, element: Callable[[At], Expr]) -> View:
    """A view that writes each element once: read again at the same positions it gives the same
    expression, so that a chain of views does not double with every use."""
    written: dict[Hashable, Expr] = {}

    def at(positions: At) -> Expr:
        key = tuple(p.value if isinstance(p, Const) else p for p in positions)
        if key not in written:
            written[key] = element(positions)
        return written[key]

    return View(dtype, dims, frame, at)


def scalar_view(expr: Expr, frame: Frame) -> View:
    """A scalar of `frame` that is already written."""
    return View(expr.dtype, (), frame, lambda at: expr)
