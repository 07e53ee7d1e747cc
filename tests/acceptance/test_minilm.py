"""all-MiniLM-L6-v2 as published, against transformers: the vectors, and their bits in any company.

`tests/support/minilm.py` says where the files come from.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.minilm import minilm_folder

from acceptance.checkpoints import TESTS
from linnet import nest
from linnet.errors import ShapeError, UsageError
from linnet.nest import Model
from linnet.toolchain.cache import file_digest

Load = Callable[..., Model]

NAME = "all-minilm-l6-v2"
CASES: list[dict[str, Any]] = json.loads(
    (TESTS / "data" / "minilm" / "references.json").read_text()
)["cases"]
TEXTS = [case["text"] for case in CASES]
FEW = [0, 3, 4]
"""The cases run on targets that take long, among them the empty text."""

RUN = {"native": [*range(len(CASES))], "avx2": [*range(len(CASES))], "scalar": FEW, "neon": FEW}


@pytest.fixture(scope="module")
def folder(request: pytest.FixtureRequest) -> Path:
    return minilm_folder(request.config)


@pytest.fixture
def minilm(load: Load, folder: Path) -> Callable[..., Model]:
    def loaded(target: str = "native", **options: Any) -> Model:
        return load(NAME, target, batch=None, checkpoint=folder, **options)

    return loaded


def test_these_are_the_published_weights(folder: Path) -> None:
    stated = nest.show(NAME).weights.sha256
    assert stated == {"model.safetensors": file_digest(folder / "model.safetensors")}


@pytest.mark.parametrize("target", RUN)
def test_the_references(minilm: Callable[..., Model], target: str) -> None:
    model = minilm(target)
    chosen = [CASES[n] for n in RUN[target]]
    found = model.embed([case["text"] for case in chosen])
    assert found.dtype == np.float32
    assert found.shape == (len(chosen), 384)
    usual = found if target == "native" else minilm().embed([case["text"] for case in chosen])
    for case, vector, native in zip(chosen, found, usual, strict=True):
        assert model.tokenize(case["text"]) == case["ids"]
        assert np.abs(vector - np.array(case["embedding"])).max() < 1e-5, case["text"]
        assert vector.tobytes() == native.tobytes(), case["text"]


def test_the_same_bits_in_any_company(minilm: Callable[..., Model]) -> None:
    model = minilm()
    alone = [model.embed(text) for text in TEXTS]
    for most in (1, 40, 512, 100_000):
        together = model.embed(TEXTS, batch_tokens=most)
        assert [row.tobytes() for row in together] == [one.tobytes() for one in alone]
    turned = model.embed([case["ids"] for case in reversed(CASES)])
    assert turned.tobytes() == model.embed(TEXTS)[::-1].tobytes()
    assert minilm(threads=1).embed(TEXTS).tobytes() == np.array(alone).tobytes()


def test_no_text_and_empty_text(minilm: Callable[..., Model]) -> None:
    model = minilm()
    assert model.embed([]).shape == (0, 384)
    assert model.embed([]).dtype == np.float32
    assert model.embed("").shape == (384,)
    assert model.embed("").tobytes() == model.embed([101, 102]).tobytes()
    assert model.embed([""]).shape == (1, 384)


def test_a_text_that_is_too_long_is_cut_only_when_asked(minilm: Callable[..., Model]) -> None:
    model = minilm()
    text = "river " * 511
    with pytest.raises(ShapeError, match=r"texts\[1\] has 513 tokens, and .* takes 512 at most"):
        model.embed(["short", text])
    ids = model.tokenize(text)
    assert len(ids) == 513
    cut = model.embed(["short", text], truncate=True)
    assert cut[0].tobytes() == model.embed("short").tobytes()
    assert cut[1].tobytes() == model.embed([*ids[:511], ids[-1]]).tobytes()
    assert model.tokenize(text) == ids


@pytest.mark.parametrize("side", ["Left", "Right"])
def test_a_tokenizer_that_pads_or_cuts_is_told_not_to(
    folder: Path, tmp_path: Path, minilm: Callable[..., Model], side: str
) -> None:
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).symlink_to(folder / name)
    data = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    data["padding"] = {
        "strategy": {"Fixed": 40},
        "direction": side,
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "[PAD]",
    }
    data["truncation"] = {
        "direction": "Left",
        "max_length": 6,
        "strategy": "LongestFirst",
        "stride": 0,
    }
    (tmp_path / "tokenizer.json").write_text(json.dumps(data), encoding="utf-8")
    with nest.load(NAME, checkpoint=tmp_path, offline=True) as model:
        for case in CASES:
            assert model.tokenize(case["text"]) == case["ids"]
        assert model.embed(TEXTS[:2]).tobytes() == minilm().embed(TEXTS[:2]).tobytes()


def test_it_writes_no_text_and_gpt2_makes_no_embeddings(
    minilm: Callable[..., Model], load: Load
) -> None:
    with pytest.raises(UsageError, match='cannot write text: its card says task = "embedding"'):
        minilm().generate("Once")
    other = load("gpt2-tales")
    with pytest.raises(
        UsageError, match=r'make embeddings: its card says task = "text-generation"'
    ):
        other.embed("Once")
