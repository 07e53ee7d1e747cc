"""Optional tensors, and sizes, that a config.json and its checkpoint do not agree on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file, save_file

from families.data import CHECKPOINTS
from linnet import nest
from linnet.errors import CheckpointError, ConfigError, LinnetError

BIAS = "model.layers.{}.self_attn.q_proj.bias"
NEOX = "gpt_neox.layers.{}.mlp.dense_h_to_4h.bias"


def refused(
    tmp_path: Path, name: str, changes: dict[str, Any], lost: list[str] | None = None
) -> LinnetError:
    """The refusal of a stored checkpoint with other values in its config, without some tensors."""
    folder = tmp_path / name
    shutil.copytree(CHECKPOINTS / name, folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8")) | changes
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    if lost:
        tensors = load_file(folder / "model.safetensors")
        kept = {name: tensor for name, tensor in tensors.items() if name not in lost}
        save_file(kept, folder / "model.safetensors")
    with pytest.raises(LinnetError) as caught:
        nest.load(folder, offline=True)
    return caught.value


def test_a_tensor_that_only_some_layers_have_was_lost(tmp_path: Path) -> None:
    error = refused(tmp_path, "llama-2", {}, [BIAS.format(1)])
    assert isinstance(error, CheckpointError)
    assert f"there is `{BIAS.format(0)}`, but no `{BIAS.format(1)}`" in error.message


@pytest.mark.parametrize(
    ("name", "changes", "lost", "message"),
    [
        ("llama-2", {"attention_bias": False}, None, "attention_bias = false, but there is `"),
        ("llama-2", {"mlp_bias": "x"}, None, 'mlp_bias = "x", expected true or false'),
        ("llama-1", {"attention_bias": True}, None, "attention_bias = true, but there is no `"),
        ("llama-2", {}, BIAS, "attention_bias = true, but there is no `"),
        ("gpt-neox-2", {"attention_bias": True}, None, "attention_bias = true, but there is no `"),
        ("gpt-neox-1", {}, NEOX, "every checkpoint of gpt-neox has it, but there is no `"),
        ("qwen2-1", {}, BIAS, "every checkpoint of qwen2 has it, but there is no `"),
        ("vit-1", {"qkv_bias": False}, None, "qkv_bias = false, but there is `"),
        ("vit-2", {"qkv_bias": True}, None, "qkv_bias = true, but there is no `"),
    ],
)
def test_what_a_config_promises_or_denies(
    tmp_path: Path, name: str, changes: dict[str, Any], lost: str | None, message: str
) -> None:
    error = refused(tmp_path, name, changes, lost and [lost.format(i) for i in range(4)])
    assert isinstance(error, ConfigError)
    assert message in error.message


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("llama-1", {"num_key_value_heads": 3}, "KvHeads = 3 (num_key_value_heads = 3)"),
        ("llama-1", {"head_dim": 7}, "`HeadDim % 2 == 0` does not hold with HeadDim = 7 (head_dim"),
        ("bert-1", {"num_attention_heads": 5}, "H = 44 (hidden_size = 44), Heads = 5 (num_att"),
        (
            "gpt-neox-1",
            {"rope_parameters": {"partial_rotary_factor": 0.3}},
            "Rotated = 3 (rope_parameters.partial_rotary_factor = 0.3, a share of H / Heads)",
        ),
        ("gpt-neox-1", {"rope_parameters": None, "rotary_pct": 0.01}, "(rotary_pct = 0.01, a"),
        ("vit-1", {"patch_size": 0}, "Patch = 0 (patch_size = 0)"),
    ],
)
def test_sizes_that_a_source_cannot_have(
    tmp_path: Path, name: str, changes: dict[str, Any], message: str
) -> None:
    error = refused(tmp_path, name, changes)
    assert isinstance(error, ConfigError)
    assert "config.json: `" in error.message
    assert message in error.message
