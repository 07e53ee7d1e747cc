"""Tokens: what the lexer gives and the parser takes.

A token is a terminal name of the grammar, the text as written, and its place. The terminals
are spelled out in `linnet.lark`; this module only holds the record.
"""

from __future__ import annotations


class Token:
    """One token. `type` is a terminal of the grammar, `start` and `end` character offsets.

    `type` is writable: the filter between lexer and parser retags a few tokens. The class has
    slots and no dataclass machinery because every file makes thousands of them."""

    __slots__ = ("end", "start", "text", "type")

    def __init__(self, type: str, text: str, start: int, end: int) -> None:
        self.type = type
        self.text = text
        self.start = start
        self.end = end

    def __repr__(self) -> str:
        return f"Token({self.type}, {self.text!r}, {self.start})"
