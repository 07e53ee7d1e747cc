"""Configs of the families that their sources do not implement: refused by key and value."""

from __future__ import annotations

import json
from typing import Any

import pytest

from families.data import CHECKPOINTS, family_of
from linnet.errors import ConfigError
from linnet.nest import registry
from linnet.nest.config import Config
from linnet.nest.settings import Settings, resolve_settings


def settings(name: str, changes: dict[str, Any]) -> Settings:
    """What the family's card makes of a stored config with other values."""
    file = CHECKPOINTS / name / "config.json"
    values = json.loads(file.read_text(encoding="utf-8")) | changes
    return resolve_settings(registry.find(family_of(name)["entry"]), Config(values, file))


LINEAR = {"rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 1e4}}
YARN = {"rope_scaling": {"type": "yarn", "factor": 4.0}, "rope_parameters": None}
HALF = {"rope_type": "llama3", "factor": 8.0, "high_freq_factor": 4.0}
PARTLY = {"rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.5}}


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        (
            "llama-1",
            {"hidden_act": "gelu"},
            'hidden_act = "gelu", expected "silu" or "swish"; .* activation',
        ),
        ("llama-1", LINEAR, 'rope_type = "linear".*another formula for the rotary rates'),
        ("llama-1", YARN, 'rope_scaling.type = "yarn", expected "default" or "llama3"'),
        ("llama-1", PARTLY, "partial_rotary_factor = 0.5.*a part of each head"),
        ("llama-1", {"pretraining_tp": 4}, "pretraining_tp = 4, expected 1"),
        ("llama-1", {"model_type": "mistral"}, 'model_type = "mistral", expected "llama"'),
        ("llama-1", {"quantization_config": {"bits": 4}}, "quantized weights"),
        ("gpt-neox-1", {"head_dim": 8}, "head_dim = 8, expected H / Heads = 11.*share"),
        ("llama-1", {"layer_types": ["sliding_attention"]}, "layer_types.*window"),
        ("llama-2", {"rope_scaling": "llama3"}, 'rope_scaling = "llama3", expected an object'),
        ("llama-2", {"rope_scaling": HALF}, "low_freq_factor is not there, expected a value"),
        ("mistral-1", {"sliding_window": 4096}, "sliding_window = 4096, expected.*a window"),
        ("mistral-1", YARN, "yarn"),
        ("qwen2-1", {"use_sliding_window": True}, "sliding_window = 32 with use_sliding.*a window"),
        (
            "qwen2-1",
            {"layer_types": ["full_attention", "sliding_attention"]},
            "layer_types.*window",
        ),
        ("qwen2-1", {"rope_scaling": {"type": "dynamic"}}, '"dynamic"'),
        ("qwen3-1", {"hidden_act": "relu"}, "relu"),
        ("qwen3-1", {"num_key_value_heads": None}, "num_key_value_heads = null"),
    ],
)
def test_what_a_source_does_not_do(name: str, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        settings(name, changes)


def test_both_forms_of_rotary_positions() -> None:
    scaled = {"factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    scaled |= {"original_max_position_embeddings": 8192, "rope_type": "llama3"}
    old = {"rope_theta": 5e5, "rope_scaling": scaled, "rope_parameters": None}
    new = {"rope_parameters": {"rope_theta": 5e5, **scaled}}
    assert settings("llama-1", old).constants == settings("llama-1", new).constants
    assert settings("llama-1", new).constants == {
        "EPSILON": 1e-5,
        "ROPE": "Llama3",
        "ROPE_BASE": 5e5,
        "ROPE_FACTOR": 32.0,
        "ROPE_LOW": 1.0,
        "ROPE_HIGH": 4.0,
        "ROPE_ORIGINAL": 8192,
    }


def test_all_of_the_rotary_positions_may_stand_in_the_old_place() -> None:
    """As transformers reads it, before what stands in the new one."""
    old = {"rope_type": "default", "rope_theta": 44.0}
    assert settings("llama-1", {"rope_scaling": old}).constants["ROPE_BASE"] == 44.0
    found = settings("gpt-neox-1", {"rope_scaling": {**old, "partial_rotary_factor": 0.2}})
    assert (found.constants["ROPE_BASE"], found.generics["Rotated"]) == (44.0, 2)


def test_how_far_a_model_looked_before_it_was_stretched() -> None:
    """Where the config does not say it, transformers takes how far it looks."""
    whole = {**HALF, "low_freq_factor": 1.0}
    stretched = settings("llama-2", {"rope_scaling": whole}).constants
    assert stretched["ROPE_ORIGINAL"] == 128
    beside = {"rope_scaling": whole, "original_max_position_embeddings": 50}
    assert settings("llama-2", beside).constants["ROPE_ORIGINAL"] == 50
    assert "ROPE_ORIGINAL" not in settings("llama-2", {"rope_scaling": None}).constants


def test_sizes_that_a_config_leaves_out() -> None:
    assert settings("llama-1", {"head_dim": None}).generics["HeadDim"] == 11
    assert settings("llama-1", {"num_key_value_heads": None}).generics["KvHeads"] == 4
    assert settings("qwen3-1", {"head_dim": None}).generics["HeadDim"] == 128
    long = settings("llama-1", {"max_position_embeddings": 131072}).generics
    assert (long["MaxPositions"], long["MaxSeq"]) == (131072, 4096)
