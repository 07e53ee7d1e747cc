"""Write down what a unit is: the artifact that the runtime reads instead of the compiler.

In: a unit's plan and the lowered graphs it came from. Out: an `Artifact`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linnet.artifact import (
    Argument,
    Artifact,
    ClauseInfo,
    Entry,
    Parameter,
    State,
    ValueRange,
    Weight,
)
from linnet.dims import Clause
from linnet.emit.unit import arena_bytes, symbol
from linnet.ir.node import Graph, Named, Node
from linnet.plan.ranges import InputRange, input_ranges
from linnet.plan.types import Buffer, EntryPlan, Space, UnitPlan, leaves


def describe(
    unit: UnitPlan,
    graphs: Sequence[Graph],
    *,
    target: str,
    numerics: str,
    generics: Mapping[str, int | str],
    manifest: tuple[Parameter, ...],
    explain: str,
    constants: Mapping[str, int | float | bool | str] | None = None,
) -> Artifact:
    """The artifact of a unit. `graphs` are the lowered entries, before any pass, in the order
    of `unit.entries`."""
    dims = {p.path: p.dims for p in manifest}
    return Artifact(
        name=unit.name,
        target=target,
        numerics=numerics,
        generics=tuple(generics.items()),
        constants=tuple((constants or {}).items()),
        manifest=manifest,
        weights=tuple(
            Weight(w.path, w.dtype, dims[w.path], w.layout, w.size, w.args, w.offset)
            for w in unit.weights
        ),
        states=tuple(_state(node) for node in unit.states),
        entries=tuple(
            _entry(plan, graph) for plan, graph in zip(unit.entries, graphs, strict=True)
        ),
        explain=explain,
    )


def _state(node: Node) -> State:
    assert isinstance(node.attrs, Named)
    return State(node.attrs.name, node.type.dtype, tuple(d.value for d in node.type.dims))


def _entry(plan: EntryPlan, graph: Graph) -> Entry:
    return Entry(
        name=graph.name,
        symbol=symbol(graph.name),
        sizes=graph.sizes,
        inputs=tuple(_input(node) for node in graph.inputs),
        results=tuple(
            Argument(f"result{k}", node.type.dtype, tuple(str(d) for d in node.type.dims))
            for k, node in enumerate(graph.results)
        ),
        tuple_result=graph.tuple_result,
        clauses=tuple(_clause(clause) for clause in graph.clauses),
        ranges=tuple(_range(r) for r in input_ranges(graph)),
        weights=_used(plan, Space.WEIGHT),
        states=_used(plan, Space.STATE),
        arena=str(arena_bytes(plan)),
        scratch=str(plan.scratch),
    )


def _input(node: Node) -> Argument:
    assert isinstance(node.attrs, Named)
    return Argument(node.attrs.name, node.type.dtype, tuple(str(d) for d in node.type.dims))


def _clause(clause: Clause) -> ClauseInfo:
    place = str(clause.origin) if clause.origin is not None else ""
    return ClauseInfo(clause.op, str(clause.left), str(clause.right), clause.text, place)


def _range(item: InputRange) -> ValueRange:
    return ValueRange(
        item.name, str(item.low), str(item.high), item.reason, item.place, item.distinct
    )


def _used(plan: EntryPlan, space: Space) -> tuple[int, ...]:
    buffers: dict[int, Buffer] = {}
    for step in leaves(plan.steps):
        for view in (*step.reads, step.writes):
            if view.buffer.space is space:
                buffers[view.buffer.index] = view.buffer
    return tuple(sorted(buffers))
