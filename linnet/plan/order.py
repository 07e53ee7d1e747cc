"""In which order the nodes run, and which updates of state happen in place.

A kernel that overwrites one operand (a cache write) may do so in the state's own memory when
the old value is dead: every other reader can run before it, and the result is what the state
holds at the end. Where that cannot be shown, the operand is copied first.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from linnet.ir.expr import Index, IndexRef, Load, walk
from linnet.ir.node import CallAttrs, Graph, MapAttrs, Named, Node, toposort
from linnet.ir.ops import Op
from linnet.plan.cards import Card


@dataclass(frozen=True)
class Order:
    """`nodes` in running order. `in_place` holds the calls (by id) that write into state;
    `copies` the identity maps (by id) that must really move data; `homes` the path of the state
    that a map (by id) is computed into."""

    graph: Graph
    nodes: tuple[Node, ...]
    in_place: frozenset[int]
    copies: frozenset[int]
    homes: Mapping[int, str]


def order(graph: Graph, cards: Mapping[int, Card]) -> Order:
    """Decide. `cards` names the kernel of each CALL, by node id."""
    copies: set[int] = set()
    graph = _copy_results(graph, cards, copies)
    graph = _copy_exchanged(graph, copies)
    choice = _Choice(tuple(toposort(graph.outputs())), copies)
    in_place: set[int] = set()
    homes: dict[int, str] = {}
    updates: dict[str, Node] = {}
    for path, final in graph.updates.items():
        chain = _chain(path, final, cards)
        if final.op is Op.STATE and final.attrs == Named(path):
            updates[path] = final
        elif chain and choice.accept([(call, call.args[0]) for call in chain]):
            in_place.update(id(call) for call in chain)
            updates[path] = final
        elif id(final) not in homes and choice.overwrites(path, final):
            homes[id(final)] = path
            updates[path] = final
        else:
            updates[path] = move = identity(final)
            copies.add(id(move))
            homes[id(move)] = path
    graph = dataclasses.replace(graph, updates=updates)
    nodes = tuple(toposort(graph.outputs()))
    for path, writer in updates.items():
        leaf = _state_leaf(nodes, path)
        if id(writer) in copies and leaf is not None:
            choice.before[id(writer)] = _readers(leaf, nodes, copies)
    # What goes into the state is written as soon as it is there, not kept until the end.
    ordered = tuple(_sorted([*updates.values(), *graph.results], choice.before))
    return Order(graph, ordered, frozenset(in_place), frozenset(copies), homes)


@dataclass
class _Choice:
    """Which writers may overwrite, decided one after another. `before` lists for each accepted
    writer (by id) the nodes that must have read the old value first; it never has a cycle."""

    nodes: tuple[Node, ...]
    copies: set[int]
    before: dict[int, list[Node]] = field(default_factory=dict)

    def accept(self, writes: Sequence[tuple[Node, Node]]) -> bool:
        """Let each writer overwrite its value, if every other reader can run before it."""
        wanted: dict[int, list[Node]] = {}
        for writer, value in writes:
            readers = [r for r in _readers(value, self.nodes, self.copies) if r is not writer]
            after = self._after(writer, wanted)
            if any(id(reader) in after for reader in readers):
                return False
            wanted[id(writer)] = readers
        self.before.update(wanted)
        return True

    def overwrites(self, path: str, node: Node) -> bool:
        """Let a map be computed right into its state: of the old value it reads no element but
        the one it writes."""
        if not isinstance(node.attrs, MapAttrs) or _is_move(node):
            return False
        leaf = _state_leaf(self.nodes, path)
        if leaf is None:
            return True
        views = {id(r) for r in _readers(leaf, self.nodes, self.copies) if _is_view(r)}
        if any(id(arg) in views for arg in node.args):
            return False
        own = [id(index) for index in node.attrs.indices]
        for expr in walk(node.attrs.body):
            if isinstance(expr, Load) and node.args[expr.operand] is leaf:
                at = [id(p.index) if isinstance(p, IndexRef) else None for p in expr.at]
                if at != own:
                    return False
        return self.accept([(node, leaf)])

    def _after(self, writer: Node, more: Mapping[int, list[Node]]) -> set[int]:
        """Everything that must run after `writer`, it included."""
        users: dict[int, list[int]] = {}
        for node in self.nodes:
            first = [*node.args, *self.before.get(id(node), ()), *more.get(id(node), ())]
            for earlier in first:
                users.setdefault(id(earlier), []).append(id(node))
        found, stack = {id(writer)}, [id(writer)]
        while stack:
            for user in users.get(stack.pop(), ()):
                if user not in found:
                    found.add(user)
                    stack.append(user)
        return found


def operand_position(call: Node, name: str) -> int:
    """Where the operand `name` stands among a CALL's arguments."""
    assert isinstance(call.attrs, CallAttrs)
    for position, parameter in enumerate(call.attrs.function.parameters):
        if isinstance(parameter.attrs, Named) and parameter.attrs.name == name:
            return position
    raise KeyError(name)


