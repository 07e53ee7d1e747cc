"""The passes, in the order they run. The order is the documentation.

    expand_calls   first: kernels are chosen by calls, everything else sees maps
    share          before fusing, so that a value used twice is seen to be used twice
    fuse_maps      leaves one map where a chain stood
    share          fused bodies repeat index arithmetic

`verify` runs after each; a broken graph names the pass that broke it.
"""

from __future__ import annotations

from collections.abc import Callable

from linnet.dims import Facts, Sym
from linnet.ir.node import Graph, Node
from linnet.ir.verify import verify
from linnet.passes.expand_calls import expand_calls
from linnet.passes.fuse_maps import fuse_maps
from linnet.passes.share import share

Trace = Callable[[str, Graph], None]


def run(graph: Graph, keep: Callable[[Node], bool], trace: Trace | None = None) -> Graph:
    """Run all passes. `keep` says which calls a kernel will take; `trace` sees each stage."""
    facts = Facts(graph.clauses, (Sym(size) for size in graph.sizes))
    steps: tuple[tuple[str, Callable[[Graph], Graph]], ...] = (
        ("expand_calls", lambda g: expand_calls(g, keep)),
        ("share", share),
        ("fuse_maps", lambda g: fuse_maps(g, facts)),
        ("share again", share),
    )
    for name, step in steps:
        graph = step(graph)
        verify(graph, after=name)
        if trace is not None:
            trace(name, graph)
    return graph
