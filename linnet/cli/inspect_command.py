"""`linnet inspect`: what a source declares, for the sizes it is bound to."""

from __future__ import annotations

import dataclasses
import math
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from linnet.cli.options import HELP, assignments, common, generics_options
from linnet.cli.terminal import Console, counted, size, table

if TYPE_CHECKING:
    from linnet.artifact import Parameter
    from linnet.driver import Request
    from linnet.ir.node import Graph

_PLACE = re.compile(r"\.\d+\.")


@click.command(context_settings=HELP, short_help="Show entries, parameters or Core IR.")
@click.argument("model", metavar="MODEL_OR_FILE")
@click.option("--parameters", is_flag=True, help="List every parameter with dtype and shape.")
@click.option("--core-ir", is_flag=True, help="Print the Core IR of the entries.")
@click.option("--calls", is_flag=True, help="List the calls inside the entries, as they run.")
@generics_options
@click.option("--checkpoint", metavar="DIR", help="Take the generics from its config.json.")
@common
@click.pass_obj
def inspect(
    console: Console,
    model: str,
    parameters: bool,
    core_ir: bool,
    calls: bool,
    entries: tuple[str, ...],
    bind: tuple[tuple[str, int], ...],
    generics: tuple[tuple[str, int | str], ...],
    constants: tuple[tuple[str, Any], ...],
    root: str | None,
    checkpoint: str | None,
) -> None:
    """Show what MODEL_OR_FILE declares: its generics, parameters, state and entries."""
    from linnet import driver
    from linnet.cli.subject import find

    subject = find(model)
    request = dataclasses.replace(
        subject.request(
            assignments(generics, "--generic"),
            constants=assignments(constants, "--constant"),
            root=root,
            checkpoint=checkpoint,
        ),
        entries=entries,
        bind=assignments(bind, "--bind"),
        probes=calls,
    )
    if parameters:
        for line in parameter_lines(driver.manifest(request)):
            console.line(line)
        if not core_ir:
            return
    program = driver.check(request.source, request.constants).program
    assert program is not None
    graphs = driver.lower(request, program)
    if core_ir:
        from linnet.ir.text import print_graph

        console.out("\n".join(print_graph(graph).rstrip("\n") + "\n" for graph in graphs))
        return
    if calls:
        for graph in graphs:
            for line in call_lines(graph):
                console.line(line)
        return
    bound = driver.bound_generics(request, program)
    for line in overview(request, bound, driver.manifest(request), graphs):
        console.line(line)


def parameter_lines(manifest: tuple[Parameter, ...]) -> list[str]:
    """A row a parameter, in the order of the source, and their number of elements."""
    rows = [
        (p.path, f"{p.dtype}{list(p.dims)}", "optional" if p.optional else "") for p in manifest
    ]
    return table(rows)


def call_lines(graph: Graph) -> list[str]:
    """A row a call of a method, op or function inside an entry: where it stands, what it gives.
    These are the values that `linnet compare` looks at."""
    from linnet.ir.verify import type_text

    rows = [
        (
            str(probe),
            f"{Path(probe.origin.file).name}:{probe.origin.line}",
            ", ".join(type_text(graph.results[k].type) for k in probe.values),
        )
        for probe in graph.probes
    ]
    return [f"{graph.name}: {counted(len(rows), 'call')}", *table(rows)]


def overview(
    request: Request,
    generics: dict[str, int | str],
    manifest: tuple[Parameter, ...],
    graphs: list[Graph],
) -> list[str]:
    """The facts of a source in lines."""
    from linnet.ir.ops import ITEM_SIZES
    from linnet.ir.verify import type_text

    bound = ", ".join(f"{name} = {value}" for name, value in generics.items())
    elements = sum(math.prod(p.dims) for p in manifest)
    stored = sum(math.prod(p.dims) * ITEM_SIZES[p.dtype] for p in manifest)
    lines = [
        f"{request.title}  {request.source}",
        f"  generics    {bound or 'none'}",
        f"  parameters  {counted(len(manifest), 'tensor')}, {elements:,} elements, {size(stored)}",
    ]
    states = {path: node.type for graph in graphs for path, node in graph.updates.items()}
    alike = Counter((_PLACE.sub(".{i}.", path), type_text(t)) for path, t in states.items())
    for (path, type), count in sorted(alike.items()):
        lines.append(f"  state       {path}: {type}" + (f", {count} of them" if count > 1 else ""))
    for graph in graphs:
        lines.append(f"  entry       {head(graph)}")
        lines += [f"                where {clause.text}" for clause in graph.clauses]
    return lines


def head(graph: Graph) -> str:
    """`decode(token: i32[1, 1], pos: i32) -> f32[1, 512]`."""
    from linnet.ir.node import Named
    from linnet.ir.verify import type_text

    inputs = ", ".join(
        f"{node.attrs.name}: {type_text(node.type)}"
        for node in graph.inputs
        if isinstance(node.attrs, Named)
    )
    results = ", ".join(type_text(node.type) for node in graph.results)
    return f"{graph.name}({inputs}) -> " + (f"({results})" if graph.tuple_result else results)
