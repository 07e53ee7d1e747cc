"""Graphs through plan, emitter and compiler, against the interpreter, on every target.

Values must agree exactly but where a function of ours (exp, tanh, …) differs from numpy's within
its bound; all targets must agree with each other to the last bit.
"""

from __future__ import annotations

import functools
import re

import numpy as np
import pytest
from support.compiled import compiled
from support.targets import ALL, missing, require

from linnet.interp.run import run
from linnet.ir.node import Named, toposort
from linnet.ir.ops import Op
from linnet.ir.text import parse_graph

GRAPHS = {
    "softmax_by_hand": """
graph softmax_by_hand(B) {
  %0 = input x: f32[B, 8]
  %1 = map (i: B) max[j: 8](%0[i, j])
  %2 = map (i: B, j: 8) exp(sub(%0[i, j], %1[i]))
  %3 = map (i: B) sum[j: 8](%2[i, j])
  %4 = map (i: B, j: 8) div(%2[i, j], %3[i])
  return %4
}""",
    "swap_states": """
graph swap_states() {
  %0 = state a: f32[5]
  %1 = state b: f32[5]
  %2 = input x: f32[5]
  %3 = map (i: 5) add(%0[i], %2[i])
  return %3
  update a = %1
  update b = %3
}""",
    "two_states_from_each_other": """
graph two_states_from_each_other() {
  %0 = state c: f32[5]
  %1 = state d: f32[5]
  %2 = input x: f32[5]
  %3 = map (i: 5) add(%0[i], mul(%1[i], %2[i]))
  %4 = map (i: 5) sub(%2[i], mul(%0[i], %1[i]))
  return %4
  update c = %3
  update d = %4
}""",
    "old_value_is_read_after_the_write": """
graph old_value_is_read_after_the_write() {
  %0 = state log: i32[4]
  %1 = input p: i32
  %2 = map (i: 4) select(eq(cast<i32>(i), %1), add(%0[i], 1:i32), %0[i])
  %3 = map (i: 4) sub(mul(%2[i], 10:i32), %0[sub(3, i)])
  return (%2, %3)
  update log = %2
}""",
    "clamped_gather": """
graph clamped_gather(N) {
  %0 = input t: f32[N, 3]
  %1 = input ids: i64[4]
  %2 = map (k: 4, c: 3) %0[%1[k], c]
  return %2
}""",
    "transposed_slices": """
graph transposed_slices(S) {
  %0 = input qkv: f32[2, S, 12]
  %1 = map (b: 2, s: S, h: 4) %0[b, s, add(h, 4)]
  %2 = reshape %1: f32[2, S, 2, 2]
  %3 = map (b: 2, n: 2, s: S, d: 2) %2[b, s, n, d]
  %4 = map (b: 2, n: 2, q: S, k: S) sum[d: 2](mul(%3[b, n, q, d], %3[b, n, k, d]))
  return %4
}""",
    "integers_wrap_and_never_trap": """
graph integers_wrap_and_never_trap() {
  %0 = input a: i8[6]
  %1 = input b: i8[6]
  %2 = map (i: 6) div(%0[i], %1[i])
  %3 = map (i: 6) mod(%0[i], %1[i])
  %4 = map (i: 6) mul(%0[i], %1[i])
  %5 = map (i: 6) shl(%0[i], %1[i])
  %6 = map (i: 6) neg(%0[i])
  return (%2, %3, %4, %5, %6)
}""",
    "casts": """
graph casts() {
  %0 = input x: f32[8]
  %1 = map (i: 8) cast<i32>(%0[i])
  %2 = map (i: 8) cast<u8>(%0[i])
  %3 = map (i: 8) cast<f16>(%0[i])
  %4 = map (i: 8) cast<f64>(%3[i])
  %5 = map (i: 8) cast<bool>(%0[i])
  return (%1, %2, %4, %5)
}""",
    "halves_round_each_step": """
graph halves_round_each_step() {
  %0 = input x: f16[16]
  %1 = input y: f16[16]
  %2 = map () sum[i: 16](mul(%0[i], %1[i]))
  %3 = map (i: 16) sub(div(%0[i], %1[i]), %2)
  return (%2, %3)
}""",
    "reductions_over_nothing": """
graph reductions_over_nothing(N) {
  %0 = input x: f32[3, N]
  %1 = map (i: 3) sum[j: N](%0[i, j])
  %2 = map (i: 3) max[j: N](%0[i, j])
  %3 = map (i: 3) prod[j: N](%0[i, j])
  %4 = map (i: 3) min[j: N](cast<i32>(%0[i, j]))
  return (%1, %2, %3, %4)
}""",
    "sizes_as_numbers": """
graph sizes_as_numbers(B, S) {
  where S >= 1 "S >= 1"
  %0 = input x: f32[B, S]
  %1 = map (i: B, j: S) add(%0[i, j], dim(B * S - 2 * S):f32)
  %2 = map (i: B) %0[i, dim(S - 1)]
  return (%1, %2)
}""",
    "nested_reduction": """
graph nested_reduction(N) {
  %0 = input x: f32[N, 4]
  %1 = map () max[i: N](sum[j: 4](mul(%0[i, j], sum[k: 4](%0[i, k]))))
  return %1
}""",
}

