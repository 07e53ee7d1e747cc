"""Tokens: what the lexer gives and the parser takes.

A token is a terminal of `linnet.lark`, the text as written, and its place. The tables below
say which text is which terminal; a test holds them equal to the grammar's.
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


END = "$END"


def words(text: str) -> frozenset[str]:
    """The words of `text`, as a set: how this package spells sets of terminals."""
    return frozenset(text.split())


PUNCTUATION: dict[str, str] = {
    "...": "DOTS", "::": "PATH_SEP", "..": "RANGE", "->": "ARROW", "=>": "FAT_ARROW",
    "==": "EQ", "!=": "NE", "<=": "LE", ">=": "GE", "&&": "AND", "||": "OR",
    "(": "LPAR", ")": "RPAR", "[": "LSQB", "]": "RSQB", "{": "LBRACE", "}": "RBRACE",
    ",": "COMMA", ":": "COLON", ";": "SEMICOLON", ".": "DOT", "=": "EQUAL",
    "<": "LESS", ">": "MORE", "+": "PLUS", "-": "MINUS", "*": "STAR", "/": "SLASH",
    "%": "PERCENT", "!": "BANG", "?": "QUESTION", "&": "AMPERSAND", "|": "VBAR", "^": "CARET",
}  # fmt: skip

KEYWORDS = words("""
    module use pub crate self super as
    const type struct enum fn op block entry
    param buffer state sub
    let var return if else match static for in while where
    true false none some extern
    kernel yield
""")

# Words kept for later versions. `kernel` and `yield` are among them but are terminals too.
RESERVED = words(
    "async await effect unsafe macro trait impl derive rng mut ref yield kernel device"
)

# A word's terminal: itself in capitals for a keyword, NAME for anything else.
KEYWORD_TYPES: dict[str, str] = {word: word.upper() for word in KEYWORDS}

ITEM_STARTS = words("PUB CONST TYPE STRUCT ENUM FN OP ENTRY BLOCK KERNEL")
MEMBER_STARTS = words("PARAM BUFFER STATE SUB")
STATEMENT_STARTS = words("LET VAR RETURN STATIC WHILE FOR YIELD")
