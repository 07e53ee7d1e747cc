"""Which comment stands where: every comment belongs to the gap between two tokens.

A comment is kept in its gap for good. Within the gap it either trails the token before, being
on its line, or leads the token behind. Comments begin and end lines after formatting where they
did before; only a block comment between two tokens of one line may find itself at the start or
end of a line, and is put there so that it is read in the same way the next time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from linnet.fmt.doc import BLANK, Concat, Doc, Note
from linnet.syntax.tokens import END, ITEM_STARTS, MEMBER_STARTS, STATEMENT_STARTS, Token, words
from linnet.syntax.tree import Comment

_OPENING = words("LPAR LSQB LBRACE LESS CALL_LESS COMMA")
_CLOSING = words("RPAR RSQB RBRACE CALL_MORE MORE") | {END}
_STARTS = ITEM_STARTS | MEMBER_STARTS | STATEMENT_STARTS | {"USE"}


@dataclass(frozen=True, slots=True)
class Gap:
    """What stands between two tokens. `trail` goes with the token before, `lead` with the one
    behind; `blank` is whether an empty line stands before `lead` or, without it, the token."""

    trail: Doc | None
    lead: Doc | None
    blank: bool


_NOTHING = Gap(None, None, False)
_EMPTY_LINE = Gap(None, None, True)


def gaps(text: str, tokens: Sequence[Token], comments: Sequence[Comment]) -> Iterator[Gap]:
    """The gap before each token, and the one before the end of `text`: one more than tokens.
    Lines of `text` end in LF alone."""
    waiting = 0
    end = 0
    previous = ""
    last = Token(END, "", len(text), len(text))
    for token in (*tokens, last):
        first = waiting
        while waiting < len(comments) and comments[waiting].span.start < token.start:
            waiting += 1
        if first < waiting:
            yield _gap(text, end, previous, comments[first:waiting], token)
        else:
            yield _EMPTY_LINE if text.count("\n", end, token.start) > 1 else _NOTHING
        previous, end = token.type, token.end


def _gap(text: str, end: int, previous: str, comments: Sequence[Comment], token: Token) -> Gap:
    places = [end, *(comment.span.end for comment in comments)]
    starts = [*(comment.span.start for comment in comments), token.start]
    line_ends = [text.count("\n", a, b) for a, b in zip(places, starts, strict=True)]
    if not previous:
        line_ends[0] = max(line_ends[0], 1)
    notes = [
        Note(
            comment.text.rstrip(),
            line_ends[at] > 0,
            line_ends[at + 1] > 0 or comment.text.startswith("//"),
        )
        for at, comment in enumerate(comments)
    ]
    trailing = 0
    while trailing < len(notes) and not line_ends[trailing]:
        trailing += 1
    on_one_line = not any(line_ends) and not notes[-1].ends_line
    if on_one_line and (previous in _OPENING or token.type in _STARTS):
        trailing = 0
    lead: list[Doc] = []
    for at in range(trailing, len(notes)):
        if at > trailing and line_ends[at] > 1:
            lead.append(BLANK)
        lead.append(notes[at])
    if lead and line_ends[-1] > 1 and token.type not in _CLOSING:
        lead.append(BLANK)
    return Gap(
        Concat(notes[:trailing]) if trailing else None,
        Concat(lead) if lead else None,
        line_ends[trailing] > 1,
    )
