"""Programs of the language, lowered and interpreted, against numpy and hand calculation."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from linnet.check.typed import BlockDecl, Program
from linnet.errors import ShapeError, SourceError, UsageError
from linnet.interp import run
from linnet.ir.node import CallAttrs, Graph, toposort
from linnet.ir.ops import Op
from linnet.ir.text import parse_graph, print_graph
from linnet.lower import lower_entry, manifest

from .source import checked

RNG = np.random.default_rng(3)


def f32(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def root_of(program: Program) -> BlockDecl:
    (root,) = program.roots()
    return root


def lower(
    text: str,
    generics: Mapping[str, int | str] | None = None,
    entry: str = "go",
    **more: object,
) -> Graph:
    program = checked(text)
    graph = lower_entry(program, root_of(program), entry, generics or {}, **more)  # type: ignore[arg-type]
    assert print_graph(parse_graph(print_graph(graph))) == print_graph(graph)
    return graph


def entry(head: str, body: str, generics: str = "", members: str = "", items: str = "") -> str:
    return f"""module m
{items}
pub block Root{generics} {{
    {members}
    pub entry go{head} {{
        {body}
    }}
}}
"""


def result(text: str, generics: Mapping[str, int | str] | None = None, **inputs: object) -> object:
    (value,), _ = run(lower(text, generics), inputs, {})
    return value


POND = """module samples.pond

use std.nn.linear::{linear}
use std.nn.norm::{layer_norm}

pub block Mixer<Parts: Dim, Width: Dim, T: Float = f32>
where
    Parts > 0,
    Width % Parts == 0
{
    param gate: Tensor[Parts; T]
    param shift: Tensor[Width / Parts; T]? = none

    pub fn forward<B: Dim>(x: Tensor[B, Width; T]) -> Tensor[B, Width / Parts; T] {
        let cut = pieces<B, Parts, Width / Parts, T>(x)
        let mixed[b, w] = sum[p] cut[b, p, w] * gate[p]
        return match shift {
            some(s) => mixed + s
            none => mixed
        }
    }
}

fn pieces<B: Dim, P: Dim, W: Dim, T: Float>(x: Tensor[B, P * W; T]) -> Tensor[B, P, W; T] {
    return reshape(x, [B, P, W])
}

pub block Ripple<Width: Dim, T: Float> {
    param weight: Tensor[Width, Width; T]
    param scale: Tensor[Width; T]

    pub fn forward<*L: Shape>(x: Tensor[*L, Width; T]) -> Tensor[*L, Width; T] {
        return x + layer_norm(linear(x, weight), scale)
    }
}

