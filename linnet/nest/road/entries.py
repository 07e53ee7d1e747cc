"""Whether a source has the entries that its task calls by name, with the right heads.

In go a checked root block and a task; out come sentences about what is missing or different.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from linnet.nest.tasks import TASKS, Head

if TYPE_CHECKING:
    from linnet.check.typed import BlockDecl, FunctionDecl
    from linnet.check.types import Type


def problems(root: BlockDecl, task: str) -> Iterator[str]:
    """What is missing for `task`, a sentence each."""
    for name, head in TASKS[task].entries.items():
        found = root.functions.get(name)
        if found is None or found.kind != "entry":
            yield f"there is no entry {name}{head}"
        elif wrong := _difference(found, head):
            yield f"the entry {name} must be {name}{head}: {wrong}"


def _difference(found: FunctionDecl, head: Head) -> str | None:
    names = [p.variable.name for p in found.parameters]
    if names != list(head.names):
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
