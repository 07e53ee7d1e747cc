"""Put an op's body in the place of its call, wherever no kernel will run it.

    %2 = call std.nn.softmax::softmax %1        ==>     the maps of softmax's body over %1

`keep` says which calls stay (the plan knows the kernels). Bodies are expanded all the way
down: an op in an op's body is kept or expanded by the same rule. The Functions of a LOOP stay as
they are; whoever makes graphs of them expands those.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from linnet.ir.node import CallAttrs, Function, Graph, Node, Origin, toposort
from linnet.passes.rewrite import rewrite


def expand_calls(graph: Graph, keep: Callable[[Node], bool]) -> Graph:
    """Inline every CALL for which `keep` is false."""
    return rewrite(graph, lambda node: _expand(node, keep))


def _expand(node: Node, keep: Callable[[Node], bool]) -> Node:
    if isinstance(node.attrs, CallAttrs) and not keep(node):
        return _inline(node.attrs.function, node, keep)
    return node


def _inline(function: Function, call: Node, keep: Callable[[Node], bool]) -> Node:
    done: dict[int, Node] = {
        id(arg): value for arg, value in zip(function.parameters, call.args, strict=True)
    }
    for node in toposort(function.results):
        if id(node) in done:
            continue
        args = tuple(done[id(arg)] for arg in node.args)
        placed = dataclasses.replace(node, args=args, origin=_placed_at(node, call))
        done[id(node)] = _expand(placed, keep)
    return done[id(function.result)]


def _placed_at(node: Node, call: Node) -> Origin | None:
    """The library's line stays (that is where the code is); the member path is the caller's."""
    if node.origin is None or call.origin is None:
        return call.origin
    name = node.origin.name or call.origin.name
    return dataclasses.replace(node.origin, path=call.origin.path, name=name)
