"""A compiled unit with its weights: entries that can be called, and the state they keep.

In: an artifact, the machine that runs it, and a source of weights. Out: a `Program`. Weights
that the code wants as they are stay where the checkpoint is mapped; others are laid out once.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.artifact import Artifact, Entry, State, Weight
from linnet.dims import Dim, Sym, parse
from linnet.errors import ShapeError, UsageError
from linnet.runtime import moments
from linnet.runtime.bind import Binding, Tensor
from linnet.runtime.boundary import NUMPY, Boundary
from linnet.runtime.layout import DENSE, Layout
from linnet.runtime.machine import Machine
from linnet.runtime.memory import Stored
from linnet.runtime.source import WeightSource

ALIGNMENT = 64
Array = npt.NDArray[Any]


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

    def stored(self, name: str) -> Stored:
        array = self.array(name)
        return Stored(array.ctypes.data, array.nbytes, array)

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
        layout: Layout | None = None,
    ) -> None:
        """`layout`: the packing of these weights, begun before; begun here unless given."""
        self._machine: Machine | None = machine
        layout = layout or Layout(artifact, machine, source, binding)
        try:
            self._prepare(artifact, machine, source, binding, strict)
        except BaseException:
            layout.stop()
            raise
        moments.passed("checks of calls, and weights that stay as they are")
        self._weights = self._addresses(layout.finish())
        moments.passed("waiting for the packed weights")

    def _prepare(
        self,
        artifact: Artifact,
        machine: Machine,
        source: WeightSource,
        binding: Binding,
        strict: bool,
    ) -> None:
        """All but the packed weights."""
        self.artifact = artifact
        self.binding = binding
        self.entries: Mapping[str, Entry] = {e.name: e for e in artifact.entries}
        generics = dict(artifact.generics)
        self._boundaries = {
            name: Boundary(entry, generics, strict) for name, entry in self.entries.items()
        }
        self._memory = {
            name: _Memory(e, self._boundaries[name].results) for name, e in self.entries.items()
        }
        self._lock = threading.RLock()
        self.threads = machine.workers
        self._dense = self._place(machine, source)
        self._states = {s.path: _Held.new(s, machine) for s in artifact.states}
        self._state_addresses = [held.address for held in self._states.values()]
        self._fresh = True  # no state has been written yet

    def _place(self, machine: Machine, source: WeightSource) -> dict[tuple[str, str], int]:
        """The addresses of the weights that are used as they are, by tensor name and dtype."""
        placed: dict[tuple[str, str], int] = {}
        for weight in self.artifact.weights:
            name = self.binding.names[weight.path]
            if weight.layout == DENSE and (name, weight.dtype) not in placed:
                dtype, stored = source.tensors[name].dtype, source.array(name)
                place = machine.place(_declared(weight, dtype, stored))
                placed[name, weight.dtype] = place
                source.release(name)
        return placed

    def _addresses(self, packed: Sequence[int]) -> list[int]:
        """The addresses of all weights, in the order of the artifact."""
        rest = iter(packed)
        return [
            self._dense[self.binding.names[w.path], w.dtype] if w.layout == DENSE else next(rest)
            for w in self.artifact.weights
        ]

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
            arena, scratch, shapes = self._memory[entry].of(values)
            results = [np.empty(shape, dtype) for shape, dtype in shapes]
            self._fresh = self._fresh and not description.states
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
            for held in self._states.values() if not self._fresh else ():
                machine.clear(held.address, held.bytes)
            self._fresh = True

    def state(self, path: str) -> Array:
        """A copy of a state member. Raises UsageError for a path that is none."""
        with self._lock:
            held = self._state(path)
            out = np.empty(held.dims, held.dtype)
            self._open().read(held.address, out)
            return out

    def set_state(self, path: str, value: Any) -> None:
        """Overwrite a state member. Raises UsageError for a path that is none, ShapeError for
        another shape."""
        with self._lock:
            held = self._state(path)
            try:
                with np.errstate(over="raise"):
                    array = np.asarray(value, held.dtype)
            except (TypeError, ValueError, ArithmeticError) as error:
                raise UsageError(f"state `{path}` holds {held.dtype}: {error}") from None
            if array.shape != held.dims:
                raise ShapeError(
                    f"state `{path}` has shape {list(held.dims)}, not {list(array.shape)}"
                )
            self._fresh = False
            self._open().write(held.address, np.ascontiguousarray(array))

    def _state(self, path: str) -> _Held:
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


_Shapes = Sequence[tuple[tuple[int, ...], np.dtype[Any]]]


class _Memory:
    """How much arena and scratch an entry needs and what its results are, remembered by sizes."""

    def __init__(self, entry: Entry, results: Sequence[tuple[Dim, ...]]) -> None:
        symbols = {name: Dim.sym(Sym(name)) for name in entry.sizes}
        self._arena = parse(entry.arena, symbols)
        self._scratch = parse(entry.scratch, symbols)
        dtypes = [NUMPY[result.dtype] for result in entry.results]
        self._results = tuple(zip(results, dtypes, strict=True))
        self._known: dict[tuple[int, ...], tuple[int, int, _Shapes]] = {}

    def of(self, sizes: Mapping[str, int]) -> tuple[int, int, _Shapes]:
        """Bytes of arena, bytes of scratch for each worker, shapes and dtypes of the results."""
        key = tuple(sizes.values())
        known = self._known.get(key)
        if known is None:
            if len(self._known) > 4096:
                self._known.clear()
            scratch = -(-self._scratch.evaluate(sizes) // ALIGNMENT) * ALIGNMENT
            shapes = [
                (tuple(dim.evaluate(sizes) for dim in dims), dtype) for dims, dtype in self._results
            ]
            known = self._known[key] = (self._arena.evaluate(sizes), scratch, shapes)
        return known


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


@dataclass(frozen=True)
class _Held:
    """A state member in the machine's memory."""

    dims: tuple[int, ...]
    dtype: np.dtype[Any]
    address: int

    @staticmethod
    def new(state: State, machine: Machine) -> _Held:
        """Room for one, all zero: nothing is written before it is used."""
        dtype = NUMPY[state.dtype]
        return _Held(state.dims, dtype, machine.zeros(math.prod(state.dims) * dtype.itemsize))

    @property
    def bytes(self) -> int:
        return math.prod(self.dims) * self.dtype.itemsize
