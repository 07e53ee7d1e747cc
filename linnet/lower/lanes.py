"""A loop inside index notation: every element runs its own number of rounds.

    fn steps(x: i32) -> i32 { … while … { … } … }        let y[i] = steps(x[i])

All positions of the map around it, the *lanes*, run together. What the loop reads and carries
becomes a tensor with one entry a lane; a round computes all of them and keeps the old values of
the lanes that are done, until none is left. Nothing can trap, so what a finished lane computes is
of no account.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias
from typing import cast as as_type

from linnet.check import typed as t
from linnet.check.types import Scalar, Tensor
from linnet.diag import Span
from linnet.dims import Dim
from linnet.ir import build as ir
from linnet.ir.expr import Expr, Index, IndexRef, Load, Reduce, walk
from linnet.ir.node import Node, Origin
from linnet.ir.substitute import rewrite_expr, substitute
from linnet.lower.parts import collect, spread
from linnet.lower.values import (
    Array,
    Frame,
    Maybe,
    Value,
    View,
    dims_of,
    dtype_of,
    is_view,
    read,
    view,
)

if TYPE_CHECKING:
    from linnet.lower.body import Body


Lower: TypeAlias = Callable[
    ["Body", list[t.Variable], Callable[["Body"], Node], Callable[["Body"], None]], None
]


class Lanes:
    """The lanes of one loop: the indices of the surrounding map that its locals depend on."""

    def __init__(self, body: Body, span: Span) -> None:
        frame = next(v.frame for local in body.locals.values() for v in _views(local))
        self.body = body
        self.span = span
        self.frame = frame
        self.indices = tuple(_free(body))
        self.dims = tuple(index.domain for index in self.indices)

    def run(
        self,
        variables: Sequence[t.Variable],
        condition: Callable[[Body], Array],
        round: Callable[[Body], None],
        lower: Callable[
            [Body, list[t.Variable], Callable[[Body], Node], Callable[[Body], None]], None
        ],
    ) -> None:
        """Replace the carried `variables` by what they are after the loop. `lower` makes a LOOP of
        carried tensors, their condition and their round."""
        body, origin = self.body, self.body.origin(self.span, "while")
        held = {v: self._held(value) for v, value in body.locals.items()}
        parts = [spread(body, v.type, body.locals[v], v.name, self.span) for v in variables]
        leaves = [leaf for leaf_parts in parts for leaf in leaf_parts]
        carried = [self._variable(name, part) for name, part in leaves]
        active = t.Variable("active", self._type("bool", ()), self.span, mutable=True)
        host = body.copied()
        host.frame = host.recorder = None
        host.locals = {
            v: self._stored(part, origin) for v, (_, part) in zip(carried, leaves, strict=True)
        }
        host.locals[active] = self._stored(condition(body), origin)

        def one_round(now: Body) -> None:
            lanes = tuple(Index(i.name, i.domain) for i in self.indices)
            inner = body.copied()
            inner.frame, inner.recorder = Frame(), None
            inner.locals = {v: self._opened(value, lanes, inner.frame) for v, value in held.items()}
            before = [self._open(as_type(Node, now.locals[v]), lanes, inner.frame) for v in carried]
            self._bind(inner, variables, before)
            round(inner)
            after = [
                part
                for v in variables
                for _, part in spread(inner, v.type, inner.locals[v], v.name, self.span)
            ]
            going = self._open(as_type(Node, now.locals[active]), lanes, inner.frame)
            ends = [
                self._map(
                    inner.frame, lanes, dims_of(old), origin, _kept(going, new, old, inner.frame)
                )
                for new, old in zip(after, before, strict=True)
            ]
            test = condition(inner)
            still = self._map(inner.frame, lanes, (), origin, _both(going, test, inner.frame))
            now.locals.update(zip(carried, ends, strict=True))
            now.locals[active] = still

        def any_active(now: Body) -> Node:
            node = as_type(Node, now.locals[active])
            if not self.dims:
                return node
            operands = ir.Operands()
            lanes = ir.indices_for(self.dims)
            element = operands.load(node, tuple(ir.index_ref(i) for i in lanes))
            return ir.map_node(operands.nodes, (), ir.reduce("any", lanes, element), origin)

        lower(host, [*carried, active], any_active, one_round)
        nodes = [as_type(Node, host.locals[v]) for v in carried]
        self._bind(body, variables, [self._open(n, self.indices, self.frame) for n in nodes])

    # --- tensors with an entry a lane -----------------------------------------------------

    def _type(self, dtype: str, dims: Sequence[Dim]) -> Tensor | Scalar:
        axes = (*self.dims, *dims)
        return Tensor(dtype, axes) if axes else Scalar(dtype)

    def _variable(self, name: str, part: Array) -> t.Variable:
        return t.Variable(name, self._type(dtype_of(part), dims_of(part)), self.span, mutable=True)

    def _stored(self, part: Array, origin: Origin | None) -> Node:
        """A value of the surrounding map, or of no map, for all lanes."""
        frame = part.frame if isinstance(part, View) else Frame()
        return self._map(
            frame, self.indices, dims_of(part), origin, lambda at: read(part, frame, at)
        )

    def _map(
        self,
        frame: Frame,
        lanes: Sequence[Index],
        dims: Sequence[Dim],
        origin: Origin | None,
        element: Callable[[tuple[Expr, ...]], Expr],
    ) -> Node:
        """A node of its own for an expression of `frame`, whose lanes are `lanes`."""
        own = ir.indices_for(dims)
        written = element(tuple(ir.index_ref(i) for i in own))
        fresh = tuple(Index(i.name, i.domain) for i in lanes)
        renamed = {old: ir.index_ref(new) for old, new in zip(lanes, fresh, strict=True)}
        operands = ir.Operands()

        def renumber(expr: Expr) -> Expr:
            if not isinstance(expr, Load):
                return expr
            return operands.load(frame.operands.nodes[expr.operand], expr.at)

        expr = rewrite_expr(substitute(written, renamed), renumber)
        return ir.map_node(operands.nodes, (*fresh, *own), expr, origin)

    def _open(self, node: Node, lanes: Sequence[Index], frame: Frame) -> View:
        """The entry of one lane, as a value of `frame`."""
        refs = tuple(ir.index_ref(i) for i in lanes)
        dims = node.type.dims[len(refs) :]
        return view(
            node.type.dtype, dims, frame, lambda at: frame.operands.load(node, (*refs, *at))
        )

    # --- values of any kind ---------------------------------------------------------------

    def _held(self, value: Value) -> Value:
        """A local, with nodes in place of its views."""
        return _mapped(value, lambda v: _Held(self._stored(v, None)))

    def _opened(self, value: Value, lanes: Sequence[Index], frame: Frame) -> Value:
        return _mapped(value, lambda v: self._open(v.node, lanes, frame), _Held)

    def _bind(self, body: Body, variables: Sequence[t.Variable], parts: Sequence[View]) -> None:
        rest: Iterator[View] = iter(parts)
        for variable in variables:
            body.locals[variable] = collect(variable.type, rest)


class _Held:
    """Stands for a view of the surrounding map: its values for all lanes."""

    def __init__(self, node: Node) -> None:
        self.node = node


def _mapped(value: object, change: Callable[[Any], object], kind: type = View) -> Value:
    """`value` with `change` applied to every part that is a `kind`."""
    if isinstance(value, kind):
        return as_type(Value, change(value))
    if isinstance(value, tuple):
        return tuple(_mapped(part, change, kind) for part in value)
    if isinstance(value, Maybe):
        present = as_type(Array, _mapped(value.present, change, kind))
        return Maybe(present, _mapped(value.value, change, kind))
    return as_type(Value, value)


def _views(value: Value) -> Iterator[View]:
    if isinstance(value, tuple):
        for part in value:
            yield from _views(part)
    elif isinstance(value, Maybe):
        yield from _views(value.present)
        yield from _views(value.value)
    elif isinstance(value, View):
        yield value


def _free(body: Body) -> dict[Index, None]:
    """The loop variables of the surrounding map that the locals depend on, in order."""
    found: dict[Index, None] = {}
    for local in body.locals.values():
        if not is_view(local):
            continue
        for one in _views(local):
            own = ir.indices_for(one.dims)
            parts = list(walk(one.at(tuple(ir.index_ref(i) for i in own))))
            bound = {i for e in parts if isinstance(e, Reduce) for i in e.indices} | set(own)
            free = (e.index for e in parts if isinstance(e, IndexRef) and e.index not in bound)
            found.update(dict.fromkeys(free))
    return found


def _kept(going: View, new: Array, old: View, frame: Frame) -> Callable[[tuple[Expr, ...]], Expr]:
    return lambda at: ir.select(going.at(()), read(new, frame, at), old.at(at))


def _both(going: View, test: Array, frame: Frame) -> Callable[[tuple[Expr, ...]], Expr]:
    return lambda at: ir.both(going.at(()), read(test, frame))
