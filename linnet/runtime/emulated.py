"""A unit in an emulated process, for checking code of another instruction set.

Mirrors `codegen/rt/remote.h`: commands and answers go through pipes, and addresses are those of
the other process.
"""

from __future__ import annotations

import contextlib
import ctypes
import struct
import subprocess
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.errors import ToolchainError
from linnet.runtime.machine import PackOrder

Array = npt.NDArray[Any]


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
        self._lock = threading.RLock()
        self._tables: dict[int, tuple[int, Sequence[int]]] = {}
        self._buffers: dict[str, tuple[int, int]] = {}

    def place(self, array: Array) -> int:
        address = self.zeros(array.nbytes)
        self.write(address, array)
        return address

    def pack(self, orders: Sequence[PackOrder]) -> list[int]:
        return [self._pack(order) for order in orders]

    def _pack(self, order: PackOrder) -> int:
        data = (ctypes.c_ubyte * order.source.size).from_address(order.source.address)
        source = self.place(np.frombuffer(memoryview(data).cast("B"), np.uint8))
        packed = self.zeros(order.size)
        with self._exchange():
            # There it is a copy and no file, and nothing follows it.
            self._send(b"P", self._packs[order.function], source, packed, *order.args, 0, 0)
            self._number()
        return packed

    def zeros(self, size: int) -> int:
        with self._exchange():
            self._send(b"A", size)
            return self._number()

    def clear(self, address: int, size: int) -> None:
        self.write(address, np.zeros(size, np.uint8))

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
        the next answer would be taken for that of another command. So that ends the process.
        One thread at a time."""
        with self._lock:
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
