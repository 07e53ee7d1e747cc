"""Calls: which function is meant, which argument goes where, what its generics are, and what
the callee demands. The order of the steps is that of the language reference, and a call reports
its first error only; what follows from it is poisoned.
"""

from __future__ import annotations

from linnet.check import show
from linnet.check.context import CallEdge, Context, is_poison, poison
from linnet.check.entities import (
    AliasItem,
    BlockItem,
    Entity,
    FunctionItem,
    MemberItem,
    ModuleItem,
    Poison,
    PreludeItem,
    StructItem,
)
from linnet.check.inference import Inference, explicit_generics
from linnet.check.names import (
    describe,
    nearest,
    public_item,
    reduction_help,
    unknown_name,
)
from linnet.check.prelude import prelude_call
from linnet.check.receivers import own_block, static_entity
from linnet.check.structs import build
from linnet.check.substitute import Bindings
from linnet.check.typed import (
    FunctionDecl,
    MemberRef,
    TExpr,
    Variable,
)
from linnet.check.types import (
    Block,
    Optional,
    Struct,
)
from linnet.check.types_of import resolve_alias
from linnet.check.unify import Unifier
from linnet.diag import Label, Span
from linnet.syntax import tree


def call(ctx: Context, node: tree.Call) -> TExpr:
    """`callee<…>(…)`."""
    callee = node.callee
    if isinstance(callee, tree.Name):
        return _named(ctx, node, callee)
    if isinstance(callee, tree.Attribute):
        entity = static_entity(ctx, callee.base)
        if isinstance(entity, ModuleItem):
            item = public_item(ctx, entity.scope, callee.name, callee.name_span)
            return _entity_call(ctx, node, item, callee.name, callee.name_span)
        if entity is None:
            return _method(ctx, node, callee)
        if isinstance(entity, Poison):
            return _unchecked(ctx, node)
    else:
        value = ctx.expr(callee)
        if is_poison(value):
            return _unchecked(ctx, node)
    return _not_callable(ctx, node, f"`{callee.span.text}`", callee.span)


def _named(ctx: Context, node: tree.Call, callee: tree.Name) -> TExpr:
    entity = ctx.find(callee.name)
    if entity is None:
        unknown_name(ctx, callee.name, callee.span)
        return _unchecked(ctx, node)
    if isinstance(entity, PreludeItem):
        result = prelude_call(ctx, node, entity.name)
        if result is not None:
            return result
    return _entity_call(ctx, node, entity, callee.name, callee.span)


def _entity_call(ctx: Context, node: tree.Call, entity: Entity, name: str, span: Span) -> TExpr:
    if isinstance(entity, Poison) or (isinstance(entity, Variable) and is_poison(entity.type)):
        return _unchecked(ctx, node)
    if isinstance(entity, AliasItem):
        known = resolve_alias(ctx, entity, span) and entity.type
        if isinstance(known, Struct):
            return build(ctx, node, ctx.run.structs[known.decl], span, known)
    if isinstance(entity, StructItem):
        return build(ctx, node, entity, span)
    if not isinstance(entity, FunctionItem):
        help = _methods_of(name, entity)
        return _not_callable(ctx, node, f"`{name}` is {describe(entity)}:", span, help)
    receiver = None
    if entity.block is not None and not ctx.constant_only:
        if entity.block is not ctx.block:
            _unchecked(ctx, node)
            return ctx.bad(
                "E1208",
                f"`{name}` belongs to an instance of block `{entity.block.decl.name}`",
                span,
                "there is no instance here",
                at=node.span,
            )
        receiver = own_block(ctx, entity.block, span)
    return function_call(ctx, node, entity, receiver, span)


def _unchecked(ctx: Context, node: tree.Call) -> TExpr:
    """Look for errors inside the arguments of a call nobody can check."""
    for argument in node.args:
        if not isinstance(argument.value, tree.ShapeLiteral):
            ctx.expr(argument.value)
    return poison(node.span)


