"""Runs a graph in numpy by the policy `exact`: each operation in its dtype, in program order.

In: a graph and arrays by name (see `arrays` for how `bf16` crosses). Out: arrays. CALL nodes run
their Function's body, never a kernel. Slow and simple on purpose: this is what a definition
means, not how it should run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from linnet.dims import Dim, Sym
from linnet.errors import ShapeError, UsageError
from linnet.interp.arrays import HELD, Array, from_boundary, to_boundary
from linnet.interp.body import Size, evaluate_map
from linnet.ir.node import (
    CallAttrs,
    Function,
    GetAttrs,
    Graph,
    LoopAttrs,
    MapAttrs,
    Named,
    Node,
    TensorType,
    toposort,
)
from linnet.ir.ops import Op


def run(
    graph: Graph,
    inputs: Mapping[str, object],
    params: Mapping[str, object],
    state: Mapping[str, Array] | None = None,
    sizes: Mapping[str, int] | None = None,
) -> tuple[tuple[Array, ...], dict[str, Array]]:
    """The results of one entry call, and the state after it.

    `inputs` by parameter name, `params` by member path, `state` by path (a missing one is zeros).
    `sizes` binds what no input's shape tells. Raises `UsageError` for something missing,
    `ShapeError` for shapes that do not fit or a clause that does not hold, `DTypeError`.
    """
    given = {_name(n): _taken(inputs, n, "input") for n in graph.inputs}
    values = _sizes(graph, given, sizes or {})
    _check_clauses(graph, values)

    def size(dim: Dim) -> int:
        return dim.evaluate(values)

    old = dict(state or {})
    leaves: dict[int, Array] = {}
    for node in (*graph.inputs, *toposort(graph.outputs())):
        match node.op:
            case Op.INPUT:
                leaves[id(node)] = given[_name(node)]
            case Op.PARAM:
                leaves[id(node)] = _taken(params, node, "weight")
            case Op.STATE if _name(node) in old:
                leaves[id(node)] = _taken(old, node, "state")
            case Op.STATE:
                shape = tuple(size(d) for d in node.type.dims)
                leaves[id(node)] = np.zeros(shape, HELD[node.type.dtype])
            case _:
                continue
        _check_shape(node, leaves[id(node)], size)
    done = _evaluate(graph.outputs(), leaves, size)
    new = {p: to_boundary(v, n.type.dtype) for p, n, v in _updated(graph, done)}
    kept = {
        _name(n): to_boundary(leaves[id(n)], n.type.dtype)
        for n in toposort(graph.outputs())
        if n.op is Op.STATE
    }
    results = tuple(to_boundary(done[id(n)], n.type.dtype) for n in graph.results)
    return results, {**old, **kept, **new}


def call_function(
    function: Function, arguments: Sequence[object], sizes: Mapping[str, int] | None = None
) -> tuple[Array, ...]:
    """The results of a Function for arguments in parameter order, as at the boundary.

    `sizes` gives the symbols of its dims; those that a parameter's axis is may be left out."""
    given = [
        from_boundary(value, p.type.dtype, _name(p))
        for p, value in zip(function.parameters, arguments, strict=True)
    ]
    values = dict(sizes or {})
    for parameter, array in zip(function.parameters, given, strict=True):
        _bind(parameter, array, values)

    def size(dim: Dim) -> int:
        return dim.evaluate(values)

    for parameter, array in zip(function.parameters, given, strict=True):
        _check_shape(parameter, array, size)
    results = _call(function, given, size)
    return tuple(
        to_boundary(v, n.type.dtype) for n, v in zip(function.results, results, strict=True)
    )


def _name(node: Node) -> str:
    assert isinstance(node.attrs, Named)
    return node.attrs.name


def _taken(arrays: Mapping[str, object], node: Node, what: str) -> Array:
    name = _name(node)
    if name not in arrays:
        raise UsageError(f"no {what} `{name}` was given", help=f"it is a {_shown(node.type)}")
    return from_boundary(arrays[name], node.type.dtype, name)


