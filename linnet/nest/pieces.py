"""How tokens of a SentencePiece vocabulary spell a text, piece by piece.

In goes what a tokenizer file says of its decoder, then token after token; out come pieces of text
that join to what the `tokenizers` library makes of the whole. Such a vocabulary writes a space as
a mark within its tokens, and has a token for each byte, such as `<0x0A>`, for what it has no other
token for. Two rules make the pieces wait: whether a run of byte tokens is valid UTF-8 shows when
the run ends (if not, each of its bytes is U+FFFD), and the space before the first word of a text
is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")


@dataclass(frozen=True)
class Spelling:
    """The rules of one vocabulary. `mark` stands for a space; `codes`: `<0x0A>` stands for a
    byte; `strip` spaces at the start of a text are left out; `bare`: the first token of a text
    shows none of its marks."""

    mark: str
    codes: bool = False
    strip: int = 0
    bare: bool = False

    def code(self, token: str) -> int | None:
        """The byte that a token stands for, if it does."""
        found = _BYTE.fullmatch(token) if self.codes else None
        return None if found is None else int(found[1], 16)

    def plain(self, token: str, first: bool = False) -> str:
        """The text of a token that stands for no byte."""
        return token.replace(self.mark, "" if first and self.bare else " ")

    def start(self, token: bytes) -> bytes:
        """The bytes of a token, its spaces spelled out, as the first of a text."""
        if self.bare:
            return token.replace(b" ", b"")
        spaces = len(token) - len(token.lstrip(b" "))
        return token[min(spaces, self.strip) :]


def spelling_of(decoder: Mapping[str, Any]) -> Spelling | None:
    """The rules by a decoder of `tokenizer.json`, or None for one of another kind."""
    if decoder.get("type") == "Metaspace":
        return Spelling(decoder["replacement"], bare=decoder.get("prepend_scheme") != "never")
    if decoder.get("type") != "Sequence":
        return None
    match decoder["decoders"]:
        case [
            {"type": "Replace", "pattern": {"String": str(mark)}, "content": " "},
            {"type": "ByteFallback"},
            {"type": "Fuse"},
            *rest,
        ]:
            strip = _strip_of(rest)
            return None if strip is None else Spelling(mark, codes=True, strip=strip)
    return None


def _strip_of(rest: list[Mapping[str, Any]]) -> int | None:
    """How many spaces the last steps take from the start; None for steps of another kind."""
    match rest:
        case []:
            return 0
        case [{"type": "Strip", "content": " ", "start": int(start), "stop": 0}]:
            return start
    return None


class SpelledText:
    """A text that arrives token by token. With `at_start` false something stands before it."""

    def __init__(self, spelling: Spelling, at_start: bool = True) -> None:
        self._spelling = spelling
        self._first = at_start
        self._strip = spelling.strip if at_start else 0
        self._run = bytearray()

    def push(self, token: str) -> str:
        """The text that is settled by this token; none while a run of bytes goes on."""
        code = self._spelling.code(token)
        if code is not None:
            self._run.append(code)
            return ""
        text = self._end_run() + self._spelling.plain(token, self._first)
        self._first = False
        return self._shown(text)

    def flush(self) -> str:
        """What a run of bytes at the end comes to."""
        return self._shown(self._end_run())

    def _end_run(self) -> str:
        run, self._run = bytes(self._run), bytearray()
        self._first = self._first and not run
        try:
            return run.decode("utf-8")
        except UnicodeDecodeError:
            return "\ufffd" * len(run)

    def _shown(self, text: str) -> str:
        while self._strip and text:
            if text[0] != " ":
                self._strip = 0
                break
            text = text[1:]
            self._strip -= 1
        return text