def _methods_of(name: str, entity: Entity) -> tuple[str, ...]:
    """What to call instead of a child: its `forward` if it has one, else its first function."""
    type = entity.member.type if isinstance(entity, MemberItem) else None
    if not isinstance(type, Block) or not type.decl.functions:
        return ()
    functions = type.decl.functions
    method = "forward" if "forward" in functions else next(iter(functions))
    return (f"call a function of it: `{name}.{method}(…)`",)


def _not_callable(
    ctx: Context, node: tree.Call, what: str, span: Span, help: tuple[str, ...] = ()
) -> TExpr:
    _unchecked(ctx, node)
    return ctx.bad(
        "E2106",
        f"{what} it cannot be called" if what.endswith(":") else f"{what} is no function",
        span,
        "only functions, ops, entries and methods can be called",
        help=help,
        at=node.span,
    )


# --- methods and members ----------------------------------------------------------------


def _method(ctx: Context, node: tree.Call, callee: tree.Attribute) -> TExpr:
    base = ctx.expr(callee.base)
    if is_poison(base):
        return _unchecked(ctx, node)
    if not isinstance(base.type, Block):
        _unchecked(ctx, node)
        help: tuple[str, ...] = ()
        if isinstance(base.type, Optional) and isinstance(base.type.inner, Block):
            subject = callee.base.span.text
            help = (f"match it first: `match {subject} {{ some(m) => … none => … }}`",)
        elif reduction := reduction_help(callee.name, callee.base.span.text):
            help = (reduction,)
        elif ctx.scope.find(callee.name) is not None:
            help = (f"call it as a function: `{callee.name}({callee.base.span.text}, …)`",)
        return ctx.bad(
            "E2107",
            f"{show.quoted(base.type)} has no method `{callee.name}`",
            callee.name_span,
            "only blocks have methods",
            at=node.span,
            related=(Label(callee.base.span, f"this is {show.quoted(base.type)}"),),
            help=help,
        )
    item = ctx.run.blocks[base.type.decl]
    entity = item.names.names.get(callee.name) or item.inner.names.get(callee.name)
    if isinstance(entity, Poison):
        return _unchecked(ctx, node)
    if isinstance(entity, MemberItem):
        return _not_callable(ctx, node, f"`{callee.name}` is {describe(entity)}:", callee.name_span)
    if not isinstance(entity, FunctionItem):
        _unchecked(ctx, node)
        return _no_member(ctx, item, callee, "method", node.span)
    if not entity.node.public and entity.module is not ctx.module:
        _unchecked(ctx, node)
        return ctx.bad(
            "E1203",
            f"method `{callee.name}` of block `{item.decl.name}` is private",
            callee.name_span,
            f"not `pub` in module `{entity.module.name}`",
            at=node.span,
            related=(Label(entity.decl.span, "declared here"),),
            help="declare it `pub`, or use a public method",
        )
    return function_call(ctx, node, entity, base, callee.name_span)


def member_of(ctx: Context, base: TExpr, node: tree.Attribute) -> TExpr:
    """`base.name`, where `base` is a block."""
    assert isinstance(base.type, Block)
    item = ctx.run.blocks[base.type.decl]
    entity = item.inner.names.get(node.name) or item.names.names.get(node.name)
    if isinstance(entity, MemberItem):
        ctx.run.read.add(id(entity.member))
        type = Bindings.of(base.type).type(entity.member.type)
        return (
            poison(node.span)
            if is_poison(type)
            else MemberRef(type, node.span, base, entity.member)
        )
    if isinstance(entity, Poison):
        return poison(node.span)
    if isinstance(entity, FunctionItem):
        return ctx.bad(
            "E1208",
            f"`{node.name}` is a method of block `{item.decl.name}`",
            node.name_span,
            "a value is needed here",
            at=node.span,
            help=f"call it: `{node.span.text}(…)`",
        )
    return _no_member(ctx, item, node, "member", node.span)


