"""Token ids as callers give them: lists, ranges or arrays, looked at one by one."""

from __future__ import annotations

from collections.abc import Sequence

from linnet.errors import ShapeError, UsageError
from linnet.nest.sampling import whole


def listed(given: object, rule: str) -> Sequence[object]:
    """A sequence of things, not yet looked at; an array [S] as a list. Raises UsageError, which
    begins with `rule`."""
    shape = getattr(given, "shape", None)
    if shape is not None and len(shape) == 1 and hasattr(given, "tolist"):
        given = given.tolist()
    if isinstance(given, Sequence) and not isinstance(given, str | bytes | bytearray | memoryview):
        return given
    what = type(given).__name__ if shape is None else f"an array of shape {tuple(shape)}"
    raise UsageError(f"{rule}, not {what}")


def checked_ids(
    items: Sequence[object], name: str, where: str, model: str, size: int | None
) -> list[int]:
    """The items as ids of `model`, which has `size` of them, or any number. Messages call an item
    `name[n]`, and the whole `where`.

    Raises UsageError for what is no whole number, ShapeError for an id that is out of range.
    """
    ids = [whole(f"{name}[{n}]", item, low=-(2**63)) for n, item in enumerate(items)]
    for n, token in enumerate(ids):
        if token < 0 or (size is not None and token >= size):
            last = "" if size is None else f" to {size - 1}"
            raise ShapeError(
                f"token id {token} at position {n} of {where} is out of range: "
                f"{model} has the ids 0{last}"
            )
    return ids


def check_tokenizer(ids: Sequence[int], model: str, size: int | None) -> None:
    """Raise UsageError when a tokenizer gave an id that `model`, with `size` of them, lacks."""
    largest = max(ids, default=-1)
    if size is not None and largest >= size:
        raise UsageError(
            f"the tokenizer gives the id {largest}, and {model} has only {size} ids: this "
            "tokenizer belongs to another checkpoint"
        )
