"""What sentence-transformers says beside a config.json, and what a card makes of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linnet import nest
from linnet.errors import ConfigError, LinnetError
from linnet.nest.config import load_config
from linnet.nest.pooling import pooling_files

BERT = Path(__file__).parents[1] / "data" / "families" / "bert-1"
USUAL = ("Transformer", "Pooling", "Normalize")


def write(folder: Path, pooling: Any, steps: tuple[str, ...] = USUAL) -> None:
    """modules.json and the pooling's config, as sentence-transformers writes them."""
    listed = []
    for n, kind in enumerate(steps):
        path = f"{n}_{kind}" if n else ""
        listed.append({"idx": n, "name": str(n), "path": path, "type": f"some.package.{kind}"})
        (folder / path).mkdir(exist_ok=True)
        if kind == "Pooling":
            (folder / path / "config.json").write_text(json.dumps(pooling))
    (folder / "modules.json").write_text(json.dumps(listed))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(BERT, tmp_path / "bert"))


@pytest.mark.parametrize(
    ("pooling", "expected"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
        ({"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}, "mean"),
        ({"pooling_mode_max_tokens": True, "pooling_mode_mean_tokens": True}, "max, mean"),
        ({"word_embedding_dimension": 44}, "mean"),
        ({"pooling_mode": "lasttoken"}, "lasttoken"),
        ({"pooling_mode": ["mean", "max"]}, "mean, max"),
    ],
)
def test_older_and_newer_files_say_how_to_pool(
    folder: Path, pooling: dict[str, Any], expected: str
) -> None:
    write(folder, pooling)
    values = load_config(folder / "config.json").values
    assert values["sentence_transformers"] == {"modules": list(USUAL), "pooling": expected}
    assert values["model_type"] == "bert"
    assert pooling_files(folder / "modules.json") == ["1_Pooling/config.json"]


def test_without_the_files_nothing_is_said() -> None:
    assert "sentence_transformers" not in load_config(BERT / "config.json").values


def test_a_card_pools_as_the_checkpoint_says(folder: Path) -> None:
    ids = [3, 1, 4, 1, 5]
    with nest.load(BERT) as model:
        mean = model.embed(ids)
        first = model.forward([ids], [[0] * 5], [5])[0, 0]
    write(folder, {"pooling_mode": "cls"})
    with nest.load(folder) as model:
        found = model.embed(ids)
    assert np.abs(found - first / np.linalg.norm(first)).max() < 1e-6
    assert np.abs(found - mean).max() > 0.01
    write(folder, {"pooling_mode_mean_tokens": True})
    with nest.load(folder) as model:
        assert model.embed(ids).tobytes() == mean.tobytes()


@pytest.mark.parametrize(
    ("pooling", "steps", "message"),
    [
        (
            {"pooling_mode": "max"},
            USUAL,
            r'sentence_transformers.pooling = "max".* way from the vec',
        ),
        ({"pooling_mode": ["mean", "cls"]}, USUAL, '"mean, cls"'),
        (
            {"pooling_mode": "mean"},
            (*USUAL[:2], "Dense"),
            r'modules.*"Dense".*step after the layers',
        ),
    ],
)
def test_what_the_source_does_not_compute_is_refused(
    folder: Path, pooling: Any, steps: tuple[str, ...], message: str
) -> None:
    write(folder, pooling, steps)
    with pytest.raises(ConfigError, match=message):
        nest.load(folder)


@pytest.mark.parametrize(
    ("modules", "message"),
    [
        ("{", "is not valid JSON"),
        ("{}", "must list the steps"),
        ('[{"type": 3}]', "must list the steps"),
        ('[{"type": "a.Pooling", "path": "../elsewhere"}]', "must list the steps"),
        ('[{"type": "a.Pooling", "path": "/etc"}]', "must list the steps"),
        ('[{"type": "a.Pooling", "path": "1_Pooling"}]', r"cannot read .*1_Pooling.config\.json"),
    ],
)
def test_damaged_files_are_named(folder: Path, modules: str, message: str) -> None:
    (folder / "modules.json").write_text(modules)
    with pytest.raises(ConfigError, match=message):
        nest.load(folder)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("hidden_act", "gelu_new", r'hidden_act = "gelu_new".*activation in the feed-forward part'),
        ("hidden_act", "relu", 'hidden_act = "relu"'),
        ("position_embedding_type", "relative_key", "how far apart two tokens stand"),
        ("is_decoder", True, r"is_decoder = true.*sees no later tokens"),
        ("add_cross_attention", True, "attention to another text"),
        ("num_attention_heads", 5, "Heads"),
        ("vocab_size", 102, "word"),
    ],
)
def test_a_bert_that_the_source_does_not_compute(
    folder: Path, key: str, value: Any, message: str
) -> None:
    config = json.loads((folder / "config.json").read_text()) | {key: value}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(LinnetError, match=message):
        nest.load(folder)
