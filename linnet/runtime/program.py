"""A compiled unit with its weights: entries that can be called, and the state they keep.

In: an artifact, its library, and a source of weights. Out: a `Program`. Weights that the code
wants as they are stay where the checkpoint is mapped; others are laid out once, in parallel.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from linnet.artifact import Artifact, Entry, Weight
from linnet.dims import Dim, Sym, parse
from linnet.errors import UsageError
from linnet.runtime.bind import Binding, Tensor
from linnet.runtime.boundary import NUMPY, Boundary
from linnet.runtime.library import Call, Library

ALIGNMENT = 64
Array = npt.NDArray[Any]


class WeightSource(Protocol):
    """Where weights come from: a `Checkpoint`, or `Arrays`."""

    @property
    def tensors(self) -> Mapping[str, Tensor]: ...
    def array(self, name: str) -> Array:
        """The tensor as stored, read-only; f16 as float16, bf16 as its bits in uint16."""
        ...


class Arrays:
    """Weights given as numpy arrays by name. uint16 stands for bf16 where that is declared."""

    def __init__(self, arrays: Mapping[str, Any], bf16: frozenset[str] = frozenset()) -> None:
        self._arrays = {name: np.asarray(array) for name, array in arrays.items()}
        self.tensors: Mapping[str, Tensor] = {
            name: _ArrayInfo("bf16" if name in bf16 else _dtype_name(array.dtype), array.shape)
            for name, array in self._arrays.items()
        }

    def array(self, name: str) -> Array:
        return np.ascontiguousarray(self._arrays[name])


class _ArrayInfo:
    def __init__(self, dtype: str, shape: tuple[int, ...]) -> None:
        self.dtype = dtype
        self.shape = shape


def _dtype_name(dtype: np.dtype[Any]) -> str:
    for name, known in NUMPY.items():
        if name != "bf16" and dtype == known:
            return name
    return str(dtype)


class Program:
    """Callable entries over bound weights. Calls exclude each other: they share state and memory.

    `strict`: refuse integer values outside what the program can use (see `Boundary`)."""

    def __init__(
        self,
        artifact: Artifact,
        handle: ctypes.CDLL,
        source: WeightSource,
        binding: Binding,
        *,
        threads: int,
        strict: bool = False,
    ) -> None:
        self.artifact = artifact
        self.binding = binding
        self.entries: Mapping[str, Entry] = {e.name: e for e in artifact.entries}
        generics = dict(artifact.generics)
        self._boundaries = {
            name: Boundary(entry, generics, strict) for name, entry in self.entries.items()
        }
        self._lock = threading.RLock()
        self._library: Library | None = Library(handle, threads)
        self.threads = self._library.workers
        self._kept: list[object] = []  # owners of the memory behind the pointers
        self._states = {s.path: _zeros(s.dims, NUMPY[s.dtype]) for s in artifact.states}
        self._state_table = _table(list(self._states.values()))
        self._weight_table = self._lay_out(source)
        self._memory = {name: _Memory(e) for name, e in self.entries.items()}
        self._arena = _zeros((0,), np.dtype(np.uint8))
        self._scratch = _zeros((0,), np.dtype(np.uint8))

    # --- weights --------------------------------------------------------------------------

    def _lay_out(self, source: WeightSource) -> ctypes.Array[ctypes.c_void_p]:
        assert self._library is not None
        pointers: list[int] = []
        dense: dict[str, Array] = {}
        for weight in self.artifact.weights:
            name = self.binding.names[weight.path]
            if weight.layout == "dense":
                key = f"{name} {weight.dtype}"
                if key not in dense:
                    dense[key] = _dense(weight, source.tensors[name].dtype, source.array(name))
                array = dense[key]
            else:
                array = _empty_pages(weight.size)
                stored = source.array(name)
                dtype = source.tensors[name].dtype
                self._library.pack(
                    weight.layout, stored.ctypes.data, array.ctypes.data, dtype, weight.args
                )
            self._kept.append(array)
            pointers.append(array.ctypes.data)
        return (ctypes.c_void_p * max(1, len(pointers)))(*pointers)

    # --- calls ----------------------------------------------------------------------------

    def call(self, entry: str, args: Sequence[Any], sizes: Mapping[str, int] | None = None) -> Any:
        """Run `entry` on arrays in the order of its inputs; `sizes` gives generics that no input
        determines. Returns an array, a numpy scalar for a scalar result, or a tuple of them.

        Raises UsageError, DTypeError or ShapeError before anything runs."""
        if entry not in self.entries:
            raise UsageError(f"no entry `{entry}`; there are {', '.join(self.entries)}")
        with self._lock:
            if self._library is None:
                raise UsageError("this program is closed")
            arrays, values = self._boundaries[entry].admit(args, sizes or {})
            results = [
                np.empty(tuple(d.evaluate(values) for d in dims), NUMPY[a.dtype])
                for dims, a in zip(
                    self._boundaries[entry].results, self.entries[entry].results, strict=True
                )
            ]
            self._run(entry, arrays, results, values)
        finished = [r if r.ndim else r[()] for r in results]
        return tuple(finished) if self.entries[entry].tuple_result else finished[0]

    def _run(
        self,
        name: str,
        arrays: Sequence[Array],
        results: Sequence[Array],
        values: Mapping[str, int],
    ) -> None:
        assert self._library is not None
        entry = self.entries[name]
        arena, scratch = self._memory[name].bytes(values)
        if arena > self._arena.size:
            self._arena = _empty_pages(arena)
        if scratch * self.threads > self._scratch.size:
            self._scratch = _empty_pages(scratch * self.threads)
        sizes = (ctypes.c_int64 * max(1, len(entry.sizes)))(*(values[s] for s in entry.sizes))
        inputs, outputs = _table(arrays), _table(results)
        call = Call(
            ctypes.addressof(sizes),
            ctypes.addressof(inputs),
            ctypes.addressof(outputs),
            ctypes.addressof(self._weight_table),
            ctypes.addressof(self._state_table),
            self._arena.ctypes.data,
            self._scratch.ctypes.data,
            scratch,
        )
        self._library.run(entry.symbol, call)

    # --- state ----------------------------------------------------------------------------

    def reset_state(self) -> None:
        """Make every state zero, as at the start."""
        with self._lock:
            for array in self._states.values():
                array.fill(0)

    def state(self, path: str) -> Array:
        """A copy of a state member."""
        with self._lock:
            return self._states[path].copy()

    def set_state(self, path: str, value: Any) -> None:
        """Overwrite a state member. Raises ShapeError or DTypeError through numpy's own rules."""
        with self._lock:
            self._states[path][...] = value

    def explain(self) -> str:
        """The plan of this unit, in words."""
        return self.artifact.explain

    def close(self) -> None:
        """End the threads and let go of the weights."""
        with self._lock:
            library, self._library = self._library, None
            if library is not None:
                library.close()
            self._kept.clear()
            self._states.clear()

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        library = getattr(self, "_library", None)
        if library is not None:
            library.close()


