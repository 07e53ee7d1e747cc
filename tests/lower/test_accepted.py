"""Every program of the conformance suite lowers, prints, parses back and runs.

Values are not compared here; shapes are, and so is what is left open for the entry boundary.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from linnet.check import check_file
from linnet.check.typed import BlockDecl, Program
from linnet.dims import Sym
from linnet.errors import ShapeError
from linnet.interp import run
from linnet.interp.arrays import HELD
from linnet.ir.node import Graph, Named, Node, TensorType
from linnet.ir.text import parse_graph, print_graph
from linnet.lower import bound_generics, lower_entry, manifest

ACCEPT = Path(__file__).parents[1] / "conformance" / "accept"
PROGRAMS = sorted([*ACCEPT.glob("*.linnet"), *ACCEPT.glob("packages/*/src/lib.linnet")])
TRIED = (4, 8, 2, 1, 3, 6, 12, 16, 32)
RNG = np.random.default_rng(0)


def some_array(type: TensorType, sizes: dict[str, int]) -> np.ndarray:
    shape = tuple(d.evaluate(sizes) for d in type.dims)
    if type.dtype[0] in "iu":
        return RNG.integers(0, 4, shape).astype(HELD[type.dtype])
    return RNG.normal(size=shape).astype(HELD[type.dtype])


def some_generics(root: BlockDecl) -> dict[str, int | str]:
    """Values for the generics without a default that the block allows."""
    asked = [g for g in root.generics if g.default is None]
    dtypes = {g.name: "i32" if g.kind == "Integer" else "f32" for g in asked}
    names = [g.name for g in asked if isinstance(g.symbol, Sym)]
    for sizes in itertools.product(TRIED, repeat=len(names)):
        generics: dict[str, int | str] = {**dtypes, **dict(zip(names, sizes, strict=True))}
        try:
            bound_generics(root, generics)
        except ShapeError:
            continue
        return generics
    raise AssertionError(f"no sizes for {root.name}")


def some_sizes(graph: Graph) -> dict[str, int]:
    """Sizes that satisfy all that was left open."""
    for sizes in itertools.product(TRIED, repeat=len(graph.sizes)):
        values = dict(zip(graph.sizes, sizes, strict=True))
        if all(clause.holds(values) for clause in graph.clauses):
            return values
    raise AssertionError(f"no sizes for {graph.name}")


def entries(program: Program) -> Iterator[tuple[BlockDecl, str]]:
    for root in program.roots():
        for entry in root.entries:
            yield root, entry.name


def name(node: Node) -> str:
    assert isinstance(node.attrs, Named)
    return node.attrs.name


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.parts[-3] + "-" + p.stem)
@pytest.mark.parametrize("complete", [True, False], ids=["all weights", "no optional weights"])
def test_accepted_program_runs(path: Path, complete: bool) -> None:
    program = check_file(path).program
    assert program is not None
    for root, entry in entries(program):
        generics = some_generics(root)
        members = manifest(program, root, generics).weights
        absent = frozenset(e.path for e in members if e.optional and not complete)
        weights = {e.path: some_array(e.type, {}) for e in members if e.path not in absent}
        graph = lower_entry(program, root, entry, generics, absent)
        assert print_graph(parse_graph(print_graph(graph))) == print_graph(graph)
        sizes = some_sizes(graph)
        inputs = {name(n): some_array(n.type, sizes) for n in graph.inputs}
        results, state = run(graph, inputs, weights, sizes=sizes)
        for node, value in zip(graph.results, results, strict=True):
            assert value.shape == tuple(d.evaluate(sizes) for d in node.type.dims)
        # With the sizes known when it is lowered, nothing stays open and nothing changes.
        bound = lower_entry(program, root, entry, generics, absent, sizes)
        assert not bound.sizes
        assert not bound.clauses
        again, new_state = run(bound, inputs, weights)
        for a, b in zip((*results, *state.values()), (*again, *new_state.values()), strict=True):
            assert np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
