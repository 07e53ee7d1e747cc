"""Whether an output head is the token table: config.json and the tensors must agree."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from families.data import CHECKPOINTS, references
from linnet import nest
from linnet.errors import CheckpointError

HEAD, TABLE = "lm_head.weight", "model.embed_tokens.weight"


def written(folder: Path, name: str, tied: bool | None, head: np.ndarray[Any, Any] | None) -> Path:
    """A stored checkpoint with another word on tying, and another head or none."""
    shutil.copytree(CHECKPOINTS / name, folder, dirs_exist_ok=True)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    del config["tie_word_embeddings"]
    if tied is not None:
        config["tie_word_embeddings"] = tied
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    tensors = load_file(folder / "model.safetensors")
    tensors.pop(HEAD, None)
    if head is not None:
        tensors[HEAD] = head
    save_file(tensors, folder / "model.safetensors")
    return folder


def test_a_copy_of_the_table_is_left_aside(tmp_path: Path) -> None:
    table = load_file(CHECKPOINTS / "llama-1" / "model.safetensors")[TABLE]
    folder = written(tmp_path, "llama-1", True, table)
    stored = references("llama-1")
    with nest.load(folder) as model, nest.load(CHECKPOINTS / "llama-1") as without:
        logits = model.forward(stored["prompt2"][None])[0]
        assert logits.tobytes() == without.forward(stored["prompt2"][None])[0].tobytes()
        weights = [
            m.explain().partition("state:")[0].partition("\n\n")[2] for m in (model, without)
        ]
        assert weights[0] == weights[1]
    assert np.abs(logits - stored["logits2"]).max() < 2e-4


@pytest.mark.parametrize(
    ("name", "tied", "head", "message"),
    [
        ("llama-1", True, "other", "`lm_head.weight` differs from `model.embed_tokens.weight`"),
        ("llama-1", False, None, "there is no `lm_head.weight`.*separate weights"),
        ("llama-1", None, None, "there is no `lm_head.weight`.*separate weights"),
    ],
)
def test_contradictions(
    tmp_path: Path, name: str, tied: bool | None, head: str | None, message: str
) -> None:
    table = load_file(CHECKPOINTS / name / "model.safetensors")[TABLE]
    folder = written(tmp_path, name, tied, table + 1 if head else None)
    with pytest.raises(CheckpointError, match=message):
        nest.load(folder)
