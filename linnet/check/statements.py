"""Statements and bodies of functions.

In: the statements of a body and the function's place. Out: typed statements. A statement that
fails binds its names as poison, so that what uses them stays silent.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from linnet.check import loops, show
from linnet.check.context import Context, Run, is_poison, poison
from linnet.check.declare import free_name
from linnet.check.entities import PRELUDE, Entity, FunctionItem, MemberItem, Poison, Scope
from linnet.check.fit import ANNOTATION, ASSIGNMENT, RETURN, fit, settle
from linnet.check.heads import cut_short
from linnet.check.index import comprehension
from linnet.check.names import describe, unknown_name
from linnet.check.patterns import bind_pattern
from linnet.check.typed import (
    Assign,
    Let,
    Member,
    MemberRef,
    Pattern,
    Return,
    TExpr,
    TStmt,
    Variable,
)
from linnet.check.types import CompileTimeInt, Error, Unit
from linnet.check.types_of import value_type
from linnet.diag import Label, Span
from linnet.syntax import tree


def check_body(run: Run, item: FunctionItem) -> None:
    """Check the body of a function and fill it into its declaration."""
    before = run.errors
    scope = Scope(item.inner)
    decl = item.decl
    for parameter in decl.parameters:
        name = parameter.variable.name
        scope.names[name] = Poison() if name in PRELUDE else parameter.variable
    ctx = Context(run, item.module, Scope(scope), item.facts, block=item.block, function=item)
    ctx.facts_broken = item.facts_broken
    decl.body = statements(ctx, item.node.body, in_loop=False)
    unread = isinstance(item.node.result, tree.BrokenType)
    if (decl.result is not None or item.node.result is not None) and not unread:
        _ends_with_return(ctx, item)
    decl.ok = decl.ok and run.errors == before


def _ends_with_return(ctx: Context, item: FunctionItem) -> None:
    body = item.node.body
    returns = [s for s in body.statements if isinstance(s, tree.Return)]
    last = body.statements[-1] if body.statements else None
    if body.damaged or (returns and returns[0] is last):
        return
    if returns:
        ctx.report(
            "E2120",
            "statements after `return` never run",
            returns[0].span,
            "the function ends here",
            help="make `return` the last statement",
        )
        return
    if _returns_in_loop(body):
        return  # reported there
    ctx.report(
        "E2120",
        f"`{item.decl.name}` does not end with `return`",
        item.node.name_span,
        f"it has to give {show.quoted(item.decl.result or Error())}",
        help="end the body with `return …`",
    )


def _returns_in_loop(body: tree.Body) -> bool:
    return any(isinstance(node, tree.Return) for node in tree.walk(body))


def statements(ctx: Context, body: tree.Body, in_loop: bool) -> tuple[TStmt, ...]:
    """The statements of a body in order; what was reported is left out."""
    found: list[TStmt] = []
    followers = dict(pairwise(body.statements))
    for node in body.statements:
        ctx.unbound = set()
        if cut_short(node, followers.get(node)):
            _bind_as_poison(ctx, node)
            continue
        statement = _statement(ctx, node, in_loop)
        if statement is not None:
            found.append(statement)
    return tuple(found)


def _statement(ctx: Context, node: tree.Statement, in_loop: bool) -> TStmt | None:
    match node:
        case tree.Let():
            return _let(ctx, node)
        case tree.IndexLet():
            return _index_let(ctx, node)
        case tree.Var():
            return _var(ctx, node)
        case tree.Assign():
            return _assign(ctx, node)
        case tree.MemberAssign():
            _member_assign(ctx, node)
        case tree.Return():
            return _return(ctx, node, in_loop)
        case tree.StaticFor():
            return loops.static_for(ctx, node, _round)
        case tree.While():
            return loops.while_loop(ctx, node, _round)
        case tree.ForStatement():
            return loops.counted(ctx, node.loop, _round)
        case tree.Yield():
            ctx.value(node.value)
            loops.stray_yield(ctx, node)
        case tree.DamagedStatement():
            for name in node.names:
                ctx.scope.names[name.name] = Poison()
    return None


def _round(ctx: Context, body: tree.Body) -> tuple[TStmt, ...]:
    return statements(ctx, body, in_loop=True)


def _value(ctx: Context, node: tree.Expr, *, unit_allowed: bool = False) -> TExpr:
    """The whole value of a statement, which may be a `for` that collects."""
    if isinstance(node, tree.For):
        return loops.scan(ctx, node, _round)
    return ctx.value(node, unit_allowed=unit_allowed)


def _bind_as_poison(ctx: Context, node: tree.Statement) -> None:
    """Silence the names of a statement that the parser could read only the beginning of."""
    if isinstance(node, tree.Let):
        bind_pattern(ctx, node.pattern, Error(), quiet=True)
    elif isinstance(node, tree.IndexLet | tree.Var):
        ctx.scope.names[node.name] = Poison()


# --- bindings ---------------------------------------------------------------------------


def _let(ctx: Context, node: tree.Let) -> TStmt | None:
    nothing = isinstance(node.pattern, tree.NamePattern) and node.pattern.name == "_"
    value = _value(ctx, node.value, unit_allowed=nothing)
    if isinstance(value.type, Unit):
        return Let(node.span, Pattern(None), value)
    value = _annotated(ctx, value, node.type, keep_dims=True)
    pattern = bind_pattern(ctx, node.pattern, value.type)
    if pattern is None or is_poison(value):
        return None
    if isinstance(value.type, CompileTimeInt):
        return None  # its uses are the dimension itself
    return Let(node.span, pattern, value)


def _annotated(
    ctx: Context, value: TExpr, annotation: tree.TypeExpr | None, *, keep_dims: bool
) -> TExpr:
    if annotation is None:
        return settle(ctx, value, keep_dims=keep_dims)
    wanted = value_type(ctx, annotation, "a local")
    if is_poison(wanted):
        return poison(value.span)
    fitted = fit(ctx, value, wanted, ANNOTATION, (Label(annotation.span, "declared here"),))
    if is_poison(fitted):
        # The annotation says what was meant: later uses are checked against it.
        return TExpr(wanted, value.span)
    return replace(fitted, type=wanted) if fitted.type != wanted else fitted


def _index_let(ctx: Context, node: tree.IndexLet) -> TStmt | None:
    value = comprehension(ctx, node)
    pattern = bind_pattern(ctx, tree.NamePattern(node.name_span, node.name), value.type)
    if pattern is None or is_poison(value):
        return None
    return Let(node.span, pattern, value)


def _var(ctx: Context, node: tree.Var) -> TStmt | None:
    value = _annotated(ctx, _value(ctx, node.value), node.type, keep_dims=False)
    if node.name == "_":
        return None if is_poison(value) else Let(node.span, Pattern(None), value)
    fine = free_name(ctx.run, node.name, node.name_span, "a local")
    variable = Variable(node.name, value.type if fine else Error(), node.name_span, True)
    ctx.bind(variable)
    return None if is_poison(value) else Let(node.span, Pattern(variable), value)


# --- assignment and return --------------------------------------------------------------


def _assign(ctx: Context, node: tree.Assign) -> TStmt | None:
    entity = ctx.scope.find(node.name)
    value = _value(ctx, node.value)
    if entity is None:
        unknown_name(ctx, node.name, node.name_span)
        return None
    if isinstance(entity, Poison):
        return None
    target: Variable | Member | None = None
    if isinstance(entity, Variable) and entity.mutable:
        target, wanted, place = entity, entity.type, entity.span
    elif isinstance(entity, Variable) and is_poison(entity.type):
        return None
    elif (
        isinstance(entity, MemberItem)
        and entity.member.kind == "state"
        and entity.block is ctx.block
    ):
        target, wanted, place = entity.member, entity.member.type, entity.member.span
        if ctx.function is not None and ctx.function.decl.kind == "op":
            _impure(ctx, node, ctx.function.decl.name)
            return None
    if target is None:
        _immutable(ctx, node, entity)
        return None
    fitted = fit(ctx, value, wanted, ASSIGNMENT, (Label(place, "declared here"),))
    return None if is_poison(fitted) else Assign(node.span, target, fitted)


def _member_assign(ctx: Context, node: tree.MemberAssign) -> None:
    """E2108 in every case: only the functions of a block write its state."""
    target = ctx.expr(node.target)
    ctx.value(node.value)
    if is_poison(target):
        return
    label, help = "what stands before a dot is never assigned", "bind a new name with `let`"
    related: tuple[Label, ...] = ()
    if isinstance(target, MemberRef):
        label = f"this is a `{target.member.kind}` of another block"
        related = (Label(target.member.span, "declared here"),)
        help = "a member keeps what the checkpoint gave it"
        if target.member.kind == "state":
            help = "only the functions of that block assign its states; call one that does"
    ctx.report(
        "E2108",
        f"`{node.target.span.text}` cannot be assigned",
        node.target.span,
        label,
        related=related,
        help=help,
    )


def _impure(ctx: Context, node: tree.Assign, name: str) -> None:
    ctx.report(
        "E2108",
        f"op `{name}` assigns the state `{node.name}`",
        node.name_span,
        "an op is pure",
        help="make it an `fn` or an `entry`",
    )


def _immutable(ctx: Context, node: tree.Assign, entity: Entity) -> None:
    help = "only a `var` in scope and a `state` of the same block can be assigned"
    place: Span | None = None
    if isinstance(entity, Variable):
        what, place = "an immutable local", entity.span
        help = f"declare it with `var {node.name} = …`, or bind a new name with `let`"
        parameters = ctx.function.decl.parameters if ctx.function is not None else ()
        if any(p.variable is entity for p in parameters):
            what, help = "a parameter", f"copy it first: `var {node.name} = {node.name}`"
    elif isinstance(entity, MemberItem):
        what, place = describe(entity), entity.member.span
    else:
        what = describe(entity)
    ctx.report(
        "E2108",
        f"`{node.name}` cannot be assigned",
        node.name_span,
        f"this is {what}",
        related=() if place is None else (Label(place, "declared here"),),
        help=help,
    )


def _return(ctx: Context, node: tree.Return, in_loop: bool) -> TStmt | None:
    function = ctx.function
    assert function is not None
    if in_loop:
        ctx.report(
            "E2120",
            "`return` inside a loop",
            node.span,
            "the number of rounds would depend on it",
            help="assign a `var` in the loop and return it after",
        )
    wanted = function.decl.result
    if node.value is None:
        if isinstance(function.node.result, tree.BrokenType):
            return None  # whether there is a result is unknown
        if function.node.result is not None:
            ctx.report(
                "E2101",
                f"`return` without a value in `{function.decl.name}`",
                node.span,
                f"it has to give {show.quoted(wanted or Error())}",
            )
            return None
        return Return(node.span, None)
    value = _value(ctx, node.value)
    if function.node.result is None:
        if not is_poison(value):
            ctx.report(
                "E2101",
                f"`{function.decl.name}` has no result and returns a value",
                node.value.span,
                f"this is {show.quoted(value.type)}",
                help="declare the result: `-> …` behind the parameters",
            )
        return None
    declared = function.node.result.span
    fitted = fit(ctx, value, wanted or Error(), RETURN, (Label(declared, "declared here"),))
    return None if is_poison(fitted) else Return(node.span, fitted)
