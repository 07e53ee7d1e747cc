"""The C that a person would review: a small entry, its kernels and its loop, on two targets; one
step of a decoder's layer."""

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

LAYER = """
module golden

use std.nn.linear::{linear}
use std.nn.norm::{rms_norm}
use std.nn.mlp::{swiglu}
use std.nn.rope::{rope_rows}
use std.nn.attention::{grouped_attention_rows}
use std.nn.cache::{write_rows}

/// Four heads of width 16 share two of keys; 3 rows of at most 32 positions.
pub block Layer {
    param norm: Tensor[64; f32]
    param qkv: Tensor[128, 64; f32]
    param out: Tensor[64, 64; f32]
    param gate: Tensor[96, 64; f32]
    param up: Tensor[96, 64; f32]
    param down: Tensor[64, 96; f32]
    state keys: Tensor[3, 2, 32, 16; f32]
    state values: Tensor[3, 2, 32, 16; f32]

    pub entry step(
        x: Tensor[3, 1, 64; f32],
        at: Tensor[3; i32],
        cosines: Tensor[3, 1, 16; f32],
        sines: Tensor[3, 1, 16; f32]
    ) -> Tensor[3, 1, 64; f32] {
        let all = reshape(linear(rms_norm(x, norm), qkv), [3, 1, 8, 16])
        let heads = permute(all, [0, 2, 1, 3])
        keys = write_rows(keys, rope_rows(heads[:, 4:6], cosines, sines), at)
        values = write_rows(values, heads[:, 6:8], at)
        let (slots, steps) = (iota<i64>(32), iota<i64>(1))
        let seen[b, i, j] = slots[j] <= cast<i64>(at[b]) + steps[i]
        let query = rope_rows(heads[:, 0:4], cosines, sines)
        let mixed = grouped_attention_rows(query, keys, values, 0.25, seen)
        let y = x + linear(reshape(permute(mixed, [0, 2, 1, 3]), [3, 1, 64]), out)
        return y + swiglu(rms_norm(y, norm), gate, up, down)
    }
}
"""


def test_generated_c_of_a_layer(tmp_path: Path, golden: Callable[[str, str], None]) -> None:
    path = tmp_path / "golden.linnet"
    path.write_text(LAYER)
    program = check_file(path).program
    assert program is not None
    (root,) = program.roots()
    _, c = generate([lower_entry(program, root, "step", {})], "avx512")
    golden("c/avx512/layer.c", c[c.index("// What an entry is called with") :])


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
