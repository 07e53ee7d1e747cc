"""When steps run, seen in the plan of a unit."""

from __future__ import annotations

import pytest
from programs.agree import checked

from linnet.emit.unit import arena_bytes
from linnet.lower import lower_entry
from linnet.plan.build import plan_unit
from linnet.plan.types import EntryPlan, KernelStep

SOURCE = """\
module kept

use std.nn.linear::{linear}
use std.nn.cache::{write_span}

block Layer {
    param weight: Tensor[8, 8; f32]
    state cache: Tensor[1, 2, 9, 4; f32]

    fn forward<S: Dim>(x: Tensor[1, S, 8; f32]) -> Tensor[1, S, 8; f32]
    where S > 0 {
        let y = linear(x, weight)
        cache = write_span(cache, permute(reshape(y, [1, S, 2, 4]), [0, 2, 1, 3]), 0)
        return y
    }
}

pub block Kept<Layers: Dim> {
    sub layers: [Layer; Layers]

    pub entry forward<S: Dim>(x: Tensor[1, S, 8; f32]) -> Tensor[1, S, 8; f32]
    where S > 0 {
        var y = x
        static for layer in layers {
            y = layer.forward(y)
        }
        return y
    }
}
"""


def planned(layers: int) -> EntryPlan:
    program = checked(SOURCE)
    (root,) = program.roots()
    graph = lower_entry(program, root, "forward", {"Layers": layers})
    return plan_unit("kept", [graph], "equivalent").entries[0]


@pytest.mark.parametrize("layers", [3, 6])
def test_what_a_state_keeps_is_written_as_soon_as_it_is_there(layers: int) -> None:
    plan = planned(layers)
    ran = [s.kernel.card.name for s in plan.steps if isinstance(s, KernelStep)]
    assert ran == ["linear", "write_span"] * layers
    assert arena_bytes(plan) == arena_bytes(planned(3))