EXACT = set(GRAPHS) - {"softmax_by_hand"}


def inputs(name: str) -> list[dict[str, np.ndarray]]:
    """Several calls in a row, so that state is carried."""
    draw = np.random.default_rng(3)
    f32 = lambda *shape: draw.normal(size=shape).astype(np.float32)  # noqa: E731
    i8 = lambda *values: np.array(values, np.int8)  # noqa: E731
    halves = (draw.normal(size=(2, 16)) * 3).astype(np.float16)
    numbers = np.array([np.nan, np.inf, -np.inf, 3e9, -1.5, 0.0, 65520.0, 1e-8], np.float32)
    return {
        "softmax_by_hand": [{"x": f32(b, 8)} for b in (0, 1, 300)],
        "swap_states": [{"x": f32(5)} for _ in range(3)],
        "two_states_from_each_other": [{"x": f32(5)} for _ in range(3)],
        "old_value_is_read_after_the_write": [{"p": np.int32(p)} for p in (1, 2, 2, 9)],
        "clamped_gather": [{"t": f32(n, 3), "ids": np.array([-5, 0, 2, 99])} for n in (0, 1, 7)],
        "transposed_slices": [{"qkv": f32(2, s, 12)} for s in (0, 1, 5)],
        "integers_wrap_and_never_trap": [
            {"a": i8(-128, 7, -7, 100, 5, 1), "b": i8(-1, 0, 2, 100, 8, -3)}
        ],
        "casts": [{"x": numbers}],
        "halves_round_each_step": [{"x": halves[0], "y": halves[1]}],
        "reductions_over_nothing": [{"x": f32(3, n)} for n in (0, 1, 4)],
        "sizes_as_numbers": [{"x": f32(2, 3)}, {"x": f32(0, 1)}],
        "nested_reduction": [{"x": f32(n, 4)} for n in (0, 3)],
    }[name]


@functools.cache
def graph(name: str):
    return parse_graph(GRAPHS[name])


@functools.cache
def program(target: str):
    return compiled([graph(name) for name in GRAPHS], {}, target)


def results(name: str, target: str) -> list[np.ndarray]:
    unit = program(target)
    unit.reset_state()
    found: list[np.ndarray] = []
    order = [n.attrs.name for n in graph(name).inputs]
    for call in inputs(name):
        result = unit.call(name, [call[key] for key in order])
        found += [np.asarray(r) for r in (result if isinstance(result, tuple) else (result,))]
    return found


def expected(name: str) -> list[np.ndarray]:
    g = graph(name)
    state: dict[str, np.ndarray] = {}
    for node in toposort(g.outputs()):
        if node.op is Op.STATE and isinstance(node.attrs, Named):
            dims = tuple(d.value for d in node.type.dims)
            dtype = {"f32": np.float32, "i32": np.int32}[node.type.dtype]
            state[node.attrs.name] = np.zeros(dims, dtype)
    found: list[np.ndarray] = []
    for call in inputs(name):
        result, state = run(g, call, {}, state)
        found += [np.asarray(r) for r in result]
    return found


@pytest.mark.parametrize("target", ALL)
@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_a_graph_gives_what_the_interpreter_gives(name: str, target: str) -> None:
    require(target)
    for got, wanted in zip(results(name, target), expected(name), strict=True):
        assert got.shape == wanted.shape
        assert got.dtype == wanted.dtype
        if name in EXACT:
            np.testing.assert_array_equal(got, wanted)
        else:
            np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_all_targets_give_the_same_bits(name: str) -> None:
    runnable = [target for target in ALL if missing(target) is None]
    first, *others = [results(name, target) for target in runnable]
    for other in others:
        for a, b in zip(first, other, strict=True):
            assert a.tobytes() == b.tobytes()


def test_the_c_of_a_loop_is_short_and_has_no_dead_code() -> None:
    from support.compiled import generate

    _, c = generate([graph("softmax_by_hand")], "avx2")
    body = c[c.index("struct linnet_call {") :]
    assert "ln_exp_f32(" in body
    assert "ln_tanh" not in c
    assert re.search(r"out\[i \* 8 \+ j\] = exp_\[i \* 8 \+ j\] / t0", body)
