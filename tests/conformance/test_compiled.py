"""The programs of `accept/` as C, on every target, against the interpreter.

Each entry is called twice, so that state is carried from call to call. Integers and booleans
must be equal; floats may differ by what another order of additions and another `exp` make. All
targets must agree with each other to the last bit.
"""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest
from lower.test_accepted import PROGRAMS, entries, name, some_array, some_generics, some_sizes
from support.compiled import compiled
from support.targets import ALL, missing, require

from linnet.check import check_file
from linnet.interp import run, to_boundary
from linnet.ir.node import Graph
from linnet.lower import lower_entry, manifest
from linnet.runtime.program import Program

CALLS = 2
# By the narrowest float dtype that goes into an entry.
TOLERANCE = {"bf16": 1e-2, "f16": 2e-3, "f32": 2e-5, "f64": 2e-5}

Inputs = list[dict[str, np.ndarray]]


class Case:
    """One root block with its entries, weights, and the arguments of each call."""

    def __init__(self, path: Path) -> None:
        program = check_file(path).program
        assert program is not None
        self.graphs: list[Graph] = []
        self.weights: dict[str, np.ndarray] = {}
        self.inputs: list[Inputs] = []
        self.sizes: list[dict[str, int]] = []
        for root, entry in entries(program):
            generics = some_generics(root)
            for member in manifest(program, root, generics).weights:
                self.weights.setdefault(member.path, some_array(member.type, {}))
            graph = lower_entry(program, root, entry, generics, frozenset())
            sizes = some_sizes(graph)
            self.graphs.append(graph)
            self.sizes.append(sizes)
            self.inputs.append(
                [{name(n): some_array(n.type, sizes) for n in graph.inputs} for _ in range(CALLS)]
            )

    def interpreted(self) -> list[tuple[np.ndarray, float]]:
        """Results of all calls, entry after entry, each entry with fresh state, and how far
        other results may be from them."""
        found = []
        for graph, sizes, calls in zip(self.graphs, self.sizes, self.inputs, strict=True):
            state: dict[str, np.ndarray] = {}
            for inputs in calls:
                results, new = run(graph, inputs, self.weights, state, sizes=sizes)
                state.update(new)
                found += [(np.asarray(value), tolerance(graph)) for value in results]
        return found

    def compiled(self, target: str) -> list[np.ndarray]:
        program = compiled(self.graphs, self.weights, target)
        found = []
        for graph, sizes, calls in zip(self.graphs, self.sizes, self.inputs, strict=True):
            program.reset_state()
            for inputs in calls:
                found += self._call(program, graph, inputs, sizes)
        return found

    @staticmethod
    def _call(
        program: Program, graph: Graph, inputs: dict[str, np.ndarray], sizes: dict[str, int]
    ) -> list[np.ndarray]:
        fixed = {size: sizes[size] for size in graph.sizes}
        arrays = [to_boundary(inputs[name(node)], node.type.dtype) for node in graph.inputs]
        result = program.call(graph.name, arrays, fixed)
        return [np.asarray(value) for value in _flat(result)]


def tolerance(graph: Graph) -> float:
    dtypes = {node.type.dtype for node in graph.inputs}
    return next((TOLERANCE[d] for d in TOLERANCE if d in dtypes), TOLERANCE["f32"])


def _flat(value: object) -> list[object]:
    if isinstance(value, tuple):
        return [leaf for part in value for leaf in _flat(part)]
    return [value]


@functools.cache
def case(path: Path) -> Case:
    return Case(path)


WITH_ENTRIES = [path for path in PROGRAMS if "    pub entry " in path.read_text("utf-8")]


@functools.cache
def results(path: Path, target: str) -> list[np.ndarray]:
    return case(path).compiled(target)


@pytest.mark.parametrize("target", ALL)
@pytest.mark.parametrize("path", WITH_ENTRIES, ids=lambda p: p.parts[-3] + "-" + p.stem)
def test_compiled_program_agrees_with_the_interpreter(path: Path, target: str) -> None:
    require(target)
    wanted = case(path).interpreted()
    for got, (value, allowed) in zip(results(path, target), wanted, strict=True):
        assert got.shape == value.shape
        if value.dtype.kind in "biu":
            np.testing.assert_array_equal(got, value)
        else:
            np.testing.assert_allclose(got, value, rtol=allowed, atol=allowed)


@pytest.mark.parametrize("path", WITH_ENTRIES, ids=lambda p: p.parts[-3] + "-" + p.stem)
def test_all_targets_give_the_same_bits(path: Path) -> None:
    runnable = [target for target in ALL if missing(target) is None]
    first, *others = [results(path, target) for target in runnable]
    for other in others:
        for a, b in zip(first, other, strict=True):
            assert a.tobytes() == b.tobytes()
