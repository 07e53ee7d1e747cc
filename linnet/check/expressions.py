"""Expressions: names, member access, literals, and the way to everything else.

In: an expression of the syntax tree and where it stands. Out: a typed expression. Literals keep
their literal types until a context gives them one (`fit`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from linnet.check import show
from linnet.check.branches import if_expr, match_expr
from linnet.check.calls import call, member_of
from linnet.check.constants import constant_value
from linnet.check.context import Context, is_poison, poison
from linnet.check.entities import (
    AliasItem,
    BlockItem,
    ConstItem,
    Entity,
    EnumItem,
    FunctionItem,
    GenericItem,
    MemberItem,
    ModuleItem,
    Poison,
    StructItem,
)
from linnet.check.index import reduction
from linnet.check.loops import for_as_operand
from linnet.check.names import describe, nearest, public_item, unknown_name, wrong_sort
from linnet.check.operators import binary, dim_value, unary
from linnet.check.receivers import own_block, static_entity
from linnet.check.slices import index_expr
from linnet.check.structs import field_of
from linnet.check.typed import (
    DimValue,
    EnumValue,
    Literal,
    MemberRef,
    NoneExpr,
    SomeExpr,
    TExpr,
    TupleExpr,
    Variable,
    VariableRef,
)
from linnet.check.types import (
    Block,
    CompileTimeInt,
    Enum,
    FloatLiteral,
    NoneLiteral,
    Optional,
    Scalar,
    Struct,
    Tuple,
)
from linnet.check.types_of import resolve_alias
from linnet.diag import Label, Span
from linnet.dims import Dim, Sym
from linnet.syntax import tree


def evaluate(ctx: Context, node: tree.Expr) -> TExpr:
    """The typed expression of `node`."""
    return _RULES[type(node)](ctx, node)


# --- names ------------------------------------------------------------------------------


def _name(ctx: Context, node: tree.Name) -> TExpr:
    entity = ctx.find(node.name)
    if entity is None:
        if ctx.index_variable(node.name) is not None:
            return index_as_value(ctx, node)
        unknown_name(ctx, node.name, node.span)
        return poison(node.span)
    return _entity(ctx, entity, node.name, node.span)


def _entity(ctx: Context, entity: Entity, name: str, span: Span) -> TExpr:
    match entity:
        case Variable():
            if is_poison(entity.type):
                return poison(span)
            if isinstance(entity.type, CompileTimeInt):
                return DimValue(entity.type, span, entity.type.value)
            return VariableRef(entity.type, span, entity)
        case GenericItem(param) if isinstance(param.symbol, Sym):
            dim = Dim.sym(param.symbol)
            return DimValue(CompileTimeInt(dim), span, dim)
        case ConstItem():
            return constant_value(ctx, entity, span) or poison(span)
        case MemberItem():
            return _own_member(ctx, entity, name, span)
    if isinstance(entity, GenericItem):
        what = describe(entity)
        hint = f"to use it as a pack argument or axis: `*{name}`" if "pack" in what else ""
        ctx.report(
            "E1208",
            f"`{name}` is {what}, not a value",
            span,
            "a value is needed here",
            help=hint or (),
        )
    else:
        wrong_sort(ctx, name, entity, span, "a value is needed here")
    return poison(span)


def _own_member(ctx: Context, entity: MemberItem, name: str, span: Span) -> TExpr:
    ctx.run.read.add(id(entity.member))
    if is_poison(entity.member.type):
        return poison(span)
    if ctx.block is not entity.block:
        return ctx.bad(
            "E1208",
            f"`{name}` belongs to an instance of block `{entity.block.decl.name}`",
            span,
            "there is no instance here",
            help="pass what is needed as a parameter",
        )
    return MemberRef(entity.member.type, span, own_block(ctx, entity.block, span), entity.member)


def index_as_value(ctx: Context, node: tree.Name) -> TExpr:
    """E3104: an index variable outside the brackets of an access."""
    return ctx.bad(
        "E3104",
        f"index `{node.name}` is not a value",
        node.span,
        "an index stands only as a component of an access",
        help=f"for its position write `iota(N)[{node.name}]` with the extent as `N`",
    )


def _attribute(ctx: Context, node: tree.Attribute) -> TExpr:
    entity = static_entity(ctx, node.base)
    match entity:
        case Poison():
            return poison(node.span)
        case ModuleItem():
            item = public_item(ctx, entity.scope, node.name, node.name_span)
            return _entity(ctx, item, node.name, node.span)
        case EnumItem():
            return _variant(ctx, entity, node)
        case AliasItem():
            if not resolve_alias(ctx, entity, node.base.span) or entity.type is None:
                return poison(node.span)
            if isinstance(entity.type, Enum):
                return _variant_of(ctx, entity.type, node)
            if is_poison(entity.type):
                return poison(node.span)
    if isinstance(entity, AliasItem | StructItem | BlockItem | FunctionItem):
        name = node.base.span.text
        wrong_sort(ctx, name, entity, node.base.span, "it has no members of its own here")
        return poison(node.span)
    return _field(ctx, ctx.expr(node.base), node)


def _variant(ctx: Context, item: EnumItem, node: tree.Attribute) -> TExpr:
    if not item.head_ok:
        return poison(node.span)
    defaults = [g.default for g in item.decl.generics]
    given = tuple(d for d in defaults if d is not None)
    if len(given) < len(defaults):
        return ctx.bad(
            "E2110",
            f"the generics of enum `{item.decl.name}` cannot be worked out here",
            node.span,
            help="give them defaults, or name the enum through an alias",
        )
    return _variant_of(ctx, Enum(item.decl, given), node)


def _variant_of(ctx: Context, type: Enum, node: tree.Attribute) -> TExpr:
    variants = type.decl.variants
    if node.name in variants:
        return EnumValue(type, node.span, variants.index(node.name))
    near = nearest(node.name, list(variants))
    return ctx.bad(
        "E2107",
        f"enum `{type.decl.name}` has no variant `{node.name}`",
        node.name_span,
        at=node.span,
        related=(Label(type.decl.span, "declared here"),),
        notes=(f"its variants are {', '.join(variants)}",) if variants else (),
        help=(f"did you mean `{near}`?",) if near else (),
    )


def _field(ctx: Context, base: TExpr, node: tree.Attribute) -> TExpr:
    if is_poison(base):
        return poison(node.span)
    if isinstance(base.type, Block):
        return member_of(ctx, base, node)
    if isinstance(base.type, Struct):
        return field_of(ctx, base, base.type, node)
    help: tuple[str, ...] = ()
    if isinstance(base.type, Optional):
        help = ("take it apart first: `match … { some(v) => … none => … }`",)
    return ctx.bad(
        "E2107",
        f"{show.quoted(base.type)} has no member `{node.name}`",
        node.name_span,
        at=node.span,
        related=(Label(node.base.span, f"this is {show.quoted(base.type)}"),),
        help=help,
    )


# --- literals and constructors ----------------------------------------------------------


def _int(ctx: Context, node: tree.Int) -> TExpr:
    return dim_value(ctx, Dim.const(node.value), node.span)


def _float(ctx: Context, node: tree.Float) -> TExpr:
    return Literal(FloatLiteral(node.value), node.span, node.value)


def _bool(ctx: Context, node: tree.Bool) -> TExpr:
    return Literal(Scalar("bool"), node.span, node.value)


def _string(ctx: Context, node: tree.String) -> TExpr:
    return ctx.bad(
        "E2104",
        "a string is not a value in this version",
        node.span,
        "nothing takes a string",
        help="use numbers, or an enum for a choice",
    )


def _none(ctx: Context, node: tree.NoneLiteral) -> TExpr:
    return NoneExpr(NoneLiteral(), node.span)


def _some(ctx: Context, node: tree.Some) -> TExpr:
    inner = ctx.value(node.value)
    if is_poison(inner):
        return poison(node.span)
    return SomeExpr(Optional(inner.type), node.span, inner)


def _tuple(ctx: Context, node: tree.Tuple) -> TExpr:
    items = tuple(ctx.value(element) for element in node.elements)
    if any(is_poison(item) for item in items):
        return poison(node.span)
    return TupleExpr(Tuple(tuple(item.type for item in items)), node.span, items)


def _shape(ctx: Context, node: tree.ShapeLiteral) -> TExpr:
    # The functions that take a shape read the literal themselves.
    return ctx.bad(
        "E2101",
        "a shape is not a value",
        node.span,
        "shapes stand only as arguments of `reshape`, `broadcast_to`, `permute` and `fill`, "
        "or for a pack",
        help="to build a tensor use `fill<T>([…], value)` or index notation",
    )


def _broken(ctx: Context, node: tree.Broken) -> TExpr:
    return poison(node.span)


# --- operators --------------------------------------------------------------------------


def _binary(ctx: Context, node: tree.Binary) -> TExpr:
    first, spine = tree.chain(node)
    value = ctx.value(first)
    for step in spine:
        right = ctx.value(step.right)
        value = binary(ctx, step.op, value, right, step.span)
    return value


def _unary(ctx: Context, node: tree.Unary) -> TExpr:
    return unary(ctx, node.op, ctx.value(node.operand), node.span)


_RULES: dict[type[tree.Expr], Callable[[Context, Any], TExpr]] = {
    tree.Name: _name,
    tree.Attribute: _attribute,
    tree.Int: _int,
    tree.Float: _float,
    tree.Bool: _bool,
    tree.String: _string,
    tree.NoneLiteral: _none,
    tree.Some: _some,
    tree.Tuple: _tuple,
    tree.ShapeLiteral: _shape,
    tree.Broken: _broken,
    tree.Binary: _binary,
    tree.Unary: _unary,
    tree.If: if_expr,
    tree.Match: match_expr,
    tree.Call: call,
    tree.Index: index_expr,
    tree.Reduction: reduction,
    tree.For: for_as_operand,
}
