"""Inference: find what the generics of a call stand for from the types of its arguments.

A generic is bound the first time it is met alone and compared from then on. Dimensions that
are compound and still open are postponed, and proven once everything is bound. Literals bind
nothing. Nothing is reported here: a mismatch is handed back as its kind.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from linnet.check.proofs import equal, same_argument, same_axis
from linnet.check.substitute import Bindings
from linnet.check.types import (
    Array,
    Axis,
    Block,
    CompileTimeInt,
    DType,
    DTypeVar,
    Enum,
    Error,
    FloatLiteral,
    GenericArgument,
    GenericSymbol,
    NoneLiteral,
    Optional,
    Scalar,
    Shape,
    Struct,
    Tensor,
    Tuple,
    Type,
)
from linnet.dims import Dim, Pack
from linnet.dims.facts import Facts


@dataclass(frozen=True)
class Clash:
    """Why a type does not match its pattern. `kind` is "type", "dtype", "shape" or "packs"
    (two packs of one shape are both open, so that nothing says where one ends)."""

    kind: str


@dataclass(eq=False)
class Unifier:
    """The state of one call's inference. `open` are the generics nobody has bound yet."""

    facts: Facts
    bindings: Bindings
    open: set[GenericSymbol]
    postponed: list[tuple[Dim, Dim, int]] = field(default_factory=list)
    argument: int = 0  # the parameter being matched, for reports

    def bind(self, symbol: GenericSymbol, argument: GenericArgument) -> None:
        self.bindings.bind(symbol, argument)
        self.open.discard(symbol)

    def type(self, pattern: Type, found: Type) -> Clash | None:
        """Match `found` against `pattern`, binding on the way."""
        match pattern, found:
            case (Error(), _) | (_, Error()):
                return None
            case Scalar(), CompileTimeInt() | FloatLiteral():
                return None  # fitted when the dtype is known
            case Scalar(a), Scalar(b):
                return None if self.dtype(a, b) else Clash("type")
            case Tensor(a, axes), Tensor(b, entries):
                return self.shape(axes, entries) if self.dtype(a, b) else Clash("dtype")
            case Tensor(a, axes), Scalar(b) if all(isinstance(axis, Pack) for axis in axes):
                if self.shape(axes, ()) is not None:
                    return Clash("type")
                return None if self.dtype(a, b) else Clash("type")
            case Optional(), NoneLiteral():
                return None
            case Optional(a), Optional(b):
                return self.type(a, b)
            case Tuple(a), Tuple(b) if len(a) == len(b):
                clashes = (self.type(x, y) for x, y in zip(a, b, strict=True))
                return next((clash for clash in clashes if clash is not None), None)
            case Array(a, n), Array(b, m):
                return self.type(a, b) or (None if self.dim(n, m) else Clash("type"))
            case (
                (Block(d, a), Block(e, b)) | (Enum(d, a), Enum(e, b)) | (Struct(d, a), Struct(e, b))
            ) if d is e:
                fine = all(self.generic(x, y) for x, y in zip(a, b, strict=True))
                return None if fine else Clash("type")
            case _:
                return Clash("type")

    def generic(self, pattern: GenericArgument, found: GenericArgument) -> bool:
        """Match one argument of a nominal type."""
        if isinstance(pattern, Dim) and isinstance(found, Dim):
            return self.dim(pattern, found)
        if isinstance(pattern, tuple) and isinstance(found, tuple):
            return self.shape(pattern, found) is None
        if isinstance(pattern, str | DTypeVar) and isinstance(found, str | DTypeVar):
            return self.dtype(pattern, found)
        return same_argument(self.facts, pattern, found)

    def dtype(self, pattern: DType, found: DType) -> bool:
        if isinstance(pattern, DTypeVar) and pattern in self.open:
            self.bind(pattern, found)
            return True
        return self.bindings.dtype(pattern) == found

    def dim(self, pattern: Dim, found: Dim) -> bool:
        waiting = [symbol for symbol in pattern.symbols() if symbol in self.open]
        if not waiting:
            return equal(self.facts, self.bindings.dim(pattern), found)
        if pattern == Dim.sym(waiting[0]):
            self.bind(waiting[0], found)
            return True
        self.postponed.append((pattern, found, self.argument))
        return True

    def axis(self, pattern: Axis, found: Axis) -> bool:
        if isinstance(pattern, Dim) and isinstance(found, Dim):
            return self.dim(pattern, found)
        return same_axis(self.facts, pattern, found)

    def shape(self, pattern: Shape, found: Shape) -> Clash | None:
        """Match a shape with at most one open pack around a fixed prefix and suffix."""
        entries = self._expanded(pattern)
        packs = [n for n, entry in enumerate(entries) if self._is_open_pack(entry)]
        if len(packs) > 1:
            return Clash("packs")
        if not packs:
            if len(entries) != len(found):
                return Clash("shape")
            return self._pairwise(entries, found)
        before, after = packs[0], len(entries) - packs[0] - 1
        if len(found) < before + after:
            return Clash("shape")
        end = len(found) - after
        clash = self._pairwise(entries[:before], found[:before])
        clash = clash or self._pairwise(entries[before + 1 :], found[end:])
        if clash is not None:
            return clash
        pack = entries[before]
        assert isinstance(pack, Pack)
        self.bind(pack, found[before:end])
        return None

    def _expanded(self, pattern: Shape) -> Shape:
        """`pattern` with its bound packs written out; its dims stay as they are."""
        entries: list[Axis] = []
        for entry in pattern:
            if isinstance(entry, Pack):
                entries.extend(self.bindings.packs.get(entry, (entry,)))
            else:
                entries.append(entry)
        return tuple(entries)

    def _is_open_pack(self, entry: Axis) -> bool:
        return isinstance(entry, Pack) and entry in self.open

    def _pairwise(self, pattern: Shape, found: Shape) -> Clash | None:
        fine = all(self.axis(p, f) for p, f in zip(pattern, found, strict=True))
        return None if fine else Clash("shape")
