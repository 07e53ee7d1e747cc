"""Checkpoints of OPT: what of config.json counts, what the tensors decide, what is refused."""

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
from linnet.errors import ConfigError, LinnetError
from linnet.nest import Model


def variant(
    to: Path, name: str, rename: Callable[[str], str] = str, **values: Any
) -> tuple[Path, dict[str, Any]]:
    """A stored checkpoint with other names of tensors and other values in config.json; and its
    tensors."""
    shutil.copytree(CHECKPOINTS / name, to)
    file = to / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | values))
    weights = {rename(name): array for name, array in load_file(to / "model.safetensors").items()}
    save_file(weights, to / "model.safetensors")
    return to, weights


def test_files_of_the_bare_decoder(load: Callable[..., Model], tmp_path: Path) -> None:
    prompt = references("opt-1")["prompt2"][None]
    folder, _ = variant(tmp_path / "bare", "opt-1", lambda name: name.removeprefix("model."))
    with nest.load(folder) as model:  # by its model_type
        assert model.name == "opt"
        found = model.forward(prompt)
    assert np.array_equal(found, load("opt-1").forward(prompt))


def test_a_last_norm_that_is_not_to_be_used(load: Callable[..., Model], tmp_path: Path) -> None:
    """transformers leaves it out as well, and says that the tensors were not used."""
    prompt = references("opt-3")["prompt2"][None]
    folder, weights = variant(tmp_path / "more", "opt-3")
    width = weights["model.decoder.embed_positions.weight"].shape[1]
    for part in ("weight", "bias"):
        weights[f"model.decoder.final_layer_norm.{part}"] = np.full(width, 3.0, np.float32)
    save_file(weights, folder / "model.safetensors")
    with nest.load(folder) as model:
        found = model.forward(prompt)
    assert np.array_equal(found, load("opt-3").forward(prompt))


@pytest.mark.parametrize("part", ["in", "out"])
def test_a_projection_that_is_lost(tmp_path: Path, part: str) -> None:
    folder, weights = variant(tmp_path / "less", "opt-3")
    del weights[f"model.decoder.project_{part}.weight"]
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(LinnetError, match=r"45 lies outside an axis of 40"):
        nest.load("opt", checkpoint=folder).forward(references("opt-3")["prompt1"][None])


def test_biases_are_as_config_json_says(tmp_path: Path) -> None:
    folder, _ = variant(tmp_path / "more", "opt-1", enable_bias=False)
    with pytest.raises(ConfigError, match="enable_bias"):
        nest.load("opt", checkpoint=folder)
    folder, _ = variant(tmp_path / "less", "opt-3", enable_bias=True)
    with pytest.raises(ConfigError, match="enable_bias"):
        nest.load("opt", checkpoint=folder)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"activation_function": "gelu"}, r'activation_function = "gelu".*need another activation'),
        (
            {"layer_norm_elementwise_affine": False},
            r"layer_norm_elementwise_affine = false.*norms without weights",
        ),
        ({"tie_word_embeddings": False}, r"tie_word_embeddings = false.*head of its own"),
        ({"do_layer_norm_before": "no"}, r'do_layer_norm_before = "no"'),
    ],
)
def test_what_another_config_would_need(tmp_path: Path, values: dict[str, Any], said: str) -> None:
    folder, _ = variant(tmp_path / "other", "opt-1", **values)
    with pytest.raises(ConfigError, match=said):
        nest.load("opt", checkpoint=folder)
