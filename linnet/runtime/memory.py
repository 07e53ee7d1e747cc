"""Memory by its address, without numpy: what is packed before numpy has been imported.

`Stored` is where a tensor lies, `Memory` hands out zeroed memory, `address_of` finds out where a
buffer is. Nothing here knows what the bytes mean.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import threading
from dataclasses import dataclass

HUGE_PAGE = 2 << 20
_LARGEST_SPARE = 64 << 20
"""Bytes that may be reserved beyond what is needed. They cost nothing until they are used."""


@dataclass(frozen=True)
class Stored:
    """`size` bytes at `address`, of any alignment. `owner` keeps them there. `is_file`: they are
    a mapped file, so that pages that have been read may go, and come again if they are needed."""

    address: int
    size: int
    owner: object
    is_file: bool = False


class _View(ctypes.Structure):
    """`Py_buffer` of the C API."""

    _fields_ = (
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        *((name, ctypes.c_void_p) for name in ("format", "shape", "strides", "suboffsets")),
        ("internal", ctypes.c_void_p),
    )


def address_of(buffer: object) -> int:
    """Where the memory of a bytes-like object is, also of a read-only one. The object must be
    kept for as long as the address is used. Raises BufferError or TypeError for another object."""
    view = _View()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(buffer), ctypes.byref(view), 0)
    address = int(view.buf or 0)
    ctypes.pythonapi.PyBuffer_Release(ctypes.byref(view))
    return address


class Pages:
    """Zeroed memory on pages of its own, huge ones where the system grants them: at least `size`
    bytes from `address` on, for as long as this object lives. A forked process gets a copy;
    without the flags the two would share it, on small pages."""

    def __init__(self, size: int) -> None:
        private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        if size < HUGE_PAGE:
            self.size = max(size, mmap.PAGESIZE)
            self._map = mmap.mmap(-1, self.size, flags=private)
            self.address = address_of(self._map)
            return
        # Only a whole and aligned piece of memory can be one huge page.
        self.size = -(-size // HUGE_PAGE) * HUGE_PAGE
        self._map = mmap.mmap(-1, self.size + HUGE_PAGE, flags=private)
        if hasattr(mmap, "MADV_HUGEPAGE"):
            with contextlib.suppress(OSError):  # a kernel without them is only slower
                self._map.madvise(mmap.MADV_HUGEPAGE)
        self.address = -(-address_of(self._map) // HUGE_PAGE) * HUGE_PAGE


class Memory:
    """Zeroed memory for as long as this object lives, taken from a few large pieces: a huge page
    then holds many small things, and no large one has a tail of small pages."""

    def __init__(self) -> None:
        self._pieces: list[Pages] = []
        self._next = self._end = 0
        self._reserved = 0
        self._lock = threading.Lock()

    def take(self, size: int) -> int:
        """The address of `size` bytes on pages of their own. Raises OSError when there is no
        room for them. May be called from several threads."""
        with self._lock:
            return self._take(-(-size // mmap.PAGESIZE) * mmap.PAGESIZE)

    def _take(self, size: int) -> int:
        if self._next + size > self._end:
            piece = Pages(max(size, min(self._reserved, _LARGEST_SPARE), HUGE_PAGE))
            self._pieces.append(piece)
            self._reserved += piece.size
            self._next, self._end = piece.address, piece.address + piece.size
        address, self._next = self._next, self._next + size
        return address
