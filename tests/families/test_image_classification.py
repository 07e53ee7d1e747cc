"""Every family that classifies images against transformers on small random checkpoints.

Prepared images are those of transformers to the last bit, logits within 2e-4. An image has the same
bits alone and in any batch, on any number of threads, on every target.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import PIL.Image
import pytest

from families.data import Arrays, names, references
from linnet.nest import Guess, Model

Load = Callable[..., Model]

NAMES = names("image-classification")
TARGETS = ["native", "scalar", "neon", "avx2", "avx512"]
TOLERANCE = 2e-4


@pytest.fixture(scope="module")
def seen() -> dict[str, str]:
    """A digest of the logits of each image, from whichever target and company came first."""
    return {}


def same(seen: dict[str, str], key: str, logits: npt.NDArray[np.float32]) -> None:
    digest = hashlib.sha256(np.ascontiguousarray(logits).tobytes()).hexdigest()
    assert seen.setdefault(key, digest) == digest, f"other bits for {key}"


def every(stored: Arrays, kind: str) -> list[npt.NDArray[np.generic]]:
    count = sum(key.startswith(kind) for key in stored)
    return [stored[f"{kind}{k}"] for k in range(count)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("target", TARGETS)
def test_logits_and_bits(load: Load, name: str, target: str, seen: dict[str, str]) -> None:
    model = load(name, target)
    stored = references(name)
    pixels, wanted = every(stored, "pixels"), every(stored, "logits")
    together = model(np.stack(pixels))
    assert np.abs(together - np.stack(wanted)).max() < TOLERANCE
    # In another order, one of them twice, and each alone.
    order = [2, 0, 3, 0, 1]
    for k, found in zip(order, model(np.stack([pixels[k] for k in order])), strict=True):
        same(seen, f"{name} {k}", found)
    for k, image in enumerate(pixels):
        same(seen, f"{name} {k}", together[k])
        same(seen, f"{name} {k}", model(image[None])[0])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("threads", [1, 4])
def test_on_other_numbers_of_threads(
    load: Load, name: str, threads: int, seen: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # A call would never use more threads than there are CPUs; here it shall.
    monkeypatch.setattr("linnet.targets.detect.allowed_cpus", lambda: 4)
    model = load(name, threads=threads)
    for k, found in enumerate(model(np.stack(every(references(name), "pixels")))):
        same(seen, f"{name} {k}", found)


@pytest.mark.parametrize("name", NAMES)
def test_guesses_are_the_softmax_of_those_logits(load: Load, name: str) -> None:
    model = load(name)
    stored = references(name)
    images, wanted = every(stored, "image"), every(stored, "logits")
    classes = len(wanted[0])
    names_ = model.config.get("id2label", {})
    labels = [names_.get(str(n), f"LABEL_{n}") for n in range(classes)]
    found = model.classify(images, top=classes)
    for image, guesses, logits in zip(images, found, wanted, strict=True):
        scores = np.exp(logits.astype(np.float64))
        scores /= scores.sum()
        assert [g.label for g in guesses] == [labels[n] for n in np.argsort(-scores)]
        assert np.abs([g.score for g in guesses] - np.sort(scores)[::-1]).max() < 1e-4
        assert sum(g.score for g in guesses) == pytest.approx(1.0, abs=1e-12)
        picture = PIL.Image.fromarray(image.squeeze(2) if image.shape[2] == 1 else image)
        assert model.classify(picture, top=classes) == guesses
        assert model.classify(image, top=2) == guesses[:2]


def test_prepared_images_are_those_of_transformers(load: Load) -> None:
    for name in NAMES:
        model, stored = load(name), references(name)
        for image, pixels in zip(every(stored, "image"), every(stored, "pixels"), strict=True):
            alone: list[Guess] = model.classify(image)  # type: ignore[assignment]
            assert model.classify(pixels) == alone
            assert model.classify(pixels.astype(np.float64)) == alone
