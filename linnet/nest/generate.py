"""Writing text with a model: prompt in, pieces of whole characters out.

The loop runs over an abstract `Steps` (prefill, decode, reset) and the facts in `Setup`, so it
knows neither programs nor checkpoints. `TextStream` yields the pieces as they come and holds a
`Completion` in the end; generating in one go is the same stream read to its end, so the two
agree by construction.

What is counted and what is shown:
  - an end-of-text id ends the text, is the last of `token_ids`, and has no text;
  - a stop text ends it too and is cut away with all that follows; the ids that made it stay;
  - the prompt and the new tokens together never exceed the context: there the reason is "length";
  - an empty prompt is what the tokenizer puts before every text, or the end-of-text id alone;
  - marks that are no text (the tokenizer's special tokens) are silent; detokenize shows them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Protocol

from linnet.errors import ShapeError, UsageError
from linnet.nest.ids import check_tokenizer, checked_ids, listed
from linnet.nest.sampling import Sampler, Sampling, whole
from linnet.nest.text import TextDecoder, Tokenizer, check_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DEFAULT_NEW_TOKENS = 64
PREFILL_PIECE = 128
"""Prompt tokens per call: an interrupt is seen between two calls."""

FinishReason = Literal["stop", "length", "cancelled"]


class Steps(Protocol):
    """What the loop asks of a model: 22.5's `prefill` and `decode` over one text.

    `prefill` takes ids [S] that stand at `pos`, `decode` one id at `pos`; both give the logits
    [Vocab] of the next token.
    """

    def reset(self) -> None: ...

    def prefill(self, ids: Sequence[int], pos: int) -> NDArray[np.float32]: ...

    def decode(self, token: int, pos: int) -> NDArray[np.float32]: ...


@dataclass(frozen=True)
class Setup:
    """Facts about a model of text. `find_tokenizer` gives its tokenizer, or says why there is
    none; it is asked once, when text is first needed. `context` is the largest number of tokens
    in one text, `vocabulary` the number of ids; None is unknown."""

    name: str
    find_tokenizer: Callable[[], Tokenizer | str]
    end_ids: tuple[int, ...] = ()
    context: int | None = None
    vocabulary: int | None = None

    @property
    def tokenizer(self) -> Tokenizer | None:
        return self._found if isinstance(self._found, Tokenizer) else None

    def need_tokenizer(self, why: str) -> Tokenizer:
        """The tokenizer. Raises UsageError when there is none."""
        if isinstance(self._found, Tokenizer):
            return self._found
        raise UsageError(
            f"{why} needs a tokenizer, and {self._found}",
            help="put tokenizer.json, or vocab.json and merges.txt, beside the weights; "
            "or give token ids",
        )

    @cached_property
    def _found(self) -> Tokenizer | str:
        return self.find_tokenizer()


@dataclass(frozen=True)
class Usage:
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True)
class Timings:
    """Seconds: for the prompt, and for all tokens after the first."""

    prefill: float = 0.0
    decode: float = 0.0

    def tokens_per_second(self, completion_tokens: int) -> float:
        """Speed of decoding; 0 when nothing was decoded."""
        return (completion_tokens - 1) / self.decode if self.decode > 0.0 else 0.0


class Completion(str):
    """The generated text, with what is known about it. It is a `str`: print it, join it."""

    token_ids: tuple[int, ...]
    finish_reason: FinishReason
    seed: int | None
    usage: Usage
    timings: Timings

    def __new__(
        cls,
        text: str = "",
        *,
        token_ids: Sequence[int] = (),
        finish_reason: FinishReason = "length",
        seed: int | None = None,
        usage: Usage = Usage(),
        timings: Timings = Timings(),
    ) -> Completion:
        self = super().__new__(cls, text)
        self.token_ids = tuple(token_ids)
        self.finish_reason = finish_reason
        self.seed = seed
        self.usage = usage
        self.timings = timings
        return self

    @property
    def text(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Request:
    """A validated call of generate. Build it with `Request.checked`."""

    ids: tuple[int, ...]
    max_new_tokens: int
    sampling: Sampling
    stop: tuple[str, ...] = ()
    end_ids: frozenset[int] = frozenset()
    silent: frozenset[int] = frozenset()
    streamer: Callable[[str], object] | None = None

    @staticmethod
    def checked(
        setup: Setup,
        prompt: object,
        *,
        max_new_tokens: object = None,
        stop: object = None,
        eos_token_id: object = None,
        ignore_eos: object = False,
        streamer: object = None,
        pad_token_id: object = None,
        **sampling: object,
    ) -> Request:
        """Validate all parameters before anything runs; the names are those of
        `Sampling.checked` and these. None stands for a default. `pad_token_id` is accepted and
        plays no part.

        Raises UsageError naming the parameter and its value, or the nearest known name for an
        unknown one; ShapeError for a token id out of range.
        """
        _refuse_unknown(sampling)
        if not isinstance(ignore_eos, bool):
            raise UsageError(f"ignore_eos = {ignore_eos!r}: it must be true or false")
        if streamer is not None and not callable(streamer):
            raise UsageError(f"streamer = {streamer!r}: it must be a function of one piece")
        end_ids = frozenset(_end_ids(setup, eos_token_id))
        limit = (
            DEFAULT_NEW_TOKENS
            if max_new_tokens is None
            else whole("max_new_tokens", max_new_tokens)
        )
        stops = _stop_texts(stop)
        if stops:
            setup.need_tokenizer("stop")
        return Request(
            ids=prompt_ids(setup, prompt),
            max_new_tokens=limit,
            sampling=Sampling.checked(**sampling),
            stop=stops,
            end_ids=frozenset() if ignore_eos else end_ids,
            silent=end_ids | frozenset(setup.end_ids),
            streamer=streamer,
        )


_SAMPLING_NAMES = tuple(Sampling.checked.__kwdefaults__ or ())
_NAMES = (
    *("max_new_tokens", "stop", "eos_token_id", "ignore_eos", "streamer", "pad_token_id"),
    *_SAMPLING_NAMES,
)
_OTHER_WORDS = {
    "temp": "temperature",
    "max_length": "max_new_tokens",
    "n_predict": "max_new_tokens",
    "num_predict": "max_new_tokens",
    "repeat_penalty": "repetition_penalty",
}


def _refuse_unknown(given: Collection[str]) -> None:
    from linnet.nest.nearest import did_you_mean

    for name in given:
        if name in _SAMPLING_NAMES:
            continue
        other = _OTHER_WORDS.get(name)
        hint = f"; did you mean {other!r}?" if other else did_you_mean(name, _NAMES)
        raise UsageError(f"generate has no parameter {name!r}{hint}")


def prompt_ids(setup: Setup, prompt: object) -> tuple[int, ...]:
    """The ids of a prompt: text, or a sequence (list, range, integer array [S]) of ids.

    Raises UsageError for what is neither or for an empty list, ShapeError for an id out of
    range. Empty text is what the tokenizer puts before every text, or the end-of-text id.
    """
    if isinstance(prompt, str):
        check_text(prompt, "the prompt")
        return tuple(_encode(setup, prompt))
    items = listed(prompt, "the prompt must be text or a list of token ids")
    if any(isinstance(item, str | list | tuple) for item in items):
        raise UsageError("the prompt is a list of prompts", help="call generate once for each")
    if not items:
        raise UsageError(
            "the prompt holds no token ids", help='"" starts from the beginning of a text'
        )
    return tuple(checked_ids(items, "prompt", "the prompt", setup.name, setup.vocabulary))


def text_of(setup: Setup, given: object) -> str:
    """The text of a sequence of ids. Raises UsageError for what is none, and without a
    tokenizer."""
    tokenizer = setup.need_tokenizer("detokenize")
    items = listed(given, "detokenize takes a list of token ids")
    known = [whole(f"ids[{n}]", item) for n, item in enumerate(items)]
    size = max(setup.vocabulary or 0, tokenizer.size)
    for n, token in enumerate(known):
        if token >= size:
            raise UsageError(
                f"ids[{n}] = {token} is out of range: {setup.name} has the ids 0 to {size - 1}"
            )
    return tokenizer.decode(known)


def _encode(setup: Setup, text: str) -> Sequence[int]:
    tokenizer = setup.need_tokenizer("a prompt of text") if text else setup.tokenizer
    if tokenizer is not None:
        found = tokenizer.encode(text)  # of no text: the marks that belong before every one
        check_tokenizer(found, setup.name, setup.vocabulary)
        if found:
            return found
    for token in setup.end_ids:
        if setup.vocabulary is None or token < setup.vocabulary:
            return (token,)
    raise UsageError(
        f"an empty prompt starts from the end-of-text token, and {setup.name} names none "
        "that its vocabulary has",
        help="give a prompt",
    )


def _end_ids(setup: Setup, value: object) -> tuple[int, ...]:
    if value is None:
        return setup.end_ids
    items = value if isinstance(value, list | tuple) else [value]
    return tuple(whole("eos_token_id", item) for item in items)


def _stop_texts(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list | tuple):
        raise UsageError(f"stop = {value!r}: it must be a text or a list of texts")
    for text in texts:
        check_text(text, "stop")
        if not text:
            raise UsageError("stop = '': an empty text would stop at once")
    return tuple(texts)


class StopMatcher:
    """Finds stop texts in a text that arrives in pieces, holding back only what may still
    become one."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = tuple(stops)
        self._held = ""
        self.matched = False

    def push(self, text: str) -> str:
        """Take a piece, give what can be shown. Once `matched`, nothing more comes."""
        if not self._stops:
            return text
        held = self._held + text
        self._held = ""
        found = [at for stop in self._stops if (at := held.find(stop)) >= 0]
        if found:
            self.matched = True
            return held[: min(found)]
        keep = self._open_tail(held)
        self._held = held[len(held) - keep :]
        return held[: len(held) - keep]

    def flush(self) -> str:
        """What was held back, when the text ends without a match."""
        held, self._held = self._held, ""
        return held

    def _open_tail(self, text: str) -> int:
        """The length of the longest end of `text` with which a stop text begins."""
        longest = max((len(stop) for stop in self._stops), default=1) - 1
        for length in range(min(longest, len(text)), 0, -1):
            tail = text[len(text) - length :]
            if any(stop.startswith(tail) for stop in self._stops):
                return length
        return 0


