"""Joining a step to the product before it changes no bit.

`joined` reads each product once, so that the steps are joined; `apart` also returns the
products, so that they are not.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.compiled import compiled
from support.targets import ALL, require

from linnet.check import check_file
from linnet.lower import lower_entry
from linnet.plan.build import plan_unit
from linnet.plan.types import KernelStep

SOURCE = """
module ends

use std.nn.linear::{linear}
use std.nn.activations::{gelu, gelu_erf, silu}

pub block Ends<In: Dim, Out: Dim> {
    param weight: Tensor[Out, In; f32]
    param other: Tensor[Out, In; f32]
    param bias: Tensor[Out; f32]

    pub entry joined<S: Dim>(
        x: Tensor[S, In; f32], y: Tensor[S, In; f32], r: Tensor[S, Out; f32]
    ) -> (RESULTS7) {
        return (ALL)
    }

    pub entry apart<S: Dim>(
        x: Tensor[S, In; f32], y: Tensor[S, In; f32], r: Tensor[S, Out; f32]
    ) -> (RESULTS15) {
        let a = linear(x, weight, some(bias))
        let b = linear(x, other, some(bias))
        let c = linear(x, weight)
        let d = linear(y, weight, some(bias))
        let e = linear(y, other)
        let f = linear(y, other, some(bias))
        let g = linear(y, weight)
        let h = linear(x, other)
        return (r + a, gelu(b), c + r, r * d, r + silu(e), gelu_erf(f) * r, g * silu(h),
                a, b, c, d, e, f, g, h)
    }

    pub entry one_row(
        x: Tensor[1, In; f32], y: Tensor[1, In; f32], r: Tensor[1, Out; f32]
    ) -> (ROW7) {
        return (ALL)
    }
}
"""
SOURCE = SOURCE.replace(
    "ALL",
    """r + linear(x, weight, some(bias)), gelu(linear(x, other, some(bias))),
                linear(x, weight) + r, r * linear(y, weight, some(bias)),
                r + silu(linear(y, other)), gelu_erf(linear(y, other, some(bias))) * r,
                linear(y, weight) * silu(linear(x, other))""",
)
for count in (7, 15):
    SOURCE = SOURCE.replace(f"RESULTS{count}", ", ".join(["Tensor[S, Out; f32]"] * count))
SOURCE = SOURCE.replace("ROW7", ", ".join(["Tensor[1, Out; f32]"] * 7))
ENTRIES = ("joined", "apart", "one_row")
ENDS = [
    ("residual",),
    ("gelu",),
    ("residual",),
    ("factor",),
    ("silu", "residual"),
    ("gelu_erf", "factor"),
    (),
    ("silu", "factor"),
]
"""Of the products in `joined`, which of them come in what order is the plan's affair."""


def graphs(folder: Path, inner: int, outer: int):
    path = folder / "ends.linnet"
    path.write_text(SOURCE)
    checked = check_file(path)
    assert checked.program is not None
    (root,) = checked.program.roots()
    generics = {"In": inner, "Out": outer}
    return [lower_entry(checked.program, root, name, generics) for name in ENTRIES]


def test_products_take_their_epilogues(tmp_path: Path) -> None:
    unit = plan_unit("ends", graphs(tmp_path, 5, 7), "equivalent")
    found = {
        entry.graph.name: [s.kernel.epilogue for s in entry.steps if isinstance(s, KernelStep)]
        for entry in unit.entries
    }
    assert sorted(found["joined"]) == sorted(found["one_row"]) == sorted(ENDS)
    assert [e for e in found["apart"] if e] == []


@pytest.mark.parametrize("target", ALL)
@pytest.mark.parametrize(("inner", "outer"), [(5, 1), (17, 63), (64, 64), (33, 130)])
def test_joined_and_separate_steps_agree_to_the_bit(
    target: str, inner: int, outer: int, tmp_path: Path
) -> None:
    require(target)
    draw = np.random.default_rng(inner)
    weights = {
        "weight": draw.normal(size=(outer, inner)).astype(np.float32),
        "other": draw.normal(size=(outer, inner)).astype(np.float32),
        "bias": draw.normal(size=outer).astype(np.float32),
    }
    program = compiled(graphs(tmp_path, inner, outer), weights, target)
    for rows in (0, 1, 3, 100):
        x = draw.normal(size=(rows, inner)).astype(np.float32)
        y = draw.normal(size=(rows, inner)).astype(np.float32)
        r = draw.normal(size=(rows, outer)).astype(np.float32)
        joined = program.call("joined", [x, y, r])
        apart = program.call("apart", [x, y, r])
        for a, b in zip(joined, apart[:7], strict=True):
            assert a.tobytes() == b.tobytes()
        np.testing.assert_allclose(
            apart[7], x @ weights["weight"].T + weights["bias"], rtol=1e-4, atol=1e-4
        )
        if rows == 1:
            for a, b in zip(program.call("one_row", [x, y, r]), joined, strict=True):
                assert a.tobytes() == b.tobytes()
