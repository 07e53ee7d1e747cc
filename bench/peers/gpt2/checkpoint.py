"""A GPT-2 checkpoint read with numpy alone, for conversions into formats of other engines.

In goes a folder in the Hugging Face layout; out come its sizes and its tensors in f32, by their
names without a prefix.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PREFIX = "transformer."
_NUMPY = {"F32": "<f4", "F16": "<f2", "BF16": "<u2"}


@dataclass(frozen=True)
class Sizes:
    """`inner` is the width of the feed-forward part."""

    vocabulary: int
    positions: int
    width: int
    heads: int
    layers: int
    inner: int
    epsilon: float
    end: int


def read(folder: Path) -> tuple[Sizes, Mapping[str, Any]]:
    """Sizes and tensors [name -> f32 array]."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    width = config["n_embd"]
    sizes = Sizes(
        vocabulary=config["vocab_size"],
        positions=config["n_positions"],
        width=width,
        heads=config["n_head"],
        layers=config["n_layer"],
        inner=config.get("n_inner") or 4 * width,
        epsilon=config.get("layer_norm_epsilon", 1e-5),
        end=config.get("eos_token_id") or 0,
    )
    tensors: dict[str, Any] = {}
    for file in sorted(folder.glob("*.safetensors")):
        tensors |= _read_file(file)
    return sizes, tensors


def _read_file(file: Path) -> dict[str, Any]:
    """Every floating-point tensor of a safetensors file."""
    import numpy as np

    data = np.fromfile(file, np.uint8)
    start = 8 + int.from_bytes(data[:8].tobytes(), "little")
    header = json.loads(data[8:start].tobytes())
    found: dict[str, Any] = {}
    for name, about in header.items():
        if about.get("dtype") not in _NUMPY:
            continue
        low, high = (start + offset for offset in about["data_offsets"])
        values = data[low:high].view(_NUMPY[about["dtype"]]).reshape(about["shape"])
        if about["dtype"] == "BF16":
            values = (values.astype(np.uint32) << 16).view(np.float32)
        found[name.removeprefix(PREFIX)] = values.astype(np.float32)
    return found
