"""Calls of a real model that must be refused: one error of ours, and no harm done.

After each, the text that was being written goes on with the bits it would have had."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from linnet.errors import DTypeError, LinnetError, ShapeError, UsageError
from linnet.nest import Model

Load = Callable[..., Model]

NAN = float("nan")


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.int32)


CALLS: list[tuple[str, tuple[Any, ...], type[LinnetError], list[str]]] = [
    # sizes
    ("forward", (zeros(1, 257),), ShapeError, ["S <= MaxPositions", "S = 257", "= 256"]),
    ("prefill", (zeros(3, 257), 0), ShapeError, ["S <= MaxPositions", "S = 257", "= 256"]),
    ("prefill", (zeros(3, 0), 0), ShapeError, ["S > 0", "gpt2.linnet:"]),
    ("prefill", (zeros(2, 4), 0), ShapeError, ["i32[3, S]", "[2, 4]"]),
    ("decode", (zeros(3, 2), 0), ShapeError, ["i32[3, 1]", "[3, 2]"]),
    ("decode_rows", (zeros(3, 1), [0, 1]), ShapeError, ["`positions`", "[2]"]),
    ("prefill_slots", (zeros(4, 4), [0, 1, 2, 3], [2] * 4), ShapeError, ["M <= Batch", "M = 4"]),
    ("prefill_slots", (zeros(0, 4), zeros(0), zeros(0)), ShapeError, ["M > 0"]),
    ("prefill_slots", (zeros(2, 257), [0, 1], [1, 1]), ShapeError, ["S <= MaxPositions"]),
    ("prefill_slots", (zeros(2, 4), [1, 2], [2]), ShapeError, ["`lengths`", "[1]"]),
    # ranks and dtypes
    ("forward", ([1, 2],), ShapeError, ["i32[B, S]", "[2]"]),
    ("forward", (zeros(1, 1, 1),), ShapeError, ["i32[B, S]", "[1, 1, 1]"]),
    ("forward", ([[1], [1, 2]],), ShapeError, ["different lengths"]),
    ("forward", (np.zeros((1, 2)),), DTypeError, ["i32[B, S]", "float64", "astype"]),
    ("forward", ([[True]],), DTypeError, ["bool"]),
    ("forward", ("Once upon a time",), DTypeError, ["i32[B, S]"]),
    ("forward", (None,), DTypeError, ["i32[B, S]"]),
    ("forward", ([[1, "b"]],), DTypeError, ["i32[B, S]"]),
    ("forward", ([[2**40]],), DTypeError, [str(2**40)]),
    ("forward", ([[2**70]],), DTypeError, ["i32[B, S]"]),
    ("decode", (zeros(3, 1), 1.5), DTypeError, ["`pos`", "float64"]),
    ("decode", (zeros(3, 1), None), DTypeError, ["`pos`"]),
    ("decode", (zeros(3, 1), [0]), ShapeError, ["`pos`", "[1]"]),
    # values
    ("forward", ([[1857]],), ShapeError, ["1857", "0 .. 1856"]),
    ("forward", ([[5, -1, 5]],), ShapeError, ["-1", "0 .. 1856"]),
    ("decode", (zeros(3, 1), 256), ShapeError, ["256", "0 .. 255"]),
    ("decode", (zeros(3, 1), -1), ShapeError, ["-1", "0 .. 255"]),
    ("decode", (zeros(3, 1), 2**31), DTypeError, [str(2**31)]),
    ("prefill", (zeros(3, 10), 250), ShapeError, ["250", "0 .. 246"]),
    ("decode_rows", (zeros(3, 1), [0, 256, 0]), ShapeError, ["256", "0 .. 255"]),
    ("decode_rows", (zeros(3, 1), [0, 0, -1]), ShapeError, ["-1", "0 .. 255"]),
    ("prefill_slots", (zeros(2, 4), [1, 1], [2, 2]), ShapeError, ["`slots`", "1 more than once"]),
    ("prefill_slots", (zeros(2, 4), [1, 3], [2, 2]), ShapeError, ["`slots`", "3", "0 .. 2"]),
    ("prefill_slots", (zeros(2, 4), [-1, 2], [2, 2]), ShapeError, ["`slots`", "-1", "0 .. 2"]),
    ("prefill_slots", (zeros(2, 4), [1, 2], [2, 0]), ShapeError, ["`lengths`", "0", "1 .. 4"]),
    ("prefill_slots", (zeros(2, 4), [1, 2], [5, 2]), ShapeError, ["`lengths`", "5", "1 .. 4"]),
    # the call itself
    ("forward", (), UsageError, ["tokens"]),
    ("forward", (zeros(1, 1), 3), UsageError, ["forward(tokens: i32[B, S])"]),
    ("decod", (), UsageError, ["did you mean 'decode'"]),
]

TEXTS: list[tuple[Any, dict[str, Any], type[LinnetError], list[str]]] = [
    ("a " * 400, {}, ShapeError, ["S <= MaxPositions", "S = 401", "= 256", "gpt2.linnet:"]),
    ([7] * 257, {}, ShapeError, ["S <= MaxPositions", "S = 257"]),
    ([7, 1857], {}, ShapeError, ["1857", "position 1"]),
    ([], {}, UsageError, ["no token ids"]),
    (None, {}, UsageError, ["NoneType"]),
    (b"bytes", {}, UsageError, ["bytes"]),
    (["two", "prompts"], {}, UsageError, ["list of prompts"]),
    ("half \ud83d", {}, UsageError, ["Unicode", "U+D83D"]),
    ("a", {"temperature": NAN}, UsageError, ["temperature", "nan"]),
    ("a", {"temperature": -0.5}, UsageError, ["temperature", "-0.5"]),
    ("a", {"top_p": 1.5}, UsageError, ["top_p", "1.5"]),
    ("a", {"top_k": -1}, UsageError, ["top_k", "-1"]),
    ("a", {"seed": "x"}, UsageError, ["seed"]),
    ("a", {"max_new_tokens": -1}, UsageError, ["max_new_tokens", "-1"]),
    ("a", {"stop": ""}, UsageError, ["stop"]),
    ("a", {"temprature": 1.0}, UsageError, ["temprature", "temperature"]),
]


class Text:
    """Three texts under way in a model. `goes_on` tells whether they are unharmed."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.tokens = np.arange(3 * 30, dtype=np.int32).reshape(3, 30)
        model.prefill(self.tokens[:, :29], 0)
        self.next = (self.tokens[:, 29:], np.full(3, 29, np.int32))
        self.wanted = model.decode_rows(*self.next)

    def goes_on(self) -> bool:
        return self.model.decode_rows(*self.next).tobytes() == self.wanted.tobytes()


