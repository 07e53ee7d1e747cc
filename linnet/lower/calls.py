"""Calls: functions, methods and entries are walked in place, ops become CALL nodes.

An op's body is lowered once for each binding of its generics and each choice of optionals that
exist, and shared by all calls alike. Ops that give tuples, that take what is no array, that
stand in a block, or whose arguments depend on loop variables are walked in place like functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from linnet.check import typed as t
from linnet.check.substitute import Bindings
from linnet.check.types import Optional, Scalar, Tensor, Type
from linnet.dims import Dim
from linnet.ir import build as ir
from linnet.ir.node import Function, Node, Origin, TensorType
from linnet.lower.manifest import BlockValue, joined
from linnet.lower.problems import origin_of
from linnet.lower.values import ABSENT, Absent, Value, is_view

if TYPE_CHECKING:
    from linnet.lower.body import Body


def call(body: Body, expr: t.Call, name: str) -> Value:
    """The result of a call; an empty tuple stands for no result."""
    decl = expr.function
    block = _receiver(body, expr)
    bindings = _bindings(body, expr, block)
    given = [None if a is None else body.value(a) for a in expr.arguments]
    arguments = [
        _default(body, parameter, bindings, block) if value is None else value
        for parameter, value in zip(decl.parameters, given, strict=True)
    ]
    if decl.kind == "op" and block is None and _callable(decl, arguments):
        result: Value = _call_op(body, expr, bindings, arguments, name)
    else:
        result = _walk(body, expr, bindings, block, arguments, name)
    if body.recorder is not None:
        origin = body.origin(expr.span, name or decl.name)
        if block is None:
            facts = (body.path, body.method, decl.name)
        else:
            facts = (block.path, decl.name, "")
        body.recorder.note(*facts, origin, body.path, result, arguments)
    return result


def _receiver(body: Body, expr: t.Call) -> BlockValue | None:
    if expr.receiver is not None:
        receiver = body.value(expr.receiver)
        assert isinstance(receiver, BlockValue)
        return receiver
    return body.block if expr.function.block is not None else None


def _bindings(body: Body, expr: t.Call, block: BlockValue | None) -> Bindings:
    own = Bindings()
    for param in expr.function.generics:
        own.bind(param.symbol, body.bindings.argument(expr.generics[param.symbol]))
    return joined(block.bindings, own) if block is not None else own


def _default(
    body: Body, parameter: t.Parameter, bindings: Bindings, block: BlockValue | None
) -> Value:
    """A default is an expression over the callee's generics."""
    if parameter.default is None:
        return ABSENT
    inner = body.callee(bindings, block, body.site)
    return inner.value(parameter.default, parameter.variable.name)


def _walk(
    body: Body,
    expr: t.Call,
    bindings: Bindings,
    block: BlockValue | None,
    arguments: Sequence[Value],
    name: str,
) -> Value:
    decl = expr.function
    inner = body.callee(bindings, block, _site(body, expr))
    inner.locals = {p.variable: a for p, a in zip(decl.parameters, arguments, strict=True)}
    inner.frame = body.frame if any(is_view(a) for a in arguments) else None
    inner.result_name = name
    inner.method = decl.name if block is not None else body.method
    result = inner.run(decl.body)
    return () if result is None else result


def _site(body: Body, expr: t.Call) -> Origin | None:
    """Code of the standard library is told apart by who called it, so origins stop outside."""
    if not expr.function.module.startswith("std."):
        return None
    return body.site if body.site is not None else origin_of(expr.span)


# --- ops --------------------------------------------------------------------------------


def _callable(decl: t.FunctionDecl, arguments: Sequence[Value]) -> bool:
    plain = isinstance(decl.result, (Scalar, Tensor)) and all(
        isinstance(_bare(p.variable.type), (Scalar, Tensor)) for p in decl.parameters
    )
    return plain and all(isinstance(a, (Node, Absent)) for a in arguments)


def _bare(type: Type) -> Type:
    return type.inner if isinstance(type, Optional) else type


def _call_op(
    body: Body, expr: t.Call, bindings: Bindings, arguments: Sequence[Value], name: str
) -> Node:
    decl = expr.function
    present = tuple(isinstance(a, Node) for a in arguments)
    bound = tuple(bindings.get(g.symbol) for g in decl.generics)
    key = (decl, bound, present)
    functions = body.context.functions
    if key not in functions:
        functions[key] = op_function(body, decl, bindings, present)
    nodes = [a for a in arguments if isinstance(a, Node)]
    return ir.call(functions[key], nodes, body.origin(expr.span, name or decl.name))


def op_function(
    body: Body, decl: t.FunctionDecl, bindings: Bindings, present: Sequence[bool]
) -> Function:
    """The body of an op for one binding of its generics; `present` says which parameters have a
    value."""
    inner = body.callee(bindings)
    inner.path, inner.recorder = "", None
    parameters = []
    for parameter, exists in zip(decl.parameters, present, strict=True):
        variable = parameter.variable
        inner.locals[variable] = ABSENT
        if exists:
            bare = _bare(variable.type)
            dims = inner.dims(bare, parameter.span)
            kind = TensorType(inner.dtype_of_type(bare), dims)
            node = ir.arg(variable.name, kind, origin_of(parameter.span, variable.name))
            inner.locals[variable] = node
            parameters.append(node)
    result = inner.run(decl.body)
    assert isinstance(result, Node)
    generics: dict[str, Dim | tuple[Dim, ...] | str] = {
        g.name: _plain(bindings.get(g.symbol)) for g in decl.generics
    }
    origin = origin_of(decl.span, decl.name)
    return Function(decl.path, generics, tuple(parameters), (result,), origin)


def _plain(argument: object) -> Dim | tuple[Dim, ...] | str:
    assert isinstance(argument, (Dim, str, tuple))
    return argument
