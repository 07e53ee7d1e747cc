"""The account of a plan: what runs, why, what it reads and computes, and its limit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from linnet import driver
from linnet.errors import UsageError
from linnet.plan.account import Account, Machine, Op, account
from linnet.plan.cost import Limits
from linnet.plan.explain import document, text

SOURCE = """\
module two

use std.nn.linear::{linear}
use std.nn.activations::{gelu}

op doubled<S: Dim>(x: Tensor[S; f32]) -> Tensor[S; f32] {
    return x + x
}

block Layer<W: Dim> {
    param up: Tensor[3 * W, W; f32]
    param bias: Tensor[3 * W; f32]
    param down: Tensor[W, 3 * W; f32]

    fn run<S: Dim>(x: Tensor[S, W; f32]) -> Tensor[S, W; f32] {
        return x + linear(gelu(linear(x, up, some(bias))), down)
    }
}

pub block Two<W: Dim> {
    sub layers: [Layer<W>; 2]
    state seen: Tensor[W; f32]

    pub entry rows<S: Dim>(x: Tensor[S, W; f32]) -> Tensor[S, W; f32]
    where S > 0, S % 3 == 0 {
        return layers[1].run(layers[0].run(x))
    }

    pub entry one(x: Tensor[1, W; f32]) -> Tensor[1, W; f32] {
        let y = layers[0].run(x)
        seen = doubled(seen + y[0])
        return y
    }
}
"""
W = 40
MACHINE = Machine(Limits(1, 1e9, 1e10), Limits(2, 2e9, 2e10))  # 10 operations a byte


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("two") / "two.linnet"
    path.write_text(SOURCE, encoding="utf-8")
    return path


def _account(file: Path, **sizes: int) -> Account:
    request = driver.Request(file, generics={"W": W}, target="scalar")
    return account(driver.generate(request).plan, "scalar", "equivalent", sizes)


def _ops(found: Account, entry: str) -> tuple[Op, ...]:
    return next(e.ops for e in found.entries if e.name == entry)


def test_bytes_and_operations_are_those_of_the_call(file: Path) -> None:
    ups = [op for op in _ops(_account(file, S=6), "rows") if op.what.startswith("linear_40_120")]
    assert [op.cost.operations if op.cost else 0 for op in ups] == [2 * 6 * W * 3 * W] * 2
    assert [op.cost.read if op.cost else 0 for op in ups] == [4 * (3 * W * W + 3 * W)] * 2
    assert [op.cost.handed if op.cost else 0 for op in ups] == [4 * 6 * (W + 3 * W)] * 2
    assert [op.formula for op in ups] == ["9600 * S"] * 2


def test_without_sizes_it_takes_usual_ones_that_the_entry_admits(file: Path) -> None:
    found = {entry.name: entry.call for entry in _account(file).entries}
    assert found["rows"] is not None
    assert found["rows"].sizes["S"] % 3 == 0
    with pytest.raises(UsageError, match=r"`rows` does not take S = 4: it asks for S % 3 == 0"):
        _account(file, S=4)


def test_it_says_which_condition_chose_a_kernel_and_what_joined_it(file: Path) -> None:
    found = {choice.card.name: choice for choice in _account(file).choices}
    assert found["linear"].passed == ("linear_row: it asks for S == 1",)
    assert found["linear_row"].card.where == ("S == 1",)
    assert found["linear_row"].left == ("linear",)
    joined = {i.kernel.symbol: i.kernel.epilogue for i in found["linear_row"].instances}
    assert set(joined.values()) == {("gelu",), ("residual",)}
    shown = " ".join(text(_account(file)).split())
    assert "chosen: T is f32; not linear_row: it asks for S == 1 " in shown
    assert "joined: gelu before the store" in shown
    assert "weight: f32 packed by linnet_pack_panels in a weight" in shown
    assert "no kernel stands for this op" in shown  # doubled
    assert "::doubled: " in shown


def test_a_loop_reads_the_state_that_it_overwrites(file: Path) -> None:
    (step,) = (op for op in _ops(_account(file), "one") if op.what == "loop seen")
    assert step.cost is not None
    assert step.cost.read == 4 * W
    assert step.cost.operations == 2 * W  # the sum, and twice that


def test_layers_share_a_line_unless_every_step_is_asked_for(file: Path) -> None:
    found = _account(file, S=6)
    folded = [line.split()[:2] for line in text(found).splitlines()]
    assert folded.count(["2", "layers.{i}"]) == 2  # up with gelu, down with the sum
    single = [line.split()[:2] for line in text(found, each=True).splitlines()]
    assert single.count(["1", "layers.1"]) == 2


@pytest.mark.parametrize(("rows", "limit"), [(3, "memory"), (300, "arithmetic")])
def test_the_limit_is_the_slower_of_reading_and_computing(
    file: Path, rows: int, limit: str
) -> None:
    found = document(_account(file, S=rows), MACHINE)
    entry = next(e for e in found["entries"] if e["name"] == "rows")
    up = next(step for step in entry["steps"] if step["card"] == "linear")
    limits = MACHINE.all if up["all_threads"] else MACHINE.one
    reading = 4 * (3 * W * W + 3 * W) / limits.bandwidth
    computing = 2 * rows * 3 * W * W / limits.peak
    assert up["limit"] == limit
    assert up["least_seconds"] == pytest.approx(max(reading, computing))
    assert limit in text(_account(file, S=rows), MACHINE)


def test_the_document_is_json_and_has_the_costs_of_every_step(file: Path) -> None:
    found = json.loads(json.dumps(document(_account(file, S=3), MACHINE)))
    for entry in found["entries"]:
        for name, key in (("operations", "operations"), ("handed_on_bytes", "handed_on_bytes")):
            assert sum(step[name] for step in entry["steps"]) == pytest.approx(entry[key])
        for step in entry["steps"]:
            if step["card"] is not None:
                assert all(operand["layout"] for operand in step["operands"])
    assert found["limits"]["all"]["threads"] == 2
