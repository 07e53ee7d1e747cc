"""Checkpoints of GPT-NeoX as transformers 4 wrote them, and those that are refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from families.data import CHECKPOINTS, references
from linnet import nest
from linnet.errors import CheckpointError, ConfigError, LinnetError
from linnet.nest import Model

FIRST = "gpt-neox-1"


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """The first checkpoint as transformers 4 wrote it: another spelling of the positions, and
    masks and frequencies among the weights."""
    folder = tmp_path / "older"
    shutil.copytree(CHECKPOINTS / FIRST, folder)
    config = json.loads((folder / "config.json").read_text())
    rope = config.pop("rope_parameters")
    rewritten = {
        "rotary_pct": rope["partial_rotary_factor"],
        "rotary_emb_base": int(rope["rope_theta"]),
        "rope_scaling": None,
    }
    (folder / "config.json").write_text(json.dumps(config | rewritten))
    weights = load_file(folder / "model.safetensors")
    positions = config["max_position_embeddings"]
    for n in range(config["num_hidden_layers"]):
        at = f"gpt_neox.layers.{n}.attention"
        weights[f"{at}.bias"] = np.tril(np.ones((1, 1, positions, positions), np.bool_))
        weights[f"{at}.masked_bias"] = np.array(-1e9, np.float32)
        weights[f"{at}.rotary_emb.inv_freq"] = np.zeros(2, np.float32)
    save_file(weights, folder / "model.safetensors")
    return folder


def changed(folder: Path, **values: Any) -> Path:
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | values))
    return folder


def test_an_older_checkpoint_is_the_same_model(load: Callable[..., Model], older: Path) -> None:
    prompt = references(FIRST)["prompt2"][None]
    with nest.load(older) as model:  # by its model_type
        assert model.name == "gpt-neox"
        assert model.generics["Rotated"] == 4
        found = model.forward(prompt)
        assert "attention.masked_bias" in model.explain()
    assert np.array_equal(found, load(FIRST).forward(prompt))


def test_config_json_says_whether_the_head_is_the_token_table(older: Path) -> None:
    file = older / "model.safetensors"
    weights = load_file(file)
    head = weights.pop("embed_out.weight")
    save_file(weights, file)
    with pytest.raises(CheckpointError, match=r"no `embed_out\.weight`.*tie_word_embeddings"):
        nest.load(older)
    with nest.load(changed(older, tie_word_embeddings=True)) as model:
        without = model.forward(references(FIRST)["prompt1"][None])
    save_file(weights | {"embed_out.weight": weights["gpt_neox.embed_in.weight"]}, file)
    with nest.load(older) as model:
        assert np.array_equal(model.forward(references(FIRST)["prompt1"][None]), without)
    save_file(weights | {"embed_out.weight": head}, file)
    with pytest.raises(CheckpointError, match=r"`embed_out\.weight` differs"):
        nest.load(older)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {"rope_scaling": {"type": "linear", "factor": 2.0}},
            r'rope_scaling\.type = "linear", expected "default".*need another formula',
        ),
        ({"rope_parameters": {"rope_type": "yarn"}}, r'rope_parameters\.rope_type = "yarn"'),
        ({"hidden_act": "relu"}, r'hidden_act = "relu", expected .*need another activation'),
        ({"rotary_pct": 1.5}, r"rotary_pct = 1\.5, expected a share"),
        ({"rotary_emb_base": "many"}, r'rotary_emb_base = "many", expected a number'),
    ],
)
def test_what_another_config_would_need(older: Path, values: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        nest.load("gpt-neox", checkpoint=changed(older, **values))


def test_an_odd_number_of_turned_coordinates_is_refused(older: Path) -> None:
    with pytest.raises(LinnetError, match=r"Rotated % 2 == 0"):
        nest.load("gpt-neox", checkpoint=changed(older, rotary_pct=0.3))
