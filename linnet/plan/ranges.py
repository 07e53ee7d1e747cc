"""Which values of an entry's integer inputs make sense, worked out from how they are used.

A run-time index outside its axis is clamped, and a cache write outside the cache writes
nothing: no program can trap. But for a model, a token id beyond the vocabulary or a position
beyond the cache is a caller's mistake. Two sources tell which inputs are meant:

- an unconditional load at `±input + something bounded` must stay inside its axis;
- the card of a kernel's op states what its operands are expected to be.

The result is data for the call boundary; the generated code does not depend on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from linnet.dims import Dim
from linnet.ir.expr import Apply, Const, DimConst, Expr, IndexRef, Load, children
from linnet.ir.node import CallAttrs, Graph, MapAttrs, Named, Node, toposort
from linnet.ir.ops import INT_SIZES, Op
from linnet.passes.expand_calls import expand_calls
from linnet.plan.cards import Expectation, cards, evaluate


@dataclass(frozen=True)
class InputRange:
    """Elements of input `name` lie in [low, high); `distinct`: no two are equal."""

    name: str
    low: Dim
    high: Dim
    reason: str
    place: str
    distinct: bool = False


@dataclass(frozen=True)
class _Source:
    """`sign * input + rest`, with `low <= rest <= high`."""

    name: str
    sign: int
    low: Dim
    high: Dim


def input_ranges(graph: Graph) -> tuple[InputRange, ...]:
    """All ranges of a lowered graph (before any pass), without repetitions."""
    found: dict[tuple[object, ...], InputRange] = {}
    flat = expand_calls(graph, lambda call: False)
    for item in (*_from_loads(flat), *_from_expectations(graph)):
        found.setdefault((item.name, item.low, item.high, item.distinct), item)
    return tuple(found.values())


def _from_loads(graph: Graph) -> Iterator[InputRange]:
    for node in toposort(graph.outputs()):
        if not isinstance(node.attrs, MapAttrs):
            continue
        for load in _unconditional(node.attrs.body):
            operand = node.args[load.operand]
            for axis, (position, size) in enumerate(zip(load.at, operand.type.dims, strict=True)):
                source = _source(position, node.args)
                if source is not None:
                    reason = f"it is a position on axis {axis} of {_title(operand)}"
                    yield _range(source, Dim.const(0), size, reason, node, False)


def _from_expectations(graph: Graph) -> Iterator[InputRange]:
    for node in toposort(graph.outputs()):
        if not isinstance(node.attrs, CallAttrs):
            continue
        function = node.attrs.function
        arguments = {
            p.attrs.name: arg
            for p, arg in zip(function.parameters, node.args, strict=True)
            if isinstance(p.attrs, Named)
        }
        for expectation in _expectations(function.op):
            source = _node_source(arguments[expectation.operand])
            if source is not None:
                low = evaluate(expectation.low, function.generics)
                high = evaluate(expectation.high, function.generics)
                yield _range(source, low, high, expectation.reason, node, expectation.distinct)


def _expectations(op: str) -> tuple[Expectation, ...]:
    return tuple(e for card in cards() if card.op == op for e in card.expects)


def _range(
    source: _Source, low: Dim, high: Dim, reason: str, node: Node, distinct: bool
) -> InputRange:
    """Solve low <= sign * x + rest < high for x, for every rest."""
    if source.sign > 0:
        bounds = low - source.low, high - source.high
    else:
        bounds = source.high - high + 1, source.low - low + 1
    place = str(node.origin) if node.origin is not None else ""
    return InputRange(source.name, bounds[0], bounds[1], reason, place, distinct)


def _unconditional(body: Expr) -> Iterator[Load]:
    """Loads that are made whatever the data says: not those a `select` may drop."""
    stack, seen = [body], set()
    while stack:
        expr = stack.pop()
        if id(expr) in seen:
            continue
        seen.add(id(expr))
        if isinstance(expr, Load):
            yield expr
        parts = children(expr)
        if isinstance(expr, Apply) and expr.fn == "select":
            parts = parts[:1]
        stack.extend(parts)


def _node_source(node: Node) -> _Source | None:
    """A whole operand as an affine function of one input's elements."""
    if node.op is Op.INPUT and isinstance(node.attrs, Named):
        return _Source(node.attrs.name, 1, Dim.const(0), Dim.const(0))
    if isinstance(node.attrs, MapAttrs):
        return _source(node.attrs.body, node.args)
    return None


def _source(expr: Expr, args: tuple[Node, ...]) -> _Source | None:
    match expr:
        case Load(operand=operand) if expr.dtype in INT_SIZES:
            return _node_source(_peeled(args[operand]))
        case Apply(fn="cast", args=(inner,)) if inner.dtype in INT_SIZES:
            return _source(inner, args)
        case Apply(fn="add" | "sub" as fn, args=(a, b)):
            sign = 1 if fn == "add" else -1
            left, right = _source(a, args), _source(b, args)
            if left is not None and right is None:
                return _shifted(left, 1, _extent(b), sign)
            if right is not None and left is None:
                return _shifted(right, sign, _extent(a), 1)
    return None


def _peeled(node: Node) -> Node:
    while node.op is Op.RESHAPE:
        node = node.args[0]
    return node


def _shifted(
    source: _Source, sign: int, rest: tuple[Dim, Dim] | None, rest_sign: int
) -> _Source | None:
    if rest is None:
        return None
    low, high = rest if rest_sign > 0 else (-rest[1], -rest[0])
    own = (source.low, source.high) if sign > 0 else (-source.high, -source.low)
    return _Source(source.name, source.sign * sign, own[0] + low, own[1] + high)


def _extent(expr: Expr) -> tuple[Dim, Dim] | None:
    """Bounds of an integer expression of sizes and loop variables, wrapping left aside."""
    match expr:
        case IndexRef(index=index):
            return Dim.const(0), index.domain - 1
        case DimConst(dim=dim):
            return dim, dim
        case Const(value=int() as value):
            return Dim.const(value), Dim.const(value)
        case Apply(fn="cast", args=(inner,)) if inner.dtype in INT_SIZES:
            return _extent(inner)
        case Apply(fn="add" | "sub" as fn, args=(a, b)):
            left, right = _extent(a), _extent(b)
            if left is None or right is None:
                return None
            if fn == "add":
                return left[0] + right[0], left[1] + right[1]
            return left[0] - right[1], left[1] - right[0]
    return None


def _title(node: Node) -> str:
    node = _peeled(node)
    if isinstance(node.attrs, Named):
        return f"`{node.attrs.name}`"
    name = node.origin.name if node.origin is not None else ""
    return f"`{name}`" if name else "a tensor"
