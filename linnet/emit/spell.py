"""How values are spelled in C: types, constants, sizes, scalar functions.

In: dtypes, dims, function names and the texts of operands. Out: C expressions. f16 and bf16
live in memory as uint16_t and in expressions as floats that are already rounded.
"""

from __future__ import annotations

import math
import re

import numpy as np

from linnet.dims import Dim, Div, Max, Min, Mod, Numel, Sym
from linnet.dims.expr import Atom
from linnet.emit.names import identifier
from linnet.ir.ops import FLOAT_SIZES, INT_SIZES

_CALL = re.compile(r"\w*\(.*\)")
HALVES = ("f16", "bf16")
_INTEGERS = {
    **{f"i{8 * n}": f"int{8 * n}_t" for n in (1, 2, 4, 8)},
    **{f"u{8 * n}": f"uint{8 * n}_t" for n in (1, 2, 4, 8)},
}
MEMORY = {
    "bool": "uint8_t",
    "f16": "uint16_t",
    "bf16": "uint16_t",
    "f32": "float",
    "f64": "double",
    **_INTEGERS,
}
"""The C type of an element in memory."""
VALUE = {**MEMORY, "f16": "float", "bf16": "float"}
"""The C type of an element in an expression."""

_SYMBOLS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "and": "&",
    "or": "|",
    "xor": "^",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
}
_COMPARE = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
_LIBRARY = frozenset({"exp", "log", "sqrt", "rsqrt", "sin", "cos", "tanh"})
_INTEGER_LIBRARY = {"div": "div", "mod": "rem", "shl": "shl", "shr": "shr"}


def compute_dtype(dtype: str) -> str:
    """The dtype whose C functions compute for `dtype` (f32 for the half floats)."""
    return "f32" if dtype in HALVES else dtype


def constant(value: int | float | bool, dtype: str) -> str:
    """A literal of `dtype` with exactly this value."""
    if dtype == "bool":
        return "1" if value else "0"
    if dtype in INT_SIZES:
        return _integer(int(value), dtype)
    number = float(value)
    if math.isnan(number):
        return "NAN"
    if math.isinf(number):
        return "INFINITY" if number > 0 else "(-INFINITY)"
    if dtype == "f64":
        text = repr(number)
    else:
        text = str(np.float32(number)) + "f"
    if "." not in text and "e" not in text:
        text = text.replace("f", ".0f") if text.endswith("f") else text + ".0"
    return f"({text})" if text.startswith("-") else text


def _integer(value: int, dtype: str) -> str:
    if dtype == "u64":
        return f"UINT64_C({value})"
    if value == -(2**63):
        return "INT64_MIN"
    if dtype == "i64" and abs(value) > 2**31 - 1:
        text = f"INT64_C({value})"
    elif dtype == "i32" and value == -(2**31):
        return "INT32_MIN"
    elif dtype == "u32":
        text = f"{value}u"
    else:
        text = str(value)
    return f"({text})" if value < 0 else text


def size(dim: Dim) -> str:
    """A dim as an int64_t expression over the sizes of the entry, which are C variables."""
    terms: list[str] = []
    for coefficient, atoms in dim.terms:
        factors = [_atom(atom) for atom in atoms]
        if abs(coefficient) != 1 or not factors:
            factors.insert(0, str(abs(coefficient)))
        text = " * ".join(factors)
        if terms:
            terms.append(f"{'-' if coefficient < 0 else '+'} {text}")
        else:
            terms.append(f"-{text}" if coefficient < 0 else text)
    return " ".join(terms) if terms else "0"


def factor(text: str) -> str:
    """`text` safe as a factor of a product."""
    whole = _CALL.fullmatch(text) is not None and _closes_at_end(text)
    return text if whole or (" " not in text and not text.startswith("-")) else f"({text})"


def _atom(atom: Atom) -> str:
    match atom:
        case Sym(name=name):
            return identifier(name)
        case Div(left=left, right=right):
            return f"ln_floor_div({size(left)}, {size(right)})"
        case Mod(left=left, right=right):
            return f"ln_floor_mod({size(left)}, {size(right)})"
        case Min(left=left, right=right):
            return f"ln_min_i64({size(left)}, {size(right)})"
        case Max(left=left, right=right):
            return f"ln_max_i64({size(left)}, {size(right)})"
        case Numel():
            raise AssertionError("packs are expanded before the C is written")
    raise AssertionError(type(atom).__name__)


def rounded(text: str, dtype: str) -> str:
    """`text`, computed in f32, as a value of a half float; other dtypes stay."""
    if dtype in HALVES:
        return f"ln_f32_from_{dtype}(ln_{dtype}_from_f32({text}))"
    return text


