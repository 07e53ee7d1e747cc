"""Numbers as the element types hold them: rounding, and exact folding of constants.

In: Python numbers. Out: Python numbers that a dtype can hold (floats for float dtypes, ints in
range for integers, bools). Folding covers only what is exact by language section 19 (integer
and boolean functions, comparisons, casts, and the float functions that IEEE rounds correctly);
`exp` and its kin are left to whoever runs the program. No arrays here: that is `interp`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from linnet.ir.ops import FLOAT_SIZES, INT_SIZES

Number = int | float | bool

# Bits of the significand (the hidden one included) and smallest exponent of a normal number.
_FORMATS = {"f16": (11, -14), "bf16": (8, -126), "f32": (24, -126), "f64": (53, -1022)}
_LARGEST_EXPONENT = {"f16": 15, "bf16": 127, "f32": 127, "f64": 1023}


def integer_range(dtype: str) -> tuple[int, int]:
    """The lowest and the highest value of an integer dtype."""
    bits = 8 * INT_SIZES[dtype]
    return (0, 2**bits - 1) if dtype[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def largest_float(dtype: str) -> float:
    """The largest finite value of a float dtype."""
    bits, _ = _FORMATS[dtype]
    return math.ldexp(2**bits - 1, _LARGEST_EXPONENT[dtype] - bits + 1)


def round_float(value: int | float, dtype: str) -> float:
    """`value` rounded once to a float dtype, ties to even; overflow gives an infinity."""
    if isinstance(value, float) and (value == 0.0 or not math.isfinite(value)):
        return value
    bits, lowest = _FORMATS[dtype]
    if isinstance(value, float):
        fraction, exponent = math.frexp(value)
        whole, scale = int(math.ldexp(fraction, 53)), exponent - 53  # value = whole * 2**scale
    else:
        whole, scale = value, 0
    top = abs(whole).bit_length() - 1 + scale
    whole = _round_at(whole, max(top, lowest) - bits + 1 - scale)
    try:
        rounded = math.ldexp(whole, scale) if whole else math.copysign(0.0, value)
    except OverflowError:
        rounded = math.inf
    if abs(rounded) > largest_float(dtype):
        return -math.inf if value < 0 else math.inf
    return rounded


def _round_at(value: int, bit: int) -> int:
    """`value` rounded to a multiple of `2**bit`, ties to the even multiple."""
    if bit <= 0:
        return value
    quotient, rest = divmod(value, 1 << bit)
    half = 1 << (bit - 1)
    if rest > half or (rest == half and quotient & 1):
        quotient += 1
    return quotient << bit


def wrap(value: int, dtype: str) -> int:
    """`value` modulo two to the width of the integer dtype."""
    low, high = integer_range(dtype)
    return (value - low) % (high - low + 1) + low


def convert(value: Number, dtype: str) -> Number:
    """`cast` of one number: floats round, floats to integers truncate and saturate (NaN gives
    0), integers wrap, and anything but zero is true."""
    if dtype == "bool":
        return value != 0
    if dtype in FLOAT_SIZES:
        return round_float(int(value) if isinstance(value, bool) else value, dtype)
    if not isinstance(value, float):
        return wrap(int(value), dtype)
    if math.isnan(value):
        return 0
    low, high = integer_range(dtype)
    if math.isinf(value):
        return high if value > 0 else low
    return min(max(int(value), low), high)


def _divide(a: Number, b: Number, dtype: str) -> Number:
    if dtype in FLOAT_SIZES:
        if b == 0:
            if a == 0 or math.isnan(a):
                return math.nan
            return math.copysign(math.inf, a) * math.copysign(1.0, b)
        return a / b
    if b == 0:
        return 0
    quotient = abs(int(a)) // abs(int(b))
    return quotient if (a < 0) == (b < 0) else -quotient


def _remainder(a: Number, b: Number, dtype: str) -> Number:
    if dtype in FLOAT_SIZES:
        if b == 0 or math.isinf(a) or math.isnan(a) or math.isnan(b):
            return math.nan
        return math.fmod(a, b)
    if b == 0:
        return 0
    return int(a) - int(b) * int(_divide(a, b, dtype))


def _extreme(pick: Callable[[Number, Number], Number]) -> Callable[[Number, Number, str], Number]:
    def fold(a: Number, b: Number, dtype: str) -> Number:
        if math.isnan(a) or math.isnan(b):
            return math.nan
        return pick(a, b)

    return fold


def _shift(a: Number, b: Number, dtype: str, *, left: bool) -> Number:
    a, b = int(a), int(b)
    if not 0 <= b < 8 * INT_SIZES[dtype]:
        return -1 if a < 0 and not left else 0
    return a << b if left else a >> b


def _sqrt(a: Number) -> float:
    return math.sqrt(a) if a >= 0 else math.nan


_UNARY: dict[str, Callable[[Number], Number]] = {
    "neg": lambda a: -a,
    "abs": lambda a: abs(a),
    "sqrt": _sqrt,
    "not": lambda a: not a,
}
_BINARY: dict[str, Callable[[Number, Number, str], Number]] = {
    "add": lambda a, b, _: a + b,
    "sub": lambda a, b, _: a - b,
    "mul": lambda a, b, _: a * b,
    "div": _divide,
    "mod": _remainder,
    "min": _extreme(min),
    "max": _extreme(max),
    "and": lambda a, b, _: int(a) & int(b),
    "or": lambda a, b, _: int(a) | int(b),
    "xor": lambda a, b, _: int(a) ^ int(b),
    "shl": lambda a, b, dtype: _shift(a, b, dtype, left=True),
    "shr": lambda a, b, dtype: _shift(a, b, dtype, left=False),
}
_COMPARE: dict[str, Callable[[Number, Number], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


def fold(fn: str, dtype: str, values: Sequence[Number]) -> Number | None:
    """`fn` applied to constants of `dtype`, as a run would compute it; None when `fn` is not
    one of the exact ones. The value of a comparison is a bool."""
    if fn in _COMPARE:
        return _COMPARE[fn](values[0], values[1])
    if fn in _BINARY:
        result = _BINARY[fn](values[0], values[1], dtype)
    elif fn in _UNARY:
        result = _UNARY[fn](values[0])
    else:
        return None
    # Through f64 once more is harmless: it has more than twice the bits of the smaller formats.
    if dtype in FLOAT_SIZES:
        return round_float(float(result), dtype)
    return bool(result) if dtype == "bool" else wrap(int(result), dtype)
