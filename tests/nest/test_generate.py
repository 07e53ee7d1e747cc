"""The generation loop over a scripted model: what is shown, when it stops, what is refused."""

from __future__ import annotations

import dataclasses
import math
import pickle
from typing import Any

import numpy as np
import pytest

from linnet.errors import ShapeError, UsageError
from linnet.nest.generate import Completion, Setup, StopMatcher
from linnet.nest.text import Tokenizer

END = 511


def script_of(tok: Tokenizer, *parts: str) -> list[int]:
    return [i for part in parts for i in tok.encode(part)]


def test_prompt_is_read_and_tokens_follow_at_their_positions(make_model: Any) -> None:
    model = make_model([5, 6, 7])
    completion = model.generate([1, 2, 3], max_new_tokens=3)
    assert completion.token_ids == (5, 6, 7)
    assert completion.finish_reason == "length"
    assert model._program.calls == [
        ("prefill", [1, 2, 3], 0), ("decode", [5], 3), ("decode", [6], 4)
    ]  # fmt: skip
    assert (completion.usage.prompt_tokens, completion.usage.completion_tokens) == (3, 3)
    assert completion.usage.total_tokens == 6


def test_a_completion_is_its_text(make_model: Any, tok: Tokenizer) -> None:
    completion = make_model(script_of(tok, " the fox", "")).generate("a", max_new_tokens=3)
    assert isinstance(completion, str)
    assert str(completion) == completion.text == completion == tok.decode(completion.token_ids)
    again = pickle.loads(pickle.dumps(completion))
    assert again == completion
    assert again.token_ids == completion.token_ids
    assert Completion("x").finish_reason == "length"


@pytest.mark.parametrize(
    "text", ["🙂", "a👨\u200d👩\u200d👧\u200d👦b", "caf\u00e9 cafe\u0301", "你好 🍕"]
)
def test_pieces_are_whole_characters_and_join(make_model: Any, tok: Tokenizer, text: str) -> None:
    ids = tok.encode(text)
    model = make_model([*ids, END])
    pieces = list(model.stream("the", max_new_tokens=100))
    assert "".join(pieces) == text == model.generate("the", max_new_tokens=100)
    assert all(pieces)
    assert not any("\ufffd" in piece for piece in pieces)


def test_half_a_character_at_the_end_is_flushed_alike(make_model: Any, tok: Tokenizer) -> None:
    model = make_model(tok.encode("🙂"))
    assert "".join(model.stream("a", max_new_tokens=3)) == "\ufffd"
    assert model.generate("a", max_new_tokens=3) == "\ufffd"


def test_end_of_text_stops_without_showing(make_model: Any, tok: Tokenizer) -> None:
    a, b = tok.encode("x")[0], tok.encode("y")[0]
    model = make_model([a, b, END, a, a])
    completion = model.generate("q", max_new_tokens=10)
    assert completion == "xy"
    assert completion.finish_reason == "stop"
    assert completion.token_ids == (a, b, END)
    on = model.generate("q", max_new_tokens=5, ignore_eos=True)
    assert on == "xyxx"
    assert on.finish_reason == "length"
    assert on.usage.completion_tokens == 5


def test_several_end_ids(make_model: Any, setup: Setup, tok: Tokenizer) -> None:
    a, b = tok.encode("x")[0], tok.encode("y")[0]
    model = make_model([a, b, a])
    assert model.generate("q", max_new_tokens=9, eos_token_id=[END, b]).token_ids == (a, b)
    assert model.generate("q", max_new_tokens=9, eos_token_id=b) == "x"
    several = dataclasses.replace(setup, end_ids=(END, b))
    assert make_model([a, b, a], several).generate("q").token_ids == (a, b)


def test_stop_text_that_spans_tokens(make_model: Any, tok: Tokenizer) -> None:
    ids = script_of(tok, " alpha", " be", "ta gam", "ma", " more")
    model = make_model(ids)
    completion = model.generate("q", max_new_tokens=60, stop="beta gamma")
    assert completion == " alpha "
    assert completion.finish_reason == "stop"
    assert "".join(model.stream("q", max_new_tokens=60, stop=["zzz", "beta gamma"])) == " alpha "


def test_held_text_comes_out_when_the_match_fails_or_the_text_ends(
    make_model: Any, tok: Tokenizer
) -> None:
    ids = script_of(tok, "a", "b", "x")
    assert make_model([*ids, END]).generate("q", stop="abc") == "abx"
    assert make_model([*ids[:2], END]).generate("q", stop="abc") == "ab"
    assert make_model(ids).generate("q", stop="abc", max_new_tokens=2) == "ab"


def test_nothing_is_held_longer_than_needed() -> None:
    matcher = StopMatcher(["beta gamma", "aab"])
    assert [matcher.push(p) for p in (" alpha", " be", "t", "o ", "aa", "a", "c")] == [
        " alph", "a ", "", "beto ", "", "a", "aac"
    ]  # fmt: skip
    assert matcher.flush() == ""
    assert not matcher.matched
    assert matcher.push("xaaby") == "xa"[:1]
    assert matcher.matched


