"""Checkpoints of the bare decoder, whose names lack the prefix of the whole language model."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from families.data import CHECKPOINTS, references
from linnet import nest
from linnet.errors import CheckpointError


@pytest.mark.parametrize(("name", "prefix"), [("llama-1", "model."), ("gpt-neox-2", "gpt_neox.")])
def test_the_same_logits_where_the_head_is_tied(tmp_path: Path, name: str, prefix: str) -> None:
    folder = tmp_path / name
    shutil.copytree(CHECKPOINTS / name, folder)
    tensors = load_file(folder / "model.safetensors")
    assert all(tensor.startswith(prefix) for tensor in tensors)
    bare = {tensor.removeprefix(prefix): values for tensor, values in tensors.items()}
    save_file(bare, folder / "model.safetensors")
    stored = references(name)
    with nest.load(folder, offline=True) as model:
        logits = model.forward(stored["prompt1"][None])[0]
    assert np.abs(logits - stored["logits1"]).max() < 2e-4


def test_a_weight_under_both_names(tmp_path: Path) -> None:
    """Which of the two counts, nothing says."""
    folder = tmp_path / "llama-1"
    shutil.copytree(CHECKPOINTS / "llama-1", folder)
    tensors = load_file(folder / "model.safetensors")
    tensors["norm.weight"] = 2 * tensors["model.norm.weight"]
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"both `model\.norm\.weight` and `norm\.weight`"):
        nest.load(folder, offline=True)
