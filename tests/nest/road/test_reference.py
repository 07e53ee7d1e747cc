"""`linnet nest reference`, and samples of each kind: a stand-in answers for transformers where it
is not installed; where it is, both are held against each other."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linnet import nest
from linnet.errors import CardError, LinnetError, UsageError
from linnet.nest import registry
from linnet.nest.card import Card, load_card
from linnet.nest.road.reference import compute
from linnet.nest.road.samples import EmbeddingSample, ImageSample, load_samples, store_samples

TALES = registry.find("gpt2-tales")
REFERENCES = json.loads((TALES.folder / "samples.json").read_text(encoding="utf-8"))
KING = next(s for s in REFERENCES if s["prompt"].startswith("The King"))


@pytest.fixture
def empty(tmp_path: Path) -> Card:
    """A card of the embedded model in a folder of its own, without samples."""
    text = TALES.file.read_text(encoding="utf-8")
    for path in ("gpt2.linnet", "bindings.json"):
        text = text.replace(f'"../gpt2/{path}"', f'"{TALES.folder.parent / "gpt2" / path}"')
    (tmp_path / "nest.toml").write_text(text, encoding="utf-8")
    return load_card(tmp_path)


def stand_in(folder: Path, answer: dict[str, Any]) -> str:
    """A program that stands for a Python with transformers: it keeps the request, and answers."""
    (folder / "answer.json").write_text(json.dumps(answer), encoding="utf-8")
    program = folder / "python"
    program.write_text(f'#!/bin/sh\ncat > "{folder}/request.json"\ncat "{folder}/answer.json"\n')
    program.chmod(0o755)
    return str(program)


def test_a_prompt_becomes_a_sample_that_holds(empty: Card, tmp_path: Path) -> None:
    with nest.load(TALES.file, offline=True) as model:
        ids = model.tokenize(KING["reference"])[: KING["tokens"]]
        python = stand_in(tmp_path, {"ids": [ids], "ends": [1856], "stack": "stand-in 1"})
        found = compute(
            empty, model, TALES.folder, [KING["prompt"]], tokens=len(ids), python=python
        )
        request = json.loads((tmp_path / "request.json").read_text())
        assert request["prompts"] == [model.tokenize(KING["prompt"])]
        assert request["counts"] == [len(ids)]
        assert request["checkpoint"] == str(TALES.folder)
        assert [sample.verdict(model) for sample in found] == [None]
        store_samples(empty.folder, found)
        stored = json.loads((empty.folder / "samples.json").read_text())
        assert stored == [KING | {"reference_stack": "stand-in 1"}]
        assert load_samples(empty.folder) == found
        # Once more: the stored sample is computed anew and not doubled.
        assert compute(empty, model, TALES.folder, [KING["prompt"]], python=python) == found


@pytest.mark.skipif(not importlib.util.find_spec("transformers"), reason="needs transformers")
def test_transformers_agrees_with_what_is_stored(empty: Card) -> None:
    with nest.load(TALES.file, offline=True) as model:
        found = compute(empty, model, TALES.folder, [KING["prompt"]], tokens=KING["tokens"])
    (sample,) = found
    assert sample.reference == KING["reference"]  # type: ignore[attr-defined]


def test_what_can_go_wrong_is_said(empty: Card, tmp_path: Path) -> None:
    def asked(python: str, inputs: tuple[str, ...] = ("x",)) -> None:
        with nest.load(TALES.file, offline=True) as model:
            compute(empty, model, TALES.folder, inputs, python=python)

    missing = stand_in(tmp_path, {"missing": "No module named 'torch'"})
    with pytest.raises(LinnetError, match=r"does not have: No module named 'torch'\nhelp: install"):
        asked(missing)
    with pytest.raises(LinnetError, match="ValueError: odd"):
        asked(stand_in(tmp_path, {"error": "ValueError: odd"}))
    with pytest.raises(UsageError, match="cannot be run"):
        asked(str(tmp_path / "nowhere"))
    with pytest.raises(LinnetError, match="could not compute references"):
        asked("/bin/false")
    with pytest.raises(UsageError, match="no samples yet"):
        asked(missing, ())


def test_the_worker_needs_nothing_of_ours() -> None:
    """It runs under a Python that has none of our packages: only the standard library at first."""
    import subprocess

    from linnet.nest.road.reference import WORKER

    done = subprocess.run(
        [sys.executable, "-I", "-S", str(WORKER)],
        input="{}",
        capture_output=True,
        text=True,
        check=True,
    )
    assert list(json.loads(done.stdout)) == ["missing"]


class Stub:
    """A model as far as samples look at it."""

    def __init__(self, folder: Path) -> None:
        self.card = load_card(folder)
        self.tokenizer = object()

    def embed(self, text: str) -> Any:
        return np.array([0.6, 0.8], np.float32)

    def classify(self, image: str, top: int) -> list[tuple[str, float]]:
        return [("cat", 0.7), ("dog", 0.2), ("owl", 0.1)][:top]


def test_vectors_are_held_to_1e_5(empty: Card) -> None:
    model: Any = Stub(empty.folder)
    near = EmbeddingSample("embedding", "a", (0.600009, 0.8), "other")
    assert near.verdict(model) is None
    far = EmbeddingSample("embedding", "a", (0.60002, 0.8), "other")
    assert "2.00e-05 away" in str(far.verdict(model))
    short = EmbeddingSample("embedding", "a", (0.6,), "other")
    assert "has 2 elements, and 1 are stored" in str(short.verdict(model))


def test_classes_are_held_in_order_with_their_scores(empty: Card) -> None:
    model: Any = Stub(empty.folder)
    right = ImageSample("image-classification", "a.png", (("cat", 0.7), ("dog", 0.2005)), "other")
    assert right.cannot_run(model) == f"{empty.folder / 'a.png'} is not there"
    assert right.verdict(model) is None
    for wrong in ((("dog", 0.7),), (("cat", 0.69),)):
        sample = ImageSample("image-classification", "a.png", wrong, "other")
        assert "in place of" in str(sample.verdict(model))


@pytest.mark.parametrize(
    ("item", "said"),
    [
        ({"kind": "embeding"}, "unknown kind 'embeding'; did you mean 'embedding'?"),
        ({}, "lacks 'kind'"),
        ({"kind": "embedding", "text": "a", "reference": []}, "must be a list of numbers"),
        ({"kind": "embedding", "text": "a", "reference": [True]}, "must be a list of numbers"),
        ({"kind": "image-classification", "image": "../a.png"}, "must be the name of a file"),
        (
            {"kind": "image-classification", "image": "a.png", "reference": [["cat", "0.7"]]},
            "must be a list of pairs",
        ),
        ({"kind": "text", "prompt": "a", "tokens": -1}, "must not be negative"),
        ({"kind": "text", "promt": "a"}, "unknown key 'promt'; did you mean 'prompt'?"),
    ],
)
def test_a_malformed_sample_is_said(empty: Card, item: dict[str, Any], said: str) -> None:
    (empty.folder / "samples.json").write_text(json.dumps([item]))
    with pytest.raises(CardError) as error:
        load_samples(empty.folder)
    assert said in str(error.value)


def test_all_kinds_are_stored_and_read_back(empty: Card) -> None:
    shutil.copyfile(TALES.folder / "samples.json", empty.folder / "samples.json")
    mixed = (
        *load_samples(empty.folder),
        EmbeddingSample("embedding", "Ein Vogel · 鳥", (0.1, -2.5e-7), "other"),
        ImageSample("image-classification", "a.png", (("cat", 0.7),), "other"),
    )
    store_samples(empty.folder, mixed)
    assert load_samples(empty.folder) == mixed
