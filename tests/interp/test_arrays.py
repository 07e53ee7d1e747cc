"""Scalar functions of the interpreter against Python numbers, one by one."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.errors import DTypeError
from linnet.interp.arrays import FUNCTIONS, HELD, cast, combine, from_boundary, to_boundary
from linnet.ir.numbers import convert, fold, round_float
from linnet.ir.ops import FUNCTIONS as NAMES
from linnet.ir.ops import INT_SIZES, ITEM_SIZES

# Values where something can go wrong, for every dtype that can hold them.
EDGES = [
    0, 1, -1, 2, 3, -3, 7, 8, -8, 31, 32, 63, 64, 127, 128, -128, 255, 256, 32767, -32768, 65535,
    2**31 - 1, -(2**31), 2**32 - 1, 2**63 - 1, -(2**63), 2**64 - 1,
    0.5, -0.5, 1.5, 2.5, 3.14159, -2.71828, 1e-3, 1e4, 6.1e4, 1e30, -1e30, 1e300,
    math.inf, -math.inf, math.nan,
]  # fmt: skip


def _values(dtype: str) -> list[float | int | bool]:
    return list(dict.fromkeys(convert(v, dtype) for v in EDGES))


def _hold(value: float | int | bool, dtype: str) -> np.ndarray:
    return np.asarray([value], HELD[dtype])


def _same(a: float, b: float) -> bool:
    return (a != a and b != b) or a == b


def test_every_scalar_function_has_a_meaning() -> None:
    assert set(FUNCTIONS) | {"cast"} == set(NAMES)


@pytest.mark.parametrize("dtype", list(ITEM_SIZES))
@pytest.mark.filterwarnings("ignore")
def test_exact_functions_agree_with_constant_folding(dtype: str) -> None:
    from linnet.ir.build import accepts

    values = _values(dtype)
    for fn in NAMES.values():
        if fn.name in ("select", "cast") or not accepts(fn.kind, dtype):
            continue
        for a in values:
            for b in values if fn.arity == 2 else [None]:
                args = [a] if b is None else [a, b]
                expected = fold(fn.name, dtype, args)
                if expected is None:
                    continue
                got = FUNCTIONS[fn.name](dtype, *(_hold(v, dtype) for v in args))
                assert _same(got.item(), expected), (fn.name, dtype, args)


@pytest.mark.parametrize("source", list(ITEM_SIZES))
@pytest.mark.filterwarnings("ignore")
def test_casts_agree_with_python_numbers(source: str) -> None:
    for target in ITEM_SIZES:
        for value in _values(source):
            if source in INT_SIZES and target in ("bf16", "f16"):
                expected = convert(round_float(int(value), "f32"), target)
            else:
                expected = convert(value, target)
            got = cast(_hold(value, source), source, target)
            assert got.dtype == HELD[target]
            assert _same(got.item(), expected), (source, target, value)


@given(st.floats(allow_nan=False))
def test_bf16_from_f64_rounds_once(value: float) -> None:
    with np.errstate(all="ignore"):
        got = cast(np.array([value]), "f64", "bf16").item()
    assert got == round_float(value, "bf16")


def test_bf16_operations_round_each_time() -> None:
    one, tiny = from_boundary(1.0, "bf16"), from_boundary(2.0**-8, "bf16")
    assert FUNCTIONS["add"]("bf16", one, tiny).item() == 1.0
    assert FUNCTIONS["exp"]("bf16", one).item() == 2.71875


@pytest.mark.parametrize(
    ("fn", "reference"),
    [
        ("exp", math.exp),
        ("log", math.log),
        ("rsqrt", lambda x: 1 / math.sqrt(x)),
        ("sin", math.sin),
        ("cos", math.cos),
        ("tanh", math.tanh),
    ],
)
def test_transcendental_functions_round_correctly(fn: str, reference: object) -> None:
    x = np.float32(0.7310586)
    got = FUNCTIONS[fn]("f32", np.asarray(x)).item()
    assert got == float(np.float32(reference(float(x))))  # type: ignore[operator]


def test_boundary_of_bf16() -> None:
    bits = np.array([0x3F80, 0xC040, 0x7FC0], np.uint16)
    held = from_boundary(bits, "bf16")
    assert held[:2].tolist() == [1.0, -3.0]
    assert to_boundary(held, "bf16").tolist() == bits.tolist()
    assert to_boundary(from_boundary(1.00390625, "bf16"), "bf16").item() == 0x3F80


def test_boundary_refuses_another_kind() -> None:
    assert from_boundary(np.array([3], np.int64), "i32").dtype == np.int32
    with pytest.raises(DTypeError, match="`ids` is an array of float32, declared as i32"):
        from_boundary(np.zeros(1, np.float32), "i32", "ids")


@pytest.mark.parametrize("outputs", [1, 300])
def test_sums_run_in_order(outputs: int) -> None:
    items = np.random.default_rng(0).normal(size=(1000, outputs)).astype(np.float32)
    total = np.float32(0)
    for k in range(1000):
        total = np.float32(total + items[k, 0])
    got = combine("sum", "f32", np.float32(0), items)
    assert got.dtype == np.float32
    assert got[0] == total
    assert got[0] != np.float32(items[:, 0].astype(np.float64).sum())


def test_short_sums_in_small_types() -> None:
    ones = np.ones((300, 1), np.float32)
    assert combine("sum", "bf16", np.float32(0), ones).item() == 256.0
    assert combine("sum", "u8", np.uint8(0), ones.astype(np.uint8)).item() == 300 - 256
    halves = np.ones((3000, 1), np.float16)
    assert combine("sum", "f16", np.float16(0), halves).item() == 2048.0
    assert struct.calcsize("e") == 2
