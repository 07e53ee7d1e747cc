"""Imports: bind what a `use` names in the scope of the importing module.

In: modules whose items are declared, and where each `use` leads. Out: names in scope. A module
that could not be found has been reported by the loader; the names it would have given are poison.
"""

from __future__ import annotations

from collections.abc import Callable

from linnet.check.context import Context, Run
from linnet.check.declare import free_name, taken
from linnet.check.entities import Entity, Import, ModuleItem, ModuleScope, Poison
from linnet.check.names import public_item
from linnet.diag import Label, Span
from linnet.dims.facts import Facts
from linnet.syntax import tree

Resolver = Callable[[tree.Use], ModuleScope | None]


def bind_imports(run: Run, module: ModuleScope, target: Resolver) -> None:
    """Bind all imports of one module."""
    ctx = Context(run, module, module, Facts())
    for use in module.tree.uses:
        scope = target(use)
        if use.picks is None:
            last = use.path[-1]
            entity = Poison() if scope is None else ModuleItem(scope)
            _bind(ctx, module, last.name, last.span, entity)
            continue
        for pick in use.picks:
            found: Entity = Poison()
            if scope is not None:
                found = public_item(ctx, scope, pick.name, pick.name_span)
            span = pick.name_span if pick.alias is None else pick.alias.span
            _bind(ctx, module, pick.local, span, found)


def _bind(ctx: Context, module: ModuleScope, name: str, span: Span, entity: Entity) -> None:
    if not free_name(ctx.run, name, span, "an import"):
        module.names[name] = Poison()
        return
    item = module.items.get(name)
    earlier = module.imports.get(name)
    if item is not None:
        taken(ctx.run, name, item.node.name_span, Label(span, "imported here"))
    elif earlier is not None:
        if not _same(module.names[name], entity):
            taken(ctx.run, name, span, Label(earlier.span, "first imported here"))
    else:
        module.names[name] = entity
        module.imports[name] = Import(name, span)


def _same(a: Entity, b: Entity) -> bool:
    if isinstance(a, Poison) or isinstance(b, Poison):
        return True
    if isinstance(a, ModuleItem) and isinstance(b, ModuleItem):
        return a.scope is b.scope
    return a is b
