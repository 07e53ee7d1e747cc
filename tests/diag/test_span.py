"""Lines, columns and byte offsets, worked out by hand."""

from __future__ import annotations

import pytest

from linnet.diag import Source


@pytest.mark.parametrize(
    ("text", "offset", "place"),
    [
        ("", 0, (1, 1)),
        ("ab\ncd", 1, (1, 2)),
        ("ab\ncd", 2, (1, 3)),  # the line end itself belongs to its line
        ("ab\ncd", 3, (2, 1)),
        ("ab\ncd", 5, (2, 3)),
        ("ab\r\ncd", 4, (2, 1)),
        ("ab\rcd", 3, (2, 1)),
        ("ab\r\n\r\ncd", 6, (3, 1)),
        ("ö𝔹x", 2, (1, 3)),  # code points, neither bytes nor UTF-16 units
    ],
)
def test_line_and_column(text: str, offset: int, place: tuple[int, int]) -> None:
    assert Source("t", text).line_column(offset) == place


def test_line_text_has_no_line_end() -> None:
    source = Source("t", "one\r\ntwo\n\nfour")
    assert [source.line_text(n) for n in (1, 2, 3, 4)] == ["one", "two", "", "four"]


def test_byte_offsets_count_utf8_and_raw_bytes() -> None:
    text = b"a\xc3\xb6\xff\xe2\x82\xacz".decode("utf-8", "surrogateescape")  # a ö <FF> € z
    source = Source("t", text)
    assert [source.byte_offset(n) for n in range(len(text) + 1)] == [0, 1, 3, 4, 7, 8]


def test_sources_are_equal_by_identity_only() -> None:
    one, two = Source("t", "x"), Source("t", "x")
    assert one.span(0, 1) == one.span(0, 1)
    assert one.span(0, 1) != two.span(0, 1)


def test_a_span_joins_and_prints() -> None:
    source = Source("pond.linnet", "let a\n  = b")
    span = source.span(4, 5).to(source.span(10, 11))
    assert (span.text, span.line, span.column) == ("a\n  = b", 1, 5)
    assert str(source.span(8, 9)) == "pond.linnet:2:3"
    assert (span.before.text, span.after.start) == ("", 11)
