"""Look names up, and say what is wrong when that fails.

In: a name and the place it stands in. Out: the entity it means. A failed look-up suggests the
nearest visible name and the `use` line that would bring the name in. Declaring the names of
modules is the business of `declare`.
"""

from __future__ import annotations

import difflib
import re
from pathlib import Path

from linnet.check.context import Context
from linnet.check.entities import (
    PRELUDE_FUNCTIONS,
    BlockItem,
    Entity,
    FunctionItem,
    Item,
    MemberItem,
    ModuleItem,
    ModuleScope,
    Poison,
    StructItem,
)
from linnet.check.typed import Variable
from linnet.diag import Label, Span
from linnet.syntax import tree


def resolve(ctx: Context, name: str, span: Span) -> Entity | None:
    """What `name` means, or None after E1201."""
    entity = ctx.find(name)
    if entity is None:
        unknown_name(ctx, name, span)
    return entity


def resolve_path(ctx: Context, path: tuple[tree.Ident, ...]) -> Entity | None:
    """What `a` or `module.a` means, or None after a report."""
    entity = resolve(ctx, path[0].name, path[0].span)
    for part in path[1:]:
        if entity is None or isinstance(entity, Poison):
            return entity
        if not isinstance(entity, ModuleItem):
            wrong_sort(ctx, path[0].name, entity, path[0].span, "only modules have items")
            return None
        entity = module_item(ctx, entity.scope, part.name, part.span)
    return entity


def module_item(ctx: Context, module: ModuleScope, name: str, span: Span) -> Entity | None:
    """The public item `name` of an imported module, or None after E1201 or E1203."""
    entity = public_item(ctx, module, name, span)
    return None if isinstance(entity, Poison) else entity


def public_item(ctx: Context, module: ModuleScope, name: str, span: Span) -> Item | Poison:
    """As `module_item`, with poison in place of None."""
    item = module.items.get(name)
    if item is None:
        if not module.damaged:
            public = [n for n, i in module.items.items() if i.node.public]
            near = nearest(name, public)
            ctx.report(
                "E1201",
                f"module `{module.name}` has no item `{name}`",
                span,
                help=(f"did you mean `{near}`?",) if near else (),
                notes=(f"its public items are {', '.join(public)}",) if public and not near else (),
            )
        return Poison()
    if isinstance(item, Poison):
        return item
    if not item.node.public and module is not ctx.module:
        ctx.report(
            "E1203",
            f"{item.sort} `{name}` of module `{module.name}` is private",
            span,
            "not `pub` there",
            related=(Label(item.node.name_span, "declared here"),),
            help="declare it `pub`, or use a public item",
        )
        return Poison()
    return item


# What people from elsewhere call a reduction, and the word for it here.
_REDUCTIONS = {
    **{word: word for word in ("sum", "prod", "max", "min", "any", "all")},
    **{"amax": "max", "amin": "min", "product": "prod", "mean": "sum"},
}


def reduction_help(name: str, operand: str = "x") -> str | None:
    """How the reduction `name` is written, if it is one."""
    word = _REDUCTIONS.get(name)
    if word is None:
        return None
    if name == "mean":
        return f"divide a reduction by the size: `(sum[i] {operand}[i]) / cast<f32>(N)`"
    return f"a reduction names the indices it runs over: `{word}[i] {operand}[i]`"


def unknown_name(ctx: Context, name: str, span: Span, advice: str | None = None) -> None:
    """E1201 with the nearest visible name and the import that would help; `advice` is what to do
    where these are not what was meant."""
    visible = [n for n, e in ctx.scope.visible().items() if not isinstance(e, Poison)]
    near = nearest(name, visible)
    help = [f"did you mean `{near}`?"] if near else []
    line = use_line(ctx, name)
    if line:
        help.append(f"import it: `{line}`")
    reduction = reduction_help(name)
    help.extend(text for text in (reduction, advice) if text)
    ctx.report("E1201", f"`{name}` is not in scope", span, help=help)


def nearest(name: str, candidates: list[str]) -> str | None:
    """The candidate within a small edit distance of `name`, if there is one."""
    close = difflib.get_close_matches(name, sorted(set(candidates)), n=1, cutoff=0.7)
    return close[0] if close else None


def use_line(ctx: Context, name: str) -> str | None:
    """The `use` line that brings a public item of this name in scope."""
    for module in sorted(ctx.run.modules.values(), key=lambda m: m.name):
        item = module.items.get(name)
        if item is not None and item.node.public and module is not ctx.module and module.name:
            return f"use {module.name}::{{{name}}}"
    return _library_line(ctx.run.std, name)


def _library_line(std: Path | None, name: str) -> str | None:
    """The same from the text of library modules that nobody has imported yet."""
    if std is None:
        return None
    pattern = re.compile(rf"^pub\s+(?:fn|op|block|const|type|enum|struct|entry)\s+{name}\b", re.M)
    for file in sorted(std.rglob("*.linnet")):
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        if pattern.search(text):
            module = ".".join(file.relative_to(std).with_suffix("").parts)
            return f"use std.{module}::{{{name}}}"
    return None


def describe(entity: Entity) -> str:
    """What an entity is, with its article: `a block`, `an enum`."""
    if isinstance(entity, Variable):
        return "a local"
    sort = entity.sort
    if isinstance(entity, FunctionItem):
        sort = {"fn": "function", "op": "op", "entry": "entry"}[entity.decl.kind]
    if isinstance(entity, MemberItem):
        sort = f"`{entity.member.kind}` of block `{entity.block.decl.name}`"
        return f"a {sort}"
    return f"{'an' if sort[0] in 'aeiou' else 'a'} {sort}"


def wrong_sort(ctx: Context, name: str, entity: Entity, span: Span, needed: str) -> None:
    """E1208: the name is of another sort than this place takes. Silent for poison."""
    if isinstance(entity, Poison):
        return
    help: tuple[str, ...] = ()
    if isinstance(entity, FunctionItem):
        help = (f"call it: `{name}(…)`; functions are not values",)
    elif isinstance(entity, BlockItem):
        help = ("declare a `sub` of this block and call its methods",)
    elif isinstance(entity, StructItem):
        help = (f"build one by the names of its fields: `{name}(…)`",)
    elif name in PRELUDE_FUNCTIONS:
        help = (f"call it: `{name}(…)`",)
    ctx.report("E1208", f"`{name}` is {describe(entity)}", span, needed, help=help)
