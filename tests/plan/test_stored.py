"""Parameters that a checkpoint holds in half floats: where they stay so, and what they give."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from programs.agree import checked
from support.targets import ALL, require

import linnet
from linnet.lower import lower_entry
from linnet.plan.build import plan_unit

SOURCE = """\
module tables

use std.nn.embedding::{embedding}
use std.nn.linear::{linear}

pub block Tables {
    param table: Tensor[9, 6; f32]
    param head: Tensor[9, 6; f32]

    pub entry rows<S: Dim>(ids: Tensor[S; i32]) -> Tensor[S, 6; f32] {
        return embedding(ids, table)
    }

    pub entry both<S: Dim>(ids: Tensor[S; i32]) -> Tensor[S, 6; f32] {
        return embedding(ids, table) + table[0:1, :]
    }

    pub entry tied<S: Dim>(ids: Tensor[S; i32]) -> Tensor[S, 9; f32] {
        return linear(embedding(ids, head), head)
    }
}
"""
IDS = np.array([0, 8, 3, 3], np.int32)


def orders(entry: str) -> list[tuple[str, str, str, int]]:
    program = checked(SOURCE)
    (root,) = program.roots()
    graph = lower_entry(program, root, entry, {})
    stored = {"table": "bf16", "head": "bf16"}
    unit = plan_unit("tables", [graph], "equivalent", stored)
    return [(w.path, w.dtype, w.layout, w.size) for w in unit.weights]


def test_a_table_is_read_as_the_checkpoint_has_it() -> None:
    assert orders("rows") == [("table", "bf16", "dense", 9 * 6 * 2)]


def test_a_loop_has_the_table_widened() -> None:
    assert sorted(orders("both")) == [
        ("table", "bf16", "dense", 9 * 6 * 2),
        ("table", "f32", "dense", 9 * 6 * 4),
    ]


def test_a_table_that_is_a_weight_too_is_kept_once() -> None:
    assert orders("tied") == [("head", "bf16", "linnet_pack_panels_16", 64 * 6 * 2)]


def write(file: Path, tensors: Mapping[str, np.ndarray], dtype: str) -> None:
    """A safetensors file of 16-bit elements."""
    header, data = {}, b""
    for name, bits in tensors.items():
        span = [len(data), len(data) + bits.nbytes]
        header[name] = {"dtype": dtype, "shape": list(bits.shape), "data_offsets": span}
        data += bits.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    file.write_bytes(len(text).to_bytes(8, "little") + text + data)


@pytest.mark.parametrize("target", ALL)
@pytest.mark.parametrize("dtype", ["BF16", "F16"])
def test_rows_are_those_of_the_widened_table(dtype: str, target: str, tmp_path: Path) -> None:
    require(target)
    draw = np.random.default_rng(3)
    held, wide = {}, {}
    for name in ("table", "head"):
        values = draw.normal(size=(9, 6)).astype(np.float32)
        if dtype == "F16":
            held[name] = values.astype(np.float16)
            wide[name] = held[name].astype(np.float32)
        else:
            held[name] = (values.view(np.uint32) >> 16).astype(np.uint16)
            wide[name] = (held[name].astype(np.uint32) << 16).view(np.float32)
    source = tmp_path / "tables.linnet"
    source.write_text(SOURCE)
    write(tmp_path / "model.safetensors", held, dtype)
    with linnet.compile(source, target=target).bind(tmp_path) as program:
        assert np.array_equal(program.rows(IDS), wide["table"][IDS])
        assert np.array_equal(program.both(IDS), wide["table"][IDS] + wide["table"][0:1])
        assert np.allclose(program.tied(IDS), wide["head"][IDS] @ wide["head"].T, atol=1e-5)
