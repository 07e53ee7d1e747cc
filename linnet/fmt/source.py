"""From text to formatted text, with the proof that nothing but layout has changed."""

from __future__ import annotations

from collections.abc import Iterable

from linnet.diag import Problems, Source
from linnet.diag.frozen import no_collection
from linnet.errors import LinnetError, SourceError
from linnet.fmt.doc import render
from linnet.fmt.gaps import gaps
from linnet.fmt.layout import build
from linnet.syntax.lexer import lex
from linnet.syntax.parse import parse
from linnet.syntax.tokens import Token
from linnet.syntax.tree import Comment

_MARK = "\ufeff"


def format_source(source: Source) -> str:
    """The text of `source` in house style: the same tokens and the same comments in the same
    order, so the same tree. A byte-order mark and the kind of line ends, which is that of the
    first, are kept.

    Raises SourceError with the diagnostics if the text does not parse.
    """
    with no_collection():
        return _formatted(source)


def _formatted(source: Source) -> str:
    problems = Problems()
    module = parse(source, problems)
    if errors := [d for d in problems.sorted() if d.is_error]:
        raise SourceError(f"{source.name} does not parse", errors)
    text = _plain_lines(source.text)
    if text != source.text:
        module = parse(Source(source.name, text), Problems())
    mark = _MARK if text.startswith(_MARK) else ""
    doc = build(module.tokens, gaps(text, module.tokens, module.comments))
    result = mark + render(doc)
    again = lex(Source("", result), Problems())
    if _content(again.tokens, again.comments) != _content(module.tokens, module.comments):
        raise LinnetError(
            f"{source.name}: the formatter would have changed more than the layout",
            help="nothing was written; please report this file as a fault of `linnet fmt`",
        )
    return result.replace("\n", _line_end(source.text))


def _plain_lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _line_end(text: str) -> str:
    first = text.find("\n")
    return "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"


def _content(tokens: Iterable[Token], comments: Iterable[Comment]) -> list[str]:
    """The words of a text: tokens and comments in order, blanks at line ends of comments
    left out."""
    found = [(token.start, token.text) for token in tokens]
    for comment in comments:
        lines = [line.strip() for line in comment.text.split("\n")]
        found.append((comment.span.start, "\n".join(lines)))
    found.sort()
    return [text for _, text in found]
