"""How pictures are prepared for a model: what its card states, and its checkpoint over the card.

In goes a card's `[image]` and perhaps a preprocessor_config.json; out comes a `Preparation`, or
one `ConfigError` that lists every wish of the file that cannot be granted, by key and value.
`nest.image` does what it says. No image is read here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from linnet.errors import ConfigError
from linnet.nest.card import Card, Generic
from linnet.nest.json_values import is_number, read_object, shown


@dataclass(frozen=True)
class Preparation:
    """How images become what the model takes. `resample` names the filter that brings them to
    `size` by `size` pixels; None: they must have that size. `scale`, `mean` and `std` are None
    where that step is left out; `mean` and `std` have one number, or one for each channel."""

    size: int
    channels: int
    resample: str | None
    scale: float | None
    mean: tuple[float, ...] | None
    std: tuple[float, ...] | None


def preparation(card: Card, generics: Mapping[str, Generic], file: Path | None) -> Preparation:
    """What the card says, with the checkpoint's preprocessor_config.json (`file`) over it.

    Raises ConfigError when the file is no JSON object, or asks for what is not done here.
    """
    assert card.image is not None
    stated = card.image
    size, channels = generics[stated.size], generics[stated.channels]
    assert isinstance(size, int)
    assert isinstance(channels, int)
    found = Preparation(size, channels, stated.resample, stated.scale, stated.mean, stated.std)
    problems: list[str] = []
    if file is not None:
        found = _overridden(found, read_object(file), problems)
    for key, numbers in (("image_mean", found.mean), ("image_std", found.std)):
        if numbers is not None and len(numbers) not in (1, channels):
            plural = "" if channels == 1 else "s"
            problems.append(
                f"{key} has {len(numbers)} numbers, and the model's images have "
                f"{channels} channel{plural}"
            )
    if problems:
        listed = "".join(f"\n  {problem}" for problem in problems)
        raise ConfigError(
            f"{file or card.file}: images cannot be prepared as it says:{listed}",
            help="the entries of the model can still be had with images that were prepared "
            "elsewhere: move the file away, and give arrays",
        )
    return found


# Pillow's numbers for the filters, by which the file names them.
_FILTERS = dict(enumerate(("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")))

# Keys that change nothing here: who wrote the file, and how transformers hands arrays over. A
# crop's or a padding's size has no say unless `do_center_crop` or `do_pad` is there.
_SILENT = frozenset(
    {
        "_valid_processor_keys",
        "auto_map",
        "crop_size",
        "default_to_square",
        "device",
        "disable_grouping",
        "do_convert_rgb",
        "feature_extractor_type",
        "image_processor_type",
        "input_data_format",
        "pad_size",
        "processor_class",
        "return_tensors",
    }
)


def _overridden(base: Preparation, values: Mapping[str, Any], problems: list[str]) -> Preparation:
    """`base` with what the file says over it. A key that is null says nothing."""

    def said(key: str, check: Callable[[Any], str | None], default: Any) -> Any:
        value = values.get(key)
        if value is None:
            return default
        wrong = check(value)
        if wrong:
            problems.append(f"{key} = {shown(value)}, {wrong}")
        return default if wrong else value

    resize = said("do_resize", _flag, True)
    if resize:
        said("size", lambda value: _size_problem(value, base.size), None)
    rescale, normalise = said("do_rescale", _flag, True), said("do_normalize", _flag, True)
    chosen = said("resample", _filter_problem, None)
    resample = base.resample if chosen is None else _FILTERS[chosen]
    scale = said("rescale_factor", _number_problem, base.scale)
    mean = said("image_mean", _numbers_problem, base.mean)
    std = said("image_std", _spread_problem, base.std)
    said("data_format", _layout_problem, None)
    known = {"do_resize", "size", "do_rescale", "do_normalize", "resample", "rescale_factor"}
    known |= {"image_mean", "image_std", "data_format"} | _SILENT
    for key, value in values.items():
        if key not in known and value is not None and value is not False:
            problems.append(f"{key} = {shown(value)}: this step is unknown here")
    return replace(
        base,
        resample=resample if resize else None,
        scale=scale if rescale else None,
        mean=_tuple(mean) if normalise else None,
        std=_tuple(std) if normalise else None,
    )


def _tuple(numbers: Any) -> tuple[float, ...]:
    return tuple(numbers) if isinstance(numbers, list | tuple) else (numbers,)


def _flag(value: Any) -> str | None:
    return None if isinstance(value, bool) else "expected true or false"


def _number_problem(value: Any) -> str | None:
    return None if is_number(value) else "expected a finite number"


def _numbers_problem(value: Any) -> str | None:
    numbers = value if isinstance(value, list) else [value]
    good = numbers and all(is_number(number) for number in numbers)
    return None if good else "expected a number for each channel"


def _spread_problem(value: Any) -> str | None:
    wrong = _numbers_problem(value)
    return wrong or ("expected no 0 among them" if 0 in _tuple(value) else None)


def _filter_problem(value: Any) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool) and value in _FILTERS:
        return None
    return "expected " + ", ".join(f"{n} ({name})" for n, name in _FILTERS.items())


def _layout_problem(value: Any) -> str | None:
    return (
        None if value in ("channels_first", "ChannelDimension.FIRST") else "expected channels_first"
    )


def _size_problem(value: Any, wanted: int) -> str | None:
    """A side's length, or the two of them. Of one side alone, pictures keep their proportions."""
    sides = [value, value] if not isinstance(value, dict | list) else value
    if isinstance(sides, dict):
        if sides.keys() - {"height", "width"}:
            return (
                "expected height and width: this would need a crop, or a model for images of "
                "any proportions"
            )
        sides = [sides.get("height"), sides.get("width")]
    if len(sides) != 2 or not all(
        isinstance(side, int) and not isinstance(side, bool) for side in sides
    ):
        return "expected height and width in pixels"
    if list(sides) == [wanted, wanted]:
        return None
    return (
        f"and the positions of this checkpoint are for {wanted} by {wanted} pixels: this would "
        "need positions interpolated to another size"
    )
