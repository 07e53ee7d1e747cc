"""Array operations as maps, run by the interpreter, against numpy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from linnet.dims import Dim
from linnet.interp import run
from linnet.ir import build as ir
from linnet.ir.node import Node
from linnet.ir.verify import verify
from linnet.lower import arrays
from linnet.lower.arrays import Span
from linnet.lower.values import Array, Frame, View, dims_of, read

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
INPUT = ir.input_node("x", ir.tensor("f32", X.shape))
AT = ir.input_node("at", ir.tensor("u64"))


def dims(*sizes: int) -> tuple[Dim, ...]:
    return tuple(Dim.const(n) for n in sizes)


def _span(start: int, step: int, extent: int) -> Span:
    return Span(Dim.const(start), step, Dim.const(extent))


ALL = [_span(0, 1, n) for n in X.shape]

CASES: dict[str, tuple[Callable[[Array], Array], np.ndarray]] = {
    "permute": (lambda x: arrays.permute(x, (2, 0, 1), None), X.transpose(2, 0, 1)),
    "reshape": (lambda x: arrays.reshape(x, dims(4, 6), None), X.reshape(4, 6)),
    "to a scalar": (
        lambda x: arrays.reshape(arrays.cut(x, [_span(1, 1, 1)] * 3, None), (), None),
        X[1, 1, 1],
    ),
    "broadcast": (
        lambda x: arrays.broadcast(
            arrays.cut(x, [*ALL[:1], _span(2, 1, 1), ALL[2]], None), dims(5, 2, 3, 4), None
        ),
        np.broadcast_to(X[:, 2:3], (5, 2, 3, 4)),
    ),
    "slice": (
        lambda x: arrays.cut(x, [_span(1, 1, 1), _span(0, 2, 2), _span(1, 3, 1)], None),
        X[1:2, ::2, 1::3],
    ),
    "gather": (lambda x: arrays.cut(x, [ALL[0], AT, ALL[2]], None), X[:, 1]),
    "concat": (
        lambda x: arrays.concat(
            [x, arrays.cut(x, [ALL[0], _span(1, 1, 2), ALL[2]], None), x], 1, dims(2, 8, 4), None
        ),
        np.concatenate([X, X[:, 1:], X], 1),
    ),
    "cast": (lambda x: arrays.cast(x, "i8", None), X.astype(np.int8)),
}


def _result(node: Node, at: int = 1) -> np.ndarray:
    graph = ir.graph("g", (INPUT, AT), (node,))
    verify(graph)
    return run(graph, {"x": X, "at": at}, {})[0][0]


@pytest.mark.parametrize("case", CASES)
def test_nodes(case: str) -> None:
    operation, expected = CASES[case]
    value = operation(INPUT)
    assert isinstance(value, Node)
    assert np.array_equal(_result(value), expected)


@pytest.mark.parametrize("case", CASES)
def test_views_write_the_same_elements(case: str) -> None:
    """Inside a map the operation is written out, on a view of `x` that looks at each element."""
    operation, expected = CASES[case]
    frame = Frame()
    view = View("f32", dims(*X.shape), frame, lambda at: read(INPUT, frame, at))
    value = operation(view)
    assert isinstance(value, View)
    indices = ir.indices_for(dims_of(value))
    body = read(value, frame, tuple(ir.index_ref(i) for i in indices))
    assert np.array_equal(_result(ir.map_node(frame.operands.nodes, indices, body)), expected)


def test_a_huge_position_is_clamped_to_the_end() -> None:
    value = arrays.cut(INPUT, [AT, *ALL[1:]], None)
    assert isinstance(value, Node)
    assert np.array_equal(_result(value, at=2**64 - 1), X[1])


def test_what_moves_nothing_is_no_node() -> None:
    assert arrays.permute(INPUT, (0, 1, 2), None) is INPUT
    assert arrays.cut(INPUT, ALL, None) is INPUT
    assert arrays.broadcast(INPUT, dims(*X.shape), None) is INPUT
    assert arrays.cast(INPUT, "f32", None) is INPUT
    assert arrays.reshape(INPUT, dims(*X.shape), None) is INPUT