pub block Pond<Depth: Dim, Parts: Dim, Width: Dim, Room: Dim, T: Float = f32>
where
    Parts > 0,
    Width % Parts == 0,
    Room > 0
{
    sub inlet: Mixer<Parts, Width, T>
    sub layers: [Ripple<Width / Parts, T>; Depth]
    state seen: Tensor[Room, Width / Parts; T]

    pub entry observe(x: Tensor[1, Width; T], at: i32) -> Tensor[Room, Width / Parts; T] {
        var row = inlet.forward(x)
        static for layer in layers {
            row = layer.forward(row)
        }
        let slots = iota<i32>(Room)
        let next[r, w] = select(slots[r] == at, row[0, w], seen[r, w])
        seen = next
        return seen
    }
}
"""
SIZES = {"Depth": 2, "Parts": 3, "Width": 12, "Room": 2}


def test_manifest_of_the_pond() -> None:
    program = checked(POND)
    root = root_of(program)
    entries = manifest(program, root, SIZES).entries
    assert [(e.path, e.kind, str(e.type.dims), e.optional) for e in entries] == [
        ("inlet.gate", "param", "(Dim(3),)", False),
        ("inlet.shift", "param", "(Dim(4),)", True),
        ("layers.0.weight", "param", "(Dim(4), Dim(4))", False),
        ("layers.0.scale", "param", "(Dim(4),)", False),
        ("layers.1.weight", "param", "(Dim(4), Dim(4))", False),
        ("layers.1.scale", "param", "(Dim(4),)", False),
        ("seen", "state", "(Dim(2), Dim(4))", False),
    ]
    assert manifest(program, root, {**SIZES, "T": "bf16"}).by_path["seen"].type.dtype == "bf16"


def _ripple(x: np.ndarray, weight: np.ndarray, scale: np.ndarray) -> np.ndarray:
    y = x @ weight.T
    y = y - y.mean(-1, keepdims=True)
    return x + y / np.sqrt((y * y).mean(-1, keepdims=True) + 1e-5) * scale


@pytest.mark.parametrize("shifted", [True, False])
def test_pond(shifted: bool) -> None:
    program = checked(POND)
    absent = frozenset() if shifted else frozenset({"inlet.shift"})
    graph = lower_entry(program, root_of(program), "observe", SIZES, absent)
    weights = {
        e.path: f32(*(d.value for d in e.type.dims))
        for e in manifest(program, root_of(program), SIZES).weights
    }
    state: dict[str, np.ndarray] = {}
    view = np.zeros((2, 4), np.float32)
    for at in (1, 0, 5):
        x = f32(1, 12)
        (seen,), state = run(graph, {"x": x, "at": at}, weights, state)
        row = np.einsum("pw,p->w", x.reshape(3, 4), weights["inlet.gate"])[None]
        row = row + weights["inlet.shift"] if shifted else row
        for k in range(2):
            row = _ripple(row, weights[f"layers.{k}.weight"], weights[f"layers.{k}.scale"])
        if at < 2:
            view[at] = row[0]
        assert np.allclose(seen, view, atol=1e-5)
        assert np.array_equal(state["seen"], seen)


def test_names_paths_and_places_of_the_pond() -> None:
    program = checked(POND)
    graph = lower_entry(program, root_of(program), "observe", SIZES)
    calls = [n for n in toposort(graph.outputs()) if n.op is Op.CALL]
    assert {n.attrs.function.op for n in calls if isinstance(n.attrs, CallAttrs)} == {
        "std.nn.linear::linear",
        "std.nn.norm::layer_norm",
    }
    linear = next(n for n in calls if n.origin and n.origin.path == "layers.1")
    assert linear.origin is not None
    assert (linear.origin.file, linear.origin.name) == ("m.linnet", "linear")
    assert isinstance(linear.attrs, CallAttrs)
    body = linear.attrs.function.result.origin
    assert body is not None
    assert body.file == "std/nn/linear.linnet"
    assert linear.origin.line == 1 + POND.splitlines().index(
        "        return x + layer_norm(linear(x, weight), scale)"
    )
    assert len({id(n.attrs.function) for n in calls if isinstance(n.attrs, CallAttrs)}) == 2
    next_value = graph.updates["seen"]
    assert next_value.origin is not None
    assert (next_value.origin.name, next_value.origin.path) == ("next", "")


def test_values_the_root_rules_out() -> None:
    program = checked(POND)
    with pytest.raises(ShapeError, match=r"`Width % Parts == 0` .* Width = 12, Parts = 5"):
        manifest(program, root_of(program), {**SIZES, "Parts": 5})
    with pytest.raises(UsageError, match="needs a value for `Width`, `Room`"):
        manifest(program, root_of(program), {"Depth": 1, "Parts": 1})
    with pytest.raises(UsageError, match="no generic `Wide`"):
        manifest(program, root_of(program), {**SIZES, "Wide": 1})
    with pytest.raises(UsageError, match="`T` of Pond is a dtype"):
        manifest(program, root_of(program), {**SIZES, "T": "i32"})


# --- index notation ---------------------------------------------------------------------


def test_index_notation() -> None:
    x, ids = f32(3, 5), np.array([[4, 0], [9, -3]], np.int64)
    text = entry(
        "<N: Dim>(x: Tensor[N, 5; f32], ids: Tensor[2, 2; i64]) -> "
        "(Tensor[5, N; f32], Tensor[2, 2, N; f32], f32, Tensor[N; f32], Tensor[N, 5; bool])",
        """let turned[j, i] = x[i, j]
        let near[*s, n] = x[n, ids[*s]]
        let total = sum[i, j] x[i, j] * x[i, j]
        let peak[i] = max[j] abs(x[i, j]) + cast<f32>(N)
        let open[i, j] = x[i, j] > 0.0 && !(j_of(iota(5)[j]) == 2)
        return (turned, near, total, peak, open)""",
        items="fn j_of(j: i64) -> i64 { return j }",
    )
    (turned, near, total, peak, is_open), _ = run(lower(text), {"x": x, "ids": ids}, {})
    assert np.array_equal(turned, x.T)
    assert np.array_equal(near, x[:, np.clip(ids, 0, 4)].transpose(1, 2, 0))
    assert np.allclose(total, (x.astype(float) ** 2).sum(), rtol=1e-6)
    assert np.allclose(peak, np.abs(x).max(1) + 3)
    assert np.array_equal(is_open, (x > 0) & (np.arange(5) != 2))


def test_functions_of_scalars_inside_index_notation() -> None:
    x = f32(4, 6)
    text = entry(
        "(x: Tensor[4, 6; f32], a: f32) -> Tensor[4; f32]",
        "let y[i] = sum[k] curve(x[i, k], a)\n return y",
        items="""
