"""Each rule of the IR, broken once."""

from __future__ import annotations

import pytest

from linnet.dims import Dim, Sym
from linnet.ir import build
from linnet.ir.errors import BrokenIR
from linnet.ir.expr import Apply, Const, Index, Load
from linnet.ir.node import CallAttrs, Function, Graph, Node, Origin
from linnet.ir.ops import Op
from linnet.ir.verify import verify


def _graph(*results: object, **more: object) -> Graph:
    return build.graph("g", (X,), results, tuple_result=True, **more)  # type: ignore[arg-type]


N = Dim.sym(Sym("N"))
X = build.input_node("x", build.tensor("f32", [N, 3]))
EIGHT = build.param("w", build.tensor("f32", [8]))
I = Index("i", N)  # noqa: E741 (the name of a loop variable)


def _broken() -> dict[str, Graph]:
    ref = build.index_ref(I)
    operands = build.Operands()
    element = operands.load(X, (ref, build.const(1, "i64")))
    stray = build.index_ref(Index("k", N))
    identity = Function("m::f", {}, (build.arg("x", build.tensor("i32")),), ())
    return {
        "index k is bound nowhere": _graph(
            build.map_node((X,), (I,), operands.load(X, (stray, stray)))
        ),
        "index i is bound twice": _graph(
            build.map_node((X,), (I,), build.reduce("sum", (I,), element))
        ),
        r"mul\(f32, i64\)": _graph(build.map_node((X,), (I,), Apply("f32", "mul", (element, ref)))),
        "300 is no u8": _graph(build.map_node((), (), Const("u8", 300))),
        "0.1 is no f32": _graph(build.map_node((), (), Const("f32", 0.1))),
        "load of operand 1": _graph(build.map_node((X,), (I,), Load("f32", 1, (ref, ref)))),
        "at 1 positions": _graph(build.map_node((X,), (I,), Load("f32", 0, (ref,)))),
        "another dtype or element count": _graph(
            Node(Op.RESHAPE, (EIGHT,), build.tensor("f32", [3, 3]))
        ),
        "not a legal shape": _graph(Node(Op.RESHAPE, (X, X), X.type)),
        "leaf out of place": _graph(build.arg("y", build.tensor("f32"))),
        r"takes \(i32\)": _graph(
            build.call(Function("m::f", {}, identity.parameters, identity.parameters), (X,))
        ),
        "gives 0 values": _graph(Node(Op.CALL, (X,), X.type, CallAttrs(identity))),
        "second leaf named `x`": _graph(build.input_node("x", build.tensor("f32"))),
        "INPUT leaves": _graph(build.input_node("y", build.tensor("f32"))),
        "size K is unknown": _graph(build.param("w", build.tensor("f32", [Dim.sym(Sym("K"))]))),
        "update of `s`": _graph(
            build.state("s", build.tensor("f32", [2])),
            updates={"s": build.scalar(build.const(1, "f32"))},
        ),
    }


@pytest.mark.parametrize("message", list(_broken()))
def test_verify_names_what_is_broken(message: str) -> None:
    with pytest.raises(BrokenIR, match=message):
        verify(_broken()[message], after="a pass")


def test_verify_names_the_pass_and_the_place() -> None:
    bad = Node(Op.RESHAPE, (X,), build.tensor("f32", [7 * N]), origin=Origin("a.linnet", 3, 1))
    verify(_graph(bad))  # 7 N == 3 N for N = 0: not ours to refute
    worse = Node(Op.RESHAPE, (X,), build.tensor("f16", [N, 3]), origin=Origin("a.linnet", 3, 1))
    with pytest.raises(BrokenIR, match=r"after tidy: .*\(input f32\[N, 3\]\).*a\.linnet:3:1"):
        verify(_graph(worse), after="tidy")
