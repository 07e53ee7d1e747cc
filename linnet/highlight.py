"""Colours for Linnet sources wherever Pygments is used: Sphinx, MkDocs, rich, LaTeX.

Found by Pygments as `linnet` and for `*.linnet`, through the entry point of this package. The
tokens are those of the compiler's own lexer, so text that is no program yet is coloured as well
as may be, and never refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pygments import token as pygments
from pygments.lexer import Lexer

from linnet.diag import Problems, Source
from linnet.syntax.lexer import lex
from linnet.syntax.retag import retag
from linnet.syntax.tokens import END, KEYWORDS, RESERVED, Token, words

CONSTANTS = words("true false none some")
IMPORTS = words("module use crate self super as")
DECLARATIONS = words(
    "pub const type struct enum fn op block entry param buffer state sub let var kernel"
)
TYPES = words(
    "bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 "
    "Tensor Dim Shape DType Numeric Integer Float"
)
BUILTINS = words(
    "cast reshape permute broadcast_to concat pad iota fill gather scatter cumsum "
    "exp log sqrt rsqrt sin cos tanh abs min max select shl shr"
)
_PLAIN = {"INT": pygments.Number.Integer, "FLOAT": pygments.Number.Float,
          "STRING": pygments.String, "REDUCE": pygments.Keyword.Pseudo,
          "BROKEN": pygments.Error}  # fmt: skip
_BRACKETS = words("LPAR RPAR LSQB RSQB LBRACE RBRACE COMMA COLON SEMICOLON PATH_SEP DOT")
_NAMED = {"FN": pygments.Name.Function, "OP": pygments.Name.Function,
          "ENTRY": pygments.Name.Function, "BLOCK": pygments.Name.Class,
          "STRUCT": pygments.Name.Class, "ENUM": pygments.Name.Class,
          "TYPE": pygments.Name.Class, "CONST": pygments.Name.Constant,
          "MODULE": pygments.Name.Namespace, "USE": pygments.Name.Namespace}  # fmt: skip


class LinnetLexer(Lexer):  # type: ignore[misc]
    """The lexer that Pygments asks for."""

    name = "Linnet"
    aliases = ("linnet",)
    filenames = ("*.linnet",)
    mimetypes = ("text/x-linnet",)

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, Any, str]]:
        """Position, kind and text of every part of `text`, which they make up together."""
        at = 0
        for start, kind, part in _parts(text):
            if start > at:
                yield at, _between(text[at:start]), text[at:start]
            yield start, kind, part
            at = start + len(part)
        if at < len(text):
            yield at, _between(text[at:]), text[at:]


def _between(text: str) -> Any:
    return pygments.Whitespace if text.isspace() else pygments.Error


def _parts(text: str) -> list[tuple[int, Any, str]]:
    lexed = lex(Source("", text), Problems())
    retag([*lexed.tokens, Token(END, "", len(text), len(text))])
    found = []
    previous = ""
    for token in lexed.tokens:
        found.append((token.start, _kind(token, previous), token.text))
        previous = token.type
    for comment in lexed.comments:
        line = comment.text.startswith("//")
        kind = pygments.Comment.Single if line else pygments.Comment.Multiline
        found.append(
            (comment.span.start, pygments.String.Doc if comment.doc else kind, comment.text)
        )
    return sorted(found, key=lambda part: part[0])


def _kind(token: Token, previous: str) -> Any:
    word = token.text
    if token.type in _PLAIN:
        return _PLAIN[token.type]
    if not (word[0].isalpha() or word[0] == "_"):
        return pygments.Punctuation if token.type in _BRACKETS else pygments.Operator
    if previous in _NAMED and token.type == "NAME":
        return _NAMED[previous]
    if previous == "DOT":
        return pygments.Name
    for known, kind in (
        (CONSTANTS, pygments.Keyword.Constant),
        (IMPORTS, pygments.Keyword.Namespace),
        (DECLARATIONS, pygments.Keyword.Declaration),
        (KEYWORDS, pygments.Keyword),
        (TYPES, pygments.Keyword.Type),
        (BUILTINS, pygments.Name.Builtin),
        (RESERVED, pygments.Keyword.Reserved),
    ):
        if word in known:
            return kind
    return pygments.Name
