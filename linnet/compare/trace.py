"""Our side of a comparison: an entry run with probes, compiled or interpreted."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from linnet import driver
from linnet.bench.subject import Opened
from linnet.ir.node import CallAttrs, Graph, Named, Origin, Probe, toposort
from linnet.ir.ops import Op


@dataclass(frozen=True)
class Trace:
    """The values of an entry's results and probes: `arrays[k]` is that of `graph.results[k]`,
    halves as f32."""

    graph: Graph
    arrays: tuple[Any, ...]

    @cached_property
    def order(self) -> tuple[int, ...]:
        """All positions as they were computed, what a call took in before what it gave."""
        probes = self.graph.probes
        found = [k for probe in probes for k in (*probe.arguments, *probe.values)]
        return tuple(dict.fromkeys([*found, *range(len(self.arrays))]))

    @cached_property
    def makers(self) -> Mapping[int, Probe]:
        """The call that gave the value at a position; the innermost where calls hand it on."""
        found: dict[int, Probe] = {}
        for probe in self.graph.probes:
            for position in probe.values:
                found.setdefault(position, probe)
        return found

    @cached_property
    def parents(self) -> Mapping[int, frozenset[int]]:
        """The positions that a value was made from, nearest ones only."""
        places = {id(node): k for k, node in reversed(list(enumerate(self.graph.results)))}
        near: dict[int, frozenset[int]] = {}
        for node in toposort(self.graph.results):
            near[id(node)] = frozenset(
                k for a in node.args for k in ([places[id(a)]] if id(a) in places else near[id(a)])
            )
        return {k: near[id(node)] for k, node in enumerate(self.graph.results)}

    @cached_property
    def on_inputs(self) -> frozenset[int]:
        """The positions whose value depends on the inputs of the call."""
        depends: dict[int, bool] = {}
        for node in toposort(self.graph.results):
            depends[id(node)] = node.op is Op.INPUT or any(depends[id(a)] for a in node.args)
        return frozenset(k for k, n in enumerate(self.graph.results) if depends[id(n)])

    def roles(self, position: int) -> Mapping[int, str]:
        """What the op that made a value calls the values it took in."""
        node = self.graph.results[position]
        if not isinstance(node.attrs, CallAttrs):
            return {}
        named = zip(node.args, node.attrs.function.parameters, strict=True)
        names = {id(arg): p.attrs.name for arg, p in named if isinstance(p.attrs, Named)}
        results = enumerate(self.graph.results)
        return {k: names[id(result)] for k, result in results if id(result) in names}

    def dtype(self, position: int) -> str:
        return self.graph.results[position].type.dtype

    def origin(self, position: int) -> Origin | None:
        """Where the value at a position is made."""
        maker = self.makers.get(position)
        return maker.origin if maker is not None else self.graph.results[position].origin

    def label(self, position: int) -> str:
        """The call that made a value, or what the source calls it."""
        maker = self.makers.get(position)
        if maker is not None:
            return str(maker)
        if position < (self.graph.own_results or 0):
            return f"{self.graph.name}: result"
        origin = self.graph.results[position].origin
        path = origin.path if origin is not None else ""
        if origin is not None and origin.name:
            return f"{path or self.graph.name}: {origin.name}"
        taker = next((p for p in self.graph.probes if position in p.arguments), None)
        return f"into {taker}" if taker is not None else path or self.graph.name


def probed(opened: Opened, entry: str, target: str, numerics: str) -> driver.Request:
    """The request for one entry with probes."""
    return dataclasses.replace(
        opened.request, entries=(entry,), target=target, numerics=numerics, probes=True
    )


def lowered(request: driver.Request) -> Graph:
    """The graph of the entry that a request asks for."""
    program = driver.check(request.source, request.constants).program
    assert program is not None
    (graph,) = driver.lower(request, program)
    return graph


def compiled(
    opened: Opened, request: driver.Request, graph: Graph, inputs: Mapping[str, Any]
) -> Trace:
    """Run the compiled code."""
    where = request.title
    program = driver.load(request, opened.source, opened.binding.names, where=where)
    with program:
        found = program.call(graph.name, list(inputs.values()))
    return Trace(graph, _widened(graph, found))


def interpreted(opened: Opened, graph: Graph, inputs: Mapping[str, Any]) -> Trace:
    """Run the definition itself, op by op."""
    from linnet.interp import run

    weights = {
        node.attrs.name: weight(opened, node.attrs.name, widen=node.type.dtype == "f32")
        for node in toposort(graph.outputs())
        if node.op is Op.PARAM and isinstance(node.attrs, Named)
    }
    found, _ = run(graph, inputs, weights)
    return Trace(graph, _widened(graph, found))


def weight(opened: Opened, path: str, *, widen: bool) -> Any:
    """The tensor of a parameter; `widen`: as f32, whatever half float it is stored in."""
    import numpy as np

    name = opened.binding.names[path]
    info = opened.source.tensors[name]
    if not widen or info.dtype not in ("bf16", "f16"):
        return opened.source.array(name)
    wide = np.empty(info.shape, np.float32)
    opened.source.widen(name, wide)
    return wide


def _widened(graph: Graph, arrays: Any) -> tuple[Any, ...]:
    import numpy as np

    found = []
    for node, array in zip(graph.results, arrays, strict=True):
        array = np.asarray(array)
        if node.type.dtype == "bf16":
            array = (array.astype(np.uint32) << 16).view(np.float32)
        found.append(array)
    return tuple(found)
