"""Whole graphs, written in the text form, against numpy and hand calculation."""

from __future__ import annotations

import time

import numpy as np
import pytest

from linnet.errors import ShapeError, UsageError
from linnet.interp import body, call_function, run
from linnet.ir.node import CallAttrs
from linnet.ir.text import parse_graph

RNG = np.random.default_rng(7)


def _run(text: str, **inputs: object) -> tuple[np.ndarray, ...]:
    return run(parse_graph(text), inputs, {})[0]


def _f32(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def test_contraction_in_order_of_the_index() -> None:
    x, w = _f32(5, 70), _f32(9, 70)
    (y,) = _run(
        """graph g(N) {
          %0 = input x: f32[N, 70]
          %1 = input w: f32[9, 70]
          %2 = map (n: N, o: 9) sum[k: 70](mul(%0[n, k], %1[o, k]))
          return %2
        }""",
        x=x,
        w=w,
    )
    expected = np.zeros((5, 9), np.float32)
    for k in range(70):
        expected += x[:, k, None] * w[None, :, k]
    assert np.array_equal(y, expected)


def test_softmax_in_one_body() -> None:
    x = _f32(3, 4, 5) * 5
    (y,) = _run(
        """graph g() {
          %0 = input x: f32[3, 4, 5]
          %1 = map (a: 3, b: 4, c: 5) exp(sub(%0[a, b, c], max[d: 5](%0[a, b, d])))
          %2 = map (a: 3, b: 4, c: 5) div(%1[a, b, c], sum[e: 5](%1[a, b, e]))
          return %2
        }""",
        x=x,
    )
    wide = x.astype(np.float64)
    expected = np.exp(wide - wide.max(-1, keepdims=True))
    expected /= expected.sum(-1, keepdims=True)
    assert np.allclose(y, expected, rtol=3e-6, atol=0)


def test_nested_reductions_and_shared_parts() -> None:
    x = RNG.integers(-9, 9, (4, 6))
    inner = "max[c: 4](add($0, sum[d: 6](mul(%0[c, d], %0[c, b]))))"
    (y,) = _run(
        f"""graph g() {{
          %0 = input x: i64[4, 6]
          %1 = map (a: 4) sum[b: 6](mul($0 = %0[a, b], {inner}))
          return %1
        }}""",
        x=x,
    )
    expected = [
        sum(
            x[a, b] * max(x[a, b] + sum(x[c, d] * x[c, b] for d in range(6)) for c in range(4))
            for b in range(6)
        )
        for a in range(4)
    ]
    assert y.tolist() == expected


def test_big_grids_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """graph g() {
      %0 = input x: f32[7, 33]
      %1 = map (n: 7, m: 7) add(sum[k: 33, l: 2](mul(%0[n, k], %0[m, k])), cast<f32>(n))
      return %1
    }"""
    x = _f32(7, 33)
    (whole,) = _run(text, x=x)
    monkeypatch.setattr(body, "CHUNK", 20)
    (cut,) = _run(text, x=x)
    assert np.array_equal(whole, cut)
    assert np.allclose(whole, 2 * x @ x.T + np.arange(7)[:, None], rtol=1e-4, atol=1e-4)


def test_gathers_clamp_and_empty_axes_give_zero() -> None:
    (y, d, t, e) = _run(
        """graph g(N) {
          %0 = input x: i32[4, 3]
          %1 = input at: i64[5]
          %2 = input none: i32[N]
          %3 = map (p: 5, c: 3) %0[%1[p], c]
          %4 = map (i: 3) %0[i, i]
          %5 = map (c: 3, r: 4) %0[r, c]
          %6 = map (p: 5) %2[%1[p]]
          return (%3, %4, %5, %6)
        }""",
        x=np.arange(12).reshape(4, 3),
        at=np.array([0, 3, 4, -1, 2**62]),
        none=np.zeros(0, np.int32),
    )
    assert y[:, 0].tolist() == [0, 9, 9, 0, 9]
    assert d.tolist() == [0, 4, 8]
    assert t.tolist() == np.arange(12).reshape(4, 3).T.tolist()
    assert e.tolist() == [0] * 5


def test_reductions_over_nothing() -> None:
    results = _run(
        """graph g(N) {
          %0 = input x: f32[N]
          %1 = map () sum[i: N](%0[i])
          %2 = map () prod[i: N](%0[i])
          %3 = map () max[i: N](%0[i])
          %4 = map () all[i: N](lt(%0[i], 1.0))
          %5 = map () min[i: N](cast<i8>(%0[i]))
          %6 = map (i: N) %0[i]
          return (%1, %2, %3, %4, %5, %6)
        }""",
        x=np.zeros(0, np.float32),
    )
    assert [r.tolist() for r in results] == [0.0, 1.0, -np.inf, True, 127, []]


def test_nan_goes_through_max() -> None:
    (y,) = _run(
        """graph g() {
          %0 = input x: f32[3]
          %1 = map () max[i: 3](%0[i])
          return %1
        }""",
        x=np.array([1, np.nan, 2], np.float32),
    )
    assert np.isnan(y)


def test_loop_carries_values() -> None:
    # Collatz steps from 27: 111.
    (n, steps) = _run(
        """function @test t::test {
          %0 = arg n: i64
          %1 = arg steps: i64
          %2 = arg end: i64
          %3 = map () ne(%0, %2)
          return %3
        }
        function @round t::round {
          %0 = arg n: i64
          %1 = arg steps: i64
          %2 = arg end: i64
          %3 = map () select(eq(mod(%0, 2), 0), div(%0, 2), add(mul(%0, 3), 1))
          %4 = map () add(%1, 1)
          return (%3, %4)
        }
        graph g() {
          %0 = input n: i64
          %1 = map () 0
          %2 = map () 1
          %3 = loop @test @round(%0, %1; %2)
          %4 = get %3 0
          %5 = get %3 1
          return (%4, %5)
        }""",
        n=27,
    )
    assert (n.item(), steps.item()) == (1, 111)


POND = """\
function @next m::next<N = 3> {
  %0 = arg old: f32[3]
  %1 = arg x: f32
  %2 = map (i: 3) select(eq(i, 0), %1, %0[sub(i, 1)])
  return %2
}
graph step(B) {
  where B < 4 "B < Room" at pond.linnet:3:4
  %0 = input x: f32
  %1 = input y: i8[2 * B]
  %2 = state seen: f32[3]
  %3 = call @next(%2, %0): f32[3]
  %4 = param w: bf16[3]
  %5 = map (i: 3) mul(cast<f32>(%4[i]), %3[i])
  %6 = reshape %1: i8[B, 2]
  return (%5, %6)
  update seen = %3
}
"""


def test_state_weights_and_sizes() -> None:
    graph = parse_graph(POND)
    weights = {"w": np.array([0x3F80, 0x4000, 0x4040], np.uint16)}  # 1, 2, 3
    inputs = {"x": 5.0, "y": np.arange(4)}
    (y, z), state = run(graph, inputs, weights, {"other": np.ones(1)}, {"B": 2})
    assert y.tolist() == [5, 0, 0]
    assert z.tolist() == [[0, 1], [2, 3]]
    (y, _), state = run(graph, {**inputs, "x": 7}, weights, state, {"B": 2})
    assert y.tolist() == [7, 10, 0]
    assert state["seen"].tolist() == [7, 5, 0]
    assert state["other"].tolist() == [1]


def test_what_is_wrong_is_said() -> None:
    graph = parse_graph(POND)
    inputs = {"x": 5.0, "y": np.arange(4)}
    with pytest.raises(UsageError, match="the size B"):
        run(graph, inputs, {})
    with pytest.raises(UsageError, match="no weight `w`"):
        run(graph, inputs, {}, sizes={"B": 2})
    with pytest.raises(ShapeError, match=r"`y` has shape \(4,\); declared \(2 \* B\)"):
        run(graph, inputs, {"w": np.ones(3)}, sizes={"B": 3})
    with pytest.raises(ShapeError, match=r"`B < Room` .* for B = 4 \(pond.linnet:3:4\)"):
        run(graph, {**inputs, "y": np.arange(8)}, {"w": np.ones(3)}, sizes={"B": 4})


def test_a_function_alone() -> None:
    graph = parse_graph(POND)
    call = graph.updates["seen"]
    assert isinstance(call.attrs, CallAttrs)
    (y,) = call_function(call.attrs.function, (np.arange(3, dtype=np.float32), 9.0))
    assert y.tolist() == [9, 0, 1]


def test_a_wide_layer_takes_little_time() -> None:
    text = """graph g(N) {
      %0 = input x: f32[N, 640]
      %1 = input w: f32[2000, 640]
      %2 = map (n: N, o: 2000) sum[k: 640](mul(%0[n, k], %1[o, k]))
      return %2
    }"""
    x, w = _f32(16, 640), _f32(2000, 640)
    began = time.process_time()
    (y,) = _run(text, x=x, w=w)
    assert time.process_time() - began < 5
    assert np.allclose(y, x @ w.T, atol=1e-3)
