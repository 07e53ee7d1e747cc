"""A scalar handed to a kernel by value, as one C expression.

The plan gives such a scalar as an expression over views of rank 0 (or single elements of
them), without reductions. Numbers known at compile time are folded to literals, so a kernel
call shows `0.125f` and not the way there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from linnet.dims import Facts
from linnet.emit import spell
from linnet.ir.expr import Apply, Const, DimConst, Expr, Load, walk
from linnet.passes.bounds import inside
from linnet.plan.types import View


def scalar_text(root: Expr, operands: Sequence[View], pointers: Sequence[str], facts: Facts) -> str:
    """The C expression of a scalar argument. `pointers` name the operands' buffers."""
    texts: dict[int, str] = {}
    values: dict[int, float | int | bool] = {}
    for expr in walk(root):
        known = _fold(expr, values)
        if known is not None:
            values[id(expr)] = known
            texts[id(expr)] = spell.constant(known, expr.dtype)
        else:
            texts[id(expr)] = _spell(expr, texts, operands, pointers, facts)
    return spell.bare(texts[id(root)])


def _spell(
    expr: Expr,
    texts: dict[int, str],
    operands: Sequence[View],
    pointers: Sequence[str],
    facts: Facts,
) -> str:
    match expr:
        case DimConst(dim=dim):
            return spell.cast(f"(int64_t)({spell.size(dim)})", "i64", expr.dtype)
        case Load(operand=operand, at=at):
            view = operands[operand]
            terms = [spell.size(view.offset)]
            for position, dim, stride in zip(at, view.dims, view.strides, strict=True):
                text = texts[id(position)]
                if not inside(position, dim, facts):
                    text = f"ln_index({text}, {spell.size(dim)})"
                terms.append(f"{spell.factor(text)} * {spell.factor(spell.size(stride))}")
            where = " + ".join(t for t in terms if t != "0") or "0"
            return spell.load(f"{pointers[operand]}[{where}]", view.buffer.dtype)
        case Apply(fn=fn, args=args):
            return spell.apply(fn, expr.dtype, args[0].dtype, [texts[id(a)] for a in args])
    raise AssertionError(type(expr).__name__)


def _fold(expr: Expr, values: dict[int, float | int | bool]) -> float | int | bool | None:
    """The value of an f32 or integer constant expression that rounds the same everywhere."""
    match expr:
        case Const(value=value):
            return value
        case DimConst(dim=dim) if dim.is_const:
            return dim.value if expr.dtype != "f32" else float(np.float32(dim.value))
        case Apply(fn=fn, args=args) if expr.dtype == "f32" and all(id(a) in values for a in args):
            return _fold_f32(fn, [values[id(a)] for a in args], args[0].dtype)
    return None


def _fold_f32(fn: str, args: list[float | int | bool], source: str) -> float | None:
    """IEEE operations that are correctly rounded, done in f32 by numpy."""
    if fn == "cast":
        return float(np.float32(args[0])) if source in ("f32", "i32", "i64") else None
    x = [np.float32(a) for a in args]
    with np.errstate(all="ignore"):
        match fn:
            case "add":
                result = x[0] + x[1]
            case "sub":
                result = x[0] - x[1]
            case "mul":
                result = x[0] * x[1]
            case "div":
                result = x[0] / x[1]
            case "neg":
                result = -x[0]
            case "sqrt":
                result = np.sqrt(x[0])
            case "rsqrt":
                result = np.float32(1.0) / np.sqrt(x[0])
            case _:
                return None
    return None if math.isnan(result) else float(result)
