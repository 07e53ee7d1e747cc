"""Read the generics of functions, blocks, aliases and enums into their scopes."""

from __future__ import annotations

from linnet.check.context import Context
from linnet.check.declare import free_name, twice
from linnet.check.entities import GenericItem, Poison, Scope
from linnet.check.typed import GenericParam
from linnet.check.types import DTypeVar, GenericSymbol
from linnet.check.types_of import generic_argument
from linnet.diag import Span
from linnet.dims import Pack, Sym
from linnet.syntax import tree


def declare_generics(
    ctx: Context, nodes: tuple[tree.Generic, ...], scope: Scope
) -> tuple[GenericParam, ...]:
    """Declare each generic in `scope`, which is where `ctx` looks names up; a default may
    mention the generics before it. Names that are taken or not allowed become poison."""
    params: list[GenericParam] = []
    seen: dict[str, Span] = {}
    for node in nodes:
        if not free_name(ctx.run, node.name, node.name_span, "a generic"):
            scope.names[node.name] = Poison()
            continue
        if node.name in seen:
            twice(ctx.run, "generic", node.name, node.name_span, seen[node.name])
            continue
        seen[node.name] = node.name_span
        if node.kind not in tree.GENERIC_KINDS:
            ctx.run.errors += 1  # the parser's report
            scope.names[node.name] = Poison()
            continue
        param = _param(ctx, node)
        broken = node.default is not None and param.default is None
        scope.names[node.name] = Poison() if broken else GenericItem(param)
        params.append(param)
    return tuple(params)


def _param(ctx: Context, node: tree.Generic) -> GenericParam:
    uid = ctx.run.fresh()
    symbol: GenericSymbol
    if node.pack != (node.kind == "Shape"):
        _star(ctx, node)
    if node.kind == "Dim":
        symbol = Sym(node.name, uid)
    elif node.kind == "Shape":
        symbol = Pack(node.name, uid)
    else:
        symbol = DTypeVar(node.name, node.kind, uid)
    bare = GenericParam(node.name, node.kind, symbol, None, node.name_span)
    if node.default is None:
        return bare
    # The generic itself and those after it are not in scope of its default.
    default = generic_argument(ctx, node.default, bare, "E2112")
    return GenericParam(node.name, node.kind, symbol, default, node.name_span)


def _star(ctx: Context, node: tree.Generic) -> None:
    pack = node.kind == "Shape"
    spelling = f"*{node.name}: Shape" if pack else f"{node.name}: {node.kind}"
    ctx.report(
        "E2111",
        "`*` goes with kind `Shape`, and only with it",
        node.span,
        "this is a pack and needs a `*`" if pack else f"`{node.kind}` takes no `*`",
        help=f"write `{spelling}`",
    )
