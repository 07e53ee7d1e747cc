"""Images as numbers: to the last bit what transformers makes of them, and what is refused."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import PIL.Image
import pytest

from linnet.errors import ImageError, LinnetError
from linnet.nest.card import load_card
from linnet.nest.image import check_files, prepared
from linnet.nest.preparation import Preparation, preparation
from linnet.resources import folder

FAMILIES = Path(__file__).parents[1] / "data" / "families"
PLAIN = Preparation(4, 3, "bilinear", 1 / 255, (0.5,), (0.5,))
GREY = Preparation(4, 1, None, None, None, None)

Image = npt.NDArray[np.uint8]


def stored(name: str) -> tuple[Preparation, list[tuple[Image, npt.NDArray[np.float32]]]]:
    """How transformers prepared images for the checkpoint `name`."""
    with np.load(FAMILIES / name / "references.npz") as data:
        pairs = [(data[f"image{k}"], data[f"pixels{k}"]) for k in range(4)]
    channels, size = pairs[0][1].shape[:2]
    card = load_card(folder("nest") / "vit")
    file = FAMILIES / name / "preprocessor_config.json"
    return preparation(card, {"C": channels, "Size": size}, file), pairs


@pytest.mark.parametrize("name", ["vit-1", "vit-2", "vit-3"])
def test_the_same_bits_as_transformers(name: str, tmp_path: Path) -> None:
    how, pairs = stored(name)
    for image, pixels in pairs:
        flat = image.squeeze(2) if image.shape[2] == 1 else image
        picture = PIL.Image.fromarray(flat)
        file = tmp_path / "image.png"
        picture.save(file)
        for given in (image, flat, picture, file, str(file), pixels):
            found = prepared(given, how)
            assert found.dtype == np.float32
            assert found.flags.c_contiguous
            assert np.array_equal(found, pixels)


def test_colours_become_grey_and_grey_becomes_colours() -> None:
    colour = np.full((4, 4, 3), (255, 0, 0), np.uint8)
    # ITU-R 601: a red of 255 is a grey of 76.
    assert np.unique(prepared(colour, GREY)) == [76.0]
    grey = prepared(np.full((4, 4), 51, np.uint8), PLAIN)
    assert grey.shape == (3, 4, 4)
    assert np.allclose(grey, (51 / 255 - 0.5) / 0.5)


def test_transparency_is_left_out() -> None:
    image = np.full((6, 5, 4), (10, 20, 30, 0), np.uint8)
    found = prepared(image, Preparation(4, 3, "nearest", None, None, None))
    assert found[:, 0, 0].tolist() == [10, 20, 30]


def test_a_photograph_lies_as_its_camera_was_held(tmp_path: Path) -> None:
    image = np.zeros((4, 4, 3), np.uint8)
    image[0] = 255  # a bright first row
    picture = PIL.Image.fromarray(image)
    exif = picture.getexif()
    exif[0x0112] = 3  # upside down
    picture.save(tmp_path / "turned.png", exif=exif)
    how = Preparation(4, 3, None, None, None, None)
    found = prepared(tmp_path / "turned.png", how)
    assert found[0, :, 0].tolist() == [0, 0, 0, 255]


def test_each_step_may_be_left_out() -> None:
    image = np.full((4, 4, 3), (10, 20, 30), np.uint8)
    how = Preparation(4, 3, None, None, (10.0, 10.0, 10.0), (1.0, 2.0, 4.0))
    assert prepared(image, how)[:, 0, 0].tolist() == [0, 5, 5]


def broken(tmp_path: Path) -> Path:
    file = tmp_path / "broken.png"
    PIL.Image.fromarray(np.zeros((64, 64, 3), np.uint8)).save(file)
    file.write_bytes(file.read_bytes()[:60])
    return file


def other(tmp_path: Path) -> Path:
    file = tmp_path / "notes.png"
    file.write_text("no image")
    return file


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda tmp: tmp / "gone.png", r"there is no image at .*gone\.png"),
        (lambda tmp: str(tmp / ("x" * 5000)), "there is no image at"),
        (lambda tmp: "a\0b", "there is no image at"),
        (lambda tmp: tmp, "is a folder"),
        (broken, r"broken\.png cannot be read as an image"),
        (other, r"notes\.png is no image of a kind that Pillow reads"),
        (lambda tmp: PIL.Image.new("I;16", (4, 4)), "more than 8 bits"),
        (lambda tmp: PIL.Image.new("F", (4, 4)), "more than 8 bits"),
        (lambda tmp: np.zeros((3, 9, 9), np.uint8), r"\[3, 9, 9\] is no image"),
        (lambda tmp: np.zeros((0, 9, 3), np.uint8), r"\[0, 9, 3\] is no image"),
        (lambda tmp: np.zeros((2, 4, 4, 3), np.uint8), r"\[2, 4, 4, 3\] is no image"),
        (lambda tmp: np.zeros((4, 4, 3), np.int64), "not array of int64"),
        (lambda tmp: {"image": 1}, "not dict"),
        (lambda tmp: None, "not NoneType"),
        (lambda tmp: [[1], [1, 2]], "of the type list"),
        (lambda tmp: np.zeros((4, 4, 3), np.float32), r"\[4, 4, 3\] must be a prepared image"),
        (lambda tmp: np.zeros((3, 8, 8)), "need positions interpolated to another size"),
        (lambda tmp: np.full((3, 4, 4), np.nan), "not finite"),
    ],
)
def test_what_is_no_image(make: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(ImageError, match=said):
        prepared(make(tmp_path), PLAIN)


def test_images_of_another_size_where_nothing_is_resized() -> None:
    how = Preparation(4, 3, None, 1.0, None, None)
    with pytest.raises(ImageError, match=r"6 by 5 pixels; the positions .* for 4 by 4 pixels"):
        prepared(np.zeros((6, 5, 3), np.uint8), how)


def test_pictures_have_no_five_channels() -> None:
    how = Preparation(4, 5, "bilinear", 1.0, None, None)
    with pytest.raises(ImageError, match="have 5 channels"):
        prepared(np.zeros((6, 5, 3), np.uint8), how)
    assert prepared(np.zeros((5, 4, 4), np.float32), how).shape == (5, 4, 4)


def test_a_decoder_that_is_overrun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "large.png"
    PIL.Image.new("RGB", (64, 64)).save(file)
    monkeypatch.setattr("PIL.Image.MAX_IMAGE_PIXELS", 100)
    with pytest.raises(ImageError, match="too many pixels"):
        prepared(file, PLAIN)


def test_without_pillow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "image.png"
    PIL.Image.new("RGB", (6, 6)).save(file)
    for name in [name for name in sys.modules if name.split(".")[0] == "PIL"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "PIL", None)
    for image in (file, np.zeros((6, 6, 3), np.uint8)):
        with pytest.raises(LinnetError, match=r"Pillow.*\n.*pip install pillow"):
            prepared(image, PLAIN)
    with pytest.raises(LinnetError, match="Pillow"):
        check_files([str(file)])
    # What is already as large as the model wants it needs nobody's help.
    assert prepared(np.zeros((4, 4, 3), np.uint8), PLAIN).max() == -1
