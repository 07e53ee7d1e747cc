"""config.json against the card: facts that must hold, and sizes that are taken from it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linnet import resources
from linnet.errors import ConfigError, UsageError
from linnet.nest.card import Card, load_card
from linnet.nest.config import Config, end_of_text_ids, load_config
from linnet.nest.settings import resolve_settings

FILE = Path("/some/config.json")


def generics(card: Card, values: dict[str, Any], **overrides: Any) -> dict[str, Any]:
    sizes = {"vocab_size": 512, "n_embd": 64}
    return dict(resolve_settings(card, Config(sizes | values, FILE), overrides).generics)


def test_sizes_come_from_the_config(card: Card) -> None:
    got = generics(card, {"vocab_size": 300, "n_embd": 32, "inner": None, "other": [1]})
    assert got == {"Vocab": 300, "MaxPositions": 128, "H": 32, "T": "f32", "Inner": 128}


def test_without_a_config_the_sizes_are_the_cards(card: Card) -> None:
    got = resolve_settings(card, Config({})).generics
    assert got == {"Vocab": 512, "MaxPositions": 128, "H": 64, "T": "f32", "Inner": 256}


def test_overrides_win_and_reach_the_defaults(card: Card) -> None:
    got = generics(card, {"n_embd": 32}, MaxPositions=np.int64(16), T="f64", H=8)
    assert got["MaxPositions"] == 16
    assert type(got["MaxPositions"]) is int
    assert (got["H"], got["Inner"], got["T"]) == (8, 32, "f64")


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("model_type", "gtp2", '"tiny"'),
        ("model_type", None, '"tiny"'),
        ("act", "relu", '"a" or "b"'),
        ("eps", 1e-6, "1e-05"),
        ("scaled", False, "true"),
        ("scaled", 1, "true"),
        ("scaled", None, "true"),
        ("inner", 255, "4 * H = 256"),
        ("n_embd", "64", "an integer"),
        ("n_embd", 64.0, "an integer"),
        ("n_embd", True, "an integer"),
        ("n_embd", None, "an integer"),
        ("n_embd", -1, "an integer"),
        ("n_embd", 2**40, "at most"),
    ],
)
def test_a_contradiction_names_key_value_expectation_and_file(
    card: Card, key: str, value: Any, expected: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        generics(card, {key: value})
    assert f"{key} = {json.dumps(value)}, expected {expected}" in str(caught.value)
    assert str(FILE) in str(caught.value)


def test_a_key_that_gives_a_size_must_be_there(card: Card) -> None:
    with pytest.raises(ConfigError, match=r"n_embd is not there.* H"):
        resolve_settings(card, Config({"vocab_size": 512}, FILE))
    got = resolve_settings(card, Config({"vocab_size": 512}, FILE), {"H": 8}).generics
    assert (got["H"], got["Inner"]) == (8, 32)


def test_quantized_weights_are_refused(card: Card) -> None:
    generics(card, {"quantization_config": None})
    with pytest.raises(ConfigError, match=r"quantization_config = .*bits.*quantized weights"):
        generics(card, {"quantization_config": {"bits": 4}})


def test_equal_numbers_of_another_spelling_pass(card: Card) -> None:
    generics(card, {"eps": 0.00001, "act": "b", "inner": 256})


def test_all_contradictions_come_together(card: Card) -> None:
    with pytest.raises(ConfigError) as caught:
        generics(card, {"model_type": "x", "act": "relu", "n_embd": "64", "scaled": False})
    assert str(caught.value).count("expected") == 4


@pytest.mark.parametrize("name", ["gpt2", "gpt2-tales"])
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("scale_attn_by_inverse_layer_idx", True),
        ("scale_attn_weights", False),
        ("reorder_and_upcast_attn", True),
        ("add_cross_attention", True),
        ("model_type", "gpt_neo"),
        ("activation_function", "gelu"),
        ("layer_norm_epsilon", 1e-6),
        ("tie_word_embeddings", False),
    ],
)
def test_flags_that_gpt2_does_not_compute_are_refused(name: str, key: str, value: Any) -> None:
    card = load_card(resources.folder("nest") / name)
    values = json.loads((resources.folder("nest") / "gpt2-tales" / "config.json").read_bytes())
    resolve_settings(card, Config(values, FILE))
    with pytest.raises(ConfigError, match=key):
        resolve_settings(card, Config({**values, key: value}, FILE))


def test_the_family_takes_its_sizes(tmp_path: Path) -> None:
    card = load_card(resources.folder("nest") / "gpt2")
    medium = {"n_embd": 1024, "n_head": 16, "n_layer": 24, "n_positions": 1024, "n_inner": None}
    got = resolve_settings(card, Config({**medium, "vocab_size": 50257}, FILE)).generics
    assert (got["H"], got["Heads"], got["Layers"], got["Inner"]) == (1024, 16, 24, 4096)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ({"MaxPosition": 3}, "did you mean 'MaxPositions'"),
        ({"H": 1.5}, "must be an integer"),
        ({"H": True}, "must be an integer"),
        ({"H": -3}, "must be an integer from 0"),
        ({"H": 2**31}, "2147483647"),
        ({"T": "float32"}, "no dtype; did you mean 'f32'|no dtype"),
        ({"H": None}, "must be an integer"),
    ],
)
def test_bad_overrides(card: Card, override: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        generics(card, {}, **override)


def test_names_known_to_the_program_are_accepted(card: Card) -> None:
    got = resolve_settings(card, Config({}), {"Extra": 3}, known=["H", "Extra"]).generics
    assert got["Extra"] == 3


@pytest.mark.parametrize("content", [b"{", b"[1]", b"\xff\xff\xff", b"[" * 100000, b""])
def test_files_that_are_no_config(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "config.json"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=r"config\.json"):
        load_config(file)


def test_where_the_end_of_text_comes_from(card: Card) -> None:
    none: Config = Config({})
    assert end_of_text_ids(card, none, None) == (511,)
    assert end_of_text_ids(card, Config({"eos_token_id": 7}), none) == (7,)
    assert end_of_text_ids(card, Config({"eos_token_id": 7}), Config({"eos_token_id": [8, 9]})) == (
        8,
        9,
    )
    for wrong in ("x", True, -1, [1, None]):
        with pytest.raises(ConfigError, match="eos_token_id"):
            end_of_text_ids(card, Config({"eos_token_id": wrong}, FILE), None)
    assert end_of_text_ids(card, Config({"eos_token_id": [7, 39]}), None, 40) == (7, 39)
    assert end_of_text_ids(card, Config({"eos_token_id": 511}), None, 40) == (511,)
    with pytest.raises(ConfigError, match="eos_token_id = 40 is out of range"):
        end_of_text_ids(card, Config({"eos_token_id": 40}, FILE), None, 40)
