"""Which weights a kernel can have laid out for it, seen in the plan of a unit."""

from __future__ import annotations

import pytest
from programs.agree import checked

from linnet.lower import lower_entry
from linnet.plan.build import plan_unit
from linnet.plan.types import EntryPlan, KernelStep, LoopStep, WeightOrder

SOURCE = """\
module patches

use std.nn.linear::{linear}

pub block Patches {
    param kernels: Tensor[6, 3, 2, 2; f32]

    pub entry forward<B: Dim>(x: Tensor[B, 12; f32]) -> Tensor[B, 6; f32] {
        return linear(x, reshape(kernels, [6, 12]))
    }

    pub entry backward<B: Dim>(x: Tensor[B, 6; f32]) -> Tensor[B, 12; f32] {
        return linear(x, permute(reshape(kernels, [6, 12]), [1, 0]))
    }

    pub entry below<B: Dim>(x: Tensor[B, 4; f32]) -> Tensor[B, 15; f32] {
        return linear(x, reshape(kernels[1:], [15, 4]))
    }

    pub entry torn<B: Dim>(x: Tensor[B, 12; f32]) -> Tensor[B, 6; f32] {
        return linear(x, reshape(permute(kernels, [0, 2, 3, 1]), [6, 12]))
    }
}
"""


def planned(entry: str) -> tuple[EntryPlan, list[WeightOrder]]:
    program = checked(SOURCE)
    (root,) = program.roots()
    unit = plan_unit("patches", [lower_entry(program, root, entry, {})], "equivalent")
    return unit.entries[0], unit.weights


@pytest.mark.parametrize(
    ("entry", "args", "offset"),
    [
        ("forward", (6, 12, 12, 1), 0),
        ("backward", (12, 6, 1, 12), 0),
        ("below", (15, 4, 4, 1), 12),
    ],
)
def test_a_reshaped_weight_is_packed_as_it_lies(
    entry: str, args: tuple[int, ...], offset: int
) -> None:
    plan, (weight,) = planned(entry)
    assert [type(step) for step in plan.steps] == [KernelStep]
    assert (weight.layout, weight.args) == ("linnet_pack_panels", args)
    assert weight.offset == offset
    assert not plan.refused


def test_a_weight_whose_rows_are_torn_apart_is_no_matrix() -> None:
    plan, (weight,) = planned("torn")
    assert {type(step) for step in plan.steps} == {LoopStep}
    assert weight.layout == "dense"
    assert "no matrix of a parameter" in plan.refused["std.nn.linear::linear"]
