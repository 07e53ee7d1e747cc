"""Random checkpoints of several sizes against transformers, and their variants on disk.

Nothing in the size `odd` divides by a vector's width. A variant (shards, prefix, buffers that
are no parameters, a stored head, half precision) must give the bits of the plain file."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from acceptance.checkpoints import stored
from acceptance.roads import Logits, forward, prefill_then_decode
from linnet import nest
from linnet.nest import Model
from linnet.runtime.checkpoint import open_checkpoint

Load = Callable[..., Model]
Write = Callable[..., Path]

TOLERANCE = 2e-4
TOKENS = [[5, 100, 7, 33, 2, 508, 0, 77, 12]]


@pytest.mark.parametrize("target", ["native", "avx2", "scalar", "neon"])
def test_odd_sizes(load: Load, checkpoint: Write, target: str) -> None:
    compare(load("gpt2", target, checkpoint=checkpoint("odd")), "odd")


def test_a_size_larger_than_a_tile(load: Load, checkpoint: Write) -> None:
    compare(load("gpt2", checkpoint=checkpoint("mini")), "mini")


def compare(model: Model, size: str) -> None:
    for case in stored(size):
        prompt, greedy = case.prompt.tolist(), case.greedy.tolist()
        logits = model.forward([prompt])[0]
        assert np.abs(logits[:, case.columns] - case.logits).max() < TOLERANCE
        assert np.abs(logits[-1] - case.last).max() < TOLERANCE
        model.reset_state()
        carried = prefill_then_decode(model, prompt, greedy)
        assert carried.argmax(-1).tolist() == greedy
        assert forward(model, prompt, greedy).tobytes() == carried.tobytes()


# --- variants ------------------------------------------------------------------------------


def logits(checkpoint: Path) -> Logits:
    with nest.load("gpt2", checkpoint=checkpoint) as model:
        found: Logits = model.forward(TOKENS)
    return found


@pytest.mark.parametrize(
    "options",
    [
        ("--sharded", "3"),
        ("--prefix",),
        ("--masks", "f32"),
        ("--masks", "bool"),
        ("--lm-head", "--prefix"),
        ("--sharded", "5", "--prefix", "--masks", "bool", "--lm-head"),
    ],
    ids=" ".join,
)
def test_other_layouts_give_the_bits_of_the_plain_file(
    checkpoint: Write, options: tuple[str, ...]
) -> None:
    plain, other = logits(checkpoint("odd")), logits(checkpoint("odd", *options))
    assert plain.tobytes() == other.tobytes()


@pytest.fixture(params=["f16", "bf16"])
def half(request: pytest.FixtureRequest, checkpoint: Write) -> Path:
    return checkpoint("odd", "--dtype", request.param)


def test_half_precision_gives_the_bits_of_the_widened_file(half: Path, tmp_path: Path) -> None:
    widened = tmp_path / "widened"
    widen(half, widened)
    assert logits(half).tobytes() == logits(widened).tobytes()


def test_half_precision_in_shards(half: Path, checkpoint: Write) -> None:
    dtype = json.loads((half / "config.json").read_text())["torch_dtype"]
    name = {"float16": "f16", "bfloat16": "bf16"}[dtype]
    sharded = checkpoint("odd", "--dtype", name, "--sharded", "3", "--prefix", "--masks", "bool")
    assert logits(half).tobytes() == logits(sharded).tobytes()


def widen(folder: Path, to: Path) -> None:
    """The same checkpoint with its tensors in f32, as numpy widens them."""
    to.mkdir()
    shutil.copy(folder / "config.json", to)
    source = open_checkpoint(folder)
    tensors = {}
    for name in source.names:
        array = source.array(name)
        if source.tensors[name].dtype == "bf16":
            array = (array.astype(np.uint32) << 16).view(np.float32)
        tensors[name] = np.ascontiguousarray(array.astype(np.float32))
    save_file(tensors, to / "model.safetensors")