fn curve(v: f32, a: f32) -> f32 {
    let steps[n] = v * cast<f32>(iota<i32>(3)[n]) + a
    let (low, high) = ends(v)
    let best = max[n] steps[n]
    return if v > 0.0 { best } else { low + high }
}
fn ends(v: f32) -> (f32, f32) { return (v - 1.0, v + 1.0) }
""",
    )
    expected = np.where(x > 0, np.maximum(np.maximum(0.5, x + 0.5), 2 * x + 0.5), 2 * x).sum(1)
    assert np.allclose(result(text, x=x, a=0.5), expected, atol=1e-5)


def test_tensors_that_depend_on_an_index() -> None:
    """An op, a slice, a concat and a reshape inside a function that is called per element."""
    x = f32(5)
    text = entry(
        "(x: Tensor[5; f32]) -> Tensor[5; f32]",
        "let y[i] = around(x[i])\n return y",
        items="""
op scaled(v: Tensor[4; f32], by: f32) -> Tensor[4; f32] { return v * by }
fn around(v: f32) -> f32 {
    let four = scaled(concat(fill<f32>([2], v), fill<f32>([2], 1.0), axis = 0), v)
    let square = permute(reshape(four, [2, 2]), [1, 0])
    return sum[k] (square[:, 0] - square[1, 1])[k] * cast<f32>(iota(2)[k] + 1)
}
""",
    )
    # square = [[vv, v], [vv, v]] turned: rows are (vv, v) and (vv, v).
    expected = 3 * (x * x - x)
    assert np.allclose(result(text, x=x), expected, atol=1e-5)


# --- array operations -------------------------------------------------------------------


def test_slices_and_shapes() -> None:
    x = f32(2, 5, 4)
    text = entry(
        "<B: Dim>(x: Tensor[B, 5, 4; f32], k: i32) -> "
        "(Tensor[B, 2, 4; f32], Tensor[B, 4; f32], Tensor[B, 5, 6; f32], Tensor[4, B * 5; f32],"
        " Tensor[B, 5; f32], Tensor[B, 2; f32])",
        """let odd = x[:, 1::2, :]
        let last = x[:, 5 - 1, :]
        let wide = concat(x, x[..., 0:2], axis = -1)
        let turned = permute(reshape(x, [B * 5, 4]), [1, 0])
        let at = x[:, :, k]
        let both = x[:, k, 1:3]
        return (odd, last, wide, turned, at, both)""",
    )
    (odd, last, wide, turned, at, both), _ = run(lower(text), {"x": x, "k": 2}, {})
    assert np.array_equal(odd, x[:, 1::2])
    assert np.array_equal(last, x[:, 4])
    assert np.array_equal(wide, np.concatenate([x, x[..., :2]], -1))
    assert np.array_equal(turned, x.reshape(-1, 4).T)
    assert np.array_equal(at, x[:, :, 2])
    assert np.array_equal(both, x[:, 2, 1:3])


def test_broadcasting_with_sizes_of_one() -> None:
    x, y = f32(3, 1), f32(4)
    text = entry(
        "<N: Dim, M: Dim>(x: Tensor[N, 1; f32], y: Tensor[M; f32]) -> Tensor[2, N, M; f32]",
        "return broadcast_to(select(x > y, x, y * 2.0 - 1.0), [2, N, M])",
    )
    expected = np.where(x > y, x, y * 2 - 1)
    assert np.allclose(result(text, x=x, y=y), np.stack([expected] * 2))


def test_integers_wrap_and_shift() -> None:
    x = np.array([100, -128, 7], np.int8)
    text = entry(
        "(x: Tensor[3; i8]) -> (Tensor[3; i8], Tensor[3; i8], Tensor[3; i8], Tensor[3; u8])",
        "return (x * 2, -x / 3, shr(x, 1) ^ 1, cast<u8>(x) % 16)",
    )
    (a, b, c, d), _ = run(lower(text), {"x": x}, {})
    assert a.tolist() == [-56, 0, 14]
    assert b.tolist() == [-33, -42, -2]
    assert c.tolist() == [51, -63, 2]
    assert d.tolist() == [4, 0, 7]


def test_literals_round_once_the_dtype_is_known() -> None:
    text = entry(
        "(x: Tensor[1; T]) -> Tensor[1; T]", "return x * -1e30 + 0.1", generics="<T: Float>"
    )
    assert result(text, {"T": "f16"}, x=np.ones(1, np.float16)) == [-np.inf]
    assert result(text, {"T": "f64"}, x=np.zeros(1)) == [0.1]


# --- control flow -----------------------------------------------------------------------


def test_static_ranges_are_written_out_or_looped() -> None:
    body = """var total = x
        static for i in 1..N {
            static for j in 0..2 {
                total = total * 2.0 + cast<f32>(i * 10 + j)
            }
        }
        return total"""
    want = 1.0
    for i in range(1, 4):
        for j in range(2):
            want = want * 2 + i * 10 + j
    unrolled = entry("(x: f32) -> f32", body, generics="<N: Dim>")
    assert result(unrolled, {"N": 4}, x=1.0) == want
    looped = lower(entry("<N: Dim>(x: f32) -> f32", body))
    assert any(n.op is Op.LOOP for n in toposort(looped.results))
    (value,), _ = run(looped, {"x": 1.0}, {}, sizes={"N": 4})
    assert value == want
    (value,), _ = run(looped, {"x": 1.0}, {}, sizes={"N": 0})
    assert value == 1.0


def test_while_carries_variables_and_state() -> None:
    text = """module m
