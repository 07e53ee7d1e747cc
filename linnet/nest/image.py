"""Pictures as numbers: from a file, a Pillow image or an array to what a model takes.

In goes an image and a `Preparation`; out comes float32 [C, Size, Size]. The steps are those that
image models are trained with, in the same arithmetic: bring the picture to the size by Pillow, on
colours of 8 bits; multiply by a scale, in f64; take the mean of each channel away and divide by its
spread, in f32. Pillow is imported when it is first needed, and an array of the right size does
without it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linnet.errors import ImageError, LinnetError
from linnet.nest.preparation import Preparation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL.Image import Image as Picture

_MODES = {1: "L", 3: "RGB"}


def prepared(image: Any, preparation: Preparation) -> NDArray[np.float32]:
    """`image` as the model takes it, float32 [C, Size, Size].

    An image is a path; a Pillow image; an array of u8 [H, W, 3], [H, W, 4], [H, W, 1] or [H, W];
    or an array [C, Size, Size] of floats, which is taken to be prepared already. Colours become
    grey, or grey becomes colours, where the model has other channels; transparency is left out.

    Raises ImageError for a file that is missing or damaged, and for what is none of these.
    """
    if isinstance(image, str | os.PathLike):
        return _normalised(_colours(_opened(Path(os.fspath(image))), preparation), preparation)
    pillow = sys.modules.get("PIL.Image")
    if pillow is not None and isinstance(image, pillow.Image):
        return _normalised(_colours(image, preparation), preparation)
    array = _array(image)
    if array.dtype.kind == "f":
        return _ready(array, preparation)
    if _fits(array, preparation):
        return _normalised(array.reshape(*array.shape[:2], -1), preparation)
    return _normalised(_colours(_picture(array), preparation), preparation)


def check_files(paths: Iterable[str]) -> None:
    """Raise ImageError for the first of `paths` that is no file, or without Pillow."""
    for path in paths:
        _existing(Path(path))
    _pillow()


# --- what an image is -------------------------------------------------------------------


def _existing(path: Path) -> None:
    # os.path says no where Path raises: for a name too long for a file, or with a zero byte.
    if os.path.isdir(path):
        raise ImageError(f"{path} is a folder, and an image was expected")
    if not os.path.exists(path):
        raise ImageError(f"there is no image at {path}")


def _pillow() -> Any:
    try:
        import PIL.Image
    except ImportError as error:
        raise LinnetError(
            "images are read and brought to their size by Pillow, which is not installed",
            help="install it: pip install pillow",
        ) from error
    return PIL.Image


def _opened(path: Path) -> Picture:
    """The picture in a file, upright, its first frame."""
    _existing(path)
    pillow = _pillow()
    import PIL.ImageOps

    try:
        with pillow.open(path) as picture:
            picture.load()
            upright: Picture = PIL.ImageOps.exif_transpose(picture)
            return upright
    except PIL.UnidentifiedImageError as error:
        raise ImageError(f"{path} is no image of a kind that Pillow reads") from error
    except pillow.DecompressionBombError as error:
        raise ImageError(f"{path} has too many pixels: {error}") from error
    except MemoryError:
        raise
    # Each decoder has its own ways to fail: OSError, SyntaxError, ValueError, struct.error …
    except Exception as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise ImageError(f"{path} cannot be read as an image: {reason}") from error


def _array(image: Any) -> NDArray[Any]:
    import numpy as np

    try:
        array = np.asarray(image)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ImageError(f"an image of the type {type(image).__name__}: {error}") from error
    if array.dtype.kind == "f" or array.dtype == np.uint8:
        return array
    what = type(image).__name__ if array.dtype == object else f"array of {array.dtype}"
    raise ImageError(
        f"an image is a path, a Pillow image, an array of u8 or one of floats, not {what}"
    )


def _ready(array: NDArray[Any], preparation: Preparation) -> NDArray[np.float32]:
    import numpy as np

    size = preparation.size
    if array.shape != (preparation.channels, size, size):
        raise ImageError(
            f"an array of floats [{_dims(array)}] must be a prepared image "
            f"[{preparation.channels}, {size}, {size}]"
            + _another_size(array.shape[1:], size, array.ndim == 3),
            help="give u8 [H, W, 3] for a picture of any size",
        )
    if not np.isfinite(array).all():
        raise ImageError("an array of floats has values that are not finite")
    return np.ascontiguousarray(array, dtype=np.float32)


def _picture(array: NDArray[np.uint8]) -> Picture:
    channels = array.shape[2] if array.ndim == 3 else 1
    if array.ndim not in (2, 3) or channels not in (1, 3, 4) or 0 in array.shape:
        raise ImageError(
            f"an array of u8 [{_dims(array)}] is no image: it must be [H, W, 3], [H, W, 4], "
            "[H, W, 1] or [H, W]"
        )
    picture: Picture = _pillow().fromarray(
        array[..., 0] if channels == 1 and array.ndim == 3 else array
    )
    return picture


def _dims(array: NDArray[Any]) -> str:
    return ", ".join(str(size) for size in array.shape)


# --- steps ------------------------------------------------------------------------------


def _fits(array: NDArray[np.uint8], preparation: Preparation) -> bool:
    size, channels = preparation.size, preparation.channels
    grey = channels == 1 and array.shape == (size, size)
    return grey or array.shape == (size, size, channels)


def _colours(picture: Picture, preparation: Preparation) -> NDArray[np.uint8]:
    """u8 [Size, Size, C]."""
    import numpy as np

    size, channels = preparation.size, preparation.channels
    if channels not in _MODES:
        raise ImageError(
            f"the model's images have {channels} channels, and pictures have 1 or 3",
            help="give arrays of floats [C, Size, Size] that are prepared already",
        )
    if picture.mode in ("I", "F") or picture.mode.startswith("I;"):
        raise ImageError(
            f"an image with more than 8 bits a colour (Pillow's mode {picture.mode})",
            help="convert it to 8 bits: which of its values are black and white, only you know",
        )
    if picture.mode != _MODES[channels]:
        picture = picture.convert(_MODES[channels])
    if preparation.resample is not None:
        filter_ = _pillow().Resampling[preparation.resample.upper()]
        picture = picture.resize((size, size), filter_)
    elif picture.size != (size, size):
        raise ImageError(
            f"an image of {picture.height} by {picture.width} pixels"
            + _another_size((picture.height, picture.width), size)
            + "; the checkpoint says not to resize"
        )
    return np.asarray(picture).reshape(size, size, channels)


def _another_size(found: tuple[int, ...], size: int, known: bool = True) -> str:
    if not known or found == (size, size):
        return ""
    return (
        f"; the positions of this checkpoint are for {size} by {size} pixels, and others would "
        "need positions interpolated to another size"
    )


def _normalised(colours: NDArray[np.uint8], preparation: Preparation) -> NDArray[np.float32]:
    """Numbers from colours [Size, Size, C], channel by channel."""
    import numpy as np

    scale = 1.0 if preparation.scale is None else preparation.scale
    numbers = (colours.astype(np.float64) * scale).astype(np.float32)
    if preparation.mean is not None:
        numbers -= np.array(preparation.mean, np.float32)
    if preparation.std is not None:
        numbers /= np.array(preparation.std, np.float32)
    return np.ascontiguousarray(numbers.transpose(2, 0, 1))