@dataclass
class _Progress:
    """What the loop has done so far; a cancelled stream is summed up from it."""

    pieces: list[str] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    reason: FinishReason = "cancelled"
    prefill: float = 0.0
    decode: float = 0.0


class TextStream(Iterator[str]):
    """The pieces of one generated text. `completion` is complete once the pieces have run out;
    before, and after an interrupt or `close`, it is the text so far, marked "cancelled"."""

    def __init__(self, steps: Steps, setup: Setup, request: Request) -> None:
        self._steps = steps
        self._setup = setup
        self._request = request
        self._progress = _Progress()
        self._pieces = self._run()

    def __next__(self) -> str:
        piece = next(self._pieces)
        self._progress.pieces.append(piece)
        if self._request.streamer is not None and self._request.streamer(piece) is False:
            self._progress.reason = "cancelled"
            self.close()
        return piece

    def close(self) -> None:
        """End the text here. The model is ready for the next one."""
        self._pieces.close()

    @property
    def completion(self) -> Completion:
        done = self._progress
        return Completion(
            "".join(done.pieces),
            token_ids=done.ids,
            finish_reason=done.reason,
            seed=self._request.sampling.seed,
            usage=Usage(len(self._request.ids), len(done.ids)),
            timings=Timings(done.prefill, done.decode),
        )

    def _run(self) -> Generator[str, None, None]:
        request, done = self._request, self._progress
        text = _Text(self._setup.tokenizer, request)
        ended = False
        for token in self._tokens():
            done.ids.append(token)
            piece = text.push(token)
            if piece:
                yield piece
            ended = text.matched or token in request.end_ids
            if ended:
                break
        piece = text.flush()
        done.reason = "stop" if ended or text.matched else "length"
        if piece:
            yield piece

    def _tokens(self) -> Iterator[int]:
        """The ids one after the other, as many as asked for and as fit."""
        ids, steps = self._request.ids, self._steps
        limit = self._request.max_new_tokens
        room = None if self._setup.context is None else self._setup.context - len(ids)
        if room is not None and room < 0:
            self._refuse_long_prompt()
        if limit == 0 or room == 0:
            return
        sampler = Sampler(self._request.sampling, ids)
        logits = self._read_prompt()
        produced = 0
        while True:
            token = sampler.pick(logits)
            produced += 1
            yield token
            if produced >= limit or (room is not None and produced >= room):
                return
            started = time.perf_counter()
            logits = steps.decode(token, len(ids) + produced - 1)
            self._progress.decode += time.perf_counter() - started

    def _read_prompt(self) -> NDArray[np.float32]:
        started = time.perf_counter()
        ids = self._request.ids
        self._steps.reset()
        for at in range(0, len(ids), PREFILL_PIECE):
            logits = self._steps.prefill(ids[at : at + PREFILL_PIECE], at)
        self._progress.prefill = time.perf_counter() - started
        return logits

    def _refuse_long_prompt(self) -> None:
        """Let the program's own boundary refuse the prompt: it names the clause and its place.
        One whose declarations say nothing is refused here."""
        ids, setup = self._request.ids, self._setup
        fact = f"the prompt has {len(ids)} tokens, {setup.name} takes {setup.context}"
        self._steps.reset()
        try:
            self._steps.prefill(ids, 0)
        except ShapeError as error:
            raise ShapeError(f"{fact}\n{error.message}", help="shorten the prompt") from None
        raise ShapeError(fact, help="shorten the prompt")


class _Text:
    """Ids to text that can be shown: whole characters, stop texts cut away."""

    def __init__(self, tokenizer: Tokenizer | None, request: Request) -> None:
        self._decoder = None
        if tokenizer is not None:
            silent = request.silent | tokenizer.special
            self._decoder = TextDecoder(tokenizer, silent, after=request.ids)
        self._stops = StopMatcher(request.stop)

    @property
    def matched(self) -> bool:
        return self._stops.matched

    def push(self, token: int) -> str:
        return self._stops.push("" if self._decoder is None else self._decoder.push(token))

    def flush(self) -> str:
        """The rest at the end; nothing after a stop text."""
        if self._decoder is None or self.matched:
            return ""
        rest = self._stops.push(self._decoder.flush())
        return rest + ("" if self.matched else self._stops.flush())
