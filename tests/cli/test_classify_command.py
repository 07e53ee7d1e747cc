"""`linnet classify`: what it writes, and which images and values it refuses."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import PIL.Image
import pytest
from click.testing import Result

from tests.cli.conftest import EMBEDDED, ROOT, Run

CHECKPOINT = str(ROOT / "tests" / "data" / "families" / "vit-1")

Classify = Callable[..., Result]


@pytest.fixture
def images(tmp_path: Path) -> list[str]:
    """The images that transformers was shown, as files with names of all kinds."""
    paths = []
    with np.load(Path(CHECKPOINT) / "references.npz") as data:
        for k, name in enumerate(["one.png", "zwei ü.bmp", "three.tiff"]):
            paths.append(str(tmp_path / name))
            PIL.Image.fromarray(data[f"image{k}"]).save(paths[-1])
    return paths


@pytest.fixture
def references() -> list[list[tuple[str, float]]]:
    """The classes of the images by transformers' logits, likeliest first."""
    config = json.loads((Path(CHECKPOINT) / "config.json").read_text())
    found = []
    with np.load(Path(CHECKPOINT) / "references.npz") as data:
        for k in range(3):
            scores = np.exp(data[f"logits{k}"].astype(np.float64))
            scores /= scores.sum()
            order = np.argsort(-scores)
            found.append([(config["id2label"][str(n)], float(scores[n])) for n in order])
    return found


@pytest.fixture
def classify(run: Run) -> Classify:
    def call(*args: str, **options: str) -> Result:
        return run("classify", CHECKPOINT, *args, **options)

    return call


def test_a_line_for_each_class(
    classify: Classify, images: list[str], references: list[list[tuple[str, float]]]
) -> None:
    result = classify(images[0])
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [f"{s:.4f}  {name}" for name, s in references[0][:5]]


def test_several_images_stand_under_their_files(
    classify: Classify, images: list[str], references: list[list[tuple[str, float]]]
) -> None:
    wanted = []
    for path, guesses in zip(images, references, strict=True):
        wanted += [path, *(f"  {score:.4f}  {name}" for name, score in guesses[:2])]
    assert classify(*images, "--top", "2").stdout.splitlines() == wanted
    assert classify(*images, LINNET_TOP="2").stdout.splitlines() == wanted


def test_a_document(
    classify: Classify, images: list[str], references: list[list[tuple[str, float]]]
) -> None:
    document = json.loads(classify(*images, "--json", "--top", "99").stdout)
    assert document["model"] == "vit"
    for path, row, guesses in zip(images, document["images"], references, strict=True):
        assert row["image"] == path
        assert [one["label"] for one in row["classes"]] == [name for name, _ in guesses]
        scores = [one["score"] for one in row["classes"]]
        assert scores == pytest.approx([score for _, score in guesses], abs=1e-4)


def test_a_model_by_name_with_a_checkpoint(run: Run, images: list[str]) -> None:
    named = run("classify", "vit", images[0], "--checkpoint", CHECKPOINT, "-v")
    assert named.stdout == run("classify", CHECKPOINT, images[0]).stdout
    assert "1 image in " in named.stderr


@pytest.mark.parametrize(
    ("args", "status", "said"),
    [
        (("gone.png",), 1, "there is no image at gone.png"),
        ((str(ROOT),), 1, "is a folder"),
        ((str(ROOT / "LICENSE"),), 1, "no image of a kind that Pillow reads"),
        (("gone.png", "--top", "0"), 2, "--top = 0: it must be 1 or more"),
        (("gone.png", "--threads", "0"), 2, "--threads"),
        ((), 2, "missing argument 'IMAGE...'"),
    ],
)
def test_what_is_refused(classify: Classify, args: tuple[str, ...], status: int, said: str) -> None:
    result = classify(*args)
    assert (result.exit_code, result.stdout) == (status, "")
    assert said in result.stderr


def test_a_damaged_image_is_named(classify: Classify, images: list[str]) -> None:
    file = Path(images[0])
    file.write_bytes(file.read_bytes()[:300])
    result = classify(images[1], images[0])
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"error: {file} cannot be read as an image" in result.stderr


def test_models_for_something_else(run: Run, images: list[str]) -> None:
    result = run("classify", EMBEDDED, images[0])
    assert result.exit_code == 1
    assert "cannot classify images" in result.stderr
    assert "`linnet generate`" in result.stderr
    result = run("generate", CHECKPOINT, "--prompt", "x")
    assert result.exit_code == 1
    assert "cannot write text" in result.stderr
    assert "`linnet classify`" in result.stderr


def test_without_pillow(
    classify: Classify, images: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "PIL"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "PIL", None)
    result = classify(images[0])
    assert (result.exit_code, result.stdout) == (1, "")
    assert "pip install pillow" in result.stderr
