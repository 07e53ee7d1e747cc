"""Memory by its address: where numpy says it is, zeroed, apart, on huge pages where it is large."""

from __future__ import annotations

import ctypes
import mmap
from pathlib import Path

import numpy as np

from linnet.runtime.memory import HUGE_PAGE, Memory, Pages, address_of


def test_addresses_are_those_that_numpy_gives(tmp_path: Path) -> None:
    file = tmp_path / "bytes"
    file.write_bytes(bytes(range(256)) * 40)
    with file.open("rb") as handle:
        mapped = mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ)
    for buffer in (mapped, bytearray(b"abc"), b"abc", memoryview(mapped)[7:]):
        assert address_of(buffer) == np.frombuffer(buffer, np.uint8).ctypes.data
    assert ctypes.string_at(address_of(mapped) + 300, 3) == bytes(range(44, 47))


def test_what_is_taken_is_zero_and_apart() -> None:
    memory = Memory()
    sizes = [1, 4096, 5000, 3 * HUGE_PAGE, 70 << 20, 12, HUGE_PAGE - 1] * 3
    taken = [(memory.take(size), size) for size in sizes]
    for number, (address, size) in enumerate(taken):
        assert address % mmap.PAGESIZE == 0
        ends = {0, size // 2, size - 1}
        assert all(ctypes.string_at(address + at, 1) == b"\0" for at in ends)
        ctypes.memset(address, 1 + number, size)
    for number, (address, size) in enumerate(taken):
        assert ctypes.string_at(address, size) == bytes([1 + number]) * size


def test_large_pieces_begin_where_a_huge_page_can() -> None:
    for size in (HUGE_PAGE, HUGE_PAGE + 1, 5 * HUGE_PAGE):
        pages = Pages(size)
        assert pages.address % HUGE_PAGE == 0
        assert pages.size % HUGE_PAGE == 0
        assert pages.size >= size
    assert Pages(0).size == mmap.PAGESIZE
