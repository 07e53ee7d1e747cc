"""Each pass on small graphs: what stands in `CASES`, and in golden/passes/ what became of it.

A case begins with a comment that says what it shows. Tests of passes start from IR text and need
neither the front end nor a C compiler.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from linnet.dims import Facts, Sym
from linnet.ir.node import CallAttrs, Graph
from linnet.ir.text import parse_graph, print_graph
from linnet.ir.verify import verify
from linnet.passes.expand_calls import expand_calls
from linnet.passes.fuse_maps import fuse_maps
from linnet.passes.share import share

PASSES: dict[str, Callable[[Graph], Graph]] = {
    "expand_calls": lambda graph: expand_calls(
        graph,
        lambda call: isinstance(call.attrs, CallAttrs) and call.attrs.function.op == "own::kept",
    ),
    "share": share,
    "fuse_maps": lambda graph: fuse_maps(
        graph, Facts(graph.clauses, (Sym(size) for size in graph.sizes))
    ),
}

CASES: dict[str, tuple[str, ...]] = {
    "expand_calls": (
        """\
// An op's body takes the place of its call, the op in its body too; a kept one stays.
function @kept own::kept<N = 4> {
  %0 = arg x: f32[4]
  %1 = map (i: 4) exp(%0[i])
  return %1
}
function @twice own::twice<N = 4> {
  %0 = arg x: f32[4]
  %1 = call @kept(%0): f32[4]
  %2 = map (i: 4) add(%1[i], %1[i])
  return %2
}
graph f() {
  %0 = input x: f32[4]
  %1 = call @twice(%0): f32[4]
  %2 = call @twice(%1): f32[4]
  return %2
}
""",
    ),
    "share": (
        """\
// Equal maps become one, whatever their indices are called; so do equal parts of one body.
graph f(S) {
  %0 = input x: f32[S]
  %1 = map (i: S) mul(%0[i], 2.0)
  %2 = map (k: S) mul(%0[k], 2.0)
  %3 = map (i: S) add(exp(%2[i]), exp(%2[i]))
  return (%1, %3)
}
""",
        """\
// Values of another dtype, -0.0 beside 0.0, and reductions of their own are not equal.
graph f(S) {
  %0 = input x: f32[S]
  %1 = map () 0.0
  %2 = map () -0.0
  %3 = map () 0.0:f64
  %4 = map () sum[i: S](%0[i])
  %5 = map () max[i: S](%0[i])
  return (%1, %2, %3, %4, %5)
}
""",
    ),
    "fuse_maps": (
        """\
// A chain of single readers becomes one map.
graph f(S) {
  %0 = input x: f32[S]
  %1 = map (i: S) exp(%0[i])
  %2 = map (i: S) add(%1[i], 1.0)
  %3 = map (i: S) div(%0[i], %2[i])
  return %3
}
""",
        """\
// A value with two readers stays in memory, unless it is cheap to make again.
graph f(S) {
  %0 = input x: f32[S]
  %1 = map (i: S) exp(%0[i])
  %2 = map (i: S) add(%1[i], 1.0)
  %3 = map (i: S) add(%1[i], 2.0)
  %4 = map (i: S) add(i, 1)
  %5 = map (i: S) mul(%4[i], 3)
  %6 = map (i: S) mul(%4[i], 5)
  return (%2, %3, %5, %6)
}
""",
        """\
// A reduction stays where it is, and what is read more often than once an element too.
graph f(S) {
  %0 = input x: f32[S]
  %1 = map (i: S) exp(%0[i])
  %2 = map () sum[i: S](%0[i])
  %3 = map (i: S, j: 8) mul(%1[i], %2)
  return %3
}
""",
        """\
// Nothing moves to where its axis might be empty and its position outside.
graph f(S) {
  %0 = input x: f32[S]
  %1 = map (i: S) exp(%0[i])
  %2 = map () %1[0]
  return %2
}
""",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_graphs_before_and_after(name: str, golden: Callable[[str, str], None]) -> None:
    shown = []
    for case in CASES[name]:
        comment, _, text = case.partition("\n")
        graph = parse_graph(text)
        assert print_graph(graph) == text
        after = PASSES[name](graph)
        verify(after, after=name)
        shown.append(f"{comment}\n\n{text}\n==>\n\n{print_graph(after)}")
    golden(f"passes/{name}.txt", "\n".join(shown))
