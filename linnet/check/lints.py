"""Warnings about style: what nobody uses (W1001, W1002, W1003). They appear only in programs
without an error, since an error may be what keeps a use from being seen."""

from __future__ import annotations

from linnet.check.context import Run
from linnet.check.entities import BlockItem, ModuleScope
from linnet.check.heads import every_item


def lint(run: Run, modules: list[ModuleScope]) -> None:
    """Report what is unused in `modules`."""
    for module in modules:
        _imports(run, module)
        _members(run, module)
    sources = {module.tree.source for module in modules}
    for variable in run.locals:
        if variable.span.source not in sources or variable.name.startswith("_"):
            continue
        if id(variable) not in run.read:
            run.report(
                "W1002",
                f"local `{variable.name}` is never used",
                variable.span,
                "nothing reads it",
                help=f"remove it, or call it `_{variable.name}`",
            )


def _imports(run: Run, module: ModuleScope) -> None:
    for name, entry in module.imports.items():
        if not entry.used and not name.startswith("_"):
            run.report(
                "W1001",
                f"import `{name}` is never used",
                entry.span,
                "nothing in this module names it",
                help="remove it",
            )


def _members(run: Run, module: ModuleScope) -> None:
    for item in every_item(module):
        if not isinstance(item, BlockItem):
            continue
        for member in item.decl.members.values():
            if id(member) in run.read or member.name.startswith("_"):
                continue
            run.report(
                "W1003",
                f"`{member.kind} {member.name}` is never used",
                member.span,
                f"nothing reads it in block `{item.decl.name}`",
                help="remove it",
            )
