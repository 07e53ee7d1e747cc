"""The one way passes rebuild graphs; scalar expressions are rebuilt by `ir.substitute`.

The walk is bottom-up, visits each shared node once, and keeps a node whose parts did not change,
so an untouched graph comes back as the same objects.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from linnet.ir.node import Graph, Node, toposort


def rewrite(graph: Graph, rule: Callable[[Node], Node]) -> Graph:
    """Rebuild `graph`; `rule` sees each node once, with its arguments already rebuilt."""
    done: dict[int, Node] = {}
    for node in toposort((*graph.inputs, *graph.outputs())):
        args = tuple(done[id(arg)] for arg in node.args)
        same = all(new is old for new, old in zip(args, node.args, strict=True))
        done[id(node)] = rule(node if same else dataclasses.replace(node, args=args))
    return dataclasses.replace(
        graph,
        inputs=tuple(done[id(n)] for n in graph.inputs),
        results=tuple(done[id(n)] for n in graph.results),
        updates={path: done[id(n)] for path, n in graph.updates.items()},
    )