@pytest.fixture(scope="module", params=["native", "neon"])
def text(load: Load, request: pytest.FixtureRequest) -> Text:
    return Text(load("gpt2-tales", request.param, batch=3))


def refused(error: type[LinnetError], parts: list[str], call: Callable[[], object]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(LinnetError) as caught:
            call()
    assert type(caught.value) is error
    message = str(caught.value)
    for part in parts:
        assert part in message
    assert "\n\n" not in message
    assert message == message.strip()


@pytest.mark.parametrize(
    ("entry", "arguments", "error", "parts"),
    CALLS,
    ids=[f"{entry}-{k}" for k, (entry, *_) in enumerate(CALLS)],
)
def test_a_bad_call_is_refused_and_harms_nothing(
    text: Text,
    entry: str,
    arguments: tuple[Any, ...],
    error: type[LinnetError],
    parts: list[str],
) -> None:
    refused(error, parts, lambda: text.model.call(entry, *arguments))
    assert text.goes_on()


@pytest.mark.parametrize(("prompt", "options", "error", "parts"), TEXTS)
def test_a_bad_request_for_text_is_refused(
    load: Load,
    prompt: Any,
    options: dict[str, Any],
    error: type[LinnetError],
    parts: list[str],
) -> None:
    model = load("gpt2-tales")
    refused(error, parts, lambda: model.generate(prompt, **options))
    assert model.generate("Once upon a time", max_new_tokens=4) == " there was a great"


def test_what_looks_odd_and_is_right(load: Load) -> None:
    model = load("gpt2-tales")
    tokens = np.tile(np.arange(1, 6, dtype=np.int32), (2, 1))
    wanted = model.forward(tokens)
    for same in (
        [[1, 2, 3, 4, 5]] * 2,
        tokens.astype(">i8"),
        tokens.astype(np.uint16),
        np.asfortranarray(tokens),
        np.repeat(tokens, 2, axis=1)[:, ::2],
        np.broadcast_to(np.array([1, 2, 3, 4, 5], np.int8), (2, 5)),
    ):
        assert model.forward(same).tobytes() == wanted.tobytes()
    assert model.forward(zeros(1, 0)).shape == (1, 0, 1857)
    assert model.forward(zeros(0, 4)).shape == (0, 4, 1857)
    assert model.forward(zeros(1, 256)).shape == (1, 256, 1857)
    assert model.generate([7] * 256) == ""
    assert model.generate("", max_new_tokens=2).token_ids == (32, 619)