def _chain(path: str, final: Node, cards: Mapping[int, Card]) -> list[Node]:
    """Calls that carry a state from its leaf to its update, each overwriting the one before;
    empty when the update is no such chain."""
    chain: list[Node] = []
    node = final
    while node.op is Op.CALL:
        card = cards.get(id(node))
        if card is None or card.in_place is None or operand_position(node, card.in_place) != 0:
            return []
        chain.append(node)
        node = node.args[0]
    return chain[::-1] if node.op is Op.STATE and node.attrs == Named(path) else []


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


def _copy_results(graph: Graph, cards: Mapping[int, Card], copies: set[int]) -> Graph:
    """Every result is a node of its own that can be computed into the caller's array."""
    taken: set[int] = {id(peel(node)) for node in graph.updates.values()}
    results = []
    for node in graph.results:
        base = peel(node)
        card = cards.get(id(base))
        fresh = base.op in (Op.MAP, Op.CALL, Op.LOOP) and not _is_move(base)
        if not fresh or id(base) in taken or (card is not None and card.in_place is not None):
            node = identity(node)
            copies.add(id(node))
            base = node
        taken.add(id(base))
        results.append(node)
    return dataclasses.replace(graph, results=tuple(results))


def _copy_exchanged(graph: Graph, copies: set[int]) -> Graph:
    """What a state takes over from another one's memory goes through working memory, so that
    states can change places."""
    updates = {}
    for path, final in graph.updates.items():
        base = peel(final)
        if _is_move(base) or (base.op is Op.STATE and base.attrs != Named(path)):
            final = identity(final)
            copies.add(id(final))
        updates[path] = final
    return dataclasses.replace(graph, updates=updates)


def _state_leaf(nodes: Iterable[Node], path: str) -> Node | None:
    return next((n for n in nodes if n.op is Op.STATE and n.attrs == Named(path)), None)


def _readers(value: Node, nodes: Sequence[Node], copies: set[int]) -> list[Node]:
    """Nodes that read the memory of `value`, directly or through views of it."""
    holders = {id(value)}
    readers = []
    for node in nodes:  # arguments come before users
        if any(id(arg) in holders for arg in node.args):
            readers.append(node)
            if _is_view(node) and id(node) not in copies:
                holders.add(id(node))
    return readers


def _is_view(node: Node) -> bool:
    """Whether a node may stand for the memory of its argument instead of for a copy. A scalar
    never does: one that reads a state is computed in its turn."""
    return node.op is Op.RESHAPE or (_is_move(node) and bool(node.type.dims))


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
        assert id(node) not in active, "two writers wait for each other"
        active.add(id(node))
        stack.append((node, True))
        first = [*before.get(id(node), ()), *node.args]
        stack.extend((n, False) for n in reversed(first) if id(n) not in done)
    return result
