"""The two limits of this machine: read bandwidth and the rate of f32 multiply-adds.

In goes a number of threads; out come `Limits`, measured by a small C program rendered for the
machine's own target and run on the thread pool that models run on. Read bandwidth is that of a
buffer too large for the caches, in the best of several numbers of streams.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.plan.cost import Limits

BUFFER_BYTES = 512 * 2**20
STREAMS = (1, 2, 4, 8)
"""Streams a worker reads at once; processors differ in what they like."""
AHEAD = 512
"""Floats that a stream is prefetched ahead."""
CHAINS = {"avx512": 24, "neon": 24}
FEW_CHAINS = 12
"""Chains of multiply-adds: more than latency times units, and all fit the registers."""
STEPS = 2_000_000
PASSES = 3


class _Job(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("floats", ctypes.c_int64),
        ("steps", ctypes.c_int64),
        ("out", ctypes.c_void_p),
    )


def measure(threads: int, *, buffer: int = BUFFER_BYTES, steps: int = STEPS) -> Limits:
    """Both limits on `threads` threads: medians of a few passes, of the best number of streams.

    Raises ToolchainError if there is no compiler."""
    from linnet.targets.target import load_target
    from linnet.toolchain.native import native_target

    target = load_target(native_target())
    with _Team(_library(target), threads) as team:
        data = _pages(buffer)
        data.fill(1.0)  # pages exist once they are written
        out = np.zeros(_out_floats(target) * team.size, np.float32)
        job = _Job(data.ctypes.data, data.size, steps, out.ctypes.data)
        read = min(statistics.median(team.times(f"linnet_read_{n}", job)) for n in STREAMS)
        multiplied = statistics.median(team.times("linnet_multiply_add", job))
        operations = 2.0 * team.size * steps * _chains(target) * target.f32.lanes
        return Limits(team.size, buffer / read, operations / multiplied)


class _Team:
    """The thread pool of a loaded library."""

    def __init__(self, library: ctypes.CDLL, threads: int) -> None:
        self._library = library
        library.linnet_pool_new.restype = ctypes.c_void_p
        library.linnet_pool_run.argtypes = [ctypes.c_void_p] * 3
        library.linnet_pool_free.argtypes = [ctypes.c_void_p]
        library.linnet_pool_size.argtypes = [ctypes.c_void_p]
        self._pool = library.linnet_pool_new(threads)
        self.size = int(library.linnet_pool_size(self._pool))

    def times(self, function: str, job: _Job) -> Sequence[float]:
        """Seconds of each pass, after one that is not counted."""
        code = ctypes.cast(self._library[function], ctypes.c_void_p)
        times = []
        for _ in range(PASSES + 1):
            start = time.perf_counter()
            self._library.linnet_pool_run(self._pool, code, ctypes.byref(job))
            times.append(time.perf_counter() - start)
        return times[1:]

    def __enter__(self) -> _Team:
        return self

    def __exit__(self, *exception: object) -> None:
        self._library.linnet_pool_free(self._pool)


def _pages(size: int) -> npt.NDArray[np.float32]:
    """Memory on pages of its own, huge ones where the system grants them, as weights have."""
    pages = mmap.mmap(-1, size)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # a kernel without them is only slower
            pages.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(pages, np.float32)


def source(target: Any) -> str:
    """The whole C text for a target."""
    from linnet.emit.env import prelude, render

    body = render(
        "bench/limits.c.j2",
        target,
        streams=STREAMS,
        ahead=AHEAD,
        chains=_chains(target),
        out_floats=_out_floats(target),
    )
    return prelude(target, body) + body


def _chains(target: Any) -> int:
    return CHAINS.get(target.name, FEW_CHAINS)


def _out_floats(target: Any) -> int:
    return max(16 * max(STREAMS), int(_chains(target) * target.f32.lanes))


def _library(target: Any) -> ctypes.CDLL:
    """The program, compiled once and kept in the cache."""
    from linnet.toolchain.cache import default_cache, make_key
    from linnet.toolchain.cc import compile_shared, find_compiler, target_flags
    from linnet.toolchain.load import load_entry

    compiler = find_compiler()
    flags = target_flags(target.name, compiler)
    text = source(target)

    def make(folder: Path) -> None:
        compile_shared(compiler, text, flags, folder / "unit.so")

    key = make_key(limits=text, compiler=compiler.identity, flags=tuple(flags))
    return load_entry(default_cache().get_or_build(key, make))
