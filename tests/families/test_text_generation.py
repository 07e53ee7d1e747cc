"""Every family of decoders against transformers on small random checkpoints, on three targets.

The logits are those of transformers within 2e-4 and choose the same 32 ids; and they are the
same bits from every entry, in any batch, on any number of threads, on every target."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np
import pytest
from acceptance.roads import Logits, decode_alone, forward, prefill_then_decode, slots_then_rows

from families.data import Arrays, names, references
from linnet.nest import Model

Load = Callable[..., Model]

NAMES = names("text-generation")
BATCH = 3
TOLERANCE = 2e-4


@pytest.fixture(scope="module")
def seen() -> dict[str, str]:
    """A digest of the logits of each text, from whichever target and way came first."""
    return {}


def texts(stored: Arrays) -> list[tuple[list[int], list[int]]]:
    """The prompts, each with the ids that transformers goes on with."""
    count = sum(key.startswith("prompt") for key in stored)
    return [(stored[f"prompt{k}"].tolist(), stored[f"greedy{k}"].tolist()) for k in range(count)]


def same(seen: dict[str, str], key: str, logits: Logits) -> None:
    digest = hashlib.sha256(logits.tobytes()).hexdigest()
    assert seen.setdefault(key, digest) == digest, f"other bits for {key}"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("target", ["native", "scalar", "neon"])
def test_logits_ids_and_bits(load: Load, name: str, target: str, seen: dict[str, str]) -> None:
    model = load(name, target, generics={"Batch": BATCH})
    stored = references(name)
    pairs = texts(stored)
    for k, (prompt, following) in enumerate(pairs):
        tokens = np.array([[*prompt, *following[:-1]]], np.int32)
        logits = model.forward(tokens)[0]
        assert np.abs(logits[: len(prompt)] - stored[f"logits{k}"]).max() < TOLERANCE
        after = logits[len(prompt) - 1 :]
        assert after.argmax(-1).tolist() == following
        same(seen, f"{name} {k}", after)
    model.reset_state()
    # All texts side by side, each in another row of the cache than of the call.
    assert len(pairs) == BATCH
    rows = slots_then_rows(model, [p for p, _ in pairs], [f for _, f in pairs], [2, 0, 1])
    for k, found in enumerate(rows):
        same(seen, f"{name} {k}", found)
    model.reset_state()
    prompt, following = pairs[-1]
    found = in_all_rows(model, prompt, following)
    for row in range(BATCH):
        same(seen, f"{name} {len(pairs) - 1}", np.ascontiguousarray(found[:, row]))


def in_all_rows(model: Model, prompt: list[int], following: list[int]) -> Logits:
    """[ids that follow, BATCH, Vocab] by `prefill` of two pieces and `decode`."""
    cut = len(prompt) // 2
    tokens = np.array([[*prompt, *following]] * BATCH, np.int32)
    model.prefill(tokens[:, :cut], 0)
    found = [model.prefill(tokens[:, cut : len(prompt)], cut)]
    for pos in range(len(prompt), tokens.shape[1] - 1):
        found.append(model.decode(tokens[:, pos : pos + 1], pos))
    return np.stack(found)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("threads", [1, 4])
def test_other_numbers_of_threads(
    load: Load, name: str, threads: int, seen: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # A call would never use more threads than there are CPUs; here it shall.
    monkeypatch.setattr("linnet.targets.detect.allowed_cpus", lambda: 4)
    model = load(name, threads=threads, generics={"Batch": BATCH})
    pairs = texts(references(name))
    for k, (prompt, following) in enumerate(pairs):
        same(seen, f"{name} {k}", forward(model, prompt, following))
    model.reset_state()
    rows = slots_then_rows(model, [p for p, _ in pairs], [f for _, f in pairs], [0, 1, 2])
    for k, found in enumerate(rows):
        same(seen, f"{name} {k}", found)


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith("-1")])
def test_alone(load: Load, name: str, seen: dict[str, str]) -> None:
    """A program for a single row; one config of each family, to spare compilations."""
    model = load(name)
    for k, (prompt, following) in enumerate(texts(references(name))):
        for way in (decode_alone, prefill_then_decode, forward):
            model.reset_state()
            same(seen, f"{name} {k}", way(model, prompt, following))
        done = model.generate(prompt, max_new_tokens=len(following), ignore_eos=True)
        assert [*done.token_ids] == following


@pytest.mark.parametrize(("name", "k", "end"), [("llama-1", 2, 9), ("qwen3-1", 0, 77)])
def test_each_of_several_end_ids_ends_a_text(load: Load, name: str, k: int, end: int) -> None:
    prompt, following = texts(references(name))[k]
    done = load(name).generate(prompt, max_new_tokens=len(following))
    assert [*done.token_ids] == following[: following.index(end) + 1]
    assert done.finish_reason == "stop"
