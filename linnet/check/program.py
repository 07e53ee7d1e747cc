"""The checker's run over a closed set of modules, phase by phase.

In: the modules' trees and where their imports lead (`ModuleGraph`). Out: the `Program` of typed
trees, and everything that is wrong reported to `problems`. Reads no files.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from linnet.check.context import Run
from linnet.check.cycles import check_blocks, check_calls
from linnet.check.declare import declare_items
from linnet.check.entities import (
    BlockItem,
    ConstItem,
    FunctionItem,
    ModuleScope,
    prelude_scope,
)
from linnet.check.expressions import evaluate
from linnet.check.given import Given, give
from linnet.check.heads import every_item, resolve_heads
from linnet.check.imports import bind_imports
from linnet.check.lints import lint
from linnet.check.statements import check_body
from linnet.check.suppress import suppress
from linnet.check.typed import BlockDecl, ConstDecl, FunctionDecl, Program
from linnet.diag import Problems
from linnet.diag.frozen import no_collection
from linnet.modules import ModuleGraph

_DEEP = 20_000
"""Python frames for the deepest nesting the parser lets through."""


def check_modules(
    graph: ModuleGraph, problems: Problems, constants: Mapping[str, Given] | None = None
) -> Program:
    """Check all modules of the graph together, with other values for `constants` of the root.

    Warnings are given for the modules of the root's own package. The program is meaningful only
    if no error was reported."""
    prelude = prelude_scope()
    modules = {name: ModuleScope(prelude, name=name, tree=t) for name, t in graph.modules.items()}
    run = Run(problems, modules, evaluate, graph.std)
    with _deep_recursion(), no_collection():
        for module in modules.values():
            declare_items(run, module)
        for module in modules.values():
            bind_imports(run, module, lambda use: modules.get(graph.targets[use] or ""))
        give(modules[graph.root], constants or {})
        resolve_heads(run)
        check_blocks(run)
        for module in modules.values():
            for item in every_item(module):
                if isinstance(item, FunctionItem):
                    check_body(run, item)
        check_calls(run)
    own_package = [m for name, m in modules.items() if _package(name) == _package(graph.root)]
    lint(run, own_package)
    suppress(run, modules.values(), own_package)
    return _program(graph.root, modules, constants or {})


def _package(name: str) -> str:
    return name.split(".", 1)[0]


def _program(root: str, modules: Mapping[str, ModuleScope], given: Mapping[str, Given]) -> Program:
    blocks: dict[str, dict[str, BlockDecl]] = {}
    functions: dict[str, dict[str, FunctionDecl]] = {}
    constants: dict[str, dict[str, ConstDecl]] = {}
    for name, module in modules.items():
        items = module.items
        blocks[name] = {n: i.decl for n, i in items.items() if isinstance(i, BlockItem)}
        functions[name] = {n: i.decl for n, i in items.items() if isinstance(i, FunctionItem)}
        constants[name] = {
            n: i.decl for n, i in items.items() if isinstance(i, ConstItem) and i.decl is not None
        }
    return Program(root, blocks, functions, constants, dict(given))


@contextmanager
def _deep_recursion() -> Iterator[None]:
    """Room for the recursion over nested expressions, which the parser bounds."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _DEEP))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
