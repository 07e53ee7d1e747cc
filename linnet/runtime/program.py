"""A compiled unit with its weights: entries that can be called, and the state they keep.

In: an artifact, the machine that runs it, and a source of weights. Out: a `Program`. Weights
that the code wants as they are stay where the checkpoint is mapped; others are laid out once.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from linnet.artifact import Artifact, Entry, State, Weight
from linnet.dims import Dim, Sym, parse
from linnet.errors import ShapeError, UsageError
from linnet.runtime.bind import Binding, Tensor
from linnet.runtime.boundary import NUMPY, Boundary
from linnet.runtime.machine import Machine

ALIGNMENT = 64
Array = npt.NDArray[Any]


class WeightSource(Protocol):
    """Where weights come from: a `Checkpoint`, or `Arrays`."""

    @property
    def tensors(self) -> Mapping[str, Tensor]: ...
    def array(self, name: str) -> Array:
        """The tensor as stored, read-only; f16 as float16, bf16 as its bits in uint16."""
        ...

    def release(self, name: str) -> None:
        """The tensor was copied elsewhere; its memory may go until it is asked for again."""


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

    def release(self, name: str) -> None:
        """Nothing to let go: the arrays are the caller's."""


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
        machine: Machine,
        source: WeightSource,
        binding: Binding,
        *,
        strict: bool = False,
    ) -> None:
        self.artifact = artifact
        self.binding = binding
        self.entries: Mapping[str, Entry] = {e.name: e for e in artifact.entries}
        generics = dict(artifact.generics)
        self._boundaries = {
            name: Boundary(entry, generics, strict) for name, entry in self.entries.items()
        }
        self._memory = {name: _Memory(e) for name, e in self.entries.items()}
        self._lock = threading.RLock()
        self._machine: Machine | None = machine
        self.threads = machine.workers
        self._weights = self._lay_out(machine, source)
        self._states = {
            s.path: (_zeros(s), machine.zeros(_zeros(s).nbytes)) for s in artifact.states
        }
        self._state_addresses = [address for _, address in self._states.values()]

    def _lay_out(self, machine: Machine, source: WeightSource) -> list[int]:
        """Addresses of all weights, in the order of the artifact."""
        addresses: list[int] = []
        dense: dict[str, int] = {}
        for weight in self.artifact.weights:
            name = self.binding.names[weight.path]
            stored, dtype = source.array(name), source.tensors[name].dtype
            if weight.layout != "dense":
                start = stored.reshape(-1)[weight.offset :]
                packed = machine.pack(weight.layout, start, dtype, weight.args, weight.size)
                addresses.append(packed)
                source.release(name)
                continue
            if name not in dense:
                dense[name] = machine.place(_declared(weight, dtype, stored))
                source.release(name)
            addresses.append(dense[name])
        return addresses

    def call(self, entry: str, args: Sequence[Any], sizes: Mapping[str, int] | None = None) -> Any:
        """Run `entry` on arrays in the order of its inputs; `sizes` gives generics that no input
        determines. Returns an array, a numpy scalar for a scalar result, or a tuple of them.

        Raises UsageError, DTypeError or ShapeError before anything runs."""
        if entry not in self.entries:
            raise UsageError(f"no entry `{entry}`; there are {', '.join(self.entries)}")
        description, boundary = self.entries[entry], self._boundaries[entry]
        with self._lock:
            machine = self._open()
            arrays, values = boundary.admit(args, sizes or {})
            results = [
                np.empty(tuple(dim.evaluate(values) for dim in dims), NUMPY[result.dtype])
                for dims, result in zip(boundary.results, description.results, strict=True)
            ]
            arena, scratch = self._memory[entry].bytes(values)
            machine.run(
                description.symbol,
                [values[name] for name in description.sizes],
                arrays,
                results,
                self._weights,
                self._state_addresses,
                arena,
                scratch,
            )
        finished = [r if r.ndim else r[()] for r in results]
        return tuple(finished) if description.tuple_result else finished[0]

    def _open(self) -> Machine:
        if self._machine is None:
            raise UsageError("this program is closed")
        return self._machine

    def reset_state(self) -> None:
        """Make every state zero, as at the start."""
        with self._lock:
            machine = self._open()
            for zeros, address in self._states.values():
                machine.write(address, zeros)

    def state(self, path: str) -> Array:
        """A copy of a state member. Raises UsageError for a path that is none."""
        with self._lock:
            zeros, address = self._state(path)
            out = np.empty_like(zeros)
            self._open().read(address, out)
            return out

    def set_state(self, path: str, value: Any) -> None:
        """Overwrite a state member. Raises UsageError for a path that is none, ShapeError for
        another shape."""
        with self._lock:
            zeros, address = self._state(path)
            try:
                with np.errstate(over="raise"):
                    array = np.asarray(value, zeros.dtype)
            except (TypeError, ValueError, ArithmeticError) as error:
                raise UsageError(f"state `{path}` holds {zeros.dtype}: {error}") from None
            if array.shape != zeros.shape:
                raise ShapeError(
                    f"state `{path}` has shape {list(zeros.shape)}, not {list(array.shape)}"
                )
            self._open().write(address, np.ascontiguousarray(array))

    def _state(self, path: str) -> tuple[Array, int]:
        if not isinstance(path, str) or path not in self._states:
            raise UsageError(f"no state `{path}`; there are {', '.join(self._states) or 'none'}")
        return self._states[path]

    def explain(self) -> str:
        """The plan of this unit, in words."""
        return self.artifact.explain

    def close(self) -> None:
        """End the threads and let go of the weights."""
        with self._lock:
            machine, self._machine = self._machine, None
            if machine is not None:
                machine.close()

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        machine = getattr(self, "_machine", None)
        if machine is not None:
            machine.close()


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


def _declared(weight: Weight, stored: str, array: Array) -> Array:
    """A weight in its declared dtype: the mapped array itself, or a widened copy."""
    if stored == weight.dtype:
        return array
    wide = np.empty(array.shape, np.float32)
    if stored == "bf16":
        # A bf16 is the upper half of the f32 of the same value.
        np.left_shift(array, 16, out=wide.view(np.uint32), dtype=np.uint32)
    else:
        with np.errstate(invalid="ignore"):  # a signalling NaN is a value like any other
            np.copyto(wide, array)
    return wide


def _zeros(state: State) -> Array:
    """What a state holds at the start; costs no memory until it is read."""
    return np.zeros(state.dims, NUMPY[state.dtype])
