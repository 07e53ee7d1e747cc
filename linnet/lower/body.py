"""Walks the typed body of a function and builds its values.

One `Body` is one activation: the generics bound, the locals, the block it runs in. Calls of
functions and methods make another `Body` (see `calls`), index notation binds loop variables in
this one (see `index`), loops are turned into Functions (see `loops`).

A body runs in one of two modes. Without a frame every value becomes a node. With a frame (inside
index notation) a value that depends on loop variables is a `View`, written where it is used;
everything else still becomes a node of its own, computed once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast as as_type

from linnet.check import typed as t
from linnet.check.substitute import Bindings
from linnet.check.types import (
    Array as ArrayType,
)
from linnet.check.types import (
    Block,
    CompileTimeInt,
    DType,
    Enum,
    FloatLiteral,
    Optional,
    Scalar,
    Shape,
    Tensor,
    Type,
)
from linnet.diag import Span
from linnet.dims import Dim
from linnet.ir import build as ir
from linnet.ir.expr import Expr
from linnet.ir.node import Node, Origin
from linnet.lower import arrays, calls, choices, index, loops
from linnet.lower.context import Context, at_site
from linnet.lower.manifest import BlockValue, array_length
from linnet.lower.probes import Recorder
from linnet.lower.problems import source_error, unsupported
from linnet.lower.values import (
    ABSENT,
    Array,
    ArrayValue,
    Frame,
    Value,
    View,
    dims_of,
    read,
)

BINARY = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "div",
    "%": "mod",
    "&": "and",
    "|": "or",
    "^": "xor",
    "&&": "and",
    "||": "or",
    "==": "eq",
    "!=": "ne",
    "<": "lt",
    "<=": "le",
    ">": "gt",
    ">=": "ge",
}
UNARY = {"-": "neg", "!": "not"}


@dataclass(eq=False)
class Body:
    """One activation of a function. `site` is the place outside the standard library that the
    walk came from, when it is inside it now; `path` names the block for origins."""

    context: Context
    bindings: Bindings
    block: BlockValue | None = None
    path: str = ""
    site: Origin | None = None
    frame: Frame | None = None
    locals: dict[t.Variable, Value] = field(default_factory=dict)
    indices: dict[t.IndexVar, tuple[Expr, ...]] = field(default_factory=dict)
    result_name: str = ""
    """What the caller calls the result."""
    method: str = ""
    """The method (or entry) whose walk this is part of."""
    recorder: Recorder | None = None
    """Where calls are noted, if they are."""

    def callee(
        self,
        bindings: Bindings,
        block: BlockValue | None = None,
        site: Origin | None = None,
    ) -> Body:
        """A new activation, called from this one."""
        path = block.path if block is not None else self.path
        made = Body(self.context, bindings, block, path, site)
        made.method, made.recorder = self.method, self.recorder
        return made

    def copied(self) -> Body:
        """The same activation; what is bound in the copy stays there. (Assigned states do not:
        they belong to the context.)"""
        return dataclasses.replace(self, locals=dict(self.locals), indices=dict(self.indices))

    # --- types --------------------------------------------------------------------------

    def dim(self, dim: Dim, span: Span) -> Dim:
        return self.context.dim(self.bindings.dim(dim), span)

    def shape(self, axes: Shape, span: Span) -> tuple[Dim, ...]:
        """The dims of a shape, packs spelled out."""
        return tuple(
            self.context.dim(axis, span)
            for axis in self.bindings.shape(axes)
            if isinstance(axis, Dim)
        )

    def dims(self, type: Type, span: Span) -> tuple[Dim, ...]:
        """The dims of a scalar or tensor type."""
        return self.shape(type.axes, span) if isinstance(type, Tensor) else ()

    def dtype(self, dtype: DType) -> str:
        bound = self.bindings.dtype(dtype)
        assert isinstance(bound, str)
        return bound

    def dtype_of_type(self, type: Type) -> str:
        """The element type of a value's type; literals of constants have their default."""
        match type:
            case Scalar(dtype) | Tensor(dtype):
                return self.dtype(dtype)
            case FloatLiteral():
                return "f64"
            case CompileTimeInt():
                return "i64"
            case Enum():
                return "i32"
        raise AssertionError(f"no element type: {type}")

    def origin(self, span: Span, name: str = "") -> Origin:
        return at_site(span, self.site, name, self.path)

    # --- statements ---------------------------------------------------------------------

    def run(self, body: Sequence[t.TStmt]) -> Value | None:
        """The value returned, None when the body ends without one."""
        for stmt in body:
            match stmt:
                case t.Return(value=None):
                    return None
                case t.Return(value=t.TExpr() as value):
                    return self.value(value, self.result_name)
            self.statement(stmt)
        return None

    def statement(self, stmt: t.TStmt) -> None:
        match stmt:
            case t.Let(pattern=pattern, value=value):
                name = pattern.variable.name if pattern.variable is not None else ""
                self.bind(pattern, self.value(value, name))
            case t.Assign(target=t.Variable() as target, value=value):
                self.locals[target] = self.value(value, target.name)
            case t.Assign(target=t.Member() as member, value=value, span=span):
                self._assign_state(member, self.value(value, member.name), span)
            case t.StaticForBlocks(variable=variable, array=array, body=body):
                blocks = as_type(ArrayValue, self.value(array))
                for k in range(blocks.length):
                    self.locals[variable] = blocks[k]
                    self.round(body)
            case t.StaticForRange():
                loops.static_range(self, stmt)
            case t.For():
                loops.counted(self, stmt)
            case t.While():
                loops.while_loop(self, stmt)
            case _:
                raise AssertionError(f"no statement: {stmt}")

    def round(self, body: Sequence[t.TStmt]) -> None:
        """Run the body of a loop once."""
        for stmt in body:
            self.statement(stmt)

    def _assign_state(self, member: t.Member, value: Value, span: Span) -> None:
        assert self.block is not None
        if not isinstance(value, Node) or self.frame is not None:
            raise unsupported("an assignment to state inside index notation", span)
        # Reading the leaf makes it: choices and loops need the value from before.
        self.context.leaf(self.block, member)
        self.context.states[self.block.member_path(member.name)] = value

    def bind(self, pattern: t.Pattern | None, value: Value) -> None:
        """Bind the names of a pattern to a value and its parts."""
        if pattern is None:
            return
        if pattern.items is not None:
            for item, part in zip(pattern.items, as_type(tuple[Value, ...], value), strict=True):
                self.bind(item, part)
        elif pattern.variable is not None:
            self.locals[pattern.variable] = value

    # --- expressions --------------------------------------------------------------------

    def array(self, expr: t.TExpr, name: str = "") -> Array:
        """The value of a scalar or tensor expression."""
        value = self.value(expr, name)
        assert isinstance(value, (Node, View)), f"{expr.span}: {value}"
        return value

    def scalar(self, expr: t.TExpr, frame: Frame) -> Expr:
        """A scalar expression as part of the map that `frame` writes."""
        return read(self.array(expr), frame)

    def value(self, expr: t.TExpr, name: str = "") -> Value:
        """The value of any expression; `name` is what the source calls it."""
        match expr:
            case t.VariableRef(variable=variable):
                return self.locals[variable]
            case t.TupleExpr(items=items):
                return tuple(self.value(item, name) for item in items)
            case t.StructExpr(items=items, order=order):
                fields = {k: self.value(items[k], name) for k in order}
                return tuple(fields[k] for k in range(len(items)))
            case t.FieldRef(base=base, position=position):
                return as_type(tuple[Value, ...], self.value(base, name))[position]
            case t.SomeExpr(inner=inner):
                return self.value(inner, name)
            case t.NoneExpr():
                return ABSENT
            case t.Call():
                return calls.call(self, expr, name)
            case t.If():
                return choices.if_expr(self, expr, name)
            case t.MatchOptional():
                return choices.match_optional(self, expr, name)
            case t.Scan():
                return loops.scan(self, expr, name)
            case t.MatchEnum():
                return choices.match_enum(self, expr, name)
            case t.SelfBlock():
                assert self.block is not None
                return self.block
            case t.MemberRef():
                return self._member(expr)
            case t.ArrayItem():
                return self._array_item(expr)
            case t.ConstRef(decl=decl):
                return self.callee(Bindings(), site=self.site).value(decl.value, decl.name)
        return self._computed(expr, self.origin(expr.span, name))

    def _computed(self, expr: t.TExpr, origin: Origin) -> Value:
        match expr:
            case t.Literal(value=number, type=type):
                return ir.scalar(ir.const(number, self.dtype_of_type(type)), origin)
            case t.DimValue(dim=dim, type=type):
                size = self.context.facts.normalise(self.bindings.dim(dim))
                return ir.scalar(ir.dim_const(size, self.dtype_of_type(type)), origin)
            case t.EnumValue(variant=variant):
                return ir.scalar(ir.const(variant, "i32"), origin)
            case t.Unary(op="+", operand=operand):
                return self.array(operand, origin.name)
            case t.Unary(op=op, operand=operand):
                return self._apply(UNARY[op], expr, (self.array(operand),), origin)
            case t.Binary():
                return self._binary(expr, origin)
            case t.Prelude(name=name, arguments=arguments):
                return self._apply(name, expr, tuple(self.array(a) for a in arguments), origin)
            case t.Access():
                return index.access(self, expr)
            case t.Reduce():
                return index.reduction(self, expr, origin)
            case t.Comprehension():
                return index.comprehension(self, expr, origin)
        return self._moved(expr, self.dims(expr.type, expr.span), origin)

    def _moved(self, expr: t.TExpr, dims: tuple[Dim, ...], origin: Origin) -> Value:
        match expr:
            case t.Cast(operand=operand, type=type):
                return arrays.cast(self.array(operand), self.dtype_of_type(type), origin)
            case t.Reshape(operand=operand):
                return arrays.reshape(self.array(operand), dims, origin)
            case t.Permute(operand=operand, axes=axes):
                return arrays.permute(self.array(operand), axes, origin)
            case t.BroadcastTo(operand=operand):
                return arrays.broadcast(self.array(operand), dims, origin)
            case t.Concat(operands=operands, axis=axis, from_end=from_end):
                place = len(dims) - 1 - axis if from_end else axis
                return arrays.concat([self.array(o) for o in operands], place, dims, origin)
            case t.CumSum(operand=operand, axis=axis, from_end=from_end):
                place = len(dims) - 1 - axis if from_end else axis
                return loops.running_sum(self, self.array(operand), place, expr.span, origin)
            case t.Iota(type=type):
                return arrays.iota(self.dtype_of_type(type), dims, origin)
            case t.Fill(value=value):
                return arrays.fill(self.array(value), dims, origin)
            case t.Slice():
                return self._slice(expr, origin)
        raise AssertionError(f"no expression: {expr}")

    def _apply(self, fn: str, expr: t.TExpr, operands: tuple[Array, ...], origin: Origin) -> Array:
        return arrays.elementwise(
            self.dtype_of_type(expr.type),
            self.dims(expr.type, expr.span),
            operands,
            lambda *parts: ir.apply(fn, *parts),
            origin,
        )

    def _binary(self, expr: t.Binary, origin: Origin) -> Array:
        """A chain like `a + b + c + ...` leans left and may be long: walk down it, then up."""
        chain = [expr]
        while isinstance(chain[-1].left, t.Binary):
            chain.append(chain[-1].left)
        value = self.array(chain[-1].left)
        for link in reversed(chain):
            place = origin if link is expr else self.origin(link.span)
            value = self._apply(BINARY[link.op], link, (value, self.array(link.right)), place)
        return value

    def _slice(self, expr: t.Slice, origin: Origin) -> Array:
        value = self.array(expr.operand)
        assert isinstance(expr.operand.type, Tensor)
        # Where each entry of the type's axes begins once packs are spelled out.
        starts = [0]
        for axis in expr.operand.type.axes:
            starts.append(starts[-1] + len(self.shape((axis,), expr.span)))
        own = dims_of(value)
        parts: list[arrays.Span | Array] = []
        for component in expr.components:
            match component:
                case t.KeepAxes(first, last):
                    kept = own[starts[first] : starts[last]]
                    parts.extend(arrays.Span(Dim.const(0), 1, dim) for dim in kept)
                case t.RangeAxis(_, start, step, extent):
                    begin = self.bindings.dim(start)
                    parts.append(arrays.Span(begin, step, self.dim(extent, expr.span)))
                case t.FixedAxis():
                    place = self.bindings.dim(component.position)
                    self.context.inside(place, own[starts[component.axis]], expr.span)
                    parts.append(ir.scalar(ir.dim_const(place), origin))
                case t.RuntimeAxis():
                    parts.append(self.array(component.position))
        return arrays.cut(value, parts, origin)

    def _member(self, expr: t.MemberRef) -> Value:
        block = as_type(BlockValue, self.value(expr.receiver))
        path = block.member_path(expr.member.name)
        type = expr.member.type
        if isinstance(type, Optional):
            if self.context.is_absent(path):
                return ABSENT
            type = type.inner
        match type:
            case Block():
                return block.child(type, path)
            case ArrayType(item, length):
                return ArrayValue(block, item, path, array_length(block, length, path))
        if expr.member.kind == "state":
            return self.context.state(block, expr.member)
        return self.context.leaf(block, expr.member)

    def _array_item(self, expr: t.ArrayItem) -> Value:
        array = as_type(ArrayValue, self.value(expr.array))
        position = self.bindings.dim(expr.position)
        if not position.is_const:
            raise unsupported("a block array indexed by a size of the call", expr.span)
        if not 0 <= position.value < array.length:
            message = f"index {position} lies outside an array of {array.length} blocks"
            raise source_error("E2209", message, expr.span)
        return array[position.value]
