"""Steady decoding allocates nothing: not in C, not in Python, and nothing is left over."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from linnet.nest import Model

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(sys.platform != "linux", reason="reads what Linux tells of a process"),
]

Load = Callable[..., Model]

STEPS = 240


def resident() -> int:
    """Bytes of memory this process occupies."""
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


class _Allocated(ctypes.Structure):
    """`struct mallinfo2` of glibc."""

    _fields_ = (
        *((f"before_{k}", ctypes.c_size_t) for k in range(4)),
        ("hblkhd", ctypes.c_size_t),
        *((f"between_{k}", ctypes.c_size_t) for k in range(2)),
        ("uordblks", ctypes.c_size_t),
        *((f"after_{k}", ctypes.c_size_t) for k in range(2)),
    )


def allocated() -> int:
    """Bytes that the C library has handed out, mapped blocks included."""
    libc = ctypes.CDLL(None)
    libc.mallinfo2.restype = _Allocated
    now = libc.mallinfo2()
    return int(now.uordblks + now.hblkhd)


def decode(model: Model, first: int, last: int) -> None:
    token = np.array([[7]], np.int32)
    for pos in range(first, last):
        model.decode(token, pos)


def test_steady_decoding_allocates_nothing(load: Load) -> None:
    model = load("gpt2-tales")
    tracemalloc.start()
    try:
        for _ in range(5):  # numpy keeps some small pieces for later
            decode(model, 0, STEPS)
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(5):
            decode(model, 0, STEPS)
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 5 * STEPS * 16, "less than the smallest object each step"


def test_the_process_does_not_grow(load: Load) -> None:
    model = load("gpt2-tales")
    tokens = np.full((1, 50), 7, np.int32)
    for _ in range(3):
        model.prefill(tokens, 0)
        decode(model, 50, 100)
    gc.collect()
    heap, pages = allocated(), resident()
    for _ in range(10):
        model.prefill(tokens, 0)
        decode(model, 50, 100)
    gc.collect()
    assert allocated() - heap < 64 * 1024
    assert resident() - pages < 512 * 1024


def test_models_that_are_closed_leave_nothing(load: Load) -> None:
    from linnet import nest

    def once() -> None:
        with nest.load("gpt2-tales") as model:
            model.forward([[1, 2, 3]])

    for _ in range(3):
        once()
    gc.collect()
    pages, files = resident(), open_files()
    for _ in range(10):
        once()
    gc.collect()
    assert open_files() == files
    assert resident() - pages < 6_000_000, "less than one copy of the weights"


def open_files() -> int:
    return len([*Path("/proc/self/fd").iterdir()])