def test_the_earliest_of_several_stops_counts() -> None:
    matcher = StopMatcher(["c", "bc"])
    assert matcher.push("abc") == "a"


def test_empty_prompt_starts_from_end_of_text(make_model: Any, setup: Setup) -> None:
    model = make_model([5])
    first = model.generate("", max_new_tokens=2)
    assert model._program.calls[0] == ("prefill", [END], 0)
    assert first.usage.prompt_tokens == 1
    assert model.generate("", max_new_tokens=2) == first
    for bad in (dataclasses.replace(setup, end_ids=()), dataclasses.replace(setup, end_ids=(999,))):
        with pytest.raises(UsageError, match="end-of-text"):
            make_model([5], bad).generate("")


def test_end_of_text_in_a_prompt_is_the_special_token(make_model: Any) -> None:
    model = make_model([5])
    model.generate("<|endoftext|>", max_new_tokens=1)
    assert model._program.calls[0] == ("prefill", [END], 0)


def test_the_context_ends_the_text_with_length(make_model: Any) -> None:
    model = make_model([5] * 500)
    for asked in (128, 10**18):
        completion = model.generate([1, 2, 3], max_new_tokens=asked)
        assert completion.usage.total_tokens == 128
        assert completion.finish_reason == "length"
    assert model.generate([1] * 128).token_ids == ()


def test_a_prompt_that_does_not_fit_is_refused_by_the_program(make_model: Any) -> None:
    model = make_model([5])
    for count in (0, 1):
        with pytest.raises(ShapeError, match="S <= MaxPositions: S = 129, MaxPositions = 128") as e:
            model.generate([1] * 129, max_new_tokens=count)
        assert str(e.value).startswith("the prompt has 129 tokens, tiny takes 128\n")
    assert model.generate([1], max_new_tokens=1).token_ids == (5,)


def test_a_long_prompt_is_read_in_parts(make_model: Any, setup: Setup) -> None:
    from linnet.nest.generate import PREFILL_PIECE

    assert PREFILL_PIECE == 128
    calls = []

    class Steps:
        def reset(self) -> None: ...

        def prefill(self, ids: Any, pos: int) -> Any:
            calls.append((len(ids), pos))
            return np.zeros(512, np.float32)

        def decode(self, token: int, pos: int) -> Any:
            calls.append((token, pos))
            return np.zeros(512, np.float32)

    from linnet.nest.generate import Request, TextStream

    wide = dataclasses.replace(setup, context=1000)
    request = Request.checked(wide, [1] * 300, max_new_tokens=2)
    assert len(list(TextStream(Steps(), wide, request))) <= 2
    assert calls == [(128, 0), (128, 128), (44, 256), (0, 300)]


def test_zero_new_tokens(make_model: Any) -> None:
    completion = make_model([5]).generate("a", max_new_tokens=0)
    assert completion == ""
    assert completion.token_ids == ()
    assert completion.finish_reason == "length"


def test_sampled_text_repeats_with_its_seed(make_model: Any) -> None:
    class Flat:
        """All ids equally likely."""

        def __init__(self, inner: Any) -> None:
            self.inner, self.entries = inner, inner.entries

        def call(self, *args: Any) -> Any:
            return self.inner.call(*args) * 0

        def reset_state(self) -> None: ...

    model = make_model()
    model._program = Flat(model._program)
    one = model.generate("a", max_new_tokens=20, temperature=1.0)
    two = model.generate("a", max_new_tokens=20, temperature=1.0, seed=one.seed)
    three = model.generate("a", max_new_tokens=20, temperature=1.0, seed=one.seed + 1)
    assert one.token_ids == two.token_ids != three.token_ids
    greedy = model.generate("a", max_new_tokens=5)
    assert greedy.token_ids == (0,) * 5
    assert greedy.seed is None
    assert model.generate("a", max_new_tokens=5, temperature=1e-45, seed=1) == greedy
    assert model.generate("a", max_new_tokens=5, temperature=2.0, do_sample=False) == greedy


def test_streamer_sees_the_pieces_and_may_end_the_text(make_model: Any, tok: Tokenizer) -> None:
    model = make_model([*script_of(tok, "a", "b", "c"), END])
    seen: list[str] = []
    assert model.generate("q", streamer=seen.append) == "".join(seen) == "abc"
    completion = model.generate("q", streamer=lambda piece: piece != "b")
    assert completion == "ab"
    assert completion.finish_reason == "cancelled"


def test_interrupt_ends_the_stream_and_the_model_works_on(make_model: Any, tok: Tokenizer) -> None:
    model = make_model([*script_of(tok, "a", "b", "c"), END])
    whole = model.generate("q")
    model._program.interrupt_at = 2
    stream = model.stream("q")
    assert [next(stream), next(stream)] == ["a", "b"]
    with pytest.raises(KeyboardInterrupt):
        next(stream)
    assert stream.completion == "ab"
    assert stream.completion.finish_reason == "cancelled"
    assert list(stream) == []
    assert model.generate("q") == whole
    model._program.interrupt_at = 1
    with pytest.raises(KeyboardInterrupt):
        model.generate("q")
    assert model.generate("q") == whole == "abc"


