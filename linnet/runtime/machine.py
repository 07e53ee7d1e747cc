"""Where a unit runs: in this process, or in an emulated one. Memory, packing, calls.

`Machine` is what a `Program` needs. Addresses are numbers that only the machine understands.
Mirrors `codegen/rt/threads.h`, `rt/pack.h`, `rt/remote.h` and `unit/call.h`. Nothing here checks
sizes; `boundary` has done so.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import struct
import subprocess
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from linnet.errors import ToolchainError

Array = npt.NDArray[Any]

DTYPE_CODES = {"f32": 0, "f16": 1, "bf16": 2}
"""`LN_PACK_...` of pack.h."""


class Machine(Protocol):
    """A place where a unit's code and memory live."""

    @property
    def workers(self) -> int:
        """How many threads take part in a run."""
        ...

    def place(self, array: Array) -> int:
        """The address of a read-only array (kept alive, or copied there)."""
        ...

    def pack(self, function: str, stored: Array, dtype: str, args: Sequence[int], size: int) -> int:
        """Lay a weight out by a packing function of the unit; the address of the result."""
        ...

    def zeros(self, size: int) -> int:
        """The address of `size` zeroed bytes, 64-byte aligned."""
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
        ("dtype", ctypes.c_int64),
        ("args", ctypes.c_int64 * 4),
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
        self._kept: dict[int, Array] = {}  # owners of the memory behind the addresses
        self._functions: dict[str, Any] = {}
        self._tables: dict[int, Any] = {}
        self._arena = _pages(0)
        self._scratch = _pages(0)

    @property
    def workers(self) -> int:
        return int(self._handle.linnet_pool_size(self._pool))

    def place(self, array: Array) -> int:
        address = array.ctypes.data
        self._kept[address] = array
        return address

    def pack(self, function: str, stored: Array, dtype: str, args: Sequence[int], size: int) -> int:
        packed = _pages(size)
        address = packed.ctypes.data
        job = _PackJob(stored.ctypes.data, address, DTYPE_CODES[dtype], (ctypes.c_int64 * 4)(*args))
        code = ctypes.cast(self._handle[function], ctypes.c_void_p)
        self._handle.linnet_pool_run(self._pool, code, ctypes.byref(job))
        self._kept[address] = packed
        return address

    def zeros(self, size: int) -> int:
        return self.place(_pages(size))

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
            self._arena = _pages(arena)
        if scratch * self.workers > self._scratch.size:
            self._scratch = _pages(scratch * self.workers)
        numbers = (ctypes.c_int64 * max(1, len(sizes)))(*sizes)
        given = _table([array.ctypes.data for array in inputs])
        wanted = _table([array.ctypes.data for array in results])
        call = _Call(
            ctypes.addressof(numbers),
            ctypes.addressof(given),
            ctypes.addressof(wanted),
            self._fixed_table(weights),
            self._fixed_table(states),
            self._arena.ctypes.data,
            self._scratch.ctypes.data,
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


class EmulatedMachine:
    """A process under an emulator, driven through `codegen/rt/remote.h`. For checking code of
    another instruction set; slow, and right."""

    def __init__(
        self, command: Sequence[str], entries: Sequence[str], packs: Sequence[str], threads: int
    ) -> None:
        self._entries = {name: k for k, name in enumerate(entries)}
        self._packs = {name: k for k, name in enumerate(packs)}
        self._process = subprocess.Popen(
            [*command, str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.workers = threads
        self._tables: dict[int, tuple[int, Sequence[int]]] = {}
        self._buffers: dict[str, tuple[int, int]] = {}

    def place(self, array: Array) -> int:
        address = self.zeros(array.nbytes)
        self.write(address, array)
        return address

    def pack(self, function: str, stored: Array, dtype: str, args: Sequence[int], size: int) -> int:
        source, packed = self.place(stored), self.zeros(size)
        with self._exchange():
            self._send(b"P", self._packs[function], source, packed, DTYPE_CODES[dtype], *args)
            self._number()
        return packed

    def zeros(self, size: int) -> int:
        with self._exchange():
            self._send(b"A", size)
            return self._number()

    def read(self, address: int, out: Array) -> None:
        with self._exchange():
            self._send(b"R", address, out.nbytes)
            data = self._receive(out.nbytes)
        out[...] = np.frombuffer(data, np.uint8).view(out.dtype).reshape(out.shape)

    def write(self, address: int, array: Array) -> None:
        with self._exchange():
            self._send(b"W", address, array.nbytes, data=np.ascontiguousarray(array).tobytes())

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
        given = [self._buffer(f"in{k}", array.nbytes) for k, array in enumerate(inputs)]
        wanted = [self._buffer(f"out{k}", array.nbytes) for k, array in enumerate(results)]
        for address, array in zip(given, inputs, strict=True):
            self.write(address, array)
        call = (
            self._numbers("sizes", sizes),
            self._numbers("inputs", given),
            self._numbers("results", wanted),
            self._fixed_table(weights),
            self._fixed_table(states),
            self._buffer("arena", arena),
            self._buffer("scratch", scratch * self.workers),
            scratch,
        )
        with self._exchange():
            self._send(b"C", self._entries[symbol], *call)
            self._number()
        for address, array in zip(wanted, results, strict=True):
            self.read(address, array)

    def close(self) -> None:
        process = self._process
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        process.wait()

    def _buffer(self, name: str, size: int) -> int:
        """A reusable piece of the other side's memory."""
        known = self._buffers.get(name)
        if known is None or known[1] < size:
            self._buffers[name] = (self.zeros(max(size, 64)), max(size, 64))
        return self._buffers[name][0]

    def _numbers(self, name: str, values: Sequence[int]) -> int:
        address = self._buffer(name, 8 * len(values))
        self.write(address, np.array(values, np.int64))
        return address

    def _fixed_table(self, addresses: Sequence[int]) -> int:
        if id(addresses) not in self._tables:
            table = self.place(np.array([*addresses, 0], np.int64))
            self._tables[id(addresses)] = (table, addresses)
        return self._tables[id(addresses)][0]

    @contextlib.contextmanager
    def _exchange(self) -> Iterator[None]:
        """A command with its answer. Cut short, by an interrupt say, it cannot be taken up again:
        the next answer would be taken for that of another command. So that ends the process."""
        try:
            yield
        except BaseException:
            self._process.kill()
            raise

    def _send(self, command: bytes, *numbers: int, data: bytes = b"") -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(command + struct.pack(f"<{len(numbers)}q", *numbers) + data)
            self._process.stdin.flush()
        except OSError as error:
            raise self._died() from error

    def _receive(self, size: int) -> bytes:
        assert self._process.stdout is not None
        data = self._process.stdout.read(size)
        if len(data) != size:
            raise self._died()
        return data

    def _number(self) -> int:
        (value,) = struct.unpack("<q", self._receive(8))
        return int(value)

    def _died(self) -> ToolchainError:
        status = self._process.wait()
        return ToolchainError(
            f"the emulated process ended with status {status}", help="load the model again"
        )


def _pages(size: int) -> Array:
    """Zeroed memory on pages of its own, huge ones where the system grants them. A forked
    process gets a copy; without the flags the two would share it, on small pages."""
    private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    pages = mmap.mmap(-1, max(size, mmap.PAGESIZE), flags=private)
    if hasattr(mmap, "MADV_HUGEPAGE") and size >= 2**21:
        with contextlib.suppress(OSError):  # a kernel without them is only slower
            pages.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(pages, np.uint8)


def _table(addresses: Sequence[int]) -> Any:
    return (ctypes.c_void_p * max(1, len(addresses)))(*addresses)
