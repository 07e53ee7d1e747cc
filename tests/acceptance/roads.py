"""The ways from a text to its logits: each gives one row of logits for each id that follows.

In: a loaded model, the ids of a prompt and the ids that follow it. Out: f32[ids that follow,
Vocab]; row k holds the logits from which following id k is chosen. What follows is fed in as
given: if every row's argmax is that id, greedy decoding finds just these ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from linnet.nest import Model

Ids = Sequence[int]
Logits = npt.NDArray[np.float32]


def one(token: int) -> npt.NDArray[np.int32]:
    return np.array([[token]], np.int32)


def prefill_then_decode(model: Model, prompt: Ids, following: Ids, cuts: Ids = ()) -> Logits:
    """The prompt in one piece, or in several cut at `cuts`; then id by id."""
    edges = [0, *cuts, len(prompt)]
    for first, last in pairwise(edges):
        logits = model.prefill(np.array([prompt[first:last]], np.int32), first)
    rows = [logits[0]]
    for k, token in enumerate(following[:-1]):
        rows.append(model.decode(one(token), len(prompt) + k)[0])
    return np.stack(rows)


def decode_alone(model: Model, prompt: Ids, following: Ids) -> Logits:
    """Every id of the prompt by `decode` too."""
    tokens = [*prompt, *following[:-1]]
    rows = [model.decode(one(token), pos)[0] for pos, token in enumerate(tokens)]
    return np.stack(rows[len(prompt) - 1 :])


def forward(model: Model, prompt: Ids, following: Ids) -> Logits:
    """The whole sequence at once: no position sees what comes after it."""
    tokens = np.array([[*prompt, *following[:-1]]], np.int32)
    logits: Logits = model.forward(tokens)[0, len(prompt) - 1 :]
    return logits


def forward_growing(model: Model, prompt: Ids, following: Ids) -> Logits:
    """One call for each id that follows, over all that is there so far."""
    ids = [*prompt, *following]
    ends = range(len(prompt), len(ids))
    return np.stack([model.forward(np.array([ids[:end]], np.int32))[0, -1] for end in ends])


def slots_then_rows(
    model: Model, prompts: Sequence[Ids], following: Sequence[Ids], slots: Ids
) -> list[Logits]:
    """Several texts side by side, text m in the cache row `slots[m]`: begun together by
    `prefill_slots`, carried on by `decode_rows` until each has its logits."""
    lengths = np.array([len(p) for p in prompts], np.int32)
    tokens = np.zeros((len(prompts), lengths.max()), np.int32)
    for row, prompt in zip(tokens, prompts, strict=True):
        row[: len(prompt)] = prompt
    first = model.prefill_slots(tokens, np.array(slots, np.int32), lengths)
    rows = [[logits] for logits in first]
    batch = int(model.generics["Batch"])
    for step in range(max(map(len, following)) - 1):
        next_tokens, positions = np.zeros((batch, 1), np.int32), np.zeros(batch, np.int32)
        running = [m for m in range(len(prompts)) if step < len(following[m]) - 1]
        for m in running:
            next_tokens[slots[m], 0] = following[m][step]
            positions[slots[m]] = lengths[m] + step
        logits = model.decode_rows(next_tokens, positions)
        for m in running:
            rows[m].append(logits[slots[m]])
    return [np.stack(r) for r in rows]