block Counter {
    state rounds: Tensor[2; i64]
    fn count(by: i64) -> i64 {
        rounds = rounds + by
        return rounds[0]
    }
}
pub block Root {
    sub inner: Counter
    param step: Tensor[1; i64]
    pub entry go(n: i64) -> (i64, i64) {
        var k = n
        var seen = 0
        let first = step[0]
        while k != 1 {
            k = if k % 2 == 0 { k / 2 } else { 3 * k + 1 }
            seen = inner.count(first)
        }
        return (k, seen)
    }
}
"""
    graph = lower(text)
    weights = {"step": np.array([1])}
    (k, seen), state = run(graph, {"n": 27}, weights)
    assert (k, seen, state["inner.rounds"].tolist()) == (1, 111, [111, 111])
    (k, seen), state = run(graph, {"n": 1}, weights, state)
    assert (k, seen, state["inner.rounds"].tolist()) == (1, 0, [111, 111])


def test_state_is_read_in_program_order_and_each_instance_has_its_own() -> None:
    text = """module m
block Cell {
    state value: Tensor[1; f32]
    fn push(x: f32) -> f32 {
        let old = value[0]
        value = value * 10.0 + x
        return old
    }
}
pub block Root {
    sub cells: [Cell; 2]
    pub entry go(x: f32) -> (f32, f32, f32) {
        let a = cells[0].push(x)
        let b = cells[0].push(x + 1.0)
        let c = cells[1].push(7.0)
        return (a, b, c)
    }
}
"""
    graph = lower(text)
    results, state = run(graph, {"x": 1.0}, {})
    assert [r.item() for r in results] == [0, 1, 0]
    results, state = run(graph, {"x": 2.0}, {}, state)
    assert [r.item() for r in results] == [12, 122, 7]
    assert sorted(state) == ["cells.0.value", "cells.1.value"]
    assert state["cells.1.value"] == [77]


def test_state_changes_only_on_the_branch_taken() -> None:
    text = """module m
