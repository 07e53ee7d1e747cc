"""Embedding texts: many texts in, one vector for each out.

The texts become ids, and those calls of the model's `embed` entry: texts of similar lengths
together, so that little padding is computed. The answer is put together in the order of the texts.
How the vectors are pooled and normalised stands in the source. A text's vector has the same bits
in whatever company it is embedded; this module may group as it likes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from linnet.errors import ShapeError, UsageError
from linnet.nest.generate import Setup
from linnet.nest.ids import check_tokenizer, checked_ids, listed
from linnet.nest.sampling import whole
from linnet.nest.text import check_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BATCH_TOKENS = 4096
"""Tokens of one call, padding included. More take more memory and are hardly faster."""

FULL_ENOUGH = 256
"""A call with as many tokens gains nothing from further texts that would be mostly padding."""

Entry = Callable[
    ["NDArray[np.int32]", "NDArray[np.int32]", "NDArray[np.int32]"], "NDArray[np.generic]"
]
"""tokens [B, S], kinds [B, S], lengths [B] to vectors [B, H]."""


@dataclass(frozen=True)
class Texts:
    """Texts as ids, in the caller's order. `single`: it was one text and no list."""

    ids: tuple[Sequence[int], ...]
    single: bool = False

    @staticmethod
    def checked(setup: Setup, given: object, truncate: object = False) -> Texts:
        """Read a text, the ids of one, or a list of such. With `truncate` those that are too long
        are cut; special tokens that belong around a text stay.

        Raises UsageError for what is neither, for a list of no ids and without a tokenizer that
        fits; ShapeError for an id out of range and for a text that is too long.
        """
        if not isinstance(truncate, bool):
            raise UsageError(f"truncate = {truncate!r}: it must be true or false")
        read = _Reader(setup, truncate)
        if isinstance(given, str):
            return Texts((read.text(given, "the text"),), single=True)
        items = listed(given, "embed takes a text, the ids of one, or a list of such")
        if items and all(_is_number(item) for item in items):
            return Texts((read.numbers(items, "the text"),), single=True)
        return Texts(tuple(read.any(item, f"texts[{n}]") for n, item in enumerate(items)))


def embeddings(run: Entry, width: int, texts: Texts, batch_tokens: object) -> NDArray[np.float32]:
    """The vectors of `texts` as f32 [N, width], or [width] for a single one.

    Raises UsageError for a `batch_tokens` that is no integer of at least 1.
    """
    import numpy as np

    most = whole("batch_tokens", batch_tokens, low=1)
    result = np.empty((len(texts.ids), width), np.float32)
    for rows in groups([len(ids) for ids in texts.ids], most):
        lengths = np.array([len(texts.ids[n]) for n in rows], np.int32)
        tokens = np.zeros((len(rows), lengths.max()), np.int32)
        for row, n in zip(tokens, rows, strict=True):
            row[: len(texts.ids[n])] = texts.ids[n]
        found = run(tokens, np.zeros_like(tokens), lengths)
        if found.dtype == np.uint16:  # bf16 comes as its bits
            found = (found.astype(np.uint32) << 16).view(np.float32)
        result[rows] = found
    return result[0] if texts.single else result


def groups(lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """Positions of texts to be run together, the longest first: with padding `most` tokens, or one
    text. Once there are `FULL_ENOUGH`, texts that would be padded by a third wait for the next."""
    group: list[int] = []
    longest = 0
    for n in sorted(range(len(lengths)), key=lambda n: -lengths[n]):
        full = (len(group) + 1) * longest > most
        wasteful = len(group) * longest >= FULL_ENOUGH and 4 * lengths[n] < 3 * longest
        if group and (full or wasteful):
            yield group
            group = []
        longest = longest if group else lengths[n]
        group.append(n)
    if group:
        yield group


class _Reader:
    """Turns what stands for one text into its ids."""

    def __init__(self, setup: Setup, truncate: bool) -> None:
        self._setup = setup
        self._truncate = truncate

    def any(self, item: object, where: str) -> Sequence[int]:
        if isinstance(item, str):
            return self.text(item, where)
        items = listed(item, f"{where} must be a text or a list of token ids")
        return self.numbers(items, where)

    def text(self, text: str, where: str) -> Sequence[int]:
        check_text(text, where)
        tokenizer = self._setup.need_tokenizer("a text")
        ids = tokenizer.encode(text)
        if self._setup.context is not None and len(ids) > self._setup.context and self._truncate:
            ids = tokenizer.encode_within(text, self._setup.context)
        check_tokenizer(ids, self._setup.name, self._setup.vocabulary)
        if not ids:
            raise UsageError(f"{where} has no tokens, and there is nothing to embed")
        return self._within(ids, where)

    def numbers(self, items: Sequence[object], where: str) -> Sequence[int]:
        if not items:
            raise UsageError(f"{where} holds no token ids")
        name = "ids" if where == "the text" else where
        ids = checked_ids(items, name, where, self._setup.name, self._setup.vocabulary)
        return self._within(ids[: self._setup.context] if self._truncate else ids, where)

    def _within(self, ids: Sequence[int], where: str) -> Sequence[int]:
        context = self._setup.context
        if context is not None and len(ids) > context:
            raise ShapeError(
                f"{where} has {len(ids)} tokens, and {self._setup.name} takes {context} at most",
                help=f"shorten or split it; with truncate the first {context} are embedded",
            )
        return ids


def _is_number(item: object) -> bool:
    return not isinstance(item, str) and not hasattr(item, "__len__")
