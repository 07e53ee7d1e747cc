"""The manifest of a root block: every param, buffer and state with all sizes bound.

In: the root block's declaration and values for its generics, by name. Out: `Manifest`, in
declaration order, depth first, array positions spelled out. Raises `UsageError` for generics
that are missing, unknown or of the wrong sort, and `ShapeError` for values that the block's
`where` list rules out. Reads no checkpoint.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from linnet.check.substitute import Bindings
from linnet.check.typed import BlockDecl, GenericParam, Member, Program
from linnet.check.types import (
    CLASSES,
    Array,
    Block,
    GenericArgument,
    Optional,
    Tensor,
    Type,
)
from linnet.dims import Dim, Sym
from linnet.errors import ShapeError, UsageError
from linnet.ir.node import Manifest, ManifestEntry, TensorType
from linnet.lower.problems import violated_block_clause

MOST_BLOCKS = 100_000
"""In one array: each costs memory and time here, and a size out of a damaged file may ask for
more than there is of both."""


MOST_ELEMENTS = 2**47
"""Of one member: beyond what a process can address, whatever the dtype."""


@dataclass(frozen=True, eq=False)
class BlockValue:
    """One instance of a block: its declaration, its member path ("" for the root), and what
    its generics (and those of the blocks around its declaration) stand for."""

    decl: BlockDecl
    path: str
    bindings: Bindings

    def member_path(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name

    def child(self, type: Block, path: str) -> BlockValue:
        """The instance at `path` of a block type written in this one."""
        own = Bindings.of(self.bindings.block(type))
        return BlockValue(type.decl, path, joined(self.bindings, own))


def joined(outer: Bindings, inner: Bindings) -> Bindings:
    """All of both. Symbols are unique, so nothing can be hidden."""
    result = Bindings()
    for part in (outer, inner):
        for symbol, dim in part.dims.items():
            result.bind(symbol, dim)
        for pack, shape in part.packs.items():
            result.bind(pack, shape)
        for variable, dtype in part.dtypes.items():
            result.bind(variable, dtype)
    return result


def manifest(
    program: Program,
    root: BlockDecl,
    generics: Mapping[str, int | str],
    most: int | None = None,
) -> Manifest:
    """The members of `root` for these generics; the rest take their defaults. Raises ShapeError
    soon when there are more than `most` of them."""
    entries = _entries(bind_root(root, generics), "")
    if most is None:
        return Manifest(tuple(entries))
    found = tuple(itertools.islice(entries, most + 1))
    if len(found) > most:
        sizes = ", ".join(f"{name} = {value}" for name, value in generics.items())
        raise ShapeError(
            f"{root.name} would have more than {most:,} parameters ({sizes}); "
            "the checkpoint holds far fewer",
            help="check the sizes: are they those of this checkpoint?",
        )
    return Manifest(found)


def bind_root(root: BlockDecl, generics: Mapping[str, int | str]) -> BlockValue:
    """The root instance. `generics` maps names to sizes and dtype names."""
    known = [g.name for g in root.generics]
    unknown = sorted(set(generics) - set(known))
    if unknown:
        raise UsageError(
            f"{root.name} has no generic {_listed(unknown)}",
            help=f"its generics are {_listed(known)}",
        )
    bindings = Bindings()
    missing = []
    for param in root.generics:
        if param.name in generics:
            bindings.bind(param.symbol, _argument(root, param, generics[param.name]))
        elif param.default is not None:
            bindings.bind(param.symbol, bindings.argument(param.default))
        else:
            missing.append(param.name)
    if missing:
        raise UsageError(
            f"{root.name} needs a value for {_listed(missing)}",
            help=_how_to_give(missing),
        )
    values = {s: d.value for s, d in bindings.dims.items() if d.is_const}
    for clause in root.where:
        if not bindings.clause(clause).holds({}):
            raise violated_block_clause(root.name, clause, values)
    return BlockValue(root, "", bindings)


def bound_generics(root: BlockDecl, generics: Mapping[str, int | str]) -> dict[str, int | str]:
    """Every generic of the root by name, defaults filled in. Raises as `manifest` does."""
    bindings = bind_root(root, generics).bindings
    return {g.name: _number(bindings.get(g.symbol)) for g in root.generics}


def _how_to_give(names: list[str]) -> str:
    python = ", ".join(f'"{name}": …' for name in names)
    return f"give it: generics={{{python}}}, or --generic {names[0]}=… on the command line"


def _number(argument: GenericArgument | None) -> int | str:
    if isinstance(argument, Dim):
        return argument.value
    assert isinstance(argument, str)
    return argument


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{n}`" for n in names)


def _argument(root: BlockDecl, param: GenericParam, value: int | str) -> GenericArgument:
    name = f"`{param.name}` of {root.name}"
    if isinstance(param.symbol, Sym):
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
            raise UsageError(f"{name} is a dimension, a whole number of at least 0, not {value!r}")
        return Dim.const(value)
    if param.kind == "Shape":
        raise UsageError(f"{name} is a pack, which the root block of a model cannot have")
    allowed = CLASSES[param.kind]
    if value not in allowed:
        raise UsageError(f"{name} is a dtype, one of {', '.join(sorted(allowed))}, not {value!r}")
    return str(value)


def _entries(block: BlockValue, group: str) -> Iterator[ManifestEntry]:
    for member in block.decl.members.values():
        path = block.member_path(member.name)
        if member.kind == "sub":
            yield from _children(block, member.type, path, group)
        else:
            yield _leaf(block, member, path, group)


def _children(block: BlockValue, type: Type, path: str, group: str) -> Iterator[ManifestEntry]:
    match type:
        case Optional(inner):
            yield from _children(block, inner, path, path)
        case Array(item, length):
            for k in range(array_length(block, length, path)):
                yield from _entries(block.child(item, f"{path}.{k}"), group)
        case Block():
            yield from _entries(block.child(type, path), group)


def array_length(block: BlockValue, length: Dim, path: str) -> int:
    """The number of blocks in an array member."""
    count = block.bindings.dim(length).value
    if not 0 <= count <= MOST_BLOCKS:
        raise ShapeError(f"`{path}` would be an array of {count:,} blocks")
    return count


def _leaf(block: BlockValue, member: Member, path: str, group: str) -> ManifestEntry:
    own = isinstance(member.type, Optional)
    type = member_type(block, member)
    sizes = ", ".join("?" if d.poisoned else str(d) for d in type.dims)
    huge = any(d.poisoned for d in type.dims)
    if not huge and any(d.value < 0 for d in type.dims):
        raise ShapeError(f"`{path}` would have the shape [{sizes}]")
    if huge or math.prod(d.value for d in type.dims) > MOST_ELEMENTS:
        raise ShapeError(
            f"`{path}` would have the shape [{sizes}], more than any memory holds",
            help="check the sizes that the generics are given",
        )
    # A weight that may be missing on its own does not come and go with its block.
    together = group if member.kind != "state" and not own else ""
    optional = member.kind != "state" and (own or bool(group))
    return ManifestEntry(path, member.kind, type, optional, together)


def member_type(block: BlockValue, member: Member) -> TensorType:
    """The type of a param, buffer or state of this instance, optional or not."""
    type = member.type.inner if isinstance(member.type, Optional) else member.type
    assert isinstance(type, Tensor)
    dtype = block.bindings.dtype(type.dtype)
    assert isinstance(dtype, str)
    axes = block.bindings.shape(type.axes)
    return TensorType(dtype, tuple(d for d in axes if isinstance(d, Dim)))