class _Memory:
    """How much arena and scratch an entry needs, remembered by sizes."""

    def __init__(self, entry: Entry) -> None:
        symbols = {name: Dim.sym(Sym(name)) for name in entry.sizes}
        self._arena = parse(entry.arena, symbols)
        self._scratch = parse(entry.scratch, symbols)
        self._known: dict[tuple[int, ...], tuple[int, int]] = {}

    def bytes(self, sizes: Mapping[str, int]) -> tuple[int, int]:
        key = tuple(sizes.values())
        if key not in self._known:
            if len(self._known) > 4096:
                self._known.clear()
            scratch = -(-self._scratch.evaluate(sizes) // ALIGNMENT) * ALIGNMENT
            self._known[key] = (self._arena.evaluate(sizes), scratch)
        return self._known[key]


def _dense(weight: Weight, stored: str, array: Array) -> Array:
    """A weight as declared: the mapped array itself, or a widened copy."""
    if stored == weight.dtype:
        return array
    wide = np.empty(array.shape, np.float32)
    if stored == "bf16":
        np.left_shift(array, 16, out=wide.view(np.uint32), dtype=np.uint32)
    else:
        with np.errstate(invalid="ignore"):
            np.copyto(wide, array)
    return wide


def _empty_pages(size: int) -> Array:
    """Zeroed memory of its own pages, on huge ones where the system grants them."""
    pages = mmap.mmap(-1, max(size, mmap.PAGESIZE))
    if hasattr(mmap, "MADV_HUGEPAGE") and size >= 2**21:
        with contextlib.suppress(OSError):  # a kernel without them is only slower
            pages.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(pages, np.uint8)


def _zeros(dims: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """A zeroed array at a multiple of 64 bytes."""
    count = int(np.prod(dims, dtype=np.int64))
    return _empty_pages(count * dtype.itemsize)[: count * dtype.itemsize].view(dtype).reshape(dims)


def _table(arrays: Sequence[Array]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * max(1, len(arrays)))(*(a.ctypes.data for a in arrays))
