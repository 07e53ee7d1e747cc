"""Types, shapes and signatures as text for messages, in the spelling of the source."""

from __future__ import annotations

from collections.abc import Iterable

from linnet.check.typed import FunctionDecl, GenericParam
from linnet.check.types import (
    CLASSES,
    NUMERIC,
    SCALARS,
    Array,
    Axis,
    Block,
    CompileTimeInt,
    DType,
    DTypeVar,
    Enum,
    FloatLiteral,
    GenericArgument,
    NoneLiteral,
    Optional,
    Scalar,
    ShapeLiteral,
    Struct,
    Tensor,
    Tuple,
    Type,
    Unit,
)
from linnet.dims import Dim, Pack


def axis(entry: Axis) -> str:
    return f"*{entry.name}" if isinstance(entry, Pack) else str(entry)


def axes(entries: Iterable[Axis]) -> str:
    """`[B, 2 * H]`."""
    return f"[{', '.join(axis(entry) for entry in entries)}]"


def dtype(value: DType) -> str:
    return value.name if isinstance(value, DTypeVar) else value


def dtype_class(value: DType) -> str:
    """`T` with its class, for a message about classes: `T: Float`."""
    return f"{value.name}: {value.kind}" if isinstance(value, DTypeVar) else value


def members(kind: str) -> str:
    """The dtypes of a class, spelled out."""
    if kind == "DType":
        return ", ".join(SCALARS)
    if kind == "Numeric":
        return ", ".join(NUMERIC)
    return ", ".join(name for name in NUMERIC if name in CLASSES[kind])


def count(number: int, one: str, many: str) -> str:
    """`1 axis`, `2 axes`."""
    return f"{number} {one if number == 1 else many}"


def indices_for_axes(given: int, has: int) -> str:
    """The headline of E2204."""
    return f"{count(given, 'index', 'indices')} for {count(has, 'axis', 'axes')}"


def argument(value: GenericArgument) -> str:
    """As it is written in angle brackets: `S` for a pack that stands alone."""
    match value:
        case (Pack() as pack,):
            return pack.name
        case tuple():
            return axes(value)
        case Dim():
            return str(value)
        case _:
            return dtype(value)


def applied(name: str, arguments: Iterable[GenericArgument]) -> str:
    inner = ", ".join(argument(a) for a in arguments)
    return f"{name}<{inner}>" if inner else name


def type_(value: Type) -> str:
    match value:
        case Scalar(of):
            return dtype(of)
        case Tensor(of, entries):
            return f"Tensor[{', '.join(axis(e) for e in entries)}; {dtype(of)}]"
        case Optional(inner):
            return f"{type_(inner)}?"
        case Tuple(items):
            return f"({', '.join(type_(item) for item in items)})"
        case Block(decl, arguments):
            return applied(decl.name, arguments[decl.captured :])
        case Array(item, length):
            return f"[{type_(item)}; {length}]"
        case Enum(decl, arguments) | Struct(decl, arguments):
            return applied(decl.name, arguments)
        case Unit():
            return "no value"
        case CompileTimeInt(dim):
            return "an integer literal" if dim.is_const else f"the compile-time integer {dim}"
        case FloatLiteral():
            return "a float literal"
        case ShapeLiteral(entries):
            return f"the shape {axes(entries)}"
        case NoneLiteral():
            return "`none`"
        case _:
            return "an unknown type"


def quoted(value: Type) -> str:
    """A type in backquotes; descriptions of literals stand without them."""
    plain = isinstance(value, CompileTimeInt | FloatLiteral | ShapeLiteral | NoneLiteral | Unit)
    return type_(value) if plain else f"`{type_(value)}`"


def generic(param: GenericParam) -> str:
    star = "*" if param.kind == "Shape" else ""
    default = "" if param.default is None else f" = {argument(param.default)}"
    return f"{star}{param.name}: {param.kind}{default}"


def generics(params: Iterable[GenericParam]) -> str:
    inner = ", ".join(generic(p) for p in params)
    return f"<{inner}>" if inner else ""


def signature(function: FunctionDecl) -> str:
    """`op linear<…>(x: …, bias: … = …) -> …`, on one line."""
    parameters = ", ".join(
        f"{p.variable.name}: {type_(p.variable.type)}"
        + ("" if p.default is None else f" = {p.default.span.text}")
        for p in function.parameters
    )
    result = "" if function.result is None else f" -> {type_(function.result)}"
    head = f"{function.kind} {function.name}{generics(function.generics)}"
    return f"{head}({parameters}){result}"
