"""Dimension expressions: what stands in a shape, a slice bound, an array length or a `where`.

In: an expression of the syntax tree. Out: a `Dim`, or None after a report. The arithmetic is
that of ordinary expressions; this module says what may stand in the position at all.
"""

from __future__ import annotations

from linnet.check import show
from linnet.check.context import Context, is_poison
from linnet.check.entities import AliasItem, Entity, GenericItem, Poison, PreludeItem
from linnet.check.names import unknown_name
from linnet.check.proofs import certainly_negative
from linnet.check.substitute import field_types
from linnet.check.typed import ConstRef, Variable
from linnet.check.types import (
    Axis,
    CompileTimeInt,
    Optional,
    Scalar,
    Shape,
    Struct,
    Tensor,
    Tuple,
    Type,
)
from linnet.diag import Span
from linnet.dims import Clause, Dim, Pack
from linnet.dims.clause import COMPARISONS
from linnet.syntax import tree

HELP = "use a literal, a `Dim` generic, or a constant without a type annotation"
PACK_HELP = "`*{}` stands in types alone; index notation keeps its axes: `let y[*s, i] = …`"


def dim_of(ctx: Context, node: tree.Expr) -> Dim | None:
    """The compile-time integer that `node` spells; E2123 for anything else."""
    if isinstance(node, tree.Name) and _wrong_sort(ctx, node):
        return None
    if isinstance(node, tree.Name) and _is_unknown(ctx, node.name):
        unknown_name(ctx, node.name, node.span, f"declare it as a size: `<{node.name}: Dim>`")
        return None
    value = ctx.expr(node)
    if isinstance(value.type, CompileTimeInt):
        return value.type.value
    if not is_poison(value):
        label = f"this is {show.quoted(value.type)}"
        help = HELP
        if isinstance(value, ConstRef):
            help = f"drop its type annotation: `const {value.decl.name} = …`"
        elif isinstance(value.type, Scalar):
            label += ", known only at run time"
        message = "a compile-time integer is needed here"
        ctx.report("E2123", message, node.span, label, help=help)
    return None


def _is_unknown(ctx: Context, name: str) -> bool:
    return ctx.find(name) is None and ctx.index_variable(name) is None


def _wrong_sort(ctx: Context, node: tree.Name) -> bool:
    """Names that are no values at all, where a dimension is wanted."""
    entity = ctx.find(node.name)
    if isinstance(entity, GenericItem) and entity.param.kind == "Shape":
        sort, help = "a pack of dimensions", PACK_HELP.format(node.name)
    elif isinstance(entity, GenericItem) and entity.param.kind != "Dim":
        sort, help = "a dtype", HELP
    elif isinstance(entity, AliasItem | PreludeItem):
        sort, help = f"a {entity.sort}", HELP
    else:
        return False
    _no_size(ctx, node, sort, help)
    return True


def _no_size(ctx: Context, node: tree.Name, sort: str, help: str) -> None:
    ctx.report(
        "E2123", "a compile-time integer is needed here", node.span, f"this is {sort}", help=help
    )


def size_of(ctx: Context, node: tree.Expr) -> Dim | None:
    """A dimension that is the size of something: E2208 if it is certainly negative."""
    dim = dim_of(ctx, node)
    if dim is None or not certainly_negative(ctx.facts, dim):
        return dim
    ctx.report(
        "E2208",
        f"dimension `{dim}` is certainly negative",
        node.span,
        "no sizes make this zero or more",
    )
    return None


def possible_sizes(ctx: Context, type: Type, span: Span, whose: str) -> bool:
    """Whether no axis of a type that generics have given its sizes is certainly negative
    (E2208) or beyond i64 (E2123)."""
    match type:
        case Optional(inner):
            return possible_sizes(ctx, inner, span, whose)
        case Tuple(items):
            return all(possible_sizes(ctx, item, span, whose) for item in items)
        case Struct():
            return all(possible_sizes(ctx, t, span, whose) for t in field_types(type))
        case Tensor(_, axes):
            for axis in axes:
                if isinstance(axis, Dim) and axis.poisoned:
                    ctx.report("E2123", f"a size of {whose} is beyond the range of i64", span)
                    return False
                if isinstance(axis, Dim) and certainly_negative(ctx.facts, axis):
                    label = "no sizes make this zero or more"
                    ctx.report("E2208", f"{whose} has the size `{axis}` here", span, label)
                    return False
    return True


def axis_of(ctx: Context, node: tree.Expr | tree.Pack) -> Axis | None:
    """One entry of a tensor type's shape."""
    if not isinstance(node, tree.Name | tree.Pack):
        return size_of(ctx, node)
    entity = ctx.find(node.name)
    if isinstance(node, tree.Name):
        if not (isinstance(entity, GenericItem) and isinstance(entity.param.symbol, Pack)):
            return size_of(ctx, node)
        help = f"write `*{node.name}` for all of its axes"
        _no_size(ctx, node, "a pack of dimensions", help)
        return None
    if isinstance(entity, GenericItem) and isinstance(entity.param.symbol, Pack):
        return entity.param.symbol
    if entity is None:
        unknown(ctx, node)
    elif not _is_silent(entity):
        ctx.report(
            "E1208",
            f"`{node.name}` is not a pack of dimensions",
            node.span,
            "`*` spreads a generic of kind `Shape`",
            help=f"declare it as `*{node.name}: Shape`, or leave out the `*`",
        )
    return None


def _is_silent(entity: Entity) -> bool:
    return isinstance(entity, Poison) or (isinstance(entity, Variable) and is_poison(entity.type))


def unknown(ctx: Context, node: tree.Pack) -> None:
    ctx.report(
        "E1201",
        f"`{node.name}` is not in scope",
        node.name_span,
        help=f"declare the pack: `*{node.name}: Shape`",
    )


def shape_of(ctx: Context, node: tree.ShapeLiteral) -> Shape | None:
    """The dims of a shape literal, or None after a report for some of them."""
    dims = [size_of(ctx, element) for element in node.elements]
    whole = tuple(dim for dim in dims if dim is not None)
    return whole if len(whole) == len(dims) else None


def clause_of(ctx: Context, node: tree.Expr) -> Clause | None:
    """A `where` item. Divisors need no proof in it."""
    if not isinstance(node, tree.Binary) or node.op not in COMPARISONS:
        return None  # the parser has said that it must be a comparison
    place = ctx.without_proofs()
    left, right = dim_of(place, node.left), dim_of(place, node.right)
    if left is None or right is None:
        return None
    return Clause(node.op, left, right, node.span.text, node.span)
