"""The colours of editors agree with the compiler's lexer on every source of the repository."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from editors.textmate import Grammar
from pygments import token as pygments

from linnet.check.entities import PRELUDE_FUNCTIONS, PRELUDE_TYPES
from linnet.diag import Problems, Source
from linnet.highlight import BUILTINS, TYPES, LinnetLexer
from linnet.syntax import retag
from linnet.syntax.lexer import Lexed, lex
from linnet.syntax.table import GRAMMAR
from linnet.syntax.tokens import END, KEYWORDS, RESERVED, Token

ROOT = Path(__file__).parents[2]
VSCODE = ROOT / "editors" / "vscode"
FILES = sorted(
    path
    for folder in ("stdlib", "nest", "tests/programs", "tests/conformance/accept", "tests/fmt")
    for path in (ROOT / folder).rglob("*.linnet")
)
TEXTMATE = Grammar(VSCODE / "syntaxes" / "linnet.tmLanguage.json")


def tokens_of(text: str) -> Lexed:
    lexed = lex(Source("", text), Problems())
    retag.retag([*lexed.tokens, Token(END, "", len(text), len(text))])
    return lexed


def words_of_the_grammar() -> set[str]:
    """The quoted words of `linnet.lark`."""
    lines = (re.sub(r"^//.*", "", line) for line in GRAMMAR.read_text("utf-8").splitlines())
    return set(re.findall(r'"([a-z]+)"', "\n".join(lines)))


def test_the_keywords_are_those_of_the_grammar() -> None:
    assert words_of_the_grammar() <= KEYWORDS
    coloured = set().union(
        *map(TEXTMATE.words, ("constant.language", "keyword.other", "storage", "keyword.control"))
    )
    assert coloured == KEYWORDS
    assert TEXTMATE.words("support.type") == set(PRELUDE_TYPES) == TYPES
    assert TEXTMATE.words("support.function") == set(PRELUDE_FUNCTIONS) == BUILTINS
    assert TEXTMATE.words("invalid") == RESERVED - KEYWORDS
    assert TEXTMATE.words("keyword.operator.reduction") == set(retag._REDUCTIONS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_textmate_scopes(path: Path) -> None:
    text = path.read_bytes().decode("utf-8")
    lexed = tokens_of(text)
    scopes = TEXTMATE.scopes(text)
    after_dot = False
    for token in lexed.tokens:
        inside = set(scopes[token.start : token.end])
        assert len(inside) == 1, token
        scope = inside.pop().split(".")[0]
        if token.text in KEYWORDS:
            assert scope in ("keyword", "storage", "constant"), token
        elif token.type == "REDUCE":
            assert scope == "keyword", token
        elif token.type in ("NAME", "TENSOR", "GRAD", "GRID", "HINT"):
            assert after_dot or scope in ("", "entity", "support", "variable"), token
        elif token.type in ("INT", "FLOAT"):
            assert scope == "constant", token
        elif token.type == "STRING":
            assert scope == "string", token
        after_dot = token.type == "DOT"
    for comment in lexed.comments:
        span = comment.span
        inside = set(scopes[span.start : span.end]) - ({""} if "\n" in span.text else set())
        assert len(inside) == 1, span.text
        scope = inside.pop()
        assert scope.startswith("comment."), span.text
        assert ("documentation" in scope) == comment.doc, span.text


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_pygments_tokens(path: Path) -> None:
    text = path.read_bytes().decode("utf-8").replace("\r\n", "\n")
    found = list(LinnetLexer().get_tokens_unprocessed(text))
    assert "".join(part for _, _, part in found) == text
    assert [at for at, _, _ in found] == [
        sum(len(part) for _, _, part in found[:k]) for k in range(len(found))
    ]
    kinds = {at: kind for at, kind, _ in found}
    assert pygments.Error not in kinds.values() or text.startswith("\ufeff")
    for token in tokens_of(text).tokens:
        kind = kinds[token.start]
        if token.text in KEYWORDS or token.type == "REDUCE":
            assert kind in pygments.Keyword, token
        elif token.type == "NAME":
            assert kind in pygments.Name or kind in pygments.Keyword.Type, token
        elif token.type in ("INT", "FLOAT"):
            assert kind in pygments.Number, token


@pytest.mark.parametrize(
    "text", ["", "\0", '"open', "/* open", "08 é @", "fn f( \udcff", "$ linnet"]
)
def test_pygments_takes_any_text(text: str) -> None:
    found = list(LinnetLexer().get_tokens_unprocessed(text))
    assert "".join(part for _, _, part in found) == text


def test_pygments_finds_the_lexer_by_name_and_file() -> None:
    import tomllib

    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    assert points["pygments.lexers"] == {"linnet": "linnet.highlight:LinnetLexer"}
    assert "linnet" in LinnetLexer.aliases
    assert "*.linnet" in LinnetLexer.filenames


def test_the_extension_names_files_that_exist() -> None:
    data = json.loads((VSCODE / "package.json").read_text("utf-8"))
    json.loads((VSCODE / "language-configuration.json").read_text("utf-8"))
    contributes = data["contributes"]
    for name in (
        data["main"],
        contributes["languages"][0]["configuration"],
        contributes["grammars"][0]["path"],
    ):
        assert (VSCODE / name).is_file()
    assert contributes["grammars"][0]["scopeName"] == TEXTMATE.data["scopeName"]
    source = (VSCODE / data["main"]).read_text("utf-8")
    for setting in contributes["configuration"]["properties"]:
        assert f'"{setting.removeprefix("linnet.")}"' in source