def _no_member(ctx: Context, item: BlockItem, node: tree.Attribute, what: str, at: Span) -> TExpr:
    members, methods = list(item.decl.members), list(item.decl.functions)
    near = nearest(node.name, members + methods)
    notes = []
    if members:
        notes.append(f"its members are {', '.join(members)}")
    if methods:
        notes.append(f"its methods are {', '.join(methods)}")
    return ctx.bad(
        "E2107",
        f"block `{item.decl.name}` has no {what} `{node.name}`",
        node.name_span,
        at=at,
        related=(Label(item.decl.span, "declared here"),),
        notes=notes,
        help=(f"did you mean `{near}`?",) if near else (),
    )


# --- the steps of a call ----------------------------------------------------------------


def function_call(
    ctx: Context, node: tree.Call, item: FunctionItem, receiver: TExpr | None, span: Span
) -> TExpr:
    """Check a call of a known function and infer its generics."""
    decl = item.decl
    if ctx.constant_only:
        _unchecked(ctx, node)
        return _call_in_constant(ctx, node, decl)
    if not item.head_ok:
        return _unchecked(ctx, node)
    block = receiver.type if receiver is not None else None
    bindings = Bindings.of(block) if isinstance(block, Block) else Bindings()
    explicit = explicit_generics(ctx, node, decl, span)
    placed = _placed(ctx, node, decl, span)
    values = [None if arg is None else _argument(ctx, arg) for arg in placed or ()]
    if explicit is None or placed is None or any(v is not None and is_poison(v) for v in values):
        if placed is None:
            _unchecked(ctx, node)
        return poison(node.span)
    unifier = Unifier(ctx.facts, bindings, {g.symbol for g in decl.generics})
    for param, argument in zip(decl.generics, explicit, strict=False):
        unifier.bind(param.symbol, argument)
    inference = Inference(ctx, node, decl, unifier, values, span)
    if not inference.solve():
        return poison(node.span)
    if ctx.function is not None:
        ctx.run.calls.append(CallEdge(ctx.function.decl, decl, span))
    return inference.result(receiver)


def _call_in_constant(ctx: Context, node: tree.Call, decl: FunctionDecl) -> TExpr:
    return ctx.bad(
        "E2190",
        f"a {ctx.constant_only} calls `{decl.name}`",
        node.span,
        "calls are not supported here by this compiler",
        help="write the value out, or compute it where it is used",
    )


def _argument(ctx: Context, node: tree.Argument) -> TExpr:
    return ctx.value(node.value)


def _placed(
    ctx: Context, node: tree.Call, decl: FunctionDecl, span: Span
) -> list[tree.Argument | None] | None:
    """The argument of each parameter, in their order; None stands for a default."""
    slots: list[tree.Argument | None] = [None] * len(decl.parameters)
    names = [p.variable.name for p in decl.parameters]
    named = False
    for number, argument in enumerate(node.args):
        if argument.name is None:
            if named or number >= len(slots):
                why = "a positional argument after a named one" if named else "one too many"
                return _bad_arguments(ctx, decl, argument.span, why)
            slots[number] = argument
            continue
        named = True
        name = argument.name.name
        if name not in names:
            near = nearest(name, names)
            hint = f"did you mean `{near}`?" if near else ""
            return _bad_arguments(ctx, decl, argument.name.span, f"no parameter `{name}`", hint)
        if slots[names.index(name)] is not None:
            return _bad_arguments(ctx, decl, argument.span, f"`{name}` is given twice")
        slots[names.index(name)] = argument
    missing = [
        f"`{p.variable.name}`"
        for p, slot in zip(decl.parameters, slots, strict=True)
        if slot is None and p.default is None
    ]
    if missing:
        return _bad_arguments(ctx, decl, span, f"no argument for {', '.join(missing)}")
    return slots


def _bad_arguments(
    ctx: Context, decl: FunctionDecl, span: Span, label: str, help: str = ""
) -> list[tree.Argument | None] | None:
    """Report E2102; always None."""
    ctx.report(
        "E2102",
        f"arguments do not fit the parameters of `{decl.name}`",
        span,
        label,
        related=(Label(decl.span, "declared here"),),
        notes=(f"declared as `{show.signature(decl)}`",),
        help=help or (),
    )
    return None
