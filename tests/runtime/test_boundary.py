"""What crosses into an entry, and what is refused in which words."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from linnet.artifact import Argument, Entry
from linnet.errors import DTypeError, LinnetError
from linnet.runtime.boundary import Boundary


def admit(dtype: str, given: Any, *dims: str) -> Any:
    """What an entry with one input of that dtype is handed."""
    argument = Argument("x", dtype, dims)
    entry = Entry("f", "f", (), (argument,), (), False, (), (), (), (), "0", "0")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (array,), _ = Boundary(entry, {}, strict=True).admit([given], {})
    return array


@pytest.mark.parametrize(
    ("dtype", "given", "wanted"),
    [
        ("f32", 0.1, np.float32(0.1)),
        ("f32", np.float64(0.1), np.float32(0.1)),
        ("f32", np.int64(3), np.float32(3)),
        ("f32", 2**70, np.float32(2**70)),
        ("f32", 3.4028234e38, np.float32(3.4028234e38)),
        ("f32", float("inf"), np.float32("inf")),
        ("f64", np.float32(0.5), np.float64(0.5)),
        ("f16", 65504, np.float16(65504)),
        ("i32", np.uint8(7), np.int32(7)),
        ("u64", 2**64 - 1, np.uint64(2**64 - 1)),
    ],
)
def test_single_numbers_that_fit(dtype: str, given: Any, wanted: Any) -> None:
    array = admit(dtype, given)
    assert array.dtype == wanted.dtype
    assert array.tobytes() == wanted.tobytes()


@pytest.mark.parametrize(
    ("dtype", "given", "dims", "message"),
    [
        ("f32", 1e39, (), "the value 1e+39 does not fit"),
        ("f32", [0.0, -1e39], ("2",), "the value -1e+39 does not fit"),
        ("f16", 65536, (), "the value 65536 does not fit"),
        ("f32", 10**400, (), "the value of 1,329 bits does not fit"),
        ("i32", 2**70, (), f"the value {2**70} does not fit"),
        ("i32", [[2**70]], ("1", "1"), f"the value {2**70} does not fit"),
        ("i32", [10**5000], ("1",), "the value of 16,610 bits does not fit"),
        ("u8", -1, (), "the value -1 does not fit"),
        ("i32", None, (), "declared i32, not None"),
        ("i32", "a word", (), "not text"),
        ("i32", [1, None], ("2",), "not list that holds NoneType"),
        ("i32", float("nan"), (), "not nan (float64)\nhelp: give whole numbers"),
        ("i32", 1.5, (), "not 1.5 (float64)\nhelp: give whole numbers"),
        ("i32", np.zeros(2), ("2",), "not float64\nhelp: convert it: x.astype(numpy.int32)"),
        ("bf16", 1.5, (), "help: bf16 crosses as its bits"),
        ("f32", True, (), "not True (bool)"),
    ],
)
def test_what_does_not_fit(dtype: str, given: Any, dims: tuple[str, ...], message: str) -> None:
    with pytest.raises(LinnetError) as caught:
        admit(dtype, given, *dims)
    assert type(caught.value) is DTypeError
    assert message in str(caught.value)
