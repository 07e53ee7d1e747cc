"""Constants whose value does not come from the source: which can be given one, and which values.

In: the root module's scope and values by name, as a caller or a card has them. The public
constants among its items get them (`ConstItem.given`); `replaced` makes the typed expression that
stands in place of the declared one. A wrong name or value is no fault of the source: it raises
`ConstantError` and reports nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from linnet.check.entities import ConstItem, ModuleScope
from linnet.check.fit import LARGEST, in_range, integer_range, round_to
from linnet.check.names import nearest
from linnet.check.typed import EnumValue, Literal, TExpr
from linnet.check.types import FLOATS, INTEGERS, CompileTimeInt, Enum, FloatLiteral, Scalar, Type
from linnet.errors import ConstantError

Given = int | float | bool | str


def give(module: ModuleScope, values: Mapping[str, Given]) -> None:
    """Mark the constants of the root module that get another value.

    Raises ConstantError for a name that is no public constant."""
    constants = {n: i for n, i in module.items.items() if isinstance(i, ConstItem)}
    public = [name for name, item in constants.items() if item.node.public]
    for name, value in values.items():
        if name not in public:
            raise ConstantError(name, _unknown(name, public, name in constants))
        constants[name].given = value


def _unknown(name: str, public: list[str], private: bool) -> str:
    if private:
        return f"`{name}` is not public: it would have to be a `pub const`"
    near = nearest(name, public)
    known = f" (there are {', '.join(public)})" if public else "; it has none at all"
    hint = f"; did you mean `{near}`?" if near else known
    return f"the source has no public constant `{name}`{hint}"


def replaced(value: TExpr, name: str, given: Given) -> TExpr:
    """The expression for `given` where `value` is what the source says.

    Raises ConstantError when the constant has a type that cannot be given a value, or `given` is
    none of its type."""
    kind = value.type
    if isinstance(kind, FloatLiteral):
        number = _float(name, given, "f32", "a number")
        return Literal(FloatLiteral(number), value.span, number)
    if isinstance(kind, Enum):
        variants = kind.decl.variants
        if not isinstance(given, str) or given not in variants:
            near = nearest(given, list(variants)) if isinstance(given, str) else None
            hint = f"; did you mean `{near}`?" if near else ""
            listed = ", ".join(variants)
            raise _wrong(name, given, f"a variant of `{kind.decl.name}`: {listed}{hint}")
        return EnumValue(kind, value.span, variants.index(given))
    if isinstance(kind, Scalar) and isinstance(kind.dtype, str):
        return Literal(kind, value.span, _number(name, given, kind.dtype))
    raise ConstantError(name, f"`{name}` cannot be set: {_why_not(kind)}")


def _number(name: str, given: Given, dtype: str) -> int | float | bool:
    if dtype == "bool":
        if not isinstance(given, bool):
            raise _wrong(name, given, "true or false")
        return given
    if dtype in FLOATS:
        return _float(name, given, dtype, "a number")
    assert dtype in INTEGERS
    if isinstance(given, bool) or not isinstance(given, int):
        raise _wrong(name, given, f"a whole number (`{dtype}`)")
    if not in_range(given, dtype):
        low, high = integer_range(dtype)
        raise _wrong(name, given, f"a whole number from {low} to {high} (`{dtype}`)")
    return given


def _float(name: str, given: Given, dtype: str, wanted: str) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise _wrong(name, given, wanted)
    try:
        number = float(given)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise _wrong(name, given, "a finite number")
    if math.isinf(round_to(number, dtype)):
        raise _wrong(name, given, f"at most {LARGEST[dtype]} in magnitude (`{dtype}`)")
    return number


def _wrong(name: str, given: Given, wanted: str) -> ConstantError:
    shown = str(given).lower() if isinstance(given, bool) else str(given)
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    return ConstantError(name, f"{name} = {shown}: it must be {wanted}")


def _why_not(kind: Type) -> str:
    if isinstance(kind, CompileTimeInt):
        return (
            "it is a size, over which shapes are proven; a generic can be given, or a typed number"
        )
    return "only numbers, booleans and enums can"
