"""The embedded model against transformers: every way through it gives the stored ids.

All ways must moreover give the same logits bit for bit, on every target."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from acceptance.checkpoints import TESTS
from acceptance.roads import (
    Logits,
    decode_alone,
    forward,
    forward_growing,
    prefill_then_decode,
    slots_then_rows,
)
from linnet.nest import Model

DATA = TESTS / "data" / "gpt2-tales"
CASES: dict[str, dict[str, Any]] = {
    case["name"]: case for case in json.loads((DATA / "references.json").read_text())["cases"]
}
CONTINUED = [name for name, case in CASES.items() if case["greedy_ids"]]
SLOW = {
    "scalar": ["empty", "king", "dialogue", "unicode", "eot_inside", "ends"],
    "neon": ["empty", "once", "king"],  # emulated
}
"""The cases run on the targets that take long; on the others it is all of them."""

GROWING = {"native": ["once", "numbers"], "avx2": ["king"], "scalar": [], "neon": []}
TOLERANCE = 1e-4

Load = Callable[..., Model]


@pytest.fixture(params=["native", "avx2", "scalar", "neon"], scope="module")
def target(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def cases(target: str) -> list[str]:
    return SLOW.get(target, CONTINUED)


@pytest.fixture(scope="module")
def seen() -> dict[str, str]:
    """Digests of the logits by case, from whichever target and way came first."""
    return {}


def compare(seen: dict[str, str], name: str, logits: Logits) -> None:
    """The logits choose the stored ids, and are those that every other way has found."""
    assert logits.argmax(-1).tolist() == CASES[name]["greedy_ids"], name
    digest = hashlib.sha256(logits.tobytes()).hexdigest()
    assert seen.setdefault(name, digest) == digest, f"other bits for {name}"


def test_prefill_then_decode(load: Load, target: str, seen: dict[str, str]) -> None:
    model = load("gpt2-tales", target)
    for name in cases(target):
        case = CASES[name]
        model.reset_state()
        compare(seen, name, prefill_then_decode(model, case["ids"], case["greedy_ids"]))


def test_decode_alone(load: Load, target: str, seen: dict[str, str]) -> None:
    model = load("gpt2-tales", target)
    for name in cases(target):
        case = CASES[name]
        model.reset_state()
        compare(seen, name, decode_alone(model, case["ids"], case["greedy_ids"]))


def test_forward(load: Load, target: str, seen: dict[str, str]) -> None:
    model = load("gpt2-tales", target)
    for name in cases(target):
        compare(seen, name, forward(model, CASES[name]["ids"], CASES[name]["greedy_ids"]))
    for name in GROWING[target]:
        compare(seen, name, forward_growing(model, CASES[name]["ids"], CASES[name]["greedy_ids"]))


def test_three_texts_side_by_side(load: Load, target: str, seen: dict[str, str]) -> None:
    model = load("gpt2-tales", target, batch=3)
    names = cases(target)
    for at in range(0, len(names), 3):
        group = names[at : at + 3]
        prompts = [CASES[name]["ids"] for name in group]
        following = [CASES[name]["greedy_ids"] for name in group]
        slots = [2, 0, 1][: len(group)]
        for name, logits in zip(
            group, slots_then_rows(model, prompts, following, slots), strict=True
        ):
            compare(seen, name, logits)


def test_texts_that_join_while_others_run(load: Load, seen: dict[str, str]) -> None:
    model = load("gpt2-tales", batch=3)
    joins = {0: "once", 4: "unicode", 9: "king"}  # by step
    texts: dict[str, list[Logits]] = {}
    slots = {"once": 1, "unicode": 2, "king": 0}
    for step in range(9 + 64):
        tokens, positions = np.zeros((3, 1), np.int32), np.zeros(3, np.int32)
        running = [name for name in texts if len(texts[name]) < 64]
        for name in running:
            tokens[slots[name]] = texts[name][-1].argmax()
            positions[slots[name]] = len(CASES[name]["ids"]) + len(texts[name]) - 1
        logits = model.decode_rows(tokens, positions)
        for name in running:
            texts[name].append(logits[slots[name]])
        if (name := joins.get(step)) is not None:
            ids = CASES[name]["ids"]
            texts[name] = [*model.prefill_slots([ids], [slots[name]], [len(ids)])]
    assert [*texts] == [*joins.values()]
    for name, rows in texts.items():
        compare(seen, name, np.stack(rows))


def test_logits_are_those_of_transformers(load: Load, target: str) -> None:
    model = load("gpt2-tales", target)
    arrays = load_file(DATA / "references.safetensors")
    for name in cases(target) if target in SLOW else CASES:
        case = CASES[name]
        logits = model.forward([case["ids"]])[0]
        best = np.argsort(-logits[-1], kind="stable")[:10]
        assert best.tolist() == case["top10_ids"], name
        assert np.abs(logits[-1, best] - case["top10_logits"]).max() < TOLERANCE, name
        for key, got in (("last", logits[-1]), ("all", logits)):
            wanted = arrays.get(f"logits_{key}.{name}")
            if wanted is not None:
                assert np.abs(got - wanted).max() < TOLERANCE, (name, key)
