"""Every family of encoders against transformers on small random checkpoints, on all targets.

Vectors of tokens are those of transformers within 2e-4, embeddings within 1e-5. A text has the
same bits alone and in any batch, however it is padded, on any number of threads, on every target.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from families.data import CHECKPOINTS, Arrays, names, references
from linnet import nest
from linnet.nest import Model

Load = Callable[..., Model]
Texts = list[tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]]

NAMES = names("embedding")
TARGETS = ["native", "scalar", "neon", "avx2", "avx512"]


@pytest.fixture(scope="module")
def seen() -> dict[str, str]:
    """A digest of each result, from whichever target and company came first."""
    return {}


def same(seen: dict[str, str], key: str, array: npt.NDArray[np.float32]) -> None:
    digest = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
    assert seen.setdefault(key, digest) == digest, f"other bits for {key}"


def texts(stored: Arrays) -> Texts:
    """The tokens and kinds of each text."""
    count = sum(key.startswith("tokens") for key in stored)
    return [(stored[f"tokens{k}"], stored[f"kinds{k}"]) for k in range(count)]


def padded(chosen: Texts, size: int) -> tuple[npt.NDArray[np.int32], ...]:
    """tokens [B, S], kinds [B, S] and lengths [B]; what pads is not 0, and must not matter."""
    tokens = np.arange(len(chosen) * size, dtype=np.int32).reshape(len(chosen), size) % 90
    kinds = np.zeros_like(tokens)
    for row, (ids, types) in enumerate(chosen):
        tokens[row, : len(ids)] = ids
        kinds[row, : len(ids)] = types
    return tokens, kinds, np.array([len(ids) for ids, _ in chosen], np.int32)


def check(model: Model, name: str, order: list[int], size: int, seen: dict[str, str]) -> None:
    """The texts of `order` in one batch of rows of `size`: right, and the same bits as ever."""
    stored = references(name)
    all_texts = texts(stored)
    batch = padded([all_texts[k] for k in order], size)
    hidden = model.forward(*batch)
    vectors = model.entries["embed"](*batch)
    for row, k in enumerate(order):
        length = len(all_texts[k][0])
        assert np.abs(hidden[row, :length] - stored[f"hidden{k}"]).max() < 2e-4
        assert np.abs(vectors[row] - stored[f"embedding{k}"]).max() < 1e-5
        same(seen, f"{name} hidden {k}", hidden[row, :length])
        same(seen, f"{name} embedding {k}", vectors[row])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("target", TARGETS)
def test_vectors_and_bits(load: Load, name: str, target: str, seen: dict[str, str]) -> None:
    model = load(name, target)
    count = len(texts(references(name)))
    check(model, name, list(range(count)), 66, seen)
    check(model, name, [2, 0, 1, 0, 2], 27, seen)
    for k, (ids, _) in enumerate(texts(references(name))):
        check(model, name, [k], len(ids), seen)


@pytest.mark.parametrize("name", NAMES)
def test_bits_on_more_threads(
    load: Load, name: str, seen: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # A call would never use more threads than there are CPUs; here it shall.
    monkeypatch.setattr("linnet.targets.detect.allowed_cpus", lambda: 4)
    model = load(name, threads=4)
    check(model, name, [3, 1, 2, 0], 66, seen)


@pytest.mark.parametrize("name", NAMES)
def test_embed_gives_the_entrys_bits_in_the_order_of_the_texts(load: Load, name: str) -> None:
    model = load(name)
    chance = np.random.default_rng(5)
    lists = [chance.integers(0, 90, n).tolist() for n in chance.integers(1, 66, 40)]
    found = model.embed(lists)
    for most in (1, 70, 700):
        assert model.embed(lists, batch_tokens=most).tobytes() == found.tobytes()
    for ids, vector in zip(lists, found, strict=True):
        alone = model.entries["embed"]([ids], [[0] * len(ids)], [len(ids)])
        assert alone[0].tobytes() == vector.tobytes() == model.embed(ids).tobytes()


@pytest.mark.parametrize(("name", "half"), [("bert-2", "bf16"), ("bert-3", "f16")])
def test_embeddings_of_a_model_in_half_precision_are_f32(load: Load, name: str, half: str) -> None:
    lists = [[1, 2, 3], [4] * 20]
    found = load(name, generics={"T": half}).embed(lists)
    assert found.dtype == np.float32
    assert np.abs(found - load(name).embed(lists)).max() < 0.05
    assert np.abs(np.linalg.norm(found, axis=1) - 1).max() < 0.01


@pytest.mark.parametrize("name", NAMES)
def test_the_first_token_may_stand_for_the_text(load: Load, name: str) -> None:
    stored = references(name)
    model = load(name, constants={"POOLING": "First"})
    found = model.entries["embed"](*padded(texts(stored), 66))
    for k, vector in enumerate(found):
        first = stored[f"hidden{k}"][0].astype(np.float64)
        assert np.abs(vector - first / np.linalg.norm(first)).max() < 1e-5


@pytest.mark.parametrize("name", NAMES)
def test_a_row_without_tokens_gives_zeros_and_disturbs_no_other(load: Load, name: str) -> None:
    model = load(name)
    ids, kinds = texts(references(name))[1]
    empty = np.zeros(0, np.int32)
    found = model.entries["embed"](*padded([(empty, empty), (ids, kinds)], 12))
    assert found[0].tolist() == [0.0] * found.shape[1]
    alone = model.entries["embed"](*padded([(ids, kinds)], len(ids)))
    assert found[1].tobytes() == alone[0].tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_older_names_of_the_same_weights(load: Load, name: str, tmp_path: Path) -> None:
    shutil.copytree(CHECKPOINTS / name, tmp_path, dirs_exist_ok=True)
    file = tmp_path / "model.safetensors"
    data = file.read_bytes()
    size = int.from_bytes(data[:8], "little")
    # The names of TensorFlow, which the first published files still have.
    header = data[8 : 8 + size].replace(b"LayerNorm.weight", b"LayerNorm.gamma")
    header = header.replace(b"LayerNorm.bias", b"LayerNorm.beta").ljust(size)
    file.write_bytes(data[:8] + header + data[8 + size :])
    with nest.load(tmp_path) as model:
        assert b"LayerNorm.gamma" in header
        assert model.embed([1, 2, 3]).tobytes() == load(name).embed([1, 2, 3]).tobytes()
