"""A compiled unit as ctypes sees it: the thread pool, the entries, the packing functions.

Mirrors `codegen/rt/threads.h`, `codegen/rt/pack.h` and `codegen/unit/call.h`. Nothing here
checks sizes; `boundary` has done so.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence

DTYPE_CODES = {"f32": 0, "f16": 1, "bf16": 2}
"""`LN_PACK_...` of pack.h."""


class Call(ctypes.Structure):
    """`struct linnet_call`."""

    _fields_ = (
        ("sizes", ctypes.c_void_p),
        ("inputs", ctypes.c_void_p),
        ("results", ctypes.c_void_p),
        ("weights", ctypes.c_void_p),
        ("states", ctypes.c_void_p),
        ("arena", ctypes.c_void_p),
        ("scratch", ctypes.c_void_p),
        ("scratch_bytes", ctypes.c_int64),
    )


class PackJob(ctypes.Structure):
    """`struct linnet_pack_job`."""

    _fields_ = (
        ("source", ctypes.c_void_p),
        ("packed", ctypes.c_void_p),
        ("dtype", ctypes.c_int64),
        ("args", ctypes.c_int64 * 4),
    )


class Library:
    """The functions of one loaded unit, with a pool of `threads` workers."""

    def __init__(self, handle: ctypes.CDLL, threads: int) -> None:
        self._handle = handle
        handle.linnet_pool_new.restype = ctypes.c_void_p
        handle.linnet_pool_new.argtypes = (ctypes.c_int,)
        handle.linnet_pool_size.restype = ctypes.c_int
        handle.linnet_pool_size.argtypes = (ctypes.c_void_p,)
        handle.linnet_pool_run.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
        handle.linnet_pool_run.restype = None
        handle.linnet_pool_free.argtypes = (ctypes.c_void_p,)
        handle.linnet_pool_free.restype = None
        self._pool: int | None = handle.linnet_pool_new(threads)
        if not self._pool:
            raise MemoryError("no memory for a thread pool")

    @property
    def workers(self) -> int:
        """How many threads take part in a run, the caller among them."""
        return int(self._handle.linnet_pool_size(self._pool))

    def run(self, symbol: str, call: Call) -> None:
        """Run an entry."""
        function = self._handle[symbol]
        function.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
        function.restype = None
        function(self._pool, ctypes.byref(call))

    def pack(
        self, function: str, source: int, packed: int, dtype: str, args: Sequence[int]
    ) -> None:
        """Lay out one weight. `source` and `packed` are addresses."""
        if not re.fullmatch(r"linnet_pack_\w+", function):
            raise ValueError(f"`{function}` is no packing function")
        job = PackJob(source, packed, DTYPE_CODES[dtype], (ctypes.c_int64 * 4)(*args))
        address = ctypes.cast(self._handle[function], ctypes.c_void_p)
        self._handle.linnet_pool_run(self._pool, address, ctypes.byref(job))

    def close(self) -> None:
        """End the threads. The library itself stays loaded: other code may run in it."""
        pool, self._pool = self._pool, None
        if pool:
            self._handle.linnet_pool_free(pool)
