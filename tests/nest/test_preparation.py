"""What a preprocessor_config.json may say over the card, and what it may not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from linnet.errors import ConfigError
from linnet.nest.card import Card, load_card
from linnet.nest.preparation import Preparation, preparation
from linnet.resources import folder

SIZES = {"C": 3, "Size": 24}
SCALE = 0.00392156862745098


@pytest.fixture(scope="module")
def card() -> Card:
    return load_card(folder("nest") / "vit")


def said(card: Card, tmp_path: Path, values: Any) -> Preparation:
    file = tmp_path / "preprocessor_config.json"
    file.write_text(json.dumps(values))
    return preparation(card, SIZES, file)


def test_without_the_file_the_card_counts(card: Card) -> None:
    wanted = Preparation(24, 3, "bilinear", SCALE, (0.5,), (0.5,))
    assert preparation(card, SIZES, None) == wanted
    assert preparation(card, SIZES | {"C": 1}, None).mean == (0.5,)


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ({}, {}),
        ({"size": 24, "resample": 3}, {"resample": "bicubic"}),
        ({"size": {"height": 24, "width": 24}, "resample": 0}, {"resample": "nearest"}),
        ({"size": [24, 24], "resample": 1}, {"resample": "lanczos"}),
        ({"size": 99, "do_resize": False}, {"resample": None}),
        ({"rescale_factor": 0.5, "do_rescale": True}, {"scale": 0.5}),
        ({"rescale_factor": 0.5, "do_rescale": False}, {"scale": None}),
        ({"image_mean": [1, 2, 3], "image_std": 2}, {"mean": (1, 2, 3), "std": (2,)}),
        ({"image_mean": [1, 2, 3], "do_normalize": False}, {"mean": None, "std": None}),
        # Who wrote the file, and steps that are off.
        (
            {
                "image_processor_type": "ViTImageProcessorFast",
                "feature_extractor_type": "ViTFeatureExtractor",
                "processor_class": None,
                "do_convert_rgb": True,
                "do_center_crop": False,
                "crop_size": {"height": 3, "width": 3},
                "data_format": "channels_first",
                "default_to_square": True,
                "do_pad": None,
                "return_tensors": None,
            },
            {},
        ),
    ],
)
def test_what_the_file_says(
    card: Card, tmp_path: Path, values: dict[str, Any], wanted: dict[str, Any]
) -> None:
    usual = vars(Preparation(24, 3, "bilinear", SCALE, (0.5,), (0.5,)))
    assert vars(said(card, tmp_path, values)) == usual | wanted


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"size": {"height": 384, "width": 384}},
            r'size = \{"height": 384, "width": 384\}, and the positions of this checkpoint are for '
            r"24 by 24 pixels: this would need positions interpolated to another size",
        ),
        ({"size": 224}, "size = 224, and the positions"),
        ({"size": {"height": 24, "width": 48}}, "and the positions"),
        ({"size": {"shortest_edge": 24}}, "expected height and width: this would need a crop"),
        ({"size": "large"}, "size = .large., expected height and width in pixels"),
        ({"size": [24]}, "expected height and width in pixels"),
        ({"do_center_crop": True}, "do_center_crop = true: this step is unknown here"),
        ({"do_pad": True}, "do_pad = true: this step"),
        ({"offset": 1}, "offset = 1: this step"),
        ({"resample": 6}, r"resample = 6, expected 0 \(nearest\)"),
        ({"resample": "bilinear"}, "resample = .bilinear., expected 0"),
        ({"do_resize": 1}, "do_resize = 1, expected true or false"),
        ({"rescale_factor": "1/255"}, "rescale_factor = .*expected a finite number"),
        ({"image_mean": [0.5, 0.5]}, r"image_mean has 2 numbers.* have 3 channels"),
        ({"image_mean": []}, "image_mean = .*expected a number for each channel"),
        ({"image_std": [1, 0, 1]}, "image_std = .*expected no 0"),
        ({"data_format": "channels_last"}, "data_format = .channels_last., expected"),
        ([1], "must hold one JSON object"),
    ],
)
def test_what_cannot_be_done(card: Card, tmp_path: Path, values: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        said(card, tmp_path, values)
    assert "preprocessor_config.json" in str(caught.value)


def test_all_problems_are_told_together(card: Card, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        said(card, tmp_path, {"size": 1, "do_pad": True, "resample": -1, "image_std": "wide"})
    assert len(str(caught.value).splitlines()) == 6  # where, four problems, what to do
