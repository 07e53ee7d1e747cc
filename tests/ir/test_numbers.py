"""Rounding and folding against numpy, struct and hand calculation."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.ir.numbers import convert, fold, integer_range, largest_float, round_float


@given(st.floats(allow_nan=False))
def test_f32_and_f16_round_as_ieee(value: float) -> None:
    with np.errstate(over="ignore"):
        assert round_float(value, "f32") == float(np.float32(value))
        assert round_float(value, "f16") == float(np.float16(value))
    assert round_float(value, "f64") == value


@given(st.integers(0, 2**16 - 1), st.integers(0, 2**16 - 1))
def test_bf16_is_the_upper_half_of_f32(high: int, low: int) -> None:
    (value,) = struct.unpack("<f", struct.pack("<HH", low, high))
    rounded = round_float(value, "bf16")
    if math.isnan(value):
        assert math.isnan(rounded)
        return
    below, above = (
        struct.unpack("<f", struct.pack("<HH", 0, h & 0xFFFF))[0] for h in (high, high + 1)
    )
    expected = above if low > 0x8000 or (low == 0x8000 and high & 1) else below
    assert rounded == expected


@pytest.mark.parametrize(
    ("value", "dtype", "rounded"),
    [
        (-1e30, "f16", -math.inf),
        (65519.9, "f16", 65504.0),
        (65520.0, "f16", math.inf),
        (2**24 + 1, "f32", 2.0**24),
        (2**24 + 3, "f32", 2.0**24 + 4),
        (2**63 - 1, "f64", 2.0**63),
        (5e-324, "f32", 0.0),
        pytest.param(-(10**400), "f64", -math.inf, id="huge"),
        (2.0**-149 * 1.5, "f32", 2.0**-148),
    ],
)
def test_rounding_at_the_edges(value: float, dtype: str, rounded: float) -> None:
    assert round_float(value, dtype) == rounded


def test_ranges() -> None:
    assert integer_range("i8") == (-128, 127)
    assert integer_range("u64") == (0, 2**64 - 1)
    assert largest_float("f16") == 65504.0
    assert largest_float("f32") == float(np.finfo(np.float32).max)


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (300, "u8", 44),
        (-1, "u16", 65535),
        (2**31, "i32", -(2**31)),
        (-3.9, "i32", -3),
        (1e20, "i64", 2**63 - 1),
        (-math.inf, "i8", -128),
        (math.nan, "i32", 0),
        (-0.5, "u8", 0),
        (math.nan, "bool", True),
        (True, "f32", 1.0),
    ],
)
def test_casts(value: float, dtype: str, expected: float) -> None:
    assert convert(value, dtype) == expected


@pytest.mark.parametrize(
    ("fn", "dtype", "values", "expected"),
    [
        ("div", "i32", (-7, 2), -3),
        ("mod", "i32", (-7, 2), -1),
        ("div", "i32", (5, 0), 0),
        ("div", "i8", (-128, -1), -128),
        ("add", "i8", (127, 1), -128),
        ("shl", "u8", (1, 8), 0),
        ("shr", "i8", (-128, 9), -1),
        ("shr", "i8", (-128, -1), -1),
        ("xor", "bool", (True, True), False),
        ("le", "f32", (1.0, 1.0), True),
        ("div", "f32", (1.0, 0.0), math.inf),
        ("sqrt", "f32", (2.0,), float(np.sqrt(np.float32(2.0)))),
        ("mul", "f32", (1e30, 1e30), math.inf),
        ("exp", "f32", (1.0,), None),
    ],
)
def test_folding(fn: str, dtype: str, values: tuple[float, ...], expected: float | None) -> None:
    assert fold(fn, dtype, values) == expected


def test_minimum_keeps_nan() -> None:
    assert math.isnan(float(fold("min", "f32", (math.nan, 1.0)) or 0))
    assert math.isnan(float(fold("max", "f32", (1.0, math.nan)) or 0))
