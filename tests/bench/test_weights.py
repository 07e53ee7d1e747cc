"""Random weights: the same everywhere, of a sensible size, and a checkpoint like any other."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import numpy as np
import pytest

from linnet import nest
from linnet.artifact import Parameter
from linnet.bench import weights
from linnet.bench.subject import Subject
from linnet.errors import UsageError
from linnet.nest.config import Config
from linnet.nest.settings import resolve_settings
from linnet.runtime.checkpoint import open_checkpoint
from tests.bench.conftest import EMBEDDED


def test_values_are_those_of_the_generator() -> None:
    """By hand: 24 bits of each integer of the stream, spread evenly over -1 .. 1, scaled."""
    found = weights.random_tensor(Parameter("w", "f32", (2, 3), False, ""), "name", seed=7)
    raw = np.random.PCG64(np.random.SeedSequence([7, zlib.crc32(b"name")])).random_raw(6)
    unit = [int(bits) / 2**63 - 1 for bits in raw]
    by_hand = np.reshape(unit, (2, 3)) * np.sqrt(6 / 5)
    assert np.abs(found - by_hand).max() < 1e-6
    other = weights.random_tensor(Parameter("w", "f32", (2, 3), False, ""), "other", seed=7)
    assert not np.array_equal(found, other)


def test_matrices_keep_the_size_of_what_goes_through() -> None:
    matrix = weights.random_tensor(Parameter("a.w", "f32", (300, 300), False, ""), "a", 0)
    x = np.random.default_rng(0).standard_normal((50, 300)).astype(np.float32)
    assert np.std(x @ matrix) == pytest.approx(1.0, rel=0.05)


def test_gains_are_about_one_and_biases_about_nothing() -> None:
    gain = weights.random_tensor(Parameter("ln.weight", "f32", (500,), False, ""), "g", 0)
    bias = weights.random_tensor(Parameter("ln.bias", "f32", (500,), False, ""), "b", 0)
    assert abs(gain - 1).max() <= weights.VECTOR_SPREAD
    assert abs(bias).max() <= weights.VECTOR_SPREAD
    assert gain.std() > 0.01 < bias.std()


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("random")
    weights.write_checkpoint(Subject.find(EMBEDDED), folder, seed=3)
    return folder


def test_the_checkpoint_loads_and_writes_varied_text(checkpoint: Path) -> None:
    with nest.load(EMBEDDED, checkpoint=checkpoint, threads=1) as model:
        text = model.generate([1, 2, 3], max_new_tokens=24, ignore_eos=True)
    assert len(set(text.token_ids)) > 4


def test_its_config_says_what_the_card_expects(checkpoint: Path) -> None:
    subject = Subject.find(EMBEDDED)
    values = json.loads((checkpoint / "config.json").read_text())
    assert resolve_settings(subject.card, Config(values)).generics == subject.generics
    assert values["model_type"] == "gpt2"


def test_the_same_seed_gives_the_same_bytes(checkpoint: Path, tmp_path: Path) -> None:
    weights.write_checkpoint(Subject.find(EMBEDDED), tmp_path, seed=3)
    name = "model.safetensors"
    assert (tmp_path / name).read_bytes() == (checkpoint / name).read_bytes()


def test_halves_are_the_nearest_and_pieces_leave_no_seam(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "PIECE", 1000)
    subject = Subject.find(EMBEDDED)
    size = weights.write_checkpoint(subject, tmp_path, seed=3, dtype="bf16")
    full, half = open_checkpoint(checkpoint), open_checkpoint(tmp_path)
    assert full.names == half.names
    for name in full.names:
        assert half.tensors[name].dtype == "bf16"
        values = full.array(name)
        wide = np.empty_like(values)
        half.widen(name, wide)
        # A bf16 has 8 bits of precision: only the nearest is within half a step.
        assert (np.abs(wide - values) <= np.abs(values) * 2.0**-8).all()
    assert size == sum(half.tensors[name].nbytes for name in half.names)
    with pytest.raises(UsageError, match="no parameter `other`"):
        weights.write_checkpoint(subject, tmp_path, optional=["other"])
