"""Compute a value once that is written twice (common sub-expressions).

    %3 = map (i: S) le(i, pos)                  %3 = map (i: S) le(i, pos)
    %7 = map (k: S) le(k, pos)        ==>       every use of %7 reads %3

Two nodes are one when their op, type and attributes agree and their arguments are the same
nodes; names of loop variables do not count. The first origin stays. Every layer of a model
builds its own mask, and this is where they become one.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Hashable

from linnet.ir.expr import Apply, Const, DimConst, Expr, Index, IndexRef, Load, Reduce, walk
from linnet.ir.node import CallAttrs, Graph, LoopAttrs, MapAttrs, Node
from linnet.ir.substitute import rewrite_expr
from linnet.passes.rewrite import rewrite


def share(graph: Graph) -> Graph:
    """Merge equal nodes, and equal sub-expressions inside each map."""
    first: dict[Hashable, Node] = {}

    def rule(node: Node) -> Node:
        if isinstance(node.attrs, MapAttrs):
            body = _share_expr(node.attrs.body)
            if body is not node.attrs.body:
                node = dataclasses.replace(node, attrs=MapAttrs(node.attrs.indices, body))
        return first.setdefault(_key(node), node)

    return rewrite(graph, rule)


def _key(node: Node) -> Hashable:
    args = tuple(id(arg) for arg in node.args)
    attrs: Hashable
    match node.attrs:
        case MapAttrs(indices=indices, body=body):
            attrs = expr_key(body, indices)
        case CallAttrs(function=function):
            attrs = id(function)
        case LoopAttrs():
            attrs = id(node)
        case other:
            attrs = other
    return (node.op, args, node.type, attrs)


def expr_key(body: Expr, indices: tuple[Index, ...]) -> Hashable:
    """A value equal for two bodies that compute the same, whatever their indices are called."""
    numbers = {index: position for position, index in enumerate(indices)}
    keys: dict[int, int] = {}
    rows: dict[Hashable, int] = {}
    for expr in walk(body):
        if isinstance(expr, Reduce):
            for index in expr.indices:
                numbers.setdefault(index, len(numbers))
    for expr in walk(body):
        keys[id(expr)] = rows.setdefault(_row(expr, keys, numbers), len(rows))
    domains = tuple(index.domain for index in numbers)
    return (tuple(rows), domains, len(indices))


def _row(expr: Expr, keys: dict[int, int], numbers: dict[Index, int]) -> Hashable:
    match expr:
        case Const(value=value):
            bits = struct.pack("<d", value) if isinstance(value, float) else value
            return ("const", expr.dtype, type(value).__name__, bits)
        case DimConst(dim=dim):
            return ("dim", expr.dtype, dim)
        case IndexRef(index=index):
            return ("index", numbers.get(index, id(index)))
        case Load(operand=operand, at=at):
            return ("load", operand, tuple(keys[id(a)] for a in at))
        case Apply(fn=fn, args=args):
            return (fn, expr.dtype, tuple(keys[id(a)] for a in args))
        case Reduce(kind=kind, indices=indices, body=body):
            return (kind, expr.dtype, tuple(numbers[i] for i in indices), keys[id(body)])
    raise TypeError(type(expr).__name__)


def _share_expr(root: Expr) -> Expr:
    first: dict[Hashable, Expr] = {}

    def rule(expr: Expr) -> Expr:
        keys = {id(child): id(child) for child in _parts(expr)}
        numbers: dict[Index, int] = {}
        if isinstance(expr, Reduce):
            return expr  # its indices are its own: two are never the same
        if isinstance(expr, IndexRef):
            return first.setdefault(("index", id(expr.index)), expr)
        return first.setdefault(_row(expr, keys, numbers), expr)

    return rewrite_expr(root, rule)


def _parts(expr: Expr) -> tuple[Expr, ...]:
    match expr:
        case Apply(args=args):
            return args
        case Load(at=at):
            return at
    return ()
