"""The closed set of modules of a program, and the check that their imports form no circle.

Holds what `load` found; reads no files. What an import picks out of a module is the checker's
business.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from linnet.diag import Label, Problems
from linnet.syntax import tree


@dataclass(frozen=True, eq=False)
class ModuleGraph:
    """`modules` are by logical name, the root first, then in the order they were met:

        std.nn.norm      a module of the standard library
        crate.a.b        a module of the root's own package, `crate` its root module
        dep, dep.a       modules of a dependency, under the name the manifest gives it
        samples.pond     a root file outside any package, under its own name

    `targets` says for each `use` which module it leads to; None when there is none, which has
    been reported. `std` is the folder of the standard library."""

    root: str
    modules: Mapping[str, tree.Module]
    targets: Mapping[tree.Use, str | None]
    std: Path

    def imports(self, name: str) -> Iterator[tuple[tree.Use, str]]:
        """The imports of module `name` that lead somewhere, in order."""
        for use in self.modules[name].uses:
            target = self.targets[use]
            if target is not None:
                yield use, target


def check_cycles(graph: ModuleGraph, problems: Problems) -> None:
    """Report E1206 once for every set of modules that import each other in circles."""
    for component in _components(graph):
        circle = _circle(graph, component)
        if circle:
            _report(graph, circle, problems)


def _report(graph: ModuleGraph, circle: list[tuple[str, tree.Use]], problems: Problems) -> None:
    names = [name for name, _ in circle]
    shown = " -> ".join(f"`{name}`" for name in [*names, names[0]])
    (_, first), *rest = circle
    if rest:
        message = f"modules import each other in a circle: {shown}"
        help = "move what both need to a third module"
    else:
        message = f"module `{names[0]}` imports itself"
        help = "delete the import: the items of a module see each other"
    problems.report(
        "E1206",
        message,
        first.span,
        f"`{graph.targets[first]}` leads back to this module" if rest else "",
        related=[Label(use.span, f"`{name}` imports `{graph.targets[use]}`") for name, use in rest],
        help=help,
    )


def _components(graph: ModuleGraph) -> list[list[str]]:
    """Strongly connected components (Tarjan's algorithm, with a stack of its own, since chains
    of imports may be long). Each is in the order of `modules`, and so is the list."""
    order = {name: number for number, name in enumerate(graph.modules)}
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []
    for root in graph.modules:
        if root in index:
            continue
        work = [(root, graph.imports(root))]
        index[root] = low[root] = len(index)
        stack.append(root)
        while work:
            name, edges = work[-1]
            step = next(edges, None)
            if step is None:
                work.pop()
                if work:
                    above = work[-1][0]
                    low[above] = min(low[above], low[name])
                if low[name] == index[name]:
                    at = stack.index(name)
                    found.append(sorted(stack[at:], key=order.__getitem__))
                    for member in stack[at:]:
                        index[member] = len(order) + 1  # done: never lowers anything again
                    del stack[at:]
                continue
            target = step[1]
            if target not in index:
                index[target] = low[target] = len(index)
                stack.append(target)
                work.append((target, graph.imports(target)))
            else:
                low[name] = min(low[name], index[target])
    return sorted(found, key=lambda component: order[component[0]])


def _circle(graph: ModuleGraph, component: list[str]) -> list[tuple[str, tree.Use]]:
    """A shortest circle through the first module of a component, as (module, its import);
    empty if there is none."""
    start = component[0]
    members = set(component)
    came_from: dict[str, tuple[str, tree.Use]] = {}
    waiting = deque([start])
    while waiting:
        name = waiting.popleft()
        for use, target in graph.imports(name):
            if target not in members or target in came_from:
                continue
            came_from[target] = (name, use)
            if target == start:
                path = [came_from[start]]
                while path[-1][0] != start:
                    path.append(came_from[path[-1][0]])
                return path[::-1]
            waiting.append(target)
    return []
