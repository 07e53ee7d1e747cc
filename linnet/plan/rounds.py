"""The two Functions of a LOOP as graphs, which the plan treats like entries.

The values that a loop carries are to its body what states are to an entry: there when a round
begins, updated when it ends. So they become STATE leaves, and all that is known about states
(in which order, what may be overwritten in place) holds for them. What a round reads of its
surroundings becomes INPUT leaves; a weight, or a move of one, stands for itself, so that a
kernel can have it packed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from linnet.ir.expr import Load
from linnet.ir.node import Function, Graph, LoopAttrs, MapAttrs, Named, Node, toposort
from linnet.ir.ops import Op


@dataclass(frozen=True)
class Rounds:
    """`condition` has one result, `body` updates each of the `carried` paths. `given` are the
    INPUT leaves of both: the name, and which argument of the LOOP it stands for."""

    condition: Graph
    body: Graph
    carried: tuple[str, ...]
    given: tuple[tuple[str, Node], ...]


def rounds(loop: Node, graph: Graph) -> Rounds:
    """The graphs of `loop`, a LOOP of `graph`."""
    assert isinstance(loop.attrs, LoopAttrs)
    parameters = loop.attrs.body.parameters
    leaves = [
        _leaf(k, parameter, arg, k < loop.attrs.carried)
        for k, (parameter, arg) in enumerate(zip(parameters, loop.args, strict=True))
    ]
    paths = tuple(_name(leaf) for leaf in leaves[: loop.attrs.carried])
    inputs = tuple(leaf for leaf in leaves if leaf.op is Op.INPUT)
    (test,) = _with_leaves(loop.attrs.condition, leaves)
    ends = _with_leaves(loop.attrs.body, leaves)
    frame = Graph(graph.name, inputs, (), {}, graph.sizes, graph.clauses, origin=loop.origin)
    return Rounds(
        condition=dataclasses.replace(frame, results=(test,)),
        body=dataclasses.replace(frame, updates=dict(zip(paths, ends, strict=True))),
        carried=paths,
        given=tuple(
            (_name(leaf), arg)
            for leaf, arg in zip(leaves, loop.args, strict=True)
            if leaf.op is Op.INPUT
        ),
    )


def _leaf(number: int, parameter: Node, arg: Node, carried: bool) -> Node:
    if not carried and _is_weight(arg):
        return arg
    op = Op.STATE if carried else Op.INPUT
    return Node(op, (), parameter.type, Named(f"{number}.{_name(parameter)}"), parameter.origin)


def _is_weight(node: Node) -> bool:
    """A parameter, or a move of one."""
    if node.op is Op.PARAM:
        return True
    moved = node.op is Op.RESHAPE or (
        isinstance(node.attrs, MapAttrs) and isinstance(node.attrs.body, Load)
    )
    return moved and all(_is_weight(arg) for arg in node.args)


def _with_leaves(function: Function, leaves: Sequence[Node]) -> tuple[Node, ...]:
    """The results of `function` over `leaves` in place of its parameters."""
    done = {id(p): leaf for p, leaf in zip(function.parameters, leaves, strict=True)}
    for node in toposort(function.results):
        if id(node) not in done:
            args = tuple(done[id(arg)] for arg in node.args)
            same = all(new is old for new, old in zip(args, node.args, strict=True))
            done[id(node)] = node if same else dataclasses.replace(node, args=args)
    return tuple(done[id(result)] for result in function.results)


def _name(node: Node) -> str:
    assert isinstance(node.attrs, Named)
    return node.attrs.name