pub block Root {
    state count: Tensor[1; f32]
    fn more(x: f32) -> f32 {
        count = count + x
        return count[0]
    }
    pub entry go(x: f32) -> f32 {
        let y = if x > 0.0 { more(x) } else { -x }
        return y
    }
}
"""
    graph = lower(text)
    (y,), state = run(graph, {"x": 3.0}, {})
    assert (y, state["count"]) == (3, [3])
    (y,), state = run(graph, {"x": -5.0}, {}, state)
    assert (y, state["count"]) == (5, [3])


def test_optional_children_and_arguments() -> None:
    text = """module m
block Scale<N: Dim> {
    param by: Tensor[N; f32]
    param plus: Tensor[N; f32]
    fn forward(x: Tensor[N; f32]) -> Tensor[N; f32] { return x * by + plus }
}
op blend<N: Dim>(x: Tensor[N; f32], y: Tensor[N; f32]? = none, z: f32 = 2.0) -> Tensor[N; f32] {
    let first = match y {
        some(v) => x + v
        none => x
    }
    return first * z
}
pub block Root {
    sub scale: Scale<3>? = none
    pub entry go(x: Tensor[3; f32]) -> Tensor[3; f32] {
        let y = match scale {
            some(s) => some(s.forward(x))
            none => none
        }
        return blend(x, y)
    }
}
"""
    program = checked(text)
    entries = manifest(program, root_of(program), {}).entries
    assert [(e.path, e.optional, e.group) for e in entries] == [
        ("scale.by", True, "scale"),
        ("scale.plus", True, "scale"),
    ]
    x = f32(3)
    weights = {"scale.by": f32(3), "scale.plus": f32(3)}
    (y,), _ = run(lower(text), {"x": x}, weights)
    assert np.allclose(y, (x + x * weights["scale.by"] + weights["scale.plus"]) * 2, atol=1e-6)
    absent = frozenset({"scale.by", "scale.plus"})
    graph = lower(text, absent=absent)
    (y,), _ = run(graph, {"x": x}, {})
    assert np.allclose(y, x * 2)
    (call,) = [n for n in toposort(graph.results) if n.op is Op.CALL]
    assert isinstance(call.attrs, CallAttrs)
    assert [p.attrs.name for p in call.attrs.function.parameters] == ["x", "z"]  # type: ignore[attr-defined]


def test_enums_choose_at_compile_time() -> None:
    text = entry(
        "(x: f32) -> f32",
        "return act(x, MODE) + act(x, Mode.Double)",
        items="""
