"""Where a unit runs: in this process, or elsewhere (`emulated`). Memory, packing, calls.

`Machine` is what a `Program` needs. Addresses are numbers that only the machine understands.
Mirrors `codegen/rt/threads.h`, `rt/pack.h` and `unit/call.h`. Nothing here checks sizes;
`boundary` has done so. Weights are packed before numpy is imported, so this module does not.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from linnet.runtime.memory import Memory, Pages, Stored

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


@dataclass(frozen=True)
class PackOrder:
    """A weight to be laid out in `size` bytes by a packing function of the unit."""

    function: str
    source: Stored
    args: tuple[int, ...]
    size: int


class Machine(Protocol):
    """A place where a unit's code and memory live."""

    @property
    def workers(self) -> int:
        """How many threads take part in a run."""
        ...

    def place(self, array: Array) -> int:
        """The address of a read-only array (kept alive, or copied there)."""
        ...

    def pack(self, orders: Sequence[PackOrder]) -> list[int]:
        """Lay weights out; the addresses of the results."""
        ...

    def zeros(self, size: int) -> int:
        """The address of `size` zeroed bytes, 64-byte aligned."""
        ...

    def clear(self, address: int, size: int) -> None:
        """Make `size` bytes zero."""
        ...

    def read(self, address: int, out: Array) -> None: ...

    def write(self, address: int, array: Array) -> None: ...

    def run(
        self,
        symbol: str,
        sizes: Sequence[int],
        inputs: Sequence[Array],
        results: Sequence[Array],
        weights: Sequence[int],
        states: Sequence[int],
        arena: int,
        scratch: int,
    ) -> None:
        """Call an entry. `arena` and `scratch` (for each worker) are in bytes."""
        ...

    def close(self) -> None: ...


class _Call(ctypes.Structure):
    """`struct linnet_call`."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("sizes", "inputs", "results", "weights", "states")),
        ("arena", ctypes.c_void_p),
        ("scratch", ctypes.c_void_p),
        ("scratch_bytes", ctypes.c_int64),
    )


class _PackJob(ctypes.Structure):
    """`struct linnet_pack_job`."""

    _fields_ = (
        ("source", ctypes.c_void_p),
        ("packed", ctypes.c_void_p),
        ("args", ctypes.c_int64 * 4),
        ("is_file", ctypes.c_int64),
        ("next", ctypes.c_void_p),
    )


class LocalMachine:
    """This process: a loaded library and a pool of `threads` workers."""

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
        self._kept: list[Array] = []  # owners of the memory behind the addresses
        self._memory = Memory()
        self._workers = int(handle.linnet_pool_size(self._pool))
        self._functions: dict[str, Any] = {}
        self._tables: dict[int, Any] = {}
        self._arena = Pages(0)
        self._scratch = Pages(0)

    @property
    def workers(self) -> int:
        return self._workers

    def place(self, array: Array) -> int:
        self._kept.append(array)
        return int(array.ctypes.data)

    def pack(self, orders: Sequence[PackOrder]) -> list[int]:
        jobs = [self._job(order) for order in orders]
        chains: dict[str, list[_PackJob]] = {}
        for order, job in zip(orders, jobs, strict=True):
            chains.setdefault(order.function, []).append(job)
        for function, chain in chains.items():
            for job, after in itertools.pairwise(chain):
                job.next = ctypes.addressof(after)
            # One call for all: between two it would wait until Python lets this thread go on.
            code = ctypes.cast(self._handle[function], ctypes.c_void_p)
            self._handle.linnet_pool_run(self._pool, code, ctypes.byref(chain[0]))
        return [int(job.packed) for job in jobs]

    def _job(self, order: PackOrder) -> _PackJob:
        source, packed = order.source, self._memory.take(order.size)
        return _PackJob(source.address, packed, (ctypes.c_int64 * 4)(*order.args), source.is_file)

    def zeros(self, size: int) -> int:
        return self._memory.take(size)

    def clear(self, address: int, size: int) -> None:
        ctypes.memset(address, 0, size)

    def read(self, address: int, out: Array) -> None:
        ctypes.memmove(out.ctypes.data, address, out.nbytes)

    def write(self, address: int, array: Array) -> None:
        ctypes.memmove(address, array.ctypes.data, array.nbytes)

    def run(
        self,
        symbol: str,
        sizes: Sequence[int],
        inputs: Sequence[Array],
        results: Sequence[Array],
        weights: Sequence[int],
        states: Sequence[int],
        arena: int,
        scratch: int,
    ) -> None:
        if arena > self._arena.size:
            self._arena = Pages(arena)
        if scratch * self._workers > self._scratch.size:
            self._scratch = Pages(scratch * self._workers)
        numbers = (ctypes.c_int64 * max(1, len(sizes)))(*sizes)
        given = _table([_address(array) for array in inputs])
        wanted = _table([_address(array) for array in results])
        call = _Call(
            ctypes.addressof(numbers),
            ctypes.addressof(given),
            ctypes.addressof(wanted),
            self._fixed_table(weights),
            self._fixed_table(states),
            self._arena.address,
            self._scratch.address,
            scratch,
        )
        self._function(symbol)(self._pool, ctypes.byref(call))

    def _function(self, symbol: str) -> Any:
        if symbol not in self._functions:
            function = self._handle[symbol]
            function.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
            function.restype = None
            self._functions[symbol] = function
        return self._functions[symbol]

    def _fixed_table(self, addresses: Sequence[int]) -> int:
        """The pointer table of a list that stays the same object for all calls."""
        if id(addresses) not in self._tables:
            self._tables[id(addresses)] = (_table(addresses), addresses)
        return ctypes.addressof(self._tables[id(addresses)][0])

    def close(self) -> None:
        """End the threads and let go of the memory. The library stays loaded."""
        pool, self._pool = self._pool, None
        if pool:
            self._handle.linnet_pool_free(pool)
        self._kept.clear()
        self._tables.clear()
        self._memory = Memory()


def _address(array: Array) -> int:
    """Of the first element; `array.ctypes.data` is the same and takes three times as long."""
    address: int = array.__array_interface__["data"][0]
    return address


def _table(addresses: Sequence[int]) -> Any:
    return (ctypes.c_void_p * max(1, len(addresses)))(*addresses)
