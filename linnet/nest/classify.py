"""Saying what is in images: their classes, likeliest first.

In go images and a model's entry `classify`; out come lists of `Guess`. The images are prepared by
`nest.image`, a few at a time; the entry gives logits, and the scores are their softmax in f64. An
image's scores are the same bits alone and among others.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from linnet.errors import ConfigError
from linnet.nest.config import Config
from linnet.nest.image import prepared
from linnet.nest.json_values import shown
from linnet.nest.keypath import KeyPath
from linnet.nest.preparation import Preparation
from linnet.nest.sampling import whole

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

IMAGES_A_CALL = 16
"""They are prepared for one call of the entry; an interrupt is seen between two calls."""

DEFAULT_TOP = 5


class Guess(NamedTuple):
    """A class by its name, and how likely it is: scores of all classes sum to 1."""

    label: str
    score: float


@dataclass(frozen=True)
class Sight:
    """What a model that looks at images has besides its program: how images are prepared, and
    what its classes are called, by number."""

    preparation: Preparation
    names: Mapping[int, str]

    def label(self, number: int) -> str:
        """The name of a class; LABEL_<number>, as transformers has it, for one without."""
        return self.names.get(number, f"LABEL_{number}")


def class_names(config: Config, path: KeyPath) -> dict[int, str]:
    """The names of classes by number, as config.json has them at `path`: an object from number to
    name, or a list. Nothing if there is nothing.

    Raises ConfigError when there is something else.
    """
    found = path.look_up(config.values)
    value = {} if found.value is None else found.value
    if isinstance(value, list):
        value = {str(n): name for n, name in enumerate(value)}
    if not isinstance(value, dict) or not all(key.isdecimal() for key in value):
        raise ConfigError(
            f"{config.file}: {found.key} = {shown(found.value)}, expected the names of the classes "
            "by their numbers"
        )
    return {int(key): str(name) for key, name in value.items()}


def classify(
    sight: Sight,
    run: Callable[[NDArray[np.float32]], NDArray[np.floating[Any]]],
    images: Any,
    top: int,
) -> list[Guess] | list[list[Guess]]:
    """The `top` likeliest classes of an image, or of each of several (`Model.classify`). `run`
    takes prepared images [B, C, Size, Size] and gives logits [B, Classes]."""
    count = whole("top", top, low=1)
    if not _are_several(images):
        return next(_guesses(sight, run, [images], count))
    return list(_guesses(sight, run, images, count))


def _are_several(images: Any) -> bool:
    """A list or tuple is several images, and so is an array with one axis more than an image."""
    if isinstance(images, str | os.PathLike):
        return False
    return isinstance(images, list | tuple) or getattr(images, "ndim", 0) == 4


def _guesses(
    sight: Sight,
    run: Callable[[NDArray[np.float32]], NDArray[np.floating[Any]]],
    images: Sequence[Any],
    top: int,
) -> Iterator[list[Guess]]:
    import numpy as np

    for start in range(0, len(images), IMAGES_A_CALL):
        some = images[start : start + IMAGES_A_CALL]
        pixels = np.stack([prepared(image, sight.preparation) for image in some])
        for logits in run(pixels):
            yield ranked(logits, sight, top)


def ranked(logits: NDArray[np.floating[Any]], sight: Sight, top: int) -> list[Guess]:
    """The `top` likeliest classes by their logits [Classes]; of equals the first."""
    import numpy as np

    wide = logits.astype(np.float64)
    raised = np.exp(wide - wide.max())
    scores = raised / raised.sum()
    order = np.argsort(-wide, kind="stable")[:top]
    return [Guess(sight.label(int(n)), float(scores[n])) for n in order]
