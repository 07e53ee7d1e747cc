"""The embedded Llama against transformers: every way through it gives the stored ids.

All ways must moreover give the same logits bit for bit, on every target."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from acceptance.checkpoints import TESTS
from acceptance.roads import Logits, decode_alone, forward, prefill_then_decode, slots_then_rows
from linnet.nest import Model

CASES: dict[str, dict[str, Any]] = {
    case["name"]: case
    for case in json.loads((TESTS / "data" / "stories260k" / "references.json").read_text())[
        "cases"
    ]
}
SLOW = {"neon": ["empty", "dog", "unicode"]}
"""The cases run on the target that is emulated; on the others it is all of them."""

TOLERANCE = 1e-4

Load = Callable[..., Model]


@pytest.fixture(params=["native", "scalar", "neon"], scope="module")
def target(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def cases(target: str) -> dict[str, dict[str, Any]]:
    return {name: CASES[name] for name in SLOW.get(target, CASES)}


@pytest.fixture(scope="module")
def seen() -> dict[str, str]:
    """Digests of the logits by case, from whichever target and way came first."""
    return {}


def compare(seen: dict[str, str], name: str, logits: Logits) -> None:
    """The logits choose the stored ids, and are those that every other way has found."""
    assert len(logits) == 64
    assert logits.argmax(-1).tolist() == CASES[name]["greedy_ids"], name
    digest = hashlib.sha256(logits.tobytes()).hexdigest()
    assert seen.setdefault(name, digest) == digest, f"other bits for {name}"


@pytest.mark.parametrize("way", [forward, prefill_then_decode, decode_alone])
def test_every_way(
    load: Load, target: str, seen: dict[str, str], way: Callable[[Model, Any, Any], Logits]
) -> None:
    model = load("stories260k", target)
    for name, case in cases(target).items():
        model.reset_state()
        compare(seen, name, way(model, case["ids"], case["greedy_ids"]))


def test_texts_side_by_side(load: Load, target: str, seen: dict[str, str]) -> None:
    model = load("stories260k", target, batch=3)
    names = [*cases(target)]
    for at in range(0, len(names), 3):
        group = [CASES[name] for name in names[at : at + 3]]
        prompts, following = [c["ids"] for c in group], [c["greedy_ids"] for c in group]
        rows = slots_then_rows(model, prompts, following, [2, 0, 1])
        for case, logits in zip(group, rows, strict=True):
            compare(seen, case["name"], logits)


def test_logits_are_those_of_transformers(load: Load, target: str) -> None:
    model = load("stories260k", target)
    for name, case in cases(target).items():
        last = model.forward([case["ids"]])[0, -1]
        best = np.argsort(-last, kind="stable")[:10]
        assert best.tolist() == case["top10_ids"], name
        assert np.abs(last[best] - case["top10_logits"]).max() < TOLERANCE, name


def test_text_in_and_text_out(load: Load) -> None:
    model = load("stories260k")
    for case in CASES.values():
        assert model.tokenize(case["prompt"]) == case["ids"], case["name"]
        assert model.detokenize(case["greedy_ids"]) == case["greedy_text"]
        done = model.generate(case["prompt"], max_new_tokens=64)
        assert [*done.token_ids] == case["greedy_ids"]
        # What follows a prompt keeps the space between the two; alone, its decoder drops it.
        assert done.removeprefix(" ") == case["greedy_text"]
        assert done.startswith(" ") == (case["prompt"] != "" and done[:1] not in (",", "."))
        assert "".join(model.stream(case["prompt"], max_new_tokens=64)) == done


def test_the_mark_between_two_stories_is_silent(load: Load) -> None:
    model = load("stories260k")
    both = model.generate("Once upon a time", max_new_tokens=400)
    assert 1 in both.token_ids
    assert "<s>" not in both
    assert "<s>" in model.detokenize(both.token_ids)
    one = model.generate("Once upon a time", max_new_tokens=400, eos_token_id=[1, 2])
    assert one.finish_reason == "stop"
    assert one.token_ids == both.token_ids[: both.token_ids.index(1) + 1]
    assert both.startswith(one)
