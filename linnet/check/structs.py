"""Structs: built by the names of their fields, read by a dot.

A construction infers the struct's generics from its fields by the rules of a call; every field
is given exactly once, by name and in any order (E2102). A field of another type is E2101.
"""

from __future__ import annotations

from linnet.check import show
from linnet.check.context import Context, is_poison, poison
from linnet.check.entities import StructItem
from linnet.check.fit import FIELD
from linnet.check.inference import Inference, explicit_generics
from linnet.check.names import nearest
from linnet.check.receivers import itself
from linnet.check.substitute import Bindings, field_types
from linnet.check.typed import (
    FieldRef,
    FunctionDecl,
    Parameter,
    StructExpr,
    TExpr,
    Variable,
)
from linnet.check.types import Struct
from linnet.check.types_of import meet_demands, resolve_struct
from linnet.check.unify import Unifier
from linnet.diag import Label, Span
from linnet.syntax import tree


def build(
    ctx: Context, node: tree.Call, item: StructItem, span: Span, given: Struct | None = None
) -> TExpr:
    """`Pair(left = a, right = b)`. `given` is what an alias makes of the struct."""
    values = {id(a): ctx.value(a.value) for a in node.args}
    if not resolve_struct(ctx, item, span):
        return poison(node.span)
    maker = _maker(item)
    explicit = explicit_generics(ctx, node, maker, span)
    placed = _placed(ctx, node, item, span)
    failed = any(is_poison(value) for value in values.values())
    if explicit is None or placed is None or failed:
        return poison(node.span)
    unifier = Unifier(ctx.facts, Bindings(), {g.symbol for g in maker.generics})
    known = explicit if given is None or explicit else list(given.arguments)
    for param, argument in zip(maker.generics, known, strict=False):
        unifier.bind(param.symbol, argument)
    items: list[TExpr | None] = [values[id(argument)] for argument in placed]
    inference = Inference(ctx, node, maker, unifier, items, span, FIELD)
    if not inference.solve():
        return poison(node.span)
    arguments = inference.generics()
    type = Struct(item.decl, tuple(arguments[g.symbol] for g in maker.generics))
    if not meet_demands(ctx, item.demands, Bindings.of(type), node.span):
        return poison(node.span)
    parts = tuple(value for value in inference.values if value is not None)
    positions = {id(argument): k for k, argument in enumerate(placed)}
    return StructExpr(type, node.span, parts, tuple(positions[id(a)] for a in node.args))


def _maker(item: StructItem) -> FunctionDecl:
    """The struct as a function from its fields."""
    decl, node = item.decl, item.node
    spans = {field.name: field.span for field in reversed(node.fields)}
    parameters = tuple(
        Parameter(Variable(name, type, spans[name]), None, spans[name])
        for name, type in decl.fields.items()
    )
    result = Struct(decl, tuple(itself(generic) for generic in decl.generics))
    return FunctionDecl(
        decl.name,
        decl.module,
        "struct",
        node.public,
        decl.span,
        node.doc,
        generics=decl.generics,
        parameters=parameters,
        result=result,
    )


def _placed(
    ctx: Context, node: tree.Call, item: StructItem, span: Span
) -> list[tree.Argument] | None:
    """The argument of each field, in declaration order; None after E2102."""
    names = list(item.decl.fields)
    found: dict[str, tree.Argument] = {}
    for argument in node.args:
        if argument.name is None:
            return _misfit(ctx, item, argument.span, "a field is given by its name")
        name = argument.name.name
        if name not in names:
            near = nearest(name, names)
            hint = f"did you mean `{near}`?" if near else ""
            return _misfit(ctx, item, argument.name.span, f"no field `{name}`", hint)
        if name in found:
            return _misfit(ctx, item, argument.span, f"`{name}` is given twice")
        found[name] = argument
    missing = [f"`{name}`" for name in names if name not in found]
    if missing:
        return _misfit(ctx, item, span, f"no value for {', '.join(missing)}")
    return [found[name] for name in names]


def _misfit(
    ctx: Context, item: StructItem, span: Span, label: str, help: str = ""
) -> list[tree.Argument] | None:
    """Report E2102; always None."""
    fields = ", ".join(f"{n}: {show.type_(t)}" for n, t in item.decl.fields.items())
    ctx.report(
        "E2102",
        f"arguments do not fit the fields of struct `{item.decl.name}`",
        span,
        label,
        related=(Label(item.decl.span, "declared here"),),
        notes=(f"its fields are {fields}",) if fields else ("it has no fields",),
        help=help or (),
    )
    return None


def field_of(ctx: Context, base: TExpr, type: Struct, node: tree.Attribute) -> TExpr:
    """`value.field`."""
    names = list(type.decl.fields)
    if node.name in names:
        position = names.index(node.name)
        return FieldRef(field_types(type)[position], node.span, base, position)
    near = nearest(node.name, names)
    return ctx.bad(
        "E2107",
        f"struct `{type.decl.name}` has no field `{node.name}`",
        node.name_span,
        at=node.span,
        related=(Label(type.decl.span, "declared here"),),
        notes=(f"its fields are {', '.join(names)}",) if names else (),
        help=(f"did you mean `{near}`?",) if near else (),
    )
