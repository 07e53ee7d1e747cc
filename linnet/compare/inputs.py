"""The inputs of an entry, made so that both sides see the same.

An entry declares what it takes; its parameters have the names that entries of a task use. Each
name says what our side gets and what the other one calls it. What the other side has no word for
(positions, slots of a cache) begins at 0, as its own calls do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linnet.errors import UsageError
from linnet.ir.node import Graph, Named, Node

COUNT = 8
"""Tokens of a text that is made up."""


@dataclass(frozen=True)
class Inputs:
    """`ours` by the entry's parameters, in order; `theirs` by the other stack's names."""

    ours: dict[str, Any]
    theirs: dict[str, Any]


def tokens_for(vocabulary: int, seed: int) -> list[int]:
    """Made-up tokens, the same for a seed."""
    import numpy as np

    return [int(k) for k in np.random.default_rng(seed).integers(0, vocabulary, COUNT)]


def make(graph: Graph, tokens: Sequence[int], seed: int = 0) -> Inputs:
    """Arrays for a call of the entry. Raises UsageError for a parameter of a name that no task
    uses, and for tokens that do not fit the entry's sizes."""
    import numpy as np

    ours: dict[str, Any] = {}
    theirs: dict[str, Any] = {}
    for node in graph.inputs:
        assert isinstance(node.attrs, Named)
        name = node.attrs.name
        shape = _shape(node, len(tokens))
        match name:
            case "tokens" | "token":
                ours[name] = _rows(graph.name, tokens, shape)
                theirs["input_ids"] = ours[name].astype(np.int64)
            case "kinds":
                ours[name] = np.zeros(shape, np.int32)
                theirs["token_type_ids"] = ours[name].astype(np.int64)
            case "lengths":
                ours[name] = np.full(shape, len(tokens), np.int32)
                theirs["attention_mask"] = np.ones((*shape, len(tokens)), np.int64)
            case "pixels":
                draw = np.random.default_rng(seed)
                ours[name] = theirs["pixel_values"] = draw.standard_normal(shape, np.float32)
            case "pos" | "positions":
                ours[name] = np.zeros(shape, np.int32)
            case "slots":
                ours[name] = np.arange(shape[0], dtype=np.int32)
            case _:
                raise UsageError(
                    f"entry `{graph.name}` takes `{name}`, and there is no rule what to give it",
                    help="entries that can be compared take tokens, kinds, lengths, pixels, pos, "
                    "positions or slots",
                )
    return Inputs(ours, theirs)


def _shape(node: Node, count: int) -> tuple[int, ...]:
    """One row, and `count` places along an axis that counts tokens."""
    dims = node.type.dims
    return tuple(
        dim.value if dim.is_const else count if axis == 1 else 1 for axis, dim in enumerate(dims)
    )


def _rows(entry: str, tokens: Sequence[int], shape: tuple[int, ...]) -> Any:
    import numpy as np

    if len(shape) != 2 or shape[1] != len(tokens):
        wanted = shape[1] if len(shape) == 2 else "one row of tokens"
        raise UsageError(f"entry `{entry}` takes {wanted} tokens, and {len(tokens)} are given")
    return np.tile(np.array(tokens, np.int32), (shape[0], 1))
