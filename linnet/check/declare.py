"""Put the names of modules and blocks into their scopes, before anything is read about them.

In: syntax trees. Out: module scopes whose items know their tree and nothing else yet. Reports
names that are taken (E1204, E1205), prelude names (E1207), and sorts of items this compiler
does not have (E2190).
"""

from __future__ import annotations

from linnet.check.context import Run
from linnet.check.entities import (
    PRELUDE,
    AliasItem,
    BlockItem,
    ConstItem,
    EnumItem,
    FunctionItem,
    Item,
    MemberItem,
    ModuleScope,
    Poison,
    PoisonItem,
    Scope,
    StructItem,
)
from linnet.check.typed import BlockDecl, EnumDecl, FunctionDecl, Member, StructDecl
from linnet.check.types import Error
from linnet.diag import Label, Span
from linnet.syntax import tree


def declare_items(run: Run, module: ModuleScope) -> None:
    """Declare the items of one file."""
    for node in module.tree.items:
        item = _item(run, node, module, module, None)
        module.order.append(item)
        if not node.name:
            continue
        if not free_name(run, node.name, node.name_span, "an item"):
            module.names[node.name] = Poison()
        elif node.name in module.names:
            _taken(run, module, node)
        else:
            module.names[node.name] = item
            module.items[node.name] = item


def _taken(run: Run, module: ModuleScope, node: tree.Item) -> None:
    first = module.items.get(node.name)
    if first is None:
        return  # the first one is poison: nothing is known
    taken(run, node.name, node.name_span, Label(first.node.name_span, "first declared here"))


def taken(run: Run, name: str, span: Span, first: Label) -> None:
    """E1204."""
    run.report(
        "E1204",
        f"the name `{name}` is taken in this module",
        span,
        "declared again",
        related=(first,),
        help="rename one of them, or import it `as` another name",
    )


def free_name(run: Run, name: str, span: Span, what: str) -> bool:
    """Whether `name` may be declared; E1207 for a prelude name."""
    if name not in PRELUDE:
        return True
    run.report(
        "E1207",
        f"`{name}` belongs to the prelude and cannot be declared",
        span,
        f"{what} cannot have this name",
        help="choose another name",
    )
    return False


def _item(
    run: Run, node: tree.Item, module: ModuleScope, scope: Scope, block: BlockItem | None
) -> Item:
    match node:
        case tree.Function():
            function = FunctionDecl(
                node.name,
                module.name,
                node.kind,
                node.public,
                node.name_span,
                node.doc,
                block.decl if block else None,
            )
            return FunctionItem(node, function, module, scope, Scope(scope), block)
        case tree.Block():
            return _block(run, node, module, scope, block)
        case tree.Enum():
            variants = _variants(run, node)
            decl = EnumDecl(node.name, module.name, node.name_span, (), variants)
            return EnumItem(node, decl, module, scope, Scope(scope))
        case tree.Alias():
            return AliasItem(node, module, scope, Scope(scope))
        case tree.Const():
            return ConstItem(node, module, scope, block=block)
        case tree.Struct():
            return _struct(run, node, module, scope)
        case tree.Kernel():
            _later(run, node)
    return PoisonItem(node)


def _later(run: Run, node: tree.Kernel) -> None:
    run.report(
        "E2190",
        "kernels are not supported by this compiler",
        node.name_span,
        "known to the language, not built yet",
        help="leave it out: the body of the op is enough",
    )


def _struct(run: Run, node: tree.Struct, module: ModuleScope, scope: Scope) -> StructItem:
    seen: dict[str, Span] = {}
    for field in node.fields:
        if field.name in seen:
            twice(run, "field", field.name, field.name_span, seen[field.name])
        seen.setdefault(field.name, field.name_span)
    decl = StructDecl(node.name, module.name, node.name_span)
    item = StructItem(node, decl, module, scope, Scope(scope))
    run.structs[decl] = item
    return item


def _variants(run: Run, node: tree.Enum) -> tuple[str, ...]:
    seen: dict[str, tree.Ident] = {}
    for variant in node.variants:
        if variant.name in seen:
            twice(run, "variant", variant.name, variant.span, seen[variant.name].span)
        seen.setdefault(variant.name, variant)
    return tuple(seen)


def _block(
    run: Run, node: tree.Block, module: ModuleScope, scope: Scope, outer: BlockItem | None
) -> BlockItem:
    decl = BlockDecl(
        node.name,
        module.name,
        node.public,
        node.name_span,
        node.doc,
        outer=outer.decl if outer else None,
    )
    names = Scope(scope)
    item = BlockItem(node, decl, module, scope, outer, names, Scope(names))
    run.blocks[decl] = item
    places: dict[str, Span] = {}
    for generic in node.generics:
        names.names[generic.name] = Poison()  # until `heads` has read them
        places.setdefault(generic.name, generic.name_span)
    for inner in node.members:
        _declare_in_block(run, item, inner, places)
    return item


def _declare_in_block(run: Run, item: BlockItem, node: tree.Item, places: dict[str, Span]) -> None:
    member = isinstance(node, tree.Member)
    target = item.inner if member else item.names
    nested = None if member else _item(run, node, item.module, item.inner, item)
    if nested is not None:
        item.items.append(nested)
    if not node.name:
        return
    fresh = free_name(run, node.name, node.name_span, "a member")
    if fresh and node.name in places:
        twice(run, "name", node.name, node.name_span, places[node.name])
        fresh = False
    if isinstance(node, tree.Member):
        record = Member(node.name, node.kind, Error(), node.name_span, node.doc)
        item.members.append((node, record))
        if fresh:
            target.names[node.name] = MemberItem(record, item)
            item.decl.members[node.name] = record
    elif fresh and nested is not None:
        target.names[node.name] = nested
        if isinstance(nested, FunctionItem):
            item.decl.functions[node.name] = nested.decl
    if node.name not in places:
        places[node.name] = node.name_span
        if not fresh:
            target.names[node.name] = Poison()


def twice(run: Run, what: str, name: str, span: Span, first: Span) -> None:
    """E1205."""
    run.report(
        "E1205",
        f"{what} `{name}` is declared twice",
        span,
        "declared again",
        related=(Label(first, "first declared here"),),
        help="rename one of them",
    )