def apply(fn: str, dtype: str, operand: str, args: list[str]) -> str:
    """The C text of a scalar function. `operand` is the dtype of its first operand; `dtype`
    that of the result. Operand texts are atoms or parenthesised."""
    if fn == "select":
        return f"({args[0]} ? {args[1]} : {args[2]})"
    if fn == "cast":
        return cast(args[0], operand, dtype)
    if fn == "not":
        return f"(!{args[0]})"
    if fn in _COMPARE:
        return f"({args[0]} {_SYMBOLS[fn]} {args[1]})"
    return rounded(_arithmetic(fn, dtype, args), dtype)


def _arithmetic(fn: str, dtype: str, args: list[str]) -> str:
    base = compute_dtype(dtype)
    if fn in _LIBRARY or fn in ("min", "max"):
        return f"ln_{fn}_{base}({_listed(args)})"
    if dtype in INT_SIZES:
        return _integer_arithmetic(fn, dtype, args)
    if fn == "neg":
        return f"(-{args[0]})"
    if fn == "abs":
        return f"{'fabs' if base == 'f64' else 'fabsf'}({bare(args[0])})"
    if fn == "div":
        return f"({args[0]} / {args[1]})"
    if fn == "mod":
        return f"{'fmod' if base == 'f64' else 'fmodf'}({_listed(args)})"
    return f"({args[0]} {_SYMBOLS[fn]} {args[1]})"


def _integer_arithmetic(fn: str, dtype: str, args: list[str]) -> str:
    if fn in _INTEGER_LIBRARY:
        return f"ln_{_INTEGER_LIBRARY[fn]}_{dtype}({_listed(args)})"
    if fn == "neg":
        text = f"(-{args[0]})"
    elif fn == "abs":
        if dtype.startswith("u"):
            return args[0]
        text = f"({args[0]} < 0 ? -{args[0]} : {args[0]})"
    else:
        text = f"({args[0]} {_SYMBOLS[fn]} {args[1]})"
    return f"({VALUE[dtype]}){text}" if INT_SIZES[dtype] < 4 else text


def cast(text: str, source: str, target: str) -> str:
    """Conversion by the language's rules: wrapping, saturating, NaN to 0, rounded once."""
    if source == target:
        return text
    if target == "bool":
        return f"({text} != 0)"
    if target in INT_SIZES:
        if source in FLOAT_SIZES:
            return f"ln_{target}_from_{compute_dtype(source)}({text})"
        return f"({VALUE[target]}){text}"
    if target in HALVES:
        if source in ("f32", *HALVES):
            return rounded(text, target)
        wide = text if source == "f64" else f"(double){text}"
        return f"ln_f32_from_{target}(ln_{target}_from_f64({wide}))"
    if source in HALVES and target == "f32":
        return text
    return f"({VALUE[target]}){text}"


def neutral(kind: str, dtype: str) -> str:
    """What a reduction starts from."""
    match kind:
        case "sum" | "any":
            return constant(0, dtype)
        case "prod" | "all":
            return constant(1, dtype)
    lowest = kind == "max"
    if dtype in FLOAT_SIZES:
        return constant(-math.inf if lowest else math.inf, dtype)
    bits = 8 * INT_SIZES[dtype]
    if dtype.startswith("u"):
        return constant(0 if lowest else 2**bits - 1, dtype)
    return constant(-(2 ** (bits - 1)) if lowest else 2 ** (bits - 1) - 1, dtype)


def combine(kind: str, dtype: str, total: str, text: str) -> str:
    """One step of a reduction, as an expression."""
    fn = {"sum": "add", "prod": "mul", "max": "max", "min": "min", "any": "or", "all": "and"}[kind]
    return bare(apply(fn, dtype, dtype, [total, text]))


def load(pointer: str, dtype: str) -> str:
    """The value of an element in memory, given its C lvalue."""
    return f"ln_f32_from_{dtype}({pointer})" if dtype in HALVES else pointer


def store(text: str, dtype: str) -> str:
    """What is written to memory for a value."""
    if dtype in HALVES:
        return f"ln_{dtype}_from_f32({bare(text)})"
    return bare(text)


def _listed(args: list[str]) -> str:
    return ", ".join(bare(arg) for arg in args)


def bare(text: str) -> str:
    """`text` without its outer parentheses, where they are a pair."""
    return text[1:-1] if text.startswith("(") and _closes_at_end(text) else text


def _closes_at_end(text: str) -> bool:
    """Whether the first parenthesis of `text` is closed by its last character."""
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and character == ")":
            return position == len(text) - 1
    return False
