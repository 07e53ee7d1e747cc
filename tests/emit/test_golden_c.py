"""The C that a person would review: one small entry, its kernels and its loop, on two targets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.compiled import generate

from linnet.check import check_file
from linnet.lower import lower_entry

SOURCE = """
module golden

use std.nn.linear::{linear}
use std.nn.activations::{gelu}

/// One hidden layer with a running sum of what it saw.
pub block Net<In: Dim, Out: Dim> {
    param weight: Tensor[Out, In; f32]
    param bias: Tensor[Out; f32]
    state seen: Tensor[In; f32]

    pub entry step(x: Tensor[1, In; f32]) -> Tensor[1, Out; f32] {
        let total[i] = seen[i] + x[0, i]
        seen = total
        return gelu(linear(x, weight, some(bias)))
    }

    pub entry scores<S: Dim>(x: Tensor[S, In; f32]) -> Tensor[S; f32] {
        let largest[s] = max[i] abs(x[s, i])
        return largest
    }
}
"""


@pytest.mark.parametrize("target", ["neon", "avx512"])
def test_generated_c(target: str, tmp_path: Path, golden: Callable[[str, str], None]) -> None:
    path = tmp_path / "golden.linnet"
    path.write_text(SOURCE)
    program = check_file(path).program
    assert program is not None
    (root,) = program.roots()
    sizes = {"In": 48, "Out": 100}
    graphs = [lower_entry(program, root, name, sizes) for name in ("step", "scores")]
    _, c = generate(graphs, target)
    row = c[c.index("// One row by a panel") :]
    golden(
        f"c/{target}/net.c",
        row[: row.index("\n}\n") + 3] + "\n" + c[c.index("// What an entry is called with") :],
    )
