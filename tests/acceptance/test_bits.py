"""One order of summation: the logits of a token are the same bits however they were asked for.

Neither the entry, nor the rows computed together, nor the threads, nor the places at which a
prompt is cut, nor the instruction set may show in them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from acceptance.roads import (
    Logits,
    decode_alone,
    forward,
    forward_growing,
    prefill_then_decode,
    slots_then_rows,
)
from linnet.nest import Model

Load = Callable[..., Model]
Write = Callable[..., Path]

PROMPT, FOLLOWING = 29, 12
IDS = np.random.default_rng(3).integers(0, 509, PROMPT + FOLLOWING).tolist()
TEXT = IDS[:PROMPT], IDS[PROMPT:]
OTHERS = np.random.default_rng(4).integers(0, 509, (8, PROMPT + FOLLOWING)).tolist()


@pytest.fixture(scope="module")
def wanted(load: Load, checkpoint: Write) -> Logits:
    """The logits on one thread, alone, by `forward`."""
    return forward(load("gpt2", checkpoint=checkpoint("odd"), threads=1), *TEXT)


def same(got: Logits, wanted: Logits) -> bool:
    return got.shape == wanted.shape and got.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("batch", [1, 3, 8])
def test_entries_batches_and_threads(
    load: Load,
    checkpoint: Write,
    wanted: Logits,
    monkeypatch: pytest.MonkeyPatch,
    threads: int,
    batch: int,
) -> None:
    # A call would never use more threads than there are CPUs; here it shall.
    monkeypatch.setattr("linnet.targets.detect.allowed_cpus", lambda: 5)
    model = load("gpt2", batch=batch, checkpoint=checkpoint("odd"), threads=threads)
    assert model._program is not None
    assert model._program.threads == threads
    check(model, batch, wanted)


@pytest.mark.parametrize("target", ["avx2", "scalar", "neon"])
@pytest.mark.parametrize("batch", [1, 3])
def test_instruction_sets(
    load: Load, checkpoint: Write, wanted: Logits, target: str, batch: int
) -> None:
    check(load("gpt2", target, batch, checkpoint=checkpoint("odd")), batch, wanted)


def check(model: Model, batch: int, wanted: Logits) -> None:
    """All five entries give the logits of `TEXT`, in every row of the batch in turn."""
    for row in {0, batch // 2, batch - 1}:
        rows = [*OTHERS[:row], IDS, *OTHERS[row + 1 : batch]]
        tokens = np.array(rows, np.int32)
        assert same(model.forward(tokens)[row, PROMPT - 1 : -1], wanted)
        model.reset_state()
        assert same(prefilled(model, tokens)[:, row], wanted)
        model.reset_state()
        assert same(decoded(model, tokens)[:, row], wanted)
        # In another row of the cache than of the call; beside texts of other lengths.
        slots = np.roll(np.arange(batch), 1).tolist()
        prompts = [r[: PROMPT - 3 * m if m != row else PROMPT] for m, r in enumerate(rows)]
        following = [r[PROMPT:] for r in rows]
        assert same(slots_then_rows(model, prompts, following, slots)[row], wanted)


def prefilled(model: Model, tokens: np.ndarray) -> Logits:
    """[ids that follow, rows, Vocab]: all rows in step, the prompts at once."""
    found = [model.prefill(tokens[:, :PROMPT], 0)]
    for pos in range(PROMPT, PROMPT + FOLLOWING - 1):
        found.append(model.decode(tokens[:, pos : pos + 1], pos))
    return np.stack(found)


def decoded(model: Model, tokens: np.ndarray) -> Logits:
    """The same by `decode_rows` from the first id on."""
    everyone = np.zeros(len(tokens), np.int32)
    steps = range(PROMPT + FOLLOWING - 1)
    found = [model.decode_rows(tokens[:, pos : pos + 1], everyone + pos) for pos in steps]
    return np.stack(found[PROMPT - 1 :])


@pytest.mark.parametrize("cuts", [(1,), (28,), (16,), (13, 14), (3, 8, 16, 24), range(1, PROMPT)])
def test_where_a_prompt_is_cut(
    load: Load, checkpoint: Write, wanted: Logits, cuts: tuple[int, ...]
) -> None:
    model = load("gpt2", checkpoint=checkpoint("odd"))
    assert same(prefill_then_decode(model, *TEXT, cuts=tuple(cuts)), wanted)


def test_one_by_one_and_growing(load: Load, checkpoint: Write, wanted: Logits) -> None:
    model = load("gpt2", checkpoint=checkpoint("odd"))
    assert same(decode_alone(model, *TEXT), wanted)
    assert same(forward_growing(model, *TEXT), wanted)


def test_what_the_cache_held_before_does_not_show(
    load: Load, checkpoint: Write, wanted: Logits
) -> None:
    model = load("gpt2", batch=3, checkpoint=checkpoint("odd"))
    model.prefill(np.array([row[:41] for row in OTHERS[:3]], np.int32), 20)
    assert same(slots_then_rows(model, [TEXT[0]], [TEXT[1]], [1])[0], wanted)


def test_absurdly_many_threads(load: Load, checkpoint: Write, wanted: Logits) -> None:
    model = load("gpt2", checkpoint=checkpoint("odd"), threads=10**9)
    assert same(forward(model, *TEXT), wanted)


@pytest.mark.parametrize("rows", [2, 17, 64])
def test_many_rows_at_once(load: Load, checkpoint: Write, wanted: Logits, rows: int) -> None:
    model = load("gpt2", checkpoint=checkpoint("odd"))
    tokens = np.random.default_rng(rows).integers(0, 509, (rows, len(IDS))).astype(np.int32)
    tokens[rows // 2] = IDS
    assert same(model.forward(tokens)[rows // 2, PROMPT - 1 : -1], wanted)
