"""In which order the nodes run, and which updates of state happen in place.

A kernel that overwrites one operand (a cache write) may do so in the state's own memory when
the old value is dead: every other reader can run before it, and the result is what the state
holds at the end. Where that cannot be shown, the operand is copied first.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from linnet.ir.expr import Index, IndexRef, Load, walk
from linnet.ir.node import CallAttrs, Graph, MapAttrs, Named, Node, toposort
from linnet.ir.ops import Op
from linnet.plan.cards import Card


@dataclass(frozen=True)
class Order:
    """`nodes` in running order. `in_place` holds the calls (by id) that write into state;
    `copies` the identity maps (by id) that must really move data; `homes` where a state's
    final value is copied to, by the id of the copying map."""

    graph: Graph
    nodes: tuple[Node, ...]
    in_place: frozenset[int]
    copies: frozenset[int]
    homes: Mapping[int, str]


def order(graph: Graph, cards: Mapping[int, Card]) -> Order:
    """Decide. `cards` names the kernel of each CALL, by node id."""
    copies: set[int] = set()
    in_place = _in_place_chains(graph, cards)
    graph = _copy_results(graph, in_place, copies)
    graph, homes = _copy_updates(graph, in_place, copies)
    before: dict[int, list[Node]] = {}
    nodes = tuple(toposort(graph.outputs()))
    for node in nodes:
        if id(node) in in_place:
            overwritten = node.args[0]
        elif id(node) in homes:
            leaf = _state_leaf(nodes, homes[id(node)])
            if leaf is None:
                continue
            overwritten = leaf
        else:
            continue
        before[id(node)] = [r for r in _readers(overwritten, nodes) if r is not node]
    blocked = _blocked(graph, before, in_place)
    in_place -= blocked
    for node_id in blocked:
        before.pop(node_id, None)
    ordered = tuple(_sorted(graph.outputs(), before))
    return Order(graph, ordered, frozenset(in_place), frozenset(copies), homes)


def operand_position(call: Node, name: str) -> int:
    """Where the operand `name` stands among a CALL's arguments."""
    assert isinstance(call.attrs, CallAttrs)
    for position, parameter in enumerate(call.attrs.function.parameters):
        if isinstance(parameter.attrs, Named) and parameter.attrs.name == name:
            return position
    raise KeyError(name)


def _in_place_chains(graph: Graph, cards: Mapping[int, Card]) -> set[int]:
    """Calls that carry a state from its leaf to its update, each overwriting the one before."""
    found: set[int] = set()
    for path, final in graph.updates.items():
        chain: list[int] = []
        node = final
        while node.op is Op.CALL:
            card = cards.get(id(node))
            if card is None or card.in_place is None:
                break
            if operand_position(node, card.in_place) != 0:
                break
            chain.append(id(node))
            node = node.args[0]
        if node.op is Op.STATE and node.attrs == Named(path):
            found.update(chain)
    return found


def identity(node: Node) -> Node:
    """A map that copies `node`."""
    indices = tuple(Index(f"i{k}", dim) for k, dim in enumerate(node.type.dims))
    body = Load(node.type.dtype, 0, tuple(IndexRef("i64", i) for i in indices))
    return Node(Op.MAP, (node,), node.type, MapAttrs(indices, body), node.origin)


def _is_move(node: Node) -> bool:
    return isinstance(node.attrs, MapAttrs) and isinstance(node.attrs.body, Load)


def peel(node: Node) -> Node:
    """Through reshapes, to the node whose memory it is."""
    while node.op is Op.RESHAPE:
        node = node.args[0]
    return node


def _copy_results(graph: Graph, in_place: set[int], copies: set[int]) -> Graph:
    """Every result is a node of its own that can be computed into the caller's array."""
    taken: set[int] = {id(peel(node)) for node in graph.updates.values()}
    results = []
    for node in graph.results:
        base = peel(node)
        fresh = base.op in (Op.MAP, Op.CALL, Op.LOOP) and not _is_move(base)
        if not fresh or id(base) in in_place or id(base) in taken:
            node = identity(node)
            copies.add(id(node))
            base = node
        taken.add(id(base))
        results.append(node)
    return dataclasses.replace(graph, results=tuple(results))


