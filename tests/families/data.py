"""The checkpoints of the families as they are stored; `tests/tools/make_family.py` makes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

TESTS = Path(__file__).parents[1]
CHECKPOINTS = TESTS / "data" / "families"
TOOL = TESTS / "tools" / "make_family.py"

Arrays = dict[str, npt.NDArray[Any]]


def family_of(checkpoint: str) -> dict[str, Any]:
    """The family file of `llama-2`, that is `llama.json`."""
    name = checkpoint.rpartition("-")[0]
    text = (Path(__file__).parent / f"{name}.json").read_text(encoding="utf-8")
    family: dict[str, Any] = json.loads(text)
    return family


def names(task: str | None = None) -> list[str]:
    """The stored checkpoints by name, all or those of a task."""
    found = sorted(file.parent.name for file in CHECKPOINTS.glob("*/references.npz"))
    return [name for name in found if task is None or family_of(name)["task"] == task]


def references(checkpoint: str) -> Arrays:
    with np.load(CHECKPOINTS / checkpoint / "references.npz") as data:
        return dict(data)