def test_a_stream_left_alone_may_be_closed(make_model: Any, tok: Tokenizer) -> None:
    model = make_model(script_of(tok, "a", "b", "c"))
    stream = model.stream("q")
    next(stream)
    stream.close()
    assert list(stream) == []
    assert (stream.completion, stream.completion.finish_reason) == ("a", "cancelled")


def test_a_second_text_ends_the_first_with_a_clear_error(make_model: Any, tok: Tokenizer) -> None:
    model = make_model(script_of(tok, "a", "b", "c"))
    first, second = model.stream("q"), model.stream("q")
    assert next(first) == "a"
    assert next(second) == "a"
    with pytest.raises(UsageError, match="another call has used the model's state"):
        next(first)
    assert next(second) == "b"
    model.forward([[1]])  # uses no state
    assert next(second) == "c"


def test_ids_work_without_a_tokenizer(make_model: Any, setup: Setup) -> None:
    bare = dataclasses.replace(setup, find_tokenizer=lambda: "/some/folder has none")
    model = make_model([5, 6, END], bare)
    completion = model.generate([1, 2])
    assert completion.token_ids == (5, 6, END)
    assert completion == ""
    for call in (
        lambda: model.generate("text"),
        lambda: model.generate([1], stop="x"),
        lambda: model.tokenize("x"),
        lambda: model.detokenize([1]),
    ):
        with pytest.raises(UsageError, match="/some/folder has none"):
            call()


def test_a_tokenizer_of_another_checkpoint_is_noticed(make_model: Any, setup: Setup) -> None:
    model = make_model([5], dataclasses.replace(setup, vocabulary=60))
    with pytest.raises(UsageError, match="belongs to another checkpoint"):
        model.generate("the <|endoftext|>")


@pytest.mark.parametrize("value", [-1, 1.5, 2.0, "10", True, math.nan, [3]])
def test_bad_counts(make_model: Any, value: Any) -> None:
    with pytest.raises(UsageError, match="max_new_tokens"):
        make_model([5]).generate("a", max_new_tokens=value)


def test_none_is_the_default(make_model: Any) -> None:
    model = make_model([5] * 500)
    assert len(model.generate([1], max_new_tokens=None).token_ids) == 64


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_tokens": 3}, "'max_tokens'; did you mean 'max_new_tokens'"),
        ({"temp": 1}, "did you mean 'temperature'"),
        ({"topk": 1}, "did you mean 'top_k'"),
        ({"zzz": 1}, "has no parameter 'zzz'"),
        ({"stop": ""}, "stop"),
        ({"stop": ["a", ""]}, "stop"),
        ({"stop": 3}, "stop"),
        ({"stop": [b"a"]}, "stop"),
        ({"stop": "\ud800"}, "stop.*Unicode"),
        ({"ignore_eos": "no"}, "ignore_eos"),
        ({"eos_token_id": "x"}, "eos_token_id"),
        ({"eos_token_id": -1}, "eos_token_id"),
        ({"streamer": 3}, "streamer"),
        ({"temperature": -1}, "temperature = -1"),
        ({"top_p": 1.5}, "top_p = 1.5"),
        ({"seed": "x"}, "seed = 'x'"),
    ],
)
def test_bad_parameters_are_refused_before_anything_runs(
    make_model: Any, parameters: dict[str, Any], message: str
) -> None:
    model = make_model([5])
    with pytest.raises(UsageError, match=message):
        model.stream("a", **parameters)
    assert model._program.calls == []
    assert model.generate("a", max_new_tokens=1, pad_token_id=0).token_ids == (5,)


@pytest.mark.parametrize(
    ("prompt", "error", "message"),
    [
        ([], UsageError, "no token ids"),
        (None, UsageError, "must be text or a list"),
        (b"x", UsageError, "must be text or a list"),
        (3, UsageError, "must be text or a list"),
        (["a", "b"], UsageError, "list of prompts"),
        ([[1], [2]], UsageError, "list of prompts"),
        ([1.5], UsageError, r"prompt\[0\]"),
        ([1, True], UsageError, r"prompt\[1\]"),
        (np.zeros((1, 2), np.int32), UsageError, r"shape \(1, 2\)"),
        (np.zeros(2, np.float32), UsageError, r"prompt\[0\]"),
        ([1, 512], ShapeError, "512 at position 1 .*0 to 511"),
        ([-1], ShapeError, "out of range"),
        ("half \ud83d", UsageError, "not valid Unicode"),
    ],
)
def test_bad_prompts(make_model: Any, prompt: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make_model([5]).generate(prompt)


@pytest.mark.parametrize("prompt", [(1, 2), np.array([1, 2], np.uint16), [np.int64(1), 2]])
def test_ids_in_any_container(make_model: Any, prompt: Any) -> None:
    model = make_model([5])
    model.generate(prompt, max_new_tokens=1)
    assert model._program.calls == [("prefill", [1, 2], 0)]
