"""Texts into calls of `embed`: what is accepted, how texts are grouped, and who has the task."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.artifact import Argument, Entry
from linnet.errors import ShapeError, UsageError
from linnet.nest.card import Card
from linnet.nest.embed import FULL_ENOUGH, groups
from linnet.nest.generate import Setup
from linnet.nest.model import Facts, Model
from linnet.nest.text import Tokenizer

from .conftest import CONTEXT, Script

WIDTH = 3


class Encoder:
    """A program whose vectors are the sum of a row's ids, their number, and the first of them. It
    notes the shapes of its calls."""

    def __init__(self) -> None:
        rows = [Argument(n, "i32", ("B", "S")) for n in ("tokens", "kinds")]
        inputs = (*rows, Argument("lengths", "i32", ("B",)))
        result = (Argument("", "f32", ("B", str(WIDTH))),)
        entry = Entry("embed", "embed", ("B", "S"), inputs, result, False, (), (), (), (), "0", "0")
        self.entries: Mapping[str, Entry] = {"embed": entry}
        self.shapes: list[tuple[int, ...]] = []

    def call(self, name: str, args: Sequence[Any], sizes: Mapping[str, int]) -> Any:
        tokens, kinds, lengths = args
        assert not kinds.any()
        assert kinds.shape == tokens.shape
        assert all(not row[n:].any() for row, n in zip(tokens, lengths, strict=True))
        self.shapes.append(tokens.shape)
        return np.stack([tokens.sum(1), lengths, tokens[:, 0]], axis=1).astype(np.float32)

    def reset_state(self) -> None: ...

    def explain(self) -> str:
        return ""

    def close(self) -> None: ...


def stated(card: Card, task: str | None) -> Card:
    return dataclasses.replace(card, about=dataclasses.replace(card.about, task=task))


@pytest.fixture
def model(card: Card, setup: Setup) -> Model:
    return Model(Encoder(), Facts(stated(card, "embedding"), text=setup))


def expected(ids: Sequence[int]) -> list[float]:
    return [float(sum(ids)), float(len(ids)), float(ids[0])]


def test_vectors_come_in_the_order_of_the_texts(model: Model, tok: Tokenizer) -> None:
    texts = ["a poor woodcutter", "the", "the quick brown fox jumps", "a"]
    found = model.embed(texts)
    assert found.dtype == np.float32
    assert found.tolist() == [expected(tok.encode(text)) for text in texts]
    assert model.embed(texts[1]).tolist() == expected(tok.encode("the"))
    assert model.embed(tuple(texts)).tolist() == model.embed(np.array(texts)).tolist()
    assert model.embed([]).shape == (0, WIDTH)


@pytest.mark.parametrize("make", [list, tuple, np.array, lambda ids: np.array(ids, np.int64)])
def test_ids_stand_for_a_text(model: Model, make: Any) -> None:
    assert model.embed(make([7, 8, 9])).tolist() == expected([7, 8, 9])
    assert model.embed([make([7, 8, 9]), make([5])]).tolist() == [
        expected([7, 8, 9]),
        expected([5]),
    ]
    mixed = model.embed([make([7]), "the"])
    assert mixed.tolist() == [expected([7]), model.embed("the").tolist()]


@pytest.mark.parametrize(
    ("texts", "error", "message"),
    [
        (None, UsageError, "takes a text, the ids of one, or a list of such, not NoneType"),
        (5, UsageError, "not int"),
        ([[]], UsageError, r"texts\[0\] holds no token ids"),
        (["a", ""], UsageError, r"texts\[1\] has no tokens"),
        (
            ["a", None],
            UsageError,
            r"texts\[1\] must be a text or a list of token ids, not NoneType",
        ),
        ([1, 2.5], UsageError, r"ids\[1\] = 2.5: it must be an integer"),
        ([[1], [True]], UsageError, r"texts\[1\]\[0\] = True"),
        ([[1, 512]], ShapeError, r"token id 512 at position 1 of texts\[0\] .* ids 0 to 511"),
        (["a", "\ud800"], UsageError, r"texts\[1\] is not valid Unicode"),
        ([[1] * 129], ShapeError, r"texts\[0\] has 129 tokens, and tiny takes 128 at most"),
        ([1] * 129, ShapeError, "the text has 129 tokens"),
        (np.ones((2, 2), np.int32), UsageError, r"not an array of shape \(2, 2\)"),
    ],
)
def test_what_is_no_text_is_named(model: Model, texts: Any, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        model.embed(texts)


def test_parameters_out_of_range(model: Model) -> None:
    with pytest.raises(UsageError, match="batch_tokens = 0: it must be 1 or more"):
        model.embed(["a"], batch_tokens=0)
    with pytest.raises(UsageError, match="truncate = 'no': it must be true or false"):
        model.embed(["a"], truncate="no")  # type: ignore[arg-type]


def test_truncate_keeps_what_fits(model: Model, tok: Tokenizer) -> None:
    text = "the quick brown fox " * 40
    ids = tok.encode(text)
    assert len(ids) > CONTEXT
    assert model.embed(text, truncate=True).tolist() == expected(ids[:CONTEXT])
    assert model.embed([ids, [3]], truncate=True).tolist() == [
        expected(ids[:CONTEXT]),
        expected([3]),
    ]


def test_a_tokenizer_of_another_checkpoint_is_refused(card: Card, setup: Setup) -> None:
    small = dataclasses.replace(setup, vocabulary=3)
    model = Model(Encoder(), Facts(stated(card, "embedding"), text=small))
    with pytest.raises(UsageError, match="belongs to another checkpoint"):
        model.embed("the fox")
    lost = dataclasses.replace(setup, find_tokenizer=lambda: "there is none")
    model = Model(Encoder(), Facts(stated(card, "embedding"), text=lost))
    with pytest.raises(UsageError, match="needs a tokenizer, and there is none"):
        model.embed("the fox")
    assert model.embed([1, 2]).tolist() == expected([1, 2])


@given(st.lists(st.integers(1, 90), max_size=60), st.integers(1, 600))
def test_groups_are_a_partition_within_their_bounds(lengths: list[int], most: int) -> None:
    found = list(groups(lengths, most))
    assert sorted(n for group in found for n in group) == list(range(len(lengths)))
    for group in found:
        longest = max(lengths[n] for n in group)
        assert len(group) == 1 or len(group) * longest <= most
        # Padding is never more than a third of a large call's work.
        before = len(group) - 1
        assert before * longest < FULL_ENOUGH or 4 * min(lengths[n] for n in group) >= 3 * longest


def test_texts_of_like_lengths_share_a_call(model: Model) -> None:
    lists = [[1] * n for n in (8, 120, 8, 118, 8, 119)]
    model.embed(lists)
    program = model._program
    assert isinstance(program, Encoder)
    assert program.shapes == [(3, 120), (3, 8)]


def test_who_lacks_the_task_says_what_it_has(card: Card, setup: Setup, model: Model) -> None:
    writer = Model(Script(), Facts(stated(card, "text-generation"), text=setup))
    with pytest.raises(
        UsageError, match='tiny cannot make embeddings: its card says task = "text-'
    ):
        writer.embed("a")
    with pytest.raises(
        UsageError, match='cannot write text: its card says task = "embedding"'
    ) as e:
        model.generate("a")
    assert "linnet embed" in str(e.value.help)
    silent = Model(Script(), Facts(stated(card, None), text=setup))
    with pytest.raises(
        UsageError, match=r"takes the entry embed\(tokens, kinds, lengths\), and its"
    ):
        silent.embed("a")
    assert Model(Encoder(), Facts(stated(card, None), text=setup)).embed([4]).tolist() == [4, 1, 4]
    wordless = Model(Encoder(), Facts(stated(card, "embedding")))
    with pytest.raises(UsageError, match=r"cannot make embeddings: its card has no \[text\] table"):
        wordless.embed("a")
    assert model.tokenize("the fox") == writer.tokenize("the fox")
