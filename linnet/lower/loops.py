"""Loops: `static for` over numbers is written out, everything else becomes a LOOP.

A LOOP carries the `var`s and the states that its body assigns. Its two Functions are closed:
what they read of their surroundings is computed before the loop and handed in. In a loop over
a range whose bounds are sizes of the call, the counter is carried too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from typing import cast as as_type

from linnet.check import typed as t
from linnet.check.substitute import tensor
from linnet.check.types import Scalar, Tensor, Tuple, Type
from linnet.diag import Span
from linnet.dims import Dim
from linnet.ir import build as ir
from linnet.ir.node import Function, MapAttrs, Named, Node, Origin, toposort
from linnet.lower import arrays
from linnet.lower.lanes import Lanes
from linnet.lower.parts import collect, spread
from linnet.lower.problems import unsupported
from linnet.lower.values import Array, Value, is_view

if TYPE_CHECKING:
    from linnet.lower.body import Body


def static_range(body: Body, stmt: t.StaticForRange) -> None:
    """`static for i in a..b`: one round after another where both ends are numbers."""
    start, stop = body.bindings.dim(stmt.start), body.bindings.dim(stmt.stop)
    if start.is_const and stop.is_const:
        for k in range(start.value, stop.value):
            number = ir.const(k, "i64")
            body.locals[stmt.variable] = ir.scalar(number, body.origin(stmt.span))
            body.round(stmt.body)
        return
    counted(body, stmt)


def counted(
    body: Body,
    stmt: t.For | t.StaticForRange,
    extra: Sequence[t.Variable] = (),
    after: Callable[[Body, Array], None] | None = None,
) -> None:
    """A loop over a range. `after` ends each round, with the number of the round from 0, and may
    assign `extra` locals, which are carried too."""
    start = body.bindings.dim(stmt.start)
    rounds = body.bindings.dim(stmt.stop) - start
    counter = t.Variable(stmt.variable.name, Scalar("i64"), stmt.span, mutable=True)
    origin = body.origin(stmt.span, counter.name)
    body.locals[counter] = ir.scalar(ir.const(0, "i64"), origin)
    end = ir.scalar(ir.dim_const(rounds), origin)
    one = ir.scalar(ir.const(1, "i64"), origin)
    first = ir.scalar(ir.dim_const(start), origin)

    def scalar(fn: str, dtype: str, *operands: Array) -> Array:
        return arrays.elementwise(dtype, (), operands, lambda *e: ir.apply(fn, *e), origin)

    def round(now: Body) -> None:
        number = as_type(Array, now.locals[counter])
        now.locals[stmt.variable] = scalar("add", "i64", first, number)
        now.round(stmt.body)
        if after is not None:
            after(now, number)
        now.locals[counter] = scalar("add", "i64", number, one)

    def condition(now: Body) -> Array:
        return scalar("lt", "bool", as_type(Array, now.locals[counter]), end)

    carried = [*_assigned(body, stmt.body), *extra, counter]
    _Loop(body, stmt.span, carried, condition, round).lower()


def scan(body: Body, expr: t.Scan, name: str) -> Value:
    """`for … { … yield v }`: each part of what is yielded fills one row of a carried tensor."""
    origin = body.origin(expr.span, name)
    rows = [
        t.Variable(name or "rows", type, expr.span, mutable=True) for type in _leaf_types(expr.type)
    ]
    for row in rows:
        dtype = body.dtype_of_type(row.type)
        zero = ir.const(False if dtype == "bool" else 0, dtype)
        dims = body.dims(row.type, expr.span)
        body.locals[row] = arrays.fill(ir.scalar(zero, origin), dims, origin)

    def write(now: Body, number: Array) -> None:
        parts = spread(now, expr.value.type, now.value(expr.value), name, expr.span)
        for row, (_, part) in zip(rows, parts, strict=True):
            old = as_type(Array, now.locals[row])
            now.locals[row] = arrays.with_row(old, part, number, origin)

    counted(body, expr.loop, rows, write)
    return collect(expr.type, iter([as_type(Array, body.locals[row]) for row in rows]))


def running_sum(body: Body, value: Array, axis: int, span: Span, origin: Origin) -> Array:
    """`cumsum`: a total that walks along the axis and leaves its trace."""
    if not isinstance(value, Node) or body.frame is not None:
        return arrays.running_sum(value, axis, origin)
    dims, dtype = value.type.dims, value.type.dtype
    others = (*dims[:axis], *dims[axis + 1 :])
    zero = ir.scalar(ir.const(0, dtype), origin)
    one, end = ir.scalar(ir.const(1, "i64"), origin), ir.scalar(ir.dim_const(dims[axis]), origin)
    counter = t.Variable("place", Scalar("i64"), span, mutable=True)
    total = t.Variable("total", tensor(dtype, others), span, mutable=True)
    sums = t.Variable(origin.name or "sums", Tensor(dtype, dims), span, mutable=True)
    host = body.copied()
    host.locals = {
        counter: ir.scalar(ir.const(0, "i64"), origin),
        total: arrays.fill(zero, others, origin),
        sums: arrays.fill(zero, dims, origin),
    }

    def round(now: Body) -> None:
        place = as_type(Node, now.locals[counter])
        at = [arrays.Span(Dim.const(0), 1, dim) for dim in dims]
        row = arrays.cut(value, [*at[:axis], place, *at[axis + 1 :]], origin)
        new = ir.elementwise("add", as_type(Node, now.locals[total]), as_type(Node, row))
        now.locals[total] = new
        old = as_type(Node, now.locals[sums])
        now.locals[sums] = arrays.with_row(old, new, place, origin, axis)
        now.locals[counter] = ir.elementwise("add", place, one, origin=origin)

    def condition(now: Body) -> Array:
        return ir.elementwise("lt", as_type(Node, now.locals[counter]), end, origin=origin)

    _Loop(host, span, [total, sums, counter], condition, round).lower()
    return as_type(Node, host.locals[sums])


def _leaf_types(type: Type) -> list[Type]:
    if isinstance(type, Tuple):
        return [leaf for item in type.items for leaf in _leaf_types(item)]
    return [type]


def while_loop(body: Body, stmt: t.While) -> None:
    """`while c { ... }`."""

    def condition(now: Body) -> Array:
        return now.array(stmt.condition)

    def round(now: Body) -> None:
        now.round(stmt.body)

    _Loop(body, stmt.span, _assigned(body, stmt.body), condition, round).lower()


def _assigned(body: Body, stmts: Sequence[t.TStmt]) -> list[t.Variable]:
    """The `var`s of the surroundings that a loop body assigns, in order."""
    return [v for v in dict.fromkeys(_targets(stmts)) if v in body.locals]


def _targets(stmts: Sequence[t.TStmt]) -> Iterator[t.Variable]:
    for stmt in stmts:
        match stmt:
            case t.Assign(target=t.Variable() as target):
                yield target
            case (
                t.While(body=inner)
                | t.For(body=inner)
                | t.StaticForBlocks(body=inner)
                | t.StaticForRange(body=inner)
            ):
                yield from _targets(inner)
        match stmt:
            case t.Let(value=t.Scan(loop=loop)) | t.Assign(value=t.Scan(loop=loop)):
                yield from _targets(loop.body)


@dataclass
class _Loop:
    body: Body
    span: Span
    variables: list[t.Variable]
    condition: Callable[[Body], Array]
    round: Callable[[Body], None]
    touched: list[str] = field(default_factory=list)
    """The states that the last walk of a round assigned."""

    def lower(self) -> None:
        """Replace the carried locals and states by what they are after the loop."""
        if any(is_view(v) for v in self.body.locals.values()):
            run = Lanes(self.body, self.span).run
            run(self.variables, self.condition, self.round, self._for_lanes)
            return
        states: list[str] = []
        while True:
            _, results = self._round(states)
            # A round shows which states it assigns; those are carried, and it is walked anew.
            if len(results) == len(self._carried(self.body)) + len(states):
                break
            states = sorted({*states, *self.touched})
        if not self.variables and not states:
            return
        self._close(states)

    def _for_lanes(
        self,
        body: Body,
        variables: list[t.Variable],
        condition: Callable[[Body], Array],
        round: Callable[[Body], None],
    ) -> None:
        _Loop(body, self.span, variables, condition, round).lower()

    def _round(self, states: Sequence[str]) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
        """Parameters for the carried values, and what one round makes of them."""
        context, now = self.body.context, self.body.copied()
        now.recorder = None  # a round has no value of its own
        before = context.snapshot()
        parameters = self._enter(now, states)
        entered = context.snapshot()
        self.round(now)
        after = context.states
        self.touched = [p for p in after if after[p] is not entered.get(p)]
        context.states = before
        results = [node for _, node in self._carried(now)]
        missing = [p for p in self.touched if p not in states]
        ends = [after[p] for p in (*states, *missing)]
        return parameters, (*results, *ends)

    def _enter(self, now: Body, states: Sequence[str]) -> tuple[Node, ...]:
        """Put parameters in the place of what is carried."""
        parameters = [ir.arg(name, n.type, n.origin) for name, n in self._carried(now)]
        self._leave(now, parameters)
        for path in states:
            value = self._state(path)
            parameters.append(ir.arg(path, value.type, value.origin))
            now.context.states[path] = parameters[-1]
        return tuple(parameters)

    def _leave(self, now: Body, nodes: Sequence[Node]) -> None:
        """Make the carried locals of `now` consist of `nodes`."""
        parts = iter(nodes)
        for variable in self.variables:
            now.locals[variable] = collect(variable.type, parts)

    def _state(self, path: str) -> Node:
        context = self.body.context
        return context.states[path] if path in context.states else context.leaves[path]

    def _carried(self, now: Body) -> list[tuple[str, Node]]:
        """The tensors that the carried locals consist of, with names."""
        return [
            (name, as_type(Node, part))
            for v in self.variables
            for name, part in spread(now, v.type, now.locals[v], v.name, self.span)
        ]

    def _test(self, states: Sequence[str]) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
        context, now = self.body.context, self.body.copied()
        now.recorder = None
        before = context.snapshot()
        parameters = self._enter(now, states)
        entered = context.snapshot()
        result = as_type(Node, self.condition(now))
        changed = context.states != entered
        context.states = before
        if changed:
            raise unsupported("a loop condition that assigns state", self.span)
        return parameters, (result,)

    def _close(self, states: Sequence[str]) -> None:
        body = self.body
        first = [node for _, node in self._carried(body)]
        count = len(first)
        first += [self._state(p) for p in states]
        test, round = self._test(states), self._round(states)
        outer: dict[int, Node] = {}
        for parameters, results in (test, round):
            outer.update((id(n), n) for n in _frontier(parameters, results))
        others = tuple(outer.values())
        ends = ir.loop(
            _closed("while::condition", *test, others),
            _closed("while::body", *round, others),
            first,
            others,
            body.origin(self.span, "while"),
        )
        self._leave(body, ends)
        for path, end in zip(states, ends[count:], strict=True):
            body.context.states[path] = end


def _stays(node: Node) -> bool:
    """A map that reads nothing is as well made inside the loop."""
    return isinstance(node.attrs, MapAttrs) and not node.args


def _dependent(parameters: Sequence[Node], results: Sequence[Node]) -> set[int]:
    """The nodes that belong inside: they depend on a carried value, or read nothing."""
    inside = {id(p) for p in parameters}
    for node in toposort(results):
        if _stays(node) or any(id(a) in inside and not _stays(a) for a in node.args):
            inside.add(id(node))
    return inside


def _frontier(parameters: Sequence[Node], results: Sequence[Node]) -> list[Node]:
    """The nodes of the surroundings that what is inside reads."""
    inside = _dependent(parameters, results)
    found: dict[int, Node] = {}
    for node in toposort(results):
        if id(node) in inside:
            found.update((id(a), a) for a in node.args if id(a) not in inside)
    found.update((id(r), r) for r in results if id(r) not in inside)
    return list(found.values())


def _closed(
    op: str, parameters: Sequence[Node], results: Sequence[Node], others: Sequence[Node]
) -> Function:
    """The Function of the carried `parameters` and of `others`, by parameters of its own."""
    inside = _dependent(parameters, results)
    taken = {_name(p) for p in parameters}
    new: dict[int, Node] = {}
    for other in others:
        name = _fresh(_name(other), taken)
        new[id(other)] = ir.arg(name, other.type, other.origin)
    for node in toposort(results):
        if id(node) in inside and id(node) not in new:
            args = tuple(new.get(id(a), a) for a in node.args)
            same = all(a is b for a, b in zip(args, node.args, strict=True))
            new[id(node)] = node if same else dataclasses.replace(node, args=args)
    owned = tuple(new[id(other)] for other in others)
    return Function(op, {}, (*parameters, *owned), tuple(new.get(id(r), r) for r in results))


def _name(node: Node) -> str:
    if isinstance(node.attrs, Named):
        return node.attrs.name
    return (node.origin.name if node.origin is not None else "") or node.op.value


def _fresh(name: str, taken: set[str]) -> str:
    base, k = name, 1
    while name in taken:
        k += 1
        name = f"{base}_{k}"
    taken.add(name)
    return name
