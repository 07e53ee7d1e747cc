"""Instantiation: replace generic symbols by what they are bound to, in dims, shapes and types.

In: a set of bindings that may still be partial (inference fills it step by step). Out: the
same thing with every bound symbol replaced; unbound symbols stay. Nothing is proven here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from linnet.check.types import (
    Array,
    Axis,
    Block,
    CompileTimeInt,
    DType,
    DTypeVar,
    Enum,
    GenericArgument,
    GenericSymbol,
    Optional,
    Scalar,
    Shape,
    Struct,
    Tensor,
    Tuple,
    Type,
)
from linnet.dims import Clause, Dim, Pack, Sym, product_of


def numel(shape: Iterable[Axis]) -> Dim:
    """The element count of a shape: its dims times the counts of its packs."""
    return product_of(axis if isinstance(axis, Dim) else Dim.numel(axis) for axis in shape)


class Bindings:
    """A mutable map from generic symbols to arguments, with substitution."""

    def __init__(self, pairs: Mapping[GenericSymbol, GenericArgument] | None = None) -> None:
        self.dims: dict[Sym, Dim] = {}
        self.packs: dict[Pack, Shape] = {}
        self.dtypes: dict[DTypeVar, DType] = {}
        self._counts: dict[Pack, Dim] = {}
        for symbol, argument in (pairs or {}).items():
            self.bind(symbol, argument)

    @staticmethod
    def of(type: Block | Struct) -> Bindings:
        """What the generics of a block or struct stand for in one of its uses."""
        symbols = (g.symbol for g in type.decl.generics)
        return Bindings(dict(zip(symbols, type.arguments, strict=True)))

    def bind(self, symbol: GenericSymbol, argument: GenericArgument) -> None:
        if isinstance(symbol, Sym):
            assert isinstance(argument, Dim)
            self.dims[symbol] = argument
        elif isinstance(symbol, Pack):
            assert isinstance(argument, tuple)
            self.packs[symbol] = argument
            self._counts[symbol] = numel(argument)
        else:
            assert isinstance(argument, str | DTypeVar)
            self.dtypes[symbol] = argument

    def __contains__(self, symbol: GenericSymbol) -> bool:
        return symbol in self.dims or symbol in self.packs or symbol in self.dtypes

    def get(self, symbol: GenericSymbol) -> GenericArgument | None:
        """What `symbol` is bound to, if it is."""
        if isinstance(symbol, Sym):
            return self.dims.get(symbol)
        if isinstance(symbol, Pack):
            return self.packs.get(symbol)
        return self.dtypes.get(symbol)

    def __bool__(self) -> bool:
        return bool(self.dims or self.packs or self.dtypes)

    def dim(self, dim: Dim) -> Dim:
        return dim.substitute(self.dims, self._counts)

    def shape(self, shape: Shape) -> Shape:
        axes: list[Axis] = []
        for axis in shape:
            if isinstance(axis, Pack):
                axes.extend(self.packs.get(axis, (axis,)))
            else:
                axes.append(self.dim(axis))
        return tuple(axes)

    def dtype(self, dtype: DType) -> DType:
        return self.dtypes.get(dtype, dtype) if isinstance(dtype, DTypeVar) else dtype

    def clause(self, clause: Clause) -> Clause:
        return clause.substitute(self.dims, self._counts)

    def argument(self, argument: GenericArgument) -> GenericArgument:
        if isinstance(argument, Dim):
            return self.dim(argument)
        return self.shape(argument) if isinstance(argument, tuple) else self.dtype(argument)

    def type(self, type: Type) -> Type:
        match type:
            case Scalar(dtype):
                return Scalar(self.dtype(dtype))
            case Tensor(dtype, axes):
                return tensor(self.dtype(dtype), self.shape(axes))
            case Optional(inner):
                return Optional(self.type(inner))
            case Tuple(items):
                return Tuple(tuple(self.type(item) for item in items))
            case Block():
                return self.block(type)
            case Array(item, length):
                return Array(self.block(item), self.dim(length))
            case Enum(decl, arguments):
                return Enum(decl, tuple(self.argument(a) for a in arguments))
            case Struct(decl, arguments):
                return Struct(decl, tuple(self.argument(a) for a in arguments))
            case CompileTimeInt(value):
                return CompileTimeInt(self.dim(value))
            case _:
                return type

    def block(self, block: Block) -> Block:
        return Block(block.decl, tuple(self.argument(a) for a in block.arguments))


def tensor(dtype: DType, axes: Shape) -> Scalar | Tensor:
    """The type of a value with these axes: without any it is a scalar."""
    return Tensor(dtype, axes) if axes else Scalar(dtype)


def field_types(struct: Struct) -> tuple[Type, ...]:
    """The types of a struct's fields for its arguments, in declaration order."""
    bindings = Bindings.of(struct)
    return tuple(bindings.type(type) for type in struct.decl.fields.values())
