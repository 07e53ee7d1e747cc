"""`Model.classify`: one image and many, names of classes, and what is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from linnet import nest
from linnet.errors import CheckpointError, ConfigError, ImageError, UsageError
from linnet.nest import Guess, Model
from linnet.nest.classify import IMAGES_A_CALL, Sight, class_names, ranked
from linnet.nest.config import Config
from linnet.nest.keypath import parse_keypath
from linnet.nest.preparation import Preparation

CHECKPOINT = Path(__file__).parents[1] / "data" / "families" / "vit-1"
SIGHT = Sight(Preparation(2, 1, None, None, None, None), {0: "cat", 2: "dog"})


@pytest.fixture(scope="module")
def model() -> Iterator[Model]:
    with nest.load(CHECKPOINT) as loaded:
        yield loaded


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return Path(shutil.copytree(CHECKPOINT, tmp_path / "mine"))


def changed(file: Path, **values: Any) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


def pictures(count: int) -> list[np.ndarray]:
    draw = np.random.default_rng(7)
    return [draw.integers(0, 256, (20 + n, 31, 3), np.uint8) for n in range(count)]


def test_scores_by_hand() -> None:
    # e^0, e^log(2) and e^log(5) are 1, 2 and 5 of 8.
    logits = np.log(np.array([1, 5, 2], np.float64)) + 800
    found = ranked(logits, SIGHT, 2)
    assert found == [("LABEL_1", pytest.approx(5 / 8)), ("dog", pytest.approx(2 / 8))]
    label, score = found[1]
    assert (found[1].label, found[1].score) == (label, score)
    # Of equals the first; and there are no more than there are.
    assert [g.label for g in ranked(np.zeros(3, np.float32), SIGHT, 9)] == ["cat", "LABEL_1", "dog"]


def test_an_image_has_the_same_answer_alone_and_among_others(model: Model) -> None:
    images = pictures(2 * IMAGES_A_CALL + 3)
    together = model.classify(images)
    assert len(together) == len(images)
    assert {len(guesses) for guesses in together} == {5}
    for image, guesses in [*zip(images, together, strict=True)][::5]:
        assert model.classify(image) == guesses
    assert model.classify(tuple(images[:2]), top=1) == [guesses[:1] for guesses in together[:2]]
    assert model.classify([]) == []


def test_an_array_of_images(model: Model) -> None:
    images = np.stack([image[:20] for image in pictures(3)])
    assert model.classify(images) == model.classify(list(images))
    ready = np.random.default_rng(1).standard_normal((2, 3, 32, 32)).astype(np.float32)
    assert model.classify(ready) == [model.classify(image) for image in ready]


def test_more_classes_than_there_are(model: Model) -> None:
    assert len(model.classify(pictures(1)[0], top=1000)) == 7


@pytest.mark.parametrize("top", [0, -1, 1.5, True, "3", None])
def test_a_top_that_is_none(model: Model, top: Any) -> None:
    with pytest.raises(UsageError, match="top = "):
        model.classify(pictures(1)[0], top=top)


def test_images_that_are_none(model: Model) -> None:
    with pytest.raises(ImageError, match=r"no image at nowhere\.png"):
        model.classify([*pictures(1), "nowhere.png"])
    with pytest.raises(ImageError, match="not NoneType"):
        model.classify([None])


def test_a_model_of_text_classifies_nothing() -> None:
    with nest.load("gpt2-tales") as tales, pytest.raises(UsageError, match="classify images"):
        tales.classify("heron.jpg")


def test_names_of_classes() -> None:
    path = parse_keypath("id2label")

    def named(value: Any) -> dict[int, str]:
        return class_names(Config({"id2label": value}, Path("config.json")), path)

    assert named({"0": "cat", "10": 7}) == {0: "cat", 10: "7"}
    assert named(["cat", "dog"]) == {0: "cat", 1: "dog"}
    assert named(None) == class_names(Config({}), path) == {}
    for wrong in ("cat", 3, {"cat": 0}, {"-1": "cat"}):
        with pytest.raises(ConfigError, match=r"config\.json: id2label = .* by their numbers"):
            named(wrong)


def test_classes_without_names_are_two(checkpoint: Path) -> None:
    config = json.loads((checkpoint / "config.json").read_text())
    del config["id2label"]
    (checkpoint / "config.json").write_text(json.dumps(config))
    with pytest.raises(CheckpointError, match=r"classifier\.weight.*\[7, 44\].*\[2, 44\]"):
        nest.load(checkpoint)


def test_what_a_checkpoint_says_of_its_images(checkpoint: Path, model: Model) -> None:
    image = pictures(1)[0]
    changed(checkpoint / "preprocessor_config.json", do_normalize=False)
    with nest.load(checkpoint) as other:
        scores = dict(other.classify(image, top=7))
        assert scores != dict(model.classify(image, top=7))
    changed(checkpoint / "preprocessor_config.json", size=48)
    with pytest.raises(ConfigError, match=r"size = 48.*are for 32 by 32 pixels"):
        nest.load(checkpoint)
    (checkpoint / "preprocessor_config.json").unlink()
    with nest.load(checkpoint) as other:  # the card says the same as the file did
        assert other.classify(image) == model.classify(image)
        guess: Guess = other.classify(image)[0]
    # A file among others is found with what is beside it.
    shutil.copy(CHECKPOINT / "preprocessor_config.json", checkpoint)
    with nest.load("vit", checkpoint=checkpoint / "model.safetensors") as other:
        assert other.classify(image)[0] == guess


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"hidden_act": "relu"}, 'hidden_act = "relu".*another activation'),
        ({"image_size": [32, 32]}, r"image_size = \[32, 32\], expected an integer"),
        ({"head_dim": 7}, "head_dim = 7, expected H / Heads = 11.*heads whose width"),
    ],
)
def test_configs_that_need_more(checkpoint: Path, values: dict[str, Any], said: str) -> None:
    changed(checkpoint / "config.json", **values)
    with pytest.raises(ConfigError, match=said):
        nest.load(checkpoint)


def test_a_checkpoint_without_a_classifier(checkpoint: Path) -> None:
    weights = load_file(checkpoint / "model.safetensors")
    kept = {name: w for name, w in weights.items() if not name.startswith("classifier")}
    save_file(kept, checkpoint / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"classifier\.weight"):
        nest.load(checkpoint)
