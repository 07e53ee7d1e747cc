"""Whether a source has the entries that its task calls by name, with the right heads.

In go a checked root block and a task; out come sentences about what is missing or different.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from linnet.check.typed import BlockDecl, FunctionDecl
    from linnet.check.types import Type


@dataclass(frozen=True)
class Head:
    """The inputs of an entry: name, dtype and number of axes of each, and the axes of what it
    gives in some float."""

    inputs: tuple[tuple[str, str, int], ...]
    result: int

    def __str__(self) -> str:
        inputs = ", ".join(f"{name}: {_shown(dtype, rank)}" for name, dtype, rank in self.inputs)
        return f"({inputs}) -> {_shown('a float', self.result)}"


ENTRIES: dict[str, dict[str, Head]] = {
    "text-generation": {
        "forward": Head((("tokens", "i32", 2),), 3),
        "decode": Head((("token", "i32", 2), ("pos", "i32", 0)), 2),
        "prefill": Head((("tokens", "i32", 2), ("pos", "i32", 0)), 2),
        "decode_rows": Head((("tokens", "i32", 2), ("positions", "i32", 1)), 2),
        "prefill_slots": Head(
            (("tokens", "i32", 2), ("slots", "i32", 1), ("lengths", "i32", 1)), 2
        ),
    },
    "embedding": {
        "embed": Head((("tokens", "i32", 2), ("kinds", "i32", 2), ("lengths", "i32", 1)), 2)
    },
    "image-classification": {"classify": Head((("pixels", "f32", 4),), 2)},
}
"""What each task calls."""


def problems(root: BlockDecl, task: str) -> Iterator[str]:
    """What is missing for `task`, a sentence each."""
    for name, head in ENTRIES[task].items():
        found = root.functions.get(name)
        if found is None or found.kind != "entry":
            yield f"there is no entry {name}{head}"
        elif wrong := _difference(found, head):
            yield f"the entry {name} must be {name}{head}: {wrong}"


def _difference(found: FunctionDecl, head: Head) -> str | None:
    names = [p.variable.name for p in found.parameters]
    wanted = [name for name, _, _ in head.inputs]
    if names != wanted:
        return f"its inputs are {', '.join(names) or 'none'}"
    for parameter, (name, dtype, rank) in zip(found.parameters, head.inputs, strict=True):
        if _kind(parameter.variable.type) != (dtype, rank):
            return f"{name} has another type"
    result = None if found.result is None else _kind(found.result)
    return None if result and result[1] == head.result else "it gives another type"


def _kind(type: Type) -> tuple[str, int] | None:
    """Dtype and number of axes of a scalar or a tensor."""
    from linnet.check import show
    from linnet.check.types import Scalar, Tensor

    match type:
        case Scalar(dtype):
            return show.dtype(dtype), 0
        case Tensor(dtype, axes):
            return show.dtype(dtype), len(axes)
    return None


def _shown(dtype: str, rank: int) -> str:
    return f"{dtype} with {rank} axes" if rank > 1 else f"{dtype} with 1 axis" if rank else dtype