def _shown(type: TensorType) -> str:
    return f"{type.dtype} array of shape ({', '.join(map(str, type.dims))})"


def _bind(node: Node, array: Array, values: dict[str, int]) -> None:
    """Learn each size that is an axis of its own."""
    for dim, n in zip(node.type.dims, array.shape, strict=False):
        symbols = dim.symbols()
        if len(symbols) == 1:
            (symbol,) = symbols
            if dim == Dim.sym(symbol):
                values.setdefault(symbol.name, n)


def _sizes(graph: Graph, given: Mapping[str, Array], sizes: Mapping[str, int]) -> dict[str, int]:
    values = dict(sizes)
    for node in graph.inputs:
        _bind(node, given[_name(node)], values)
    missing = [name for name in graph.sizes if name not in values]
    if missing:
        raise UsageError(
            f"no input tells the size {', '.join(missing)} of `{graph.name}`",
            help="give it by name in `sizes`",
        )
    return values


def _check_shape(node: Node, array: Array, size: Size) -> None:
    wanted = tuple(size(d) for d in node.type.dims)
    if array.shape != wanted:
        raise ShapeError(
            f"`{_name(node)}` has shape {array.shape}; "
            f"declared ({', '.join(map(str, node.type.dims))}), which is {wanted}"
        )


def _check_clauses(graph: Graph, values: Mapping[str, int]) -> None:
    for clause in graph.clauses:
        if not clause.holds(values):
            involved: list[Sym] = sorted(clause.symbols(), key=lambda s: s.name)
            shown = ", ".join(f"{s.name} = {values[s.name]}" for s in involved)
            raise ShapeError(f"`{clause.text}` does not hold for {shown} ({clause.origin})")


def _updated(graph: Graph, done: Mapping[int, Array]) -> list[tuple[str, Node, Array]]:
    return [(path, node, done[id(node)]) for path, node in graph.updates.items()]


def _evaluate(roots: Sequence[Node], leaves: Mapping[int, Array], size: Size) -> dict[int, Array]:
    """Values of `roots` by id. A value that nothing further reads is let go."""
    order = list(toposort(roots))
    uses = Counter(id(arg) for node in order for arg in node.args)
    uses.update(id(node) for node in roots)
    done: dict[int, Array] = {}
    loops: dict[int, tuple[Array, ...]] = {}
    with np.errstate(all="ignore"):
        for node in order:
            if node.op is Op.LOOP:
                loops[id(node)] = _loop(node, [done[id(a)] for a in node.args], size)
            elif isinstance(node.attrs, GetAttrs):
                done[id(node)] = loops[id(node.args[0])][node.attrs.position]
            else:
                done[id(node)] = _value(node, done, leaves, size)
            for arg in node.args:
                uses[id(arg)] -= 1
                if not uses[id(arg)]:
                    done.pop(id(arg), None)
    return done


def _value(node: Node, done: Mapping[int, Array], leaves: Mapping[int, Array], size: Size) -> Array:
    args = [done[id(a)] for a in node.args]
    match node.attrs:
        case MapAttrs() as attrs:
            return evaluate_map(attrs, node.type.dtype, args, size)
        case CallAttrs(function):
            (result,) = _call(function, args, size)
            return result
        case Named():
            return leaves[id(node)]
    shape = tuple(size(d) for d in node.type.dims)
    return args[0].reshape(shape)


def _call(function: Function, args: Sequence[Array], size: Size) -> tuple[Array, ...]:
    leaves = {id(p): a for p, a in zip(function.parameters, args, strict=True)}
    done = _evaluate(function.results, leaves, size)
    return tuple(done[id(n)] for n in function.results)


def _loop(node: Node, args: list[Array], size: Size) -> tuple[Array, ...]:
    assert isinstance(node.attrs, LoopAttrs)
    attrs = node.attrs
    while _call(attrs.condition, args, size)[0]:
        args = [*_call(attrs.body, args, size), *args[attrs.carried :]]
    return tuple(args[: attrs.carried])