def _copy_updates(
    graph: Graph, in_place: set[int], copies: set[int]
) -> tuple[Graph, dict[int, str]]:
    """Final values that are not already in their state's memory are copied there."""
    updates: dict[str, Node] = {}
    homes: dict[int, str] = {}
    for path, node in graph.updates.items():
        if id(node) in in_place or (node.op is Op.STATE and node.attrs == Named(path)):
            updates[path] = node
            continue
        if _overwrites(node, path, graph):
            updates[path] = node
            homes[id(node)] = path
            continue
        if peel(node).op is Op.STATE or _is_move(peel(node)):
            node = identity(node)  # states that change places meet in the arena
            copies.add(id(node))
        move = identity(node)
        copies.add(id(move))
        homes[id(move)] = path
        updates[path] = move
    return dataclasses.replace(graph, updates=updates), homes


def _overwrites(node: Node, path: str, graph: Graph) -> bool:
    """Whether a map may be computed right into its state: of the old value it reads no element
    but the one it writes, and no other reader of the old value needs the map first."""
    if not isinstance(node.attrs, MapAttrs) or _is_move(node):
        return False
    nodes = tuple(toposort(graph.outputs()))
    leaf = _state_leaf(nodes, path)
    if leaf is None:
        return True
    readers = [reader for reader in _readers(leaf, nodes) if reader is not node]
    views = {id(reader) for reader in readers}
    if any(id(arg) in views and _is_view(arg) for arg in node.args):
        return False
    own = [id(index) for index in node.attrs.indices]
    for expr in walk(node.attrs.body):
        if isinstance(expr, Load) and node.args[expr.operand] is leaf:
            at = [id(p.index) if isinstance(p, IndexRef) else None for p in expr.at]
            if at != own:
                return False
    return not any(id(reader) in _downstream(node, nodes) for reader in readers)


def _downstream(node: Node, nodes: Sequence[Node]) -> set[int]:
    """`node` and everything computed from it. `nodes` have arguments before users."""
    found = {id(node)}
    for other in nodes:
        if any(id(arg) in found for arg in other.args):
            found.add(id(other))
    return found


def _state_leaf(nodes: Iterable[Node], path: str) -> Node | None:
    return next((n for n in nodes if n.op is Op.STATE and n.attrs == Named(path)), None)


def _readers(value: Node, nodes: Sequence[Node]) -> list[Node]:
    """Nodes that read the memory of `value`, directly or through reshapes and moves."""
    holders = {id(value)}
    readers = []
    for node in nodes:  # arguments come before users
        if any(id(arg) in holders for arg in node.args):
            readers.append(node)
            if _is_view(node):
                holders.add(id(node))
    return readers


def _is_view(node: Node) -> bool:
    """Whether a node may stand for the memory of its argument instead of for a copy."""
    return node.op is Op.RESHAPE or _is_move(node) or not node.type.dims


def _blocked(graph: Graph, before: Mapping[int, list[Node]], in_place: set[int]) -> set[int]:
    """In-place calls that some other reader of the old value depends on."""
    blocked: set[int] = set()
    nodes = list(toposort(graph.outputs()))
    for node in nodes:
        if id(node) in in_place and id(node) in before:
            downstream = _downstream(node, nodes)
            if any(id(reader) in downstream for reader in before[id(node)]):
                blocked.add(id(node))
    return blocked


def _sorted(roots: Iterable[Node], before: Mapping[int, list[Node]]) -> list[Node]:
    """Topological order that also honours `before`."""
    done: set[int] = set()
    active: set[int] = set()
    result: list[Node] = []
    stack: list[tuple[Node, bool]] = [(root, False) for root in reversed(list(roots))]
    while stack:
        node, ready = stack.pop()
        if id(node) in done:
            continue
        if ready:
            done.add(id(node))
            active.discard(id(node))
            result.append(node)
            continue
        if id(node) in active:
            continue
        active.add(id(node))
        stack.append((node, True))
        first = [*before.get(id(node), ()), *node.args]
        stack.extend((n, False) for n in reversed(first) if id(n) not in done)
    return result
