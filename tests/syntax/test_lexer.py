"""Tokens, comments and the diagnostics of the lexer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from linnet.diag import Problems, Source
from linnet.syntax.lexer import lex

Codes = Callable[[str], list[str]]


def kinds(text: str) -> list[str]:
    problems = Problems()
    found = [token.type for token in lex(Source("t", text), problems).tokens]
    assert problems.codes() == ()
    return found


def reports(text: str) -> list[tuple[str, str]]:
    """Codes and the text each points at."""
    problems = Problems()
    lex(Source("t", text), problems)
    return [(d.code, d.primary.span.text if d.primary else "") for d in problems]


def test_the_longest_mark_wins() -> None:
    assert kinds("... :: .. -> => == != <= >= && || . : = < >") == [
        "DOTS", "PATH_SEP", "RANGE", "ARROW", "FAT_ARROW", "EQ", "NE", "LE", "GE", "AND", "OR",
        "DOT", "COLON", "EQUAL", "LESS", "MORE",
    ]  # fmt: skip
    assert kinds(">>") == ["MORE", "MORE"]
    assert kinds("0..N") == ["INT", "RANGE", "NAME"]
    assert kinds("1...2") == ["INT", "DOTS", "INT"]
    assert kinds("a.5") == ["NAME", "DOT", "INT"]
    assert kinds("x[::2]") == ["NAME", "LSQB", "PATH_SEP", "INT", "RSQB"]


def test_keywords_are_case_sensitive_whole_words() -> None:
    assert kinds("let Let lets _let") == ["LET", "NAME", "NAME", "NAME"]
    assert kinds("async mut device") == ["NAME"] * 3


@pytest.mark.parametrize(
    "text", ["0", "42", "1_000_000", "0xFf_0a", "0b1_0", "9223372036854775807"]
)
def test_integers(text: str) -> None:
    assert kinds(text) == ["INT"]


@pytest.mark.parametrize("text", ["0.0", "00.5", "1_0.2_5", "1e5", "1E+5", "2.5e-3", "1.7e308"])
def test_floats(text: str) -> None:
    assert kinds(text) == ["FLOAT"]


@pytest.mark.parametrize(
    "text",
    ["08", "00", "3__1", "3_", "0xgg", "0x", "0X1F", "0b12", "0b", "4e", "4e+", "7up", "2.", ".5",
     "1.2.3", "1_.5", "0x1_", "1e5.5", "1.5f32"],
)  # fmt: skip
def test_a_malformed_number_is_one_token_with_one_report(text: str) -> None:
    word = text.removesuffix("+")
    assert reports(f"a {text} b") == [("E1005", word)]
    tokens = lex(Source("t", f"a {text} b"), Problems()).tokens
    assert [t.type for t in tokens if t.type != "PLUS"] == ["NAME", "BROKEN", "NAME"]


@pytest.mark.parametrize("text", ["9223372036854775808", "0x8000000000000000", "1e309", "9" * 5000])
def test_numbers_out_of_range(text: str) -> None:
    assert reports(text) == [("E2105", text)]


def test_bad_characters_are_reported_by_runs() -> None:
    assert reports("a §§ b # c") == [("E1001", "§§"), ("E1001", "#")]
    assert reports("a\1\1b") == [("E1001", "\1\1")]
    assert reports("a \ufeff b") == [("E1001", "\ufeff")]
    assert reports(b"a \xff\xfe b".decode("utf-8", "surrogateescape")) == [
        ("E1001", "\udcff\udcfe")
    ]


def test_a_word_with_foreign_letters_stays_one_word() -> None:
    problems = Problems()
    tokens = lex(Source("t", "let naïve_λ2 = é"), problems).tokens
    assert [t.text for t in tokens] == ["let", "naïve_λ2", "=", "é"]
    assert problems.codes() == ("E1001",) * 3


def test_comments_and_strings_may_hold_any_character_but_control_ones() -> None:
    assert reports('// §\n/* λ */ "漢字"') == []
    assert reports("// a\x07b\n") == [("E1001", "\x07")]
    assert reports('"\udcff"') == [("E1001", "\udcff")]


def test_a_binary_file_gives_a_bounded_number_of_reports() -> None:
    text = bytes(range(256)).decode("utf-8", "surrogateescape") * 100
    problems = Problems()
    lex(Source("t", text), problems)
    assert 0 < len(problems) <= 100


def test_utf_16_is_named() -> None:
    text = "module a".encode("utf-16").decode("utf-8", "surrogateescape")
    problems = Problems()
    assert lex(Source("t", text), problems).tokens == []
    assert [d.message for d in problems] == ["this file is UTF-16"]


def test_block_comments_nest() -> None:
    assert kinds("a /* /* */ ** /*/ */ */ b /**/ c") == ["NAME", "NAME", "NAME"]
    assert reports("a /* b /* c */ d") == [("E1002", "/*")]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (r'"\q"', r"\q"),
        (r'"\u{}"', r"\u"),
        (r'"\u{1234567}"', r"\u"),
        (r'"\u{110000}"', r"\u{110000}"),
        (r'"\u{d800}"', r"\u{d800}"),
        (r'"\x \y"', r"\x"),
        ('"open\nlet', '"open'),
        ('"open\\', '"open\\'),
        ('"', '"'),
    ],
)
def test_bad_strings(text: str, place: str) -> None:
    assert reports(text) == [("E1003", place)]


def test_line_ends_of_all_sorts(codes: Codes) -> None:
    for end in ("\n", "\r\n", "\r"):
        text = end.join(["module a", "// comment", "const A = 1", 'const B = "x"', ""])
        assert codes(text) == []


def test_a_lexical_error_is_not_reported_again_by_the_parser(codes: Codes) -> None:
    head = "module a\nfn f() {\n"
    assert codes(head + "    let x = 08 + 4e\n}") == ["E1005", "E1005"]
    assert codes(head + "    let x = y − z\n}") == ["E1001"]
    assert codes(head + '    let x = "open\n    let y = 1\n}') == ["E1003"]
    assert codes(head + "    let x = 1 /* open\n}") == ["E1002"]
    assert codes("module a /* open\nfn f() {}") == ["E1002"]
    assert codes("\0\0\0") == ["E1001"]
    # but an independent mistake in another statement is
    assert codes(head + "    let x = 08\n    let y = *\n}") == ["E1005", "E1101"]


@pytest.mark.parametrize("data", [b"PK\x03\x04\0", b"module a\nconst A = 1\n\0", b"\x89\xff" * 99])
def test_a_file_of_another_kind_gets_one_report_without_a_drawing(data: bytes) -> None:
    problems = Problems()
    lex(Source("t", data.decode("utf-8", "surrogateescape")), problems)
    (found,) = problems
    assert (found.code, found.message) == ("E1001", "this is no text file")
    assert found.primary is None
    assert found.file == "t"


def test_a_line_that_nobody_could_read_is_refused_at_once() -> None:
    source = Source("long.linnet", "module long\n" + "x + " * 60_000)
    problems = Problems()
    assert lex(source, problems).tokens == []
    (found,) = problems
    assert (found.code, str(found.primary.span)) == ("E1101", "long.linnet:2:1")
