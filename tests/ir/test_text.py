"""The text form prints what it parses, and what it parses is a verified graph."""

from __future__ import annotations

import math

import pytest

from linnet.dims import Clause, Dim, Sym
from linnet.ir import build
from linnet.ir.errors import BrokenIR
from linnet.ir.node import Origin
from linnet.ir.text import parse_graph, print_graph
from linnet.ir.verify import verify

POND = """\
function @softmax std.nn.softmax::softmax<S = [B], N = 8, T = f32> {
  %0 = arg x: f32[B, 8]
  %1 = map (i: B) max[j: 8](%0[i, j])
  %2 = map (i: B, j: 8) exp(sub(%0[i, j], %1[i]))
  %3 = map (i: B) sum[j: 8](%2[i, j])
  %4 = map (i: B, j: 8) div(%2[i, j], %3[i])
  return %4
}
function @test loop::test {
  %0 = arg n: i64
  %1 = arg end: i64
  %2 = map () lt(%0, %1)
  return %2
}
function @round loop::round {
  %0 = arg n: i64
  %1 = arg end: i64
  %2 = map () add(%0, 1)
  return %2
}
graph forward(B, S) { // pond.linnet:2:1 in pond
  where B <= 4 "B <= Room" at pond.linnet:3:4
  where min(B, S) > 0
  %0 = input x: f32[B, 8]
  %1 = input at: i32
  %2 = call @softmax(%0): f32[B, 8]                              // pond.linnet:9:5 qkv in h.0
  %3 = reshape %2: f32[8 * B]
  %4 = map (i: B, s: S) using %0, %2 select(lt(i, dim(S)), $0 = exp(%2[i, 3]), mul($0, 0.1))
  %5 = map () and(eq(%1, 3:i32), true)
  %6 = map (k: 4) add(cast<f64>(k), dim(2 * B):f64)
  %7 = param layers.0.weight: bf16[8, 3]
  %8 = map (i: 8) sum[i_2: 3, m: S](mul(%7[i, i_2], 0.1:bf16))
  %9 = map () 0
  %10 = map () 5
  %11 = loop @test @round(%9; %10)
  %12 = get %11 0
  return (%3, %4, %5, %6, %8, %12)
  update seen = %2
}
"""


def test_text_survives_a_round_trip() -> None:
    graph = parse_graph(POND)
    verify(graph)
    assert print_graph(graph) == POND


def test_parsed_parts() -> None:
    graph = parse_graph(POND)
    assert graph.sizes == ("B", "S")
    assert graph.tuple_result
    assert len(graph.results) == 6
    assert graph.clauses[0].text == "B <= Room"
    assert graph.clauses[0].origin == Origin("pond.linnet", 3, 4)
    call = graph.updates["seen"]
    assert call.origin == Origin("pond.linnet", 9, 5, "qkv", "h.0")
    assert "qkv" not in print_graph(graph, origins=False)


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (0.044715, "f32", "0.044715"),
        (-1e30, "f32", "-1e+30"),
        (2.0, "f32", "2.0"),
        (-math.inf, "f32", "-inf"),
        (math.nan, "f64", "nan:f64"),
        (0.1, "bf16", "0.1:bf16"),
        (-5, "i64", "-5"),
        (7, "u8", "7:u8"),
        (True, "bool", "true"),
    ],
)
def test_numbers(value: float, dtype: str, text: str) -> None:
    graph = build.graph("g", (), (build.scalar(build.const(value, dtype)),))
    assert f"map () {text}\n" in print_graph(graph)
    assert print_graph(parse_graph(print_graph(graph))) == print_graph(graph)


def test_deep_bodies_print() -> None:
    x = build.input_node("x", build.tensor("f32"))
    operands = build.Operands()
    body = operands.load(x)
    for _ in range(5000):
        body = build.apply("neg", body)
    graph = build.graph("g", (x,), (build.map_node(operands.nodes, (), body),))
    assert print_graph(graph).count("neg") == 5000


@pytest.mark.parametrize(
    "line",
    ["%1 = map (i: 3) %0[j]", "%1 = call @gone(%0): f32", "%1 = map (i: 3) 1 2", "nonsense"],
)
def test_malformed_text_names_its_line(line: str) -> None:
    with pytest.raises(BrokenIR, match="line 3"):
        parse_graph(f"graph g() {{\n  %0 = input x: f32[3]\n  {line}\n}}\n")


def test_clauses_from_nowhere_print_plainly() -> None:
    n = Dim.sym(Sym("N"))
    x = build.input_node("x", build.tensor("f32", [n]))
    graph = build.graph("g", (x,), (x,), clauses=(Clause.of(">=", n - 1, 0),))
    assert "  where N - 1 >= 0\n" in print_graph(graph)
