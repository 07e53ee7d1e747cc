"""Small integer formulas over generics, such as `4 * H`, for defaults and expected values.

In goes their text from a card; out comes a `Formula` that is evaluated once the generics have
values. Integers, names, `+ - * /` and brackets; a division must come out even.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Formula:
    """`text` as written, and the names it needs."""

    text: str
    names: tuple[str, ...]

    def value(self, generics: Mapping[str, int | str]) -> int:
        """The number it comes to.

        Raises ValueError when a name has no integer value or a division leaves a rest.
        """
        return _value(ast.parse(self.text, mode="eval").body, generics)


def parse_formula(text: str) -> Formula:
    """Read a formula. Raises ValueError when it is none."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"cannot read {text!r}") from error
    names: dict[str, None] = {}
    _collect(tree, names)
    return Formula(text.strip(), tuple(names))


def _collect(node: ast.expr, names: dict[str, None]) -> None:
    match node:
        case ast.Name(id=name):
            names[name] = None
        case ast.Constant(value=int() as number) if not isinstance(number, bool):
            pass
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div(), right=right):
            _collect(left, names)
            _collect(right, names)
        case _:
            raise ValueError(f"{ast.unparse(node)!r} is neither an integer, a name nor + - * /")


def _value(node: ast.expr, generics: Mapping[str, int | str]) -> int:
    match node:
        case ast.Name(id=name):
            value = generics.get(name)
            if not isinstance(value, int):
                raise ValueError(f"{name} has no size")
            return value
        case ast.Constant(value=int() as number):
            return number
        case ast.BinOp(left=left, op=operator, right=right):
            return _apply(operator, _value(left, generics), _value(right, generics))
    raise ValueError("not a formula")


def _apply(operator: ast.operator, left: int, right: int) -> int:
    match operator:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
    if right == 0 or left % right:
        raise ValueError(f"{left} / {right} does not come out even")
    return left // right