enum Mode { Same, Double, Square, }
const MODE = Mode.Square
fn act(x: f32, mode: Mode) -> f32 {
    return match mode {
        Same => x
        Double => x * 2.0
        Square => x * x
    }
}
""",
    )
    assert result(text, x=3.0) == 15
    assert not any(n.op is Op.LOOP for n in toposort(lower(text).results))


# --- sizes ------------------------------------------------------------------------------

BOUNDED = entry(
    "<S: Dim>(x: Tensor[S, H; f32]) -> Tensor[H; f32]\n    where S <= Room,\n    S > 0",
    "let half = x[:, 0:H / 2]\n return concat(half[S - 1, :], half[0, :], axis = 0)",
    generics="<H: Dim, Room: Dim> where H % 2 == 0",
)


def test_clauses_wait_for_the_sizes_they_need() -> None:
    graph = lower(BOUNDED, {"H": 4, "Room": 8})
    assert graph.sizes == ("S",)
    assert [c.text for c in graph.clauses] == ["S <= Room", "S > 0"]
    assert [str(c) for c in graph.clauses] == ["S <= 8", "S > 0"]
    with pytest.raises(ShapeError, match="`S <= Room`"):
        run(graph, {"x": f32(9, 4)}, {})


def test_bound_sizes_settle_the_clauses() -> None:
    graph = lower(BOUNDED, {"H": 4, "Room": 8}, bind={"S": 8})
    assert (graph.sizes, graph.clauses) == ((), ())
    with pytest.raises(SourceError, match=r"`S <= Room` .* S = 9, Room = 8") as caught:
        lower(BOUNDED, {"H": 4, "Room": 8}, bind={"S": 9})
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "E2206"
    assert diagnostic.primary.span.text == "S <= Room"
    with pytest.raises(UsageError, match="no generic `Q`"):
        lower(BOUNDED, {"H": 4, "Room": 8}, bind={"Q": 9})


def test_open_questions_become_clauses() -> None:
    text = entry(
        "<S: Dim>(x: Tensor[S; f32]) -> (f32, Tensor[S - 2; f32])",
        "return (x[3], fill<f32>([S - 2], 1.0))",
    )
    graph = lower(text)
    assert {str(c) for c in graph.clauses} == {"S - 2 >= 0", "3 < S"}
    with pytest.raises(SourceError) as caught:
        lower(text, bind={"S": 3})
    assert caught.value.diagnostics[0].code == "E2209"
    with pytest.raises(SourceError) as caught:
        lower(text, bind={"S": 1})
    assert caught.value.diagnostics[0].code in ("E2208", "E2209")


def test_long_chains_and_deep_nesting() -> None:
    long = entry("(x: f32) -> f32", "return " + " + ".join(["x"] * 3000))
    assert result(long, x=1.0) == 3000
    deep = entry("(x: f32) -> f32", "return " + "(1.0 + " * 150 + "x" + ")" * 150)
    assert result(deep, x=1.0) == 151


def test_views_do_not_double() -> None:
    lines = "\n".join(f"let a{k + 1} = a{k} + a{k}" for k in range(40))
    text = entry(
        "(x: Tensor[2; f64]) -> Tensor[2; f64]",
        "let y[i] = grown(x[i])\n return y",
        items=f"""
fn grown(v: f64) -> f64 {{
    let a0 = fill([3], v)
    {lines}
    return sum[k] a40[k]
}}
""",
    )
    assert result(text, x=np.ones(2)).tolist() == [3 * 2.0**40] * 2  # type: ignore[attr-defined]


# --- what cannot run --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("what", "text"),
    [
        (
            "an assignment to state inside index notation",
            entry(
                "(x: Tensor[3; f32]) -> Tensor[3; f32]",
                "let y[i] = kept(x[i])\n return y",
                members="""state last: Tensor[1; f32]
    fn kept(v: f32) -> f32 {
        last = last + v
        return v
    }""",
            ),
        ),
    ],
)
def test_what_cannot_run_says_so(what: str, text: str) -> None:
    with pytest.raises(SourceError, match=f"this compiler cannot run .*{what}") as caught:
        lower(text)
    assert caught.value.diagnostics[0].code == "E2190"


def test_unknown_entries_are_refused() -> None:
    with pytest.raises(UsageError, match=r"no entry `went`\nhelp: its entries are `go`"):
        lower(entry("(x: f32) -> f32", "return x"), entry="went")
