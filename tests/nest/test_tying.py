"""Output heads that may be the table of tokens: what config.json and the tensors say together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from linnet import nest
from linnet.errors import CardError, CheckpointError, ConfigError
from linnet.nest.card import load_card

SOURCE = """
module heads

pub const SCALE: f32 = 1.0

pub block Heads<Vocab: Dim, H: Dim> {
    param table: Tensor[Vocab, H; f32]
    param head: Tensor[Vocab, H; f32]? = none

    pub entry logits(x: Tensor[H; f32]) -> Tensor[Vocab; f32] {
        let used = match head {
            some(own) => own
            none => table
        }
        let found[v] = sum[h] used[v, h] * x[h]
        let first[v] = table[v, 0]
        return found * SCALE + first
    }
}
"""
CARD = """
[model]
name = "heads"
title = "Heads"
summary = "A model for tests."
license = "MIT"

[links]
huggingface = "https://huggingface.co/owner/heads"

[source]
path = "heads.linnet"
entry = "logits"

[generics]
Vocab = 3
H = 2

[weights]
bindings = "bindings.json"

[weights.tied]
"lm_head.weight" = "table"

[config.tied]
"lm_head.weight" = { key = "tie | text.tie", default = false }

[config.constants]
SCALE = { key = "scale", default = 1.0 }
"""
TABLE = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
X = np.array([1, -2], np.float32)


@pytest.fixture
def entry(tmp_path: Path) -> Path:
    folder = tmp_path / "heads"
    folder.mkdir()
    (folder / "heads.linnet").write_text(SOURCE)
    (folder / "nest.toml").write_text(CARD)
    bindings = {"table": "embed.weight", "head": "lm_head.weight"}
    (folder / "bindings.json").write_text(json.dumps(bindings))
    return folder


def logits(
    entry: Path, config: dict[str, Any] | None, head: np.ndarray | None, **options: Any
) -> tuple[np.ndarray, bool]:
    """What the model gives, and whether it has a head of its own in memory."""
    folder = entry.parent / "checkpoint"
    folder.mkdir(exist_ok=True)
    tensors = {"embed.weight": TABLE} | ({} if head is None else {"lm_head.weight": head})
    save_file(tensors, folder / "model.safetensors")
    file = folder / "config.json"
    file.unlink(missing_ok=True)
    if config is not None:
        file.write_text(json.dumps(config))
    with nest.load(entry, checkpoint=folder, **options) as model:
        for name, value in model.constants.items():
            assert f"constants: {name} = {value}\n" in model.explain()
        return model.logits(X), "2 in memory" in model.explain()


@pytest.mark.parametrize("config", [{"tie": True}, {"tie": None, "text": {"tie": True}}])
def test_tied_heads_need_no_tensor_and_a_stored_one_must_be_equal(
    entry: Path, config: dict[str, Any]
) -> None:
    for head in (None, TABLE.copy()):
        found, own = logits(entry, config, head)
        np.testing.assert_array_equal(found, TABLE @ X + TABLE[:, 0])
        assert not own
    with pytest.raises(CheckpointError, match=r"`lm_head\.weight` differs from `embed\.weight`"):
        logits(entry, config, TABLE + 1)
    with pytest.raises(CheckpointError, match=r"tie = true in .*config\.json says .* the same w"):
        logits(entry, config, TABLE + 1)


@pytest.mark.parametrize("config", [{"tie": False}, {}, {"tie": None}])
def test_separate_heads_must_be_there(entry: Path, config: dict[str, Any]) -> None:
    for head in (TABLE.copy(), TABLE + 1):
        found, own = logits(entry, config, head)
        np.testing.assert_array_equal(found, head @ X + TABLE[:, 0])
        assert own
    with pytest.raises(CheckpointError, match=r"there is no `lm_head\.weight`, and .*tie"):
        logits(entry, config, None)


def test_without_a_config_the_tensors_decide(entry: Path) -> None:
    for head, separate in ((None, False), (TABLE.copy(), False), (TABLE * 2, True)):
        found, own = logits(entry, None, head)
        expected = (TABLE if head is None else head) @ X + TABLE[:, 0]
        np.testing.assert_array_equal(found, expected)
        assert own == separate


def test_keys_that_are_neither_true_nor_false(entry: Path) -> None:
    with pytest.raises(ConfigError, match=r"tie = 1, expected true or false .*lm_head"):
        logits(entry, {"tie": 1}, None)
    file = entry / "nest.toml"
    file.write_text(CARD.replace('{ key = "tie | text.tie", default = false }', '"tie"'))
    with pytest.raises(ConfigError, match="tie is not there, expected true or false"):
        logits(entry, {}, None)


def test_cards_tie_only_what_is_said_to_be_tied(entry: Path) -> None:
    file = entry / "nest.toml"
    file.write_text(CARD.replace('[config.tied]\n"lm_head', '[config.tied]\n"lm_heads'))
    with pytest.raises(CardError, match=r"did you mean 'lm_head\.weight'"):
        load_card(file)
    file.write_text(CARD.replace("default = false", 'default = "no"'))
    with pytest.raises(CardError, match="`default` that must be true or false"):
        load_card(file)


def test_constants_reach_the_program_and_blame_who_gave_them(entry: Path) -> None:
    for config, options, scale in (
        ({"scale": 3}, {}, 3),
        ({"scale": 3}, {"constants": {"SCALE": 0.5}}, 0.5),
        ({}, {}, 1),
    ):
        found, _ = logits(entry, {"tie": True, **config}, None, **options)
        np.testing.assert_array_equal(found, TABLE @ X * np.float32(scale) + TABLE[:, 0])
    with pytest.raises(ConfigError, match=r"`scale` of .*config\.json: SCALE = true: it must be"):
        logits(entry, {"scale": True}, TABLE)
    file = entry / "nest.toml"
    file.write_text(CARD + '[constants]\nSCALES = 2\nSCALE = "Big"\n')
    with pytest.raises(CardError, match=r"nest\.toml: the source has no public constant `SCALES`"):
        logits(entry, {}, TABLE)
