"""The tables of rotary positions, as a model makes them, against those of transformers.

What is stored are the tables of `tests/tools/make_rotary.py`. At large positions a table shows the
last bit of its rates: at 8000 another order of roundings would be 1e-4 away."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linnet
from families.data import CHECKPOINTS
from linnet import resources

ULP = 2.5e-11
"""An angle at place 1, should a power near 1000 be rounded the other way, as torch does with one:
half a unit in the last place of a rate of 1 / 1000."""

ENTRY = """
pub entry both<S: Dim>(places: Tensor[S; i32]) -> (Tensor[S, WIDTH; f32], Tensor[S, WIDTH; f32]) {
    return tables<S, WIDTH, f32>(places)
}
"""


def stored() -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    with np.load(CHECKPOINTS / "rotary.npz") as data:
        arrays = dict(data)
    return json.loads(str(arrays.pop("cases"))), arrays


def constants(case: dict[str, Any]) -> dict[str, float | str]:
    given = {"ROPE_BASE": case["rope_theta"]}
    if case["rope_type"] == "default":
        return given
    return given | {
        "ROPE": "Llama3",
        "ROPE_FACTOR": case["factor"],
        "ROPE_LOW": case["low_freq_factor"],
        "ROPE_HIGH": case["high_freq_factor"],
        "ROPE_ORIGINAL": float(case["original_max_position_embeddings"]),
    }


@pytest.mark.parametrize("name", stored()[0])
def test_tables_are_those_of_transformers(tmp_path: Path, name: str) -> None:
    cases, arrays = stored()
    case = cases[name]
    # The source up to its blocks, with an entry that shows what it keeps to itself.
    source = (resources.folder("nest") / "llama" / "llama.linnet").read_text(encoding="utf-8")
    functions, found, _ = source.partition("/// Causal self-attention")
    assert found
    file = tmp_path / "llama.linnet"
    file.write_text(functions + ENTRY.replace("WIDTH", str(case["width"])), encoding="utf-8")
    program = linnet.compile(file, constants=constants(case)).bind()
    cos, sin = program.both(arrays["places"])
    for got, wanted in ((cos, arrays[f"{name}.cos"]), (sin, arrays[f"{name}.sin"])):
        worst = np.abs(got - wanted).max(axis=1)
        assert (worst < 2e-7 + ULP * arrays["places"]).all(), worst
