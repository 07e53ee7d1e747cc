"""How the interpreter holds each dtype, and every scalar function on arrays of it.

numpy has no bfloat16: a `bf16` array is held as float32 whose values are all bf16 numbers, and
each operation rounds back. Across the boundary (`from_boundary`, `to_boundary`) a `bf16` array
is its uint16 bit patterns, as in a checkpoint.

The functions follow language section 19: integers wrap, division truncates and gives 0 for a
zero divisor, float to integer casts saturate, minimum and maximum keep NaN. Float operations
are computed once in a wider format where IEEE does not define them (`exp`, ...), so that the
result is the correctly rounded one but for double rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from linnet.errors import DTypeError
from linnet.ir.ops import FLOAT_SIZES, INT_SIZES

Array: TypeAlias = npt.NDArray[Any]

HELD: dict[str, np.dtype[Any]] = {
    "bool": np.dtype(np.bool_),
    "i8": np.dtype(np.int8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "u8": np.dtype(np.uint8),
    "u16": np.dtype(np.uint16),
    "u32": np.dtype(np.uint32),
    "u64": np.dtype(np.uint64),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(np.float32),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
}


def from_boundary(value: object, dtype: str, name: str = "value") -> Array:
    """An array or number of a caller as the interpreter holds `dtype`.

    `bf16` is taken as uint16 bit patterns, or as floats that are rounded. Otherwise numpy's
    "same kind" rule decides what may be converted; raises `DTypeError` for the rest."""
    array = np.asarray(value)
    if dtype == "bf16" and array.dtype == np.uint16:
        return (array.astype(np.uint32) << 16).view(np.float32)
    number = isinstance(value, (bool, int, float))
    if not number and not np.can_cast(array.dtype, HELD[dtype], "same_kind"):
        raise DTypeError(f"`{name}` is an array of {array.dtype}, declared as {dtype}")
    return to_bf16(array) if dtype == "bf16" else array.astype(HELD[dtype])


def to_boundary(array: Array, dtype: str) -> Array:
    """The inverse: a contiguous array of its own, `bf16` as uint16 bit patterns."""
    if dtype == "bf16":
        bits = np.ascontiguousarray(array, np.float32).view(np.uint32) >> np.uint32(16)
        return bits.astype(np.uint16).reshape(array.shape)
    return np.array(array, HELD[dtype], order="C")


def to_bf16(array: Array) -> Array:
    """Floats or integers rounded to bf16 (ties to even), held as float32."""
    if array.dtype == np.float64:
        return _bf16_of_f64(array)
    single = np.asarray(array, np.float32)
    bits = single.view(np.uint32)
    up = np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    rounded = ((bits + up) & np.uint32(0xFFFF0000)).view(np.float32)
    return np.where(np.isnan(single), np.float32(np.nan), rounded)


def _bf16_of_f64(array: Array) -> Array:
    """Rounded once, straight from f64: through float32 it could be rounded twice."""
    bits = array.view(np.uint64)
    up = np.uint64((1 << 44) - 1) + ((bits >> np.uint64(45)) & np.uint64(1))
    normal = ((bits + up) & np.uint64(0xFFFFE00000000000)).view(np.float64)
    tiny = np.rint(array * 2.0**133) * 2.0**-133  # below 2**-126 the spacing is fixed
    rounded = np.where(np.abs(array) < 2.0**-126, tiny, normal)
    return np.where(np.isfinite(array), rounded, array).astype(np.float32)


def cast(array: Array, source: str, target: str) -> Array:
    """`array` of dtype `source` as `target`."""
    if source == target:
        return array
    if target == "bool":
        return np.asarray(array != 0, np.bool_)
    if target == "bf16":
        return to_bf16(array)
    if target in INT_SIZES and source in FLOAT_SIZES:
        return _saturate(np.asarray(array, np.float64), target)
    if target == "f16" and source in INT_SIZES:
        array = np.asarray(array, np.float32)
    return np.asarray(array).astype(HELD[target])


def _saturate(array: Array, target: str) -> Array:
    """Truncated toward zero, held at the ends of the range, NaN to 0."""
    info = np.iinfo(HELD[target])
    low, high = float(info.min), 2.0 ** (8 * INT_SIZES[target] - (info.min < 0))
    whole = np.trunc(array)
    inside = (whole >= low) & (whole < high)
    result = np.where(inside, whole, 0.0).astype(HELD[target])
    result = np.where(whole >= high, HELD[target].type(info.max), result)
    return np.where(whole < low, HELD[target].type(info.min), result)


# --- scalar functions -------------------------------------------------------------------

Unary: TypeAlias = Callable[[Array], Array]


def _rounding(fn: Callable[..., Array]) -> Callable[..., Array]:
    """An IEEE operation: exact in the held type, then rounded for bf16."""

    def run(dtype: str, *args: Array) -> Array:
        result = np.asarray(fn(*args))
        return to_bf16(result) if dtype == "bf16" else result

    return run


def _wide(fn: Unary) -> Callable[..., Array]:
    """Computed in f64 and rounded to the dtype."""

    def run(dtype: str, a: Array) -> Array:
        return cast(np.asarray(fn(np.asarray(a, np.float64))), "f64", dtype)

    return run


def _plain(fn: Callable[..., Array]) -> Callable[..., Array]:
    """Exact in every dtype."""
    return lambda dtype, *args: np.asarray(fn(*args))


def _quotient(a: Array, b: Array) -> Array:
    divisor = np.where(b == 0, b.dtype.type(1), b)
    floor: Array = np.asarray(np.floor_divide(a, divisor))
    down = (floor * divisor != a) & ((a < 0) != (divisor < 0))
    return np.asarray(np.where(b == 0, b.dtype.type(0), floor + down.astype(floor.dtype)))


def _div(dtype: str, a: Array, b: Array) -> Array:
    if dtype in FLOAT_SIZES:
        return _rounding(np.divide)(dtype, a, b)
    return _quotient(a, b)


def _mod(dtype: str, a: Array, b: Array) -> Array:
    if dtype in FLOAT_SIZES:
        return np.asarray(np.fmod(a, b))
    return np.where(b == 0, b.dtype.type(0), np.asarray(a - _quotient(a, b) * b))


def _shift(dtype: str, a: Array, count: Array, *, left: bool) -> Array:
    width = 8 * INT_SIZES[dtype]
    inside = (count >= 0) & (count < width)
    safe = np.where(inside, count, count.dtype.type(0))
    shifted = np.asarray(np.left_shift(a, safe) if left else np.right_shift(a, safe))
    # Beyond the width a signed right shift leaves the sign everywhere, all else is 0.
    signed = not left and dtype[0] == "i"
    beyond = np.asarray(np.right_shift(a, a.dtype.type(width - 1)) if signed else a * 0)
    return np.where(inside, shifted, beyond)


FUNCTIONS: dict[str, Callable[..., Array]] = {
    "add": _rounding(np.add),
    "sub": _rounding(np.subtract),
    "mul": _rounding(np.multiply),
    "div": _div,
    "mod": _mod,
    "min": _plain(np.minimum),
    "max": _plain(np.maximum),
    "neg": _plain(np.negative),
    "abs": _plain(np.abs),
    "exp": _wide(np.exp),
    "log": _wide(np.log),
    "sqrt": _wide(np.sqrt),
    "rsqrt": _wide(lambda a: np.asarray(1.0 / np.sqrt(a))),
    "sin": _wide(np.sin),
    "cos": _wide(np.cos),
    "tanh": _wide(np.tanh),
    "and": _plain(np.bitwise_and),
    "or": _plain(np.bitwise_or),
    "xor": _plain(np.bitwise_xor),
    "shl": lambda dtype, a, n: _shift(dtype, a, n, left=True),
    "shr": lambda dtype, a, n: _shift(dtype, a, n, left=False),
    "eq": _plain(np.equal),
    "ne": _plain(np.not_equal),
    "lt": _plain(np.less),
    "le": _plain(np.less_equal),
    "gt": _plain(np.greater),
    "ge": _plain(np.greater_equal),
    "not": _plain(np.logical_not),
    "select": _plain(np.where),
}
"""Each takes the operands' dtype (for `select` the result's), then the operands. `cast` stands
apart: it needs both dtypes."""


# --- reductions -------------------------------------------------------------------------

_ANY_ORDER: dict[str, Callable[..., Array]] = {
    "min": np.minimum.reduce,
    "max": np.maximum.reduce,
    "any": np.logical_or.reduce,
    "all": np.logical_and.reduce,
}
_IN_ORDER: dict[str, np.ufunc] = {"sum": np.add, "prod": np.multiply}
_FEW = 128  # below so many outputs, a loop over the reduced axis costs more than it computes


def combine(kind: str, dtype: str, start: Array, items: Array) -> Array:
    """`start` combined with `items[0]`, `items[1]`, ... in this order, each step in `dtype`."""
    if kind in _ANY_ORDER:
        ufunc = _ANY_ORDER[kind]
        rest = np.asarray(ufunc(items, axis=0))
        return np.asarray(ufunc(np.stack(np.broadcast_arrays(start, rest)), axis=0))
    step = _IN_ORDER[kind]
    if items[0].size < _FEW and dtype not in ("f16", "bf16"):
        whole = np.concatenate([np.broadcast_to(start, items.shape[1:])[None], items])
        # `accumulate` gives every partial result, so its order is the order asked for.
        return np.asarray(step.accumulate(whole, axis=0, dtype=HELD[dtype])[-1])
    total = np.array(np.broadcast_to(start, items.shape[1:]), HELD[dtype])
    for item in items:
        step(total, item, out=total)
        if dtype == "bf16":
            total = to_bf16(total)
    return total
