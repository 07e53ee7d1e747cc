"""Random checkpoints of the GPT-2 family, and the stored results for them."""

from __future__ import annotations

import runpy
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

TESTS = Path(__file__).parents[1]
_TOOL = TESTS / "tools" / "make_gpt2_checkpoint.py"


def write_checkpoint(folder: Path, size: str, *options: str) -> None:
    """Write the checkpoint of that size; options as on the tool's command line."""
    main = runpy.run_path(str(_TOOL))["main"]
    main(["--size", size, "--out", str(folder), *options])


@dataclass(frozen=True)
class Stored:
    """What transformers makes of one prompt."""

    prompt: npt.NDArray[np.int32]
    greedy: npt.NDArray[np.int32]
    logits: npt.NDArray[np.float32]
    """At every position of the prompt, of the token ids `columns`."""
    columns: npt.NDArray[np.int32]
    last: npt.NDArray[np.float32]


def stored(size: str) -> list[Stored]:
    """The stored results of a size; `tests/tools/make_references.py` says how they came about."""
    with np.load(TESTS / "data" / "gpt2-random" / f"{size}.npz") as data:
        return [
            Stored(
                data[f"prompt{k}"],
                data[f"greedy{k}"],
                data[f"logits{k}"],
                data["columns"],
                data[f"last{k}"],
            )
            for k in range(3)
        ]
