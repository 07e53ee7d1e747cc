"""Text to token ids and back, by the checkpoint's own tokenizer.

In goes a folder with `tokenizer.json`, or with `vocab.json` and `merges.txt`; out comes a
`Tokenizer`. Any kind turns text into ids. To write text piece by piece takes a byte-level
vocabulary or one of SentencePiece (`nest.pieces`): other kinds are refused there by name. A stream
shows the same text as a decode in one go: `TextDecoder` gives out a character when its last byte
is there, and what is no valid UTF-8 becomes U+FFFD exactly as in the whole.

The `tokenizers` library does the encoding and is imported when the first tokenizer is read.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Collection, Iterable, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from linnet.errors import CheckpointError, UsageError
from linnet.nest.pieces import SpelledText, spelling_of


class Tokenizer:
    """A tokenizer; where it can write, each id has bytes of its own."""

    def __init__(self, backend: Any, source: str) -> None:
        """Wrap a `tokenizers.Tokenizer`. `source` says in messages where it came from.

        Whatever its file says, nothing is padded, and nothing cut that is not asked for.
        """
        backend.no_truncation()
        backend.no_padding()
        # Its own state and not `backend.to_str()`, which spells out the vocabulary.
        decoder = {} if backend.decoder is None else json.loads(backend.decoder.__getstate__())
        self.spelling = spelling_of(decoder)
        """How the tokens of a SentencePiece vocabulary are written; None for another."""
        self._byte_level = _byte_level(decoder)
        self._decoder_name = _name_of(decoder)
        self.source = source
        self._backend = backend
        added = backend.get_added_tokens_decoder()
        self._added: dict[int, bytes] = {n: t.content.encode("utf-8") for n, t in added.items()}
        self.special: frozenset[int] = frozenset(n for n, t in added.items() if t.special)
        """Ids of marks that are no text: of the beginning, the end, the speaker, ..."""
        self._bytes: dict[int, bytes] = {}

    @cached_property
    def size(self) -> int:
        """One more than the largest id."""
        vocabulary: Mapping[str, int] = self._backend.get_vocab(with_added_tokens=True)
        return max(vocabulary.values(), default=-1) + 1

    def id_of(self, token: str) -> int | None:
        """The id of a token by its text, or None."""
        found: int | None = self._backend.token_to_id(token)
        return found

    def encode(self, text: str) -> list[int]:
        """The ids of `text`, with those that the tokenizer puts around every text; special
        tokens written in it are read as themselves.

        Raises UsageError for text that is not valid Unicode.
        """
        check_text(text, "the text")
        ids: list[int] = self._backend.encode(text).ids
        return ids

    def encode_within(self, text: str, most: int) -> list[int]:
        """The ids of `text`, cut so that they are `most` at most. What the tokenizer puts around
        every text stays.

        Raises UsageError as `encode`, and where not even that has room.
        """
        before, after = self._around
        room = most - len(before) - len(after)
        if room < 0:
            needed = len(before) + len(after)
            raise UsageError(f"{most} tokens have no room for the {needed} around every text")
        check_text(text, "the text")
        # Not by `Encoding.truncate`, which keeps all the rest of the text, piece by piece.
        bare: list[int] = self._backend.encode(text, add_special_tokens=False).ids
        return [*before, *bare[:room], *after]

    @cached_property
    def _around(self) -> tuple[list[int], list[int]]:
        """The ids that the tokenizer puts before and after every text."""
        sample = self._backend.encode("a")
        marks: list[int] = sample.special_tokens_mask
        own = [place for place, special in enumerate(marks) if not special] or [len(marks)]
        return sample.ids[: own[0]], sample.ids[own[-1] + 1 :]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of `ids`; bytes that are no UTF-8 become U+FFFD, unknown ids nothing."""
        if self._byte_level:
            return b"".join(map(self.token_bytes, ids)).decode("utf-8", errors="replace")
        text: str = self._backend.decode(list(ids), skip_special_tokens=False)
        return text

    def check_pieces(self) -> None:
        """Raise CheckpointError unless each id has bytes of its own."""
        if not self._byte_level and self.spelling is None:
            raise CheckpointError(
                f"{self.source}: only tokenizers that are byte-level or SentencePiece's can write "
                f"text piece by piece, not the decoder {self._decoder_name}"
            )

    def token(self, token_id: int) -> str | None:
        """The token of an id as the vocabulary writes it; None for an id without one."""
        known = 0 <= token_id < 2**32
        found: str | None = self._backend.id_to_token(int(token_id)) if known else None
        return found

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes that one id stands for within a text; none for an id without a token. Raises
        CheckpointError as `check_pieces`."""
        found = self._bytes.get(token_id)
        if found is None:
            found = self._bytes[token_id] = self._look_up(int(token_id))
        return found

    def spelled(self, ids: Iterable[int], after: Iterable[int] = ()) -> list[bytes]:
        """The bytes of each of `ids` where they stand, behind `after`: at the start of a text a
        vocabulary may leave out the first space. Raises CheckpointError as `check_pieces`."""
        parts = [self.token_bytes(token) for token in ids]
        if self.spelling is None or not parts or not self.special.issuperset(after):
            return parts
        return [self.spelling.start(parts[0]), *parts[1:]]

    def _look_up(self, token_id: int) -> bytes:
        self.check_pieces()
        if token_id in self._added:
            return self._added[token_id]
        token = self.token(token_id)
        if token is None:
            return b""
        if self.spelling is not None:
            code = self.spelling.code(token)
            return self.spelling.plain(token).encode() if code is None else bytes([code])
        alphabet = _alphabet()
        try:
            return bytes(alphabet[character] for character in token)
        except KeyError:
            return token.encode("utf-8")


class TextDecoder:
    """Turns a stream of ids into pieces of whole characters.

    The pieces and the last `flush` join to `Tokenizer.decode` of the same ids, without those
    in `silent` (end-of-text marks), which stand for no text. `after` are ids that stand before
    them: the space between the two is then part of the pieces.
    """

    def __init__(
        self, tokenizer: Tokenizer, silent: Collection[int] = (), after: Iterable[int] = ()
    ) -> None:
        tokenizer.check_pieces()
        self._tokenizer = tokenizer
        self._silent = frozenset(silent)
        self._utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._spelled = None
        if tokenizer.spelling is not None:
            at_start = self._silent.issuperset(after)
            self._spelled = SpelledText(tokenizer.spelling, at_start)

    def push(self, token_id: int) -> str:
        """The characters that this id completes; often one word, sometimes none."""
        if token_id in self._silent:
            return ""
        if self._spelled is None:
            return self._utf8.decode(self._tokenizer.token_bytes(token_id))
        token = self._tokenizer.token(token_id)
        return "" if token is None else self._spelled.push(token)

    def flush(self) -> str:
        """What an unfinished character at the end comes to."""
        return (
            self._utf8.decode(b"", final=True) if self._spelled is None else self._spelled.flush()
        )


def text_after(
    tokenizer: Tokenizer, ids: Iterable[int], after: Iterable[int], silent: Collection[int] = ()
) -> str:
    """The text that `ids` add to that of `after`, without special tokens and those in `silent`:
    what a stream of them shows. Raises CheckpointError as `Tokenizer.check_pieces`."""
    decoder = TextDecoder(tokenizer, tokenizer.special.union(silent), after)
    return "".join([*map(decoder.push, ids), decoder.flush()])


def check_text(text: object, what: str) -> None:
    """Raise UsageError unless `text` is a string of valid Unicode."""
    if not isinstance(text, str):
        raise UsageError(f"{what} must be a string, not {type(text).__name__}")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        unit = ord(text[error.start])
        raise UsageError(
            f"{what} is not valid Unicode: half a surrogate pair (U+{unit:04X}) at character "
            f"{error.start}",
            help="was it read with another encoding than it has? replace or drop the character",
        ) from None


def find_tokenizer(files: Mapping[str, Path], end_of_text: str | None) -> Tokenizer | None:
    """Read the tokenizer among `files` (name to path), or None when they hold none.

    `tokenizer.json` wins over `vocab.json` with `merges.txt`, which say nothing of special
    tokens: there `end_of_text` is taken as one if the vocabulary has it. Raises
    CheckpointError for files that cannot be read.
    """
    if "tokenizer.json" in files:
        return _read_tokenizer_json(files["tokenizer.json"])
    if "vocab.json" in files and "merges.txt" in files:
        return _read_vocabulary(files["vocab.json"], files["merges.txt"], end_of_text)
    return None


def _read_tokenizer_json(file: Path) -> Tokenizer:
    import tokenizers

    try:
        backend = tokenizers.Tokenizer.from_str(file.read_text(encoding="utf-8"))
    except Exception as error:  # the library raises bare Exception for a malformed file
        raise CheckpointError(f"cannot read the tokenizer {file}: {error}") from error
    return Tokenizer(backend, str(file))


def _read_vocabulary(vocabulary: Path, merges: Path, end_of_text: str | None) -> Tokenizer:
    import tokenizers
    from tokenizers import decoders, models, pre_tokenizers

    try:
        model = models.BPE.from_file(str(vocabulary), str(merges))
    except Exception as error:  # as above
        raise CheckpointError(
            f"cannot read the tokenizer {vocabulary} with {merges}: {error}"
        ) from error
    backend = tokenizers.Tokenizer(model)
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    if end_of_text is not None and backend.token_to_id(end_of_text) is not None:
        backend.add_special_tokens([end_of_text])
    return Tokenizer(backend, f"{vocabulary} and {merges.name}")


def _name_of(decoder: Mapping[str, Any]) -> str:
    parts = decoder.get("decoders", [decoder])
    return " + ".join(repr(part.get("type", "none")) for part in parts)


def _byte_level(decoder: Mapping[str, Any]) -> bool:
    parts = decoder.get("decoders", [decoder])
    return any(part.get("type") == "ByteLevel" for part in parts)


@cache
def _alphabet() -> dict[str, int]:
    """The byte of each character that a byte-level vocabulary writes bytes with.

    Printable Latin-1 stands for itself; the 68 other bytes, in order, are U+0100 onwards.
    """
    itself = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(itself)]
    table = {chr(byte): byte for byte in itself}
    table.update({chr(0x100 + n): byte for n, byte in enumerate(others)})
    return table
