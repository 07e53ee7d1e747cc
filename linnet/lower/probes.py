"""Probes: what the calls of an entry took in and gave, as further results of its graph.

While a body is walked each call is noted with its nodes. When the entry is done, `attach` makes
results of those that a run can show: the values that depend on the call's inputs or on sizes
alone. What is computed from weights alone would only be copied, and leaves (inputs, weights,
states as they were) are known outside. Ops and loops are one value: nothing inside them is noted.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from linnet.ir.node import Graph, Node, Origin, Probe, toposort
from linnet.ir.ops import Op
from linnet.lower.values import Maybe, Value

_LEAVES = (Op.INPUT, Op.PARAM, Op.STATE)


@dataclass(frozen=True)
class Call:
    """One call as it was walked; `op` is empty for a method, whose `path` and `method` are then
    its own, and names what a method called otherwise. `caller` is the block it stands in."""

    path: str
    method: str
    op: str
    origin: Origin
    caller: str
    given: tuple[Node, ...]
    arguments: tuple[Node, ...]


@dataclass(eq=False)
class Recorder:
    """The calls of one lowering, in the order in which they ended."""

    calls: list[Call] = field(default_factory=list)

    def note(
        self,
        path: str,
        method: str,
        op: str,
        origin: Origin,
        caller: str,
        result: Value,
        arguments: Iterable[Value],
    ) -> None:
        """Keep a call, unless it gave no tensor of its own (an element inside index notation)."""
        given = tuple(_nodes(result))
        taken = tuple(node for value in arguments for node in _nodes(value))
        if given:
            self.calls.append(Call(path, method, op, origin, caller, given, taken))


def attach(graph: Graph, calls: Sequence[Call]) -> Graph:
    """The graph with the values of `calls` as further results, each value once."""
    shown = _shown(node for call in calls for node in (*call.given, *call.arguments))
    results = list(graph.results)
    places = {id(node): place for place, node in enumerate(results)}

    def place(nodes: Iterable[Node]) -> tuple[int, ...]:
        found = []
        for node in nodes:
            if id(node) in places or id(node) in shown:
                found.append(places.setdefault(id(node), len(results)))
                if found[-1] == len(results):
                    results.append(node)
        return tuple(found)

    probes = []
    for call in calls:
        arguments, given = place(call.arguments), place(call.given)
        if given:
            facts = (call.path, call.method, call.op, call.origin, call.caller)
            probes.append(Probe(*facts, given, arguments))
    return dataclasses.replace(
        graph,
        results=tuple(results),
        tuple_result=True,
        own_results=len(graph.results),
        probes=tuple(probes),
    )


def _shown(nodes: Iterable[Node]) -> set[int]:
    """Which of the values (and of those they are made from) a run can show."""
    on_inputs: dict[int, bool] = {}
    on_weights: dict[int, bool] = {}
    shown = set()
    for node in toposort(nodes):
        key = id(node)
        on_inputs[key] = node.op is Op.INPUT or any(on_inputs[id(a)] for a in node.args)
        on_weights[key] = node.op in (Op.PARAM, Op.STATE) or any(
            on_weights[id(a)] for a in node.args
        )
        if node.op not in _LEAVES and (on_inputs[key] or not on_weights[key]):
            shown.add(key)
    return shown


def _nodes(value: Value) -> Iterator[Node]:
    if isinstance(value, tuple):
        for part in value:
            yield from _nodes(part)
    elif isinstance(value, Maybe):
        yield from _nodes(value.value)
    elif isinstance(value, Node):
        yield value
