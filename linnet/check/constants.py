"""Constants: their values, read when the first use or the declaration itself asks for them."""

from __future__ import annotations

from linnet.check.context import Context, Run, is_poison
from linnet.check.entities import ConstItem
from linnet.check.fit import ANNOTATION, fit, settle
from linnet.check.given import replaced
from linnet.check.typed import ConstDecl, ConstRef, DimValue, EnumValue, Literal, TExpr
from linnet.check.types import CompileTimeInt, FloatLiteral
from linnet.check.types_of import value_type
from linnet.diag import Label, Span
from linnet.dims.facts import Facts


def resolve_constant(run: Run, item: ConstItem) -> ConstDecl | None:
    """The constant's value, or None when it is poisoned."""
    if item.state != "new":
        return item.decl
    item.state = "busy"
    node = item.node
    facts = item.block.facts if item.block is not None else Facts()
    ctx = Context(run, item.module, item.scope, facts, constant_only="constant")
    value = ctx.value(node.value)
    if node.type is not None:
        value = fit(ctx, value, value_type(ctx, node.type, "a constant"), ANNOTATION)
    elif not isinstance(value.type, CompileTimeInt | FloatLiteral):
        value = settle(ctx, value, keep_dims=False)
    if item.given is not None and not is_poison(value):
        value = replaced(value, node.name, item.given)
    if item.state == "busy" and not is_poison(value):
        item.decl = ConstDecl(node.name, item.module.name, node.name_span, value)
    item.state = "done"
    return item.decl


def constant_value(ctx: Context, item: ConstItem, span: Span) -> TExpr | None:
    """A use of a constant: untyped numbers stand for themselves, others are referred to.

    None when it is poisoned; E2122 when its value is just being worked out."""
    if item.state == "busy":
        ctx.report(
            "E2122",
            f"constant `{item.node.name}` is defined by itself",
            span,
            "used in its own definition",
            related=(Label(item.node.name_span, "declared here"),),
        )
        item.state = "cyclic"
        return None
    decl = resolve_constant(ctx.run, item)
    if decl is None:
        return None
    value = decl.value
    match value.type:
        case CompileTimeInt(dim):
            return DimValue(value.type, span, dim)
        case FloatLiteral(float() as number):
            return Literal(value.type, span, number)
        case FloatLiteral():
            return value
    if isinstance(value, EnumValue):
        return EnumValue(value.type, span, value.variant)
    return ConstRef(value.type, span, decl)
