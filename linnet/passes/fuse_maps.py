"""Compute a map inside the map that reads it, instead of through memory.

    %3 = map (i: N) mul($0[i], $1[i])           %4 = map (i: N) add(mul($0[i], $1[i]), $2[i])
    %4 = map (i: N) add(%3[i], $2[i])    ==>

A producer moves into its reader when that costs nothing: it is only moves, numbers and
casts ("cheap"), or it is read by one load of one map that visits each of its elements once.
Producers with a reduction stay, and so does one whose load may lie outside its axes when an
axis could be empty. Arithmetic is not touched, so results keep their bits under every policy.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping

from linnet.dims import Dim, Facts, is_positive
from linnet.ir.expr import Apply, Const, DimConst, Expr, IndexRef, Load, Reduce, walk
from linnet.ir.node import Graph, MapAttrs, Node, toposort
from linnet.ir.substitute import rewrite_expr, substitute
from linnet.passes.bounds import inside
from linnet.passes.guards import Guard, guards

_CHEAP = frozenset({"cast", "add", "sub", "mul", "min", "max", "lt", "le", "gt", "ge", "eq", "ne"})
"""Scalar functions a producer may apply and still be recomputed by each reader, as long as
it reads no more than one element of memory: index arithmetic and masks, not model arithmetic."""


def fuse_maps(graph: Graph, facts: Facts) -> Graph:
    """Fuse along all chains, in one walk from the leaves to the results."""
    uses = _loads(graph)
    done: dict[int, Node] = {}
    for node in toposort((*graph.inputs, *graph.outputs())):
        args = tuple(done[id(arg)] for arg in node.args)
        same = all(new is old for new, old in zip(args, node.args, strict=True))
        moved = node if same else dataclasses.replace(node, args=args)
        uses[id(moved)] = uses[id(node)]
        fused = _fuse(moved, uses, facts)
        uses[id(fused)] = uses[id(node)]
        done[id(node)] = fused
    return dataclasses.replace(
        graph,
        inputs=tuple(done[id(n)] for n in graph.inputs),
        results=tuple(done[id(n)] for n in graph.results),
        updates={path: done[id(n)] for path, n in graph.updates.items()},
    )


def _loads(graph: Graph) -> Counter[int]:
    """How often each node is read: by loads of maps, by other nodes, by the outside."""
    uses: Counter[int] = Counter(id(n) for n in graph.outputs())
    for node in toposort(graph.outputs()):
        if isinstance(node.attrs, MapAttrs):
            read = [e.operand for e in walk(node.attrs.body) if isinstance(e, Load)]
            uses.update(id(node.args[k]) for k in read)
        else:
            uses.update(id(arg) for arg in node.args)
    return uses


def _fuse(node: Node, uses: Counter[int], facts: Facts) -> Node:
    if not isinstance(node.attrs, MapAttrs):
        return node
    inlined = {k for k, arg in enumerate(node.args) if _may_fuse(arg, k, node, uses, facts)}
    if not inlined:
        return node
    for k in inlined:
        if uses[id(node.args[k])] > 1:  # its operands are now read here too
            uses.update(id(arg) for arg in node.args[k].args)
    args: list[Node] = []
    place: dict[int, int] = {}

    def operand(arg: Node) -> int:
        if id(arg) not in place:
            place[id(arg)] = len(args)
            args.append(arg)
        return place[id(arg)]

    known = guards(node.attrs.body)

    def rule(expr: Expr) -> Expr:
        if not isinstance(expr, Load):
            return expr
        arg = node.args[expr.operand]
        if expr.operand not in inlined:
            return dataclasses.replace(expr, operand=operand(arg))
        assert isinstance(arg.attrs, MapAttrs)
        return _element(arg, arg.attrs, expr, operand, facts, known.get(id(expr)))

    body = rewrite_expr(node.attrs.body, rule)
    attrs = MapAttrs(node.attrs.indices, body)
    return dataclasses.replace(node, args=tuple(args), attrs=attrs)


def _element(
    producer: Node,
    attrs: MapAttrs,
    load: Load,
    operand: object,
    facts: Facts,
    guard: Guard | None,
) -> Expr:
    """The producer's element at `load.at`, over the operands of the fused map. Where a guard
    keeps the position inside, what is read outside is never used."""
    assert callable(operand)
    bounds = guard.bounds if guard is not None else None
    at = [
        position if inside(position, dim, facts, bounds) else clamped(position, dim)
        for position, dim in zip(load.at, producer.type.dims, strict=True)
    ]
    body = substitute(attrs.body, dict(zip(attrs.indices, at, strict=True)))

    def renumber(expr: Expr) -> Expr:
        if isinstance(expr, Load) and id(expr) not in finished:
            moved = dataclasses.replace(expr, operand=operand(producer.args[expr.operand]))
            finished.add(id(moved))
            return moved
        return expr

    finished: set[int] = {id(e) for p in load.at for e in walk(p)}
    return rewrite_expr(body, renumber)


def clamped(position: Expr, axis: Dim) -> Expr:
    """`position` brought into 0 .. axis - 1 (for an axis that is not empty)."""
    low = Apply("i64", "max", (position, Const("i64", 0)))
    return Apply("i64", "min", (low, DimConst("i64", axis - 1)))


def _may_fuse(producer: Node, k: int, reader: Node, uses: Mapping[int, int], facts: Facts) -> bool:
    if not isinstance(producer.attrs, MapAttrs) or not isinstance(reader.attrs, MapAttrs):
        return False
    loads = [e for e in walk(reader.attrs.body) if isinstance(e, Load) and e.operand == k]
    safe = all(
        inside(position, dim, facts) or is_positive(dim, facts)
        for load in loads
        for position, dim in zip(load.at, producer.type.dims, strict=True)
    )
    if not safe:
        return False
    if _is_cheap(producer.attrs.body):
        return True
    return (
        len(loads) == 1
        and uses[id(producer)] == 1
        and not any(isinstance(e, Reduce) for e in walk(producer.attrs.body))
        and _visits_once(loads[0], reader.attrs)
    )


def _is_cheap(body: Expr) -> bool:
    reads = 0
    for expr in walk(body):
        match expr:
            case Reduce():
                return False
            case Load():
                reads += 1
            case Apply(fn=fn) if fn not in _CHEAP or expr.dtype in ("f32", "f64", "f16", "bf16"):
                if fn != "cast":
                    return False
    return reads <= 1


def _visits_once(load: Load, reader: MapAttrs) -> bool:
    """Each element of the producer is read once: the positions are the reader's own indices,
    each exactly once (any order, so a transposed read counts)."""
    own = set(reader.indices)
    seen = set()
    for position in load.at:
        if not isinstance(position, IndexRef) or position.index not in own:
            return False
        seen.add(position.index)
    return len(seen) == len(load.at) == len(own)
