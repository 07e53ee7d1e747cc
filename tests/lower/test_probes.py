"""Probes: the calls inside an entry as results, which change nothing else."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest
from programs.agree import assert_close, cases, checked, compiled_values
from support.compiled import compiled

from linnet import driver
from linnet.check import root_of
from linnet.check.typed import Program
from linnet.interp import run
from linnet.ir.node import Graph
from linnet.ir.ops import Op
from linnet.lower import lower_entry

SOURCE = """module m

use std.nn.activations::{gelu}
use std.nn.linear::{linear}

block Affine<In: Dim, Out: Dim> {
    param weight: Tensor[In, Out; f32]

    fn both<*S: Shape>(x: Tensor[*S, In; f32]) -> (Tensor[*S, Out; f32], Tensor[*S, Out; f32]) {
        let y = linear(x, permute(weight, [1, 0]))
        return (y, gelu(y))
    }
}

fn twice<*S: Shape>(x: Tensor[*S; f32]) -> Tensor[*S; f32] {
    return 2.0 * x
}

pub block Pair<H: Dim> {
    sub parts: [Affine<H, H>; 2]
    state seen: Tensor[H; f32]

    pub entry go<B: Dim>(x: Tensor[B, H; f32]) -> Tensor[B, H; f32] {
        var y = x
        static for part in parts {
            let (a, b) = part.both(y + 1.0)
            y = twice(a) + b
        }
        var k = 0
        while k < 2 {
            y = twice(y)
            k = k + 1
        }
        let total[h] = sum[b] y[b, h]
        seen = seen + total
        return y
    }
}
"""
PROGRAMS = sorted((Path(__file__).parents[1] / "programs").glob("*.linnet"))


@functools.cache
def program() -> Program:
    return checked(SOURCE)


def lowered(probes: bool) -> Graph:
    return lower_entry(program(), root_of(program()), "go", {"H": 24}, probes=probes)


def test_calls_are_named_in_running_order() -> None:
    graph = lowered(probes=True)
    names = [f"{probe} {probe.origin.line}" for probe in graph.probes]
    layer = [
        ("both: linear", 10),
        ("both: gelu", 11),
        ("both", 26),
    ]
    expected = []
    for k in range(2):
        expected += [f"parts.{k}.{name} {line}" for name, line in layer]
        expected.append("go: twice 27")
    assert names == expected, "calls inside a loop have no value of their own"
    both = graph.probes[2]
    assert both.values == (*graph.probes[0].values, *graph.probes[1].values)
    assert both.caller == ""
    assert graph.results[both.arguments[0]].op is Op.MAP
    assert len(graph.probes[0].arguments) == 1, "the turned weight is no argument to look at"


def test_results_are_those_of_the_values() -> None:
    graph = lowered(probes=True)
    draw = np.random.default_rng(3)
    x = draw.standard_normal((3, 24)).astype(np.float32)
    weights = {
        f"parts.{k}.weight": draw.standard_normal((24, 24)).astype(np.float32) / 5 for k in range(2)
    }
    results, _ = run(graph, {"x": x}, weights)
    first = (x + 1) @ weights["parts.0.weight"]
    given, active = (results[k] for k in graph.probes[2].values)
    assert np.abs(given - first).max() < 1e-5
    bend = np.tanh(np.sqrt(2 / np.pi) * (first + 0.044715 * first**3))
    assert np.abs(active - first / 2 * (1 + bend)).max() < 1e-5
    assert np.abs(results[graph.probes[3].values[0]] - 2 * first).max() < 1e-5


def test_compiled_code_gives_them_too_and_the_rest_unchanged() -> None:
    plain, probed = lowered(probes=False), lowered(probes=True)
    draw = np.random.default_rng(4)
    x = draw.standard_normal((5, 24)).astype(np.float32)
    weights = {
        f"parts.{k}.weight": draw.standard_normal((24, 24)).astype(np.float32) / 5 for k in range(2)
    }
    expected, state = run(probed, {"x": x}, weights)
    with compiled([plain], weights, "scalar") as one, compiled([probed], weights, "scalar") as two:
        result, probes = one.call("go", [x]), two.call("go", [x])
        assert np.array_equal(result, probes[0])
        assert np.array_equal(one.state("seen"), two.state("seen"))
        assert np.abs(two.state("seen") - state["seen"]).max() < 1e-3
    assert len(probes) == len(expected)
    for mine, theirs in zip(probes, expected, strict=True):
        assert np.abs(mine - theirs).max() < 1e-4 * np.abs(theirs).max()


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_all_programs_run_with_probes(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their results and those of each call, compiled, against the interpreter."""
    probed = functools.partial(lower_entry, probes=True)
    monkeypatch.setattr("programs.agree.lower_entry", probed)
    found = cases(checked(path.read_text("utf-8"), path.name), path.stem, np.random.default_rng(7))[
        ::3
    ]
    values = compiled_values(found, "scalar", "equivalent")
    assert_close(found, values, "scalar", "equivalent")


def test_they_are_part_of_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINNET_CACHE", str(tmp_path / "cache"))
    (tmp_path / "m.linnet").write_text(SOURCE)
    counts = []
    for probes in (False, True, False):
        request = driver.Request(
            tmp_path / "m.linnet", generics={"H": 8}, target="scalar", probes=probes
        )
        (entry,) = driver.build(request).artifact.entries
        counts.append(len(entry.results))
    assert counts == [1, len(lowered(probes=True).results), 1]
