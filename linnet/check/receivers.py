"""What stands before a dot: modules and enums that are only names, and blocks that are there."""

from __future__ import annotations

from linnet.check.context import Context
from linnet.check.entities import (
    AliasItem,
    BlockItem,
    Entity,
    EnumItem,
    FunctionItem,
    ModuleItem,
    Poison,
    StructItem,
)
from linnet.check.names import public_item
from linnet.check.typed import GenericParam, SelfBlock
from linnet.check.types import Block, GenericArgument
from linnet.diag import Span
from linnet.dims import Dim, Pack, Sym
from linnet.syntax import tree


def itself(param: GenericParam) -> GenericArgument:
    """The argument that stands for a generic inside its own declaration."""
    symbol = param.symbol
    if isinstance(symbol, Sym):
        return Dim.sym(symbol)
    return (symbol,) if isinstance(symbol, Pack) else symbol


def own_block(ctx: Context, block: BlockItem, span: Span) -> SelfBlock:
    """The block whose function is being checked."""
    arguments = tuple(itself(generic) for generic in block.decl.generics)
    return SelfBlock(Block(block.decl, arguments), span)


def static_entity(ctx: Context, node: tree.Expr) -> Entity | None:
    """The module, enum, type or function that `node` names; None if it is to be evaluated.

    Poison stands for a name that went wrong in an imported module."""
    if isinstance(node, tree.Name):
        entity = ctx.find(node.name)
    elif isinstance(node, tree.Attribute):
        module = static_entity(ctx, node.base)
        if isinstance(module, Poison):
            return module
        if not isinstance(module, ModuleItem):
            return None
        entity = public_item(ctx, module.scope, node.name, node.name_span)
    else:
        return None
    kinds = ModuleItem | EnumItem | StructItem | AliasItem | BlockItem | FunctionItem | Poison
    return entity if isinstance(entity, kinds) else None
