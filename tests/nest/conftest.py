"""Stand-ins for what the zoo's upper half runs on: a tiny tokenizer and a scripted model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer as Backend
from tokenizers import decoders, models, pre_tokenizers, trainers

from linnet.artifact import Argument, Entry
from linnet.errors import ShapeError
from linnet.nest.card import Card, load_card
from linnet.nest.generate import Setup
from linnet.nest.model import Facts, Model
from linnet.nest.text import Tokenizer

VOCABULARY = 512
CONTEXT = 128
END = "<|endoftext|>"

CARD = """
[model]
name = "tiny"
title = "Tiny"
summary = "A model for tests."
license = "MIT"

[links]
huggingface = "https://huggingface.co/owner/tiny"

[source]
path = "tiny.linnet"
entry = "decode"

[generics]
Vocab = 512
MaxPositions = 128
H = 64
T = "f32"

[config.expect]
model_type = "tiny"
act = ["a", "b"]
eps = 1e-5
scaled = true
inner = { equals = "4 * H", null = true }

[config.generics]
Vocab = "vocab_size"
H = "n_embd"
Inner = { key = "inner", default = "4 * H" }

[text]
vocabulary = "Vocab"
context = ["MaxPositions"]
end_of_text = "<|endoftext|>"
end_of_text_id = 511
"""


@pytest.fixture
def card_text() -> str:
    return CARD


@pytest.fixture
def card_file(tmp_path: Path) -> Path:
    folder = tmp_path / "tiny"
    folder.mkdir()
    file = folder / "nest.toml"
    file.write_text(CARD, encoding="utf-8")
    return file


@pytest.fixture
def card(card_file: Path) -> Card:
    return load_card(card_file)


@pytest.fixture(scope="session")
def backend() -> Any:
    """A byte-level BPE tokenizer of 512 ids, `<|endoftext|>` last, trained on two sentences."""
    tokenizer = Backend(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    sentences = [
        "the quick brown fox jumps over the lazy dog and runs away from the river again. "
        "once upon a time there lived a poor woodcutter with seven children in a hut"
    ] * 2
    sentences.append(" ".join(f"{a}{b}{c}" for a in "abcdefgh" for b in "mnopq" for c in "rstuv"))
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY - 1, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(sentences, trainer)
    assert tokenizer.get_vocab_size() == VOCABULARY - 1
    tokenizer.add_special_tokens([END])
    assert tokenizer.token_to_id(END) == VOCABULARY - 1
    return tokenizer


@pytest.fixture(scope="session")
def tok(backend: Any) -> Tokenizer:
    return Tokenizer(backend, "the test's tokenizer")


def entry(name: str, *inputs: Argument, states: tuple[int, ...] = (0,)) -> Entry:
    result = (Argument("", "f32", ("1", str(VOCABULARY))),)
    sizes = ("S",) if any("S" in a.dims for a in inputs) else ()
    return Entry(name, name, sizes, inputs, result, False, (), (), (), states, "0", "0")


class Script:
    """A program whose answers are written down: after the prompt come the ids of `script`, one
    a call, whatever it is asked; then id 0. It notes the calls, and can interrupt."""

    def __init__(self, script: Sequence[int | str] = (), names: Sequence[str] = ()) -> None:
        tokens = Argument("tokens", "i32", ("1", "S"))
        token, pos = Argument("token", "i32", ("1", "1")), Argument("pos", "i32", ())
        every = {
            "prefill": entry("prefill", tokens, pos),
            "decode": entry("decode", token, pos),
            "forward": entry("forward", Argument("tokens", "i32", ("1", "S")), states=()),
        }
        self.entries: Mapping[str, Entry] = {n: every[n] for n in names or every}
        self.script = list(script)
        self.at = 0
        self.calls: list[tuple[str, list[int], int]] = []
        self.interrupt_at: int | None = None
        self.closed = 0

    def call(self, name: str, args: Sequence[Any], sizes: Mapping[str, int]) -> Any:
        ids = np.asarray(args[0])
        if name == "forward":
            return np.zeros((1, ids.shape[1], VOCABULARY), np.float32)
        pos = int(args[1])
        if pos + ids.shape[1] > CONTEXT:
            raise ShapeError(f"S <= MaxPositions: S = {ids.shape[1]}, MaxPositions = {CONTEXT}")
        self.calls.append((name, [int(i) for i in ids[0]], pos))
        if name == "decode":
            self.at += 1
        if self.interrupt_at is not None and self.at == self.interrupt_at:
            self.interrupt_at = None
            raise KeyboardInterrupt
        logits = np.full((1, VOCABULARY), -10.0, np.float32)
        logits[0, self.script[self.at] if self.at < len(self.script) else 0] = 10.0
        return logits

    def reset_state(self) -> None:
        self.at = 0

    def explain(self) -> str:
        return "a script"

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def setup(tok: Tokenizer) -> Setup:
    return Setup("tiny", lambda: tok, end_ids=(511,), context=CONTEXT, vocabulary=VOCABULARY)


@pytest.fixture
def make_model(card: Card, setup: Setup) -> Any:
    """A function: a program, or the ids it shall give, to a `Model`."""

    def make(script: Any = (), setup: Setup = setup) -> Model:
        program = script if isinstance(script, Script) else Script(script)
        return Model(program, Facts(card, {"H": 64}, {"n_embd": 64}, setup))

    return make
