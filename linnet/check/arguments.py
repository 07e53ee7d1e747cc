"""Reading the arguments of prelude calls: how many, by position, and dtypes among them."""

from __future__ import annotations

from linnet.check.context import Context, is_poison
from linnet.check.entities import GenericItem, Poison
from linnet.check.names import reduction_help, resolve_path, wrong_sort
from linnet.check.typed import TExpr
from linnet.check.types import DType
from linnet.check.types_of import entity_dtype
from linnet.syntax import tree


def positional(ctx: Context, node: tree.Call, count: int, generics: bool = False) -> bool:
    """Whether the call has exactly `count` positional arguments; E2102 (or E2111) if not."""
    name = node.callee.span.text
    if node.type_args and not generics:
        ctx.report("E2111", f"`{name}` takes no generic arguments", node.callee.span)
        return False
    named = next((a for a in node.args if a.name is not None), None)
    if named is None and len(node.args) == count:
        return True
    plural = "argument" if count == 1 else "arguments"
    if named is not None and named.name is not None:
        span, label = named.span, f"no parameter `{named.name.name}`"
    else:
        span, label = node.callee.span, f"{len(node.args)} given"
    reduction = reduction_help(name, node.args[0].value.span.text) if len(node.args) == 1 else None
    help = (reduction,) if reduction else ()
    ctx.report("E2102", f"`{name}` takes {count} {plural}, by position", span, label, help=help)
    return False


def values_of(ctx: Context, node: tree.Call) -> tuple[TExpr, ...] | None:
    """The arguments as values; None if one is poisoned."""
    values = tuple(ctx.value(argument.value) for argument in node.args)
    return None if any(is_poison(value) for value in values) else values


def dtype_argument(ctx: Context, node: tree.TypeArg) -> DType | None:
    """A generic argument that has to be a dtype, E1208 for a name that is none."""
    path: tuple[tree.Ident, ...] | None = None
    if isinstance(node, tree.Name):
        path = (tree.Ident(node.span, node.name),)
    elif isinstance(node, tree.NamedType) and not node.args:
        path = node.path
    if path is None:
        ctx.report("E1208", "a dtype is needed here", node.span, "this is no dtype")
        return None
    entity = resolve_path(ctx, path)
    if entity is None or isinstance(entity, Poison):
        return None
    dtype = entity_dtype(entity)
    if dtype is None and isinstance(entity, GenericItem):
        what = f"`{entity.param.name}` is a {entity.sort}"
        ctx.report("E1208", what, node.span, "a dtype is needed here")
    elif dtype is None:
        wrong_sort(ctx, node.span.text, entity, node.span, "a dtype is needed here")
    return dtype
