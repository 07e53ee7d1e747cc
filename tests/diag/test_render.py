"""Text and JSON of diagnostics."""

from __future__ import annotations

import json

from linnet.diag import Diagnostic, Label, Problems, Source
from linnet.diag.github import to_github
from linnet.diag.render import render, render_all, to_json
from linnet.diag.sarif import to_sarif


def lines(text: str) -> list[str]:
    return text.split("\n")


def at(source: Source, word: str, label: str = "") -> Label:
    start = source.text.index(word)
    return Label(source.span(start, start + len(word)), label)


def test_the_whole_form() -> None:
    source = Source(
        "mlp.linnet",
        "module mlp\n\n\n\n\n\n\n\nfn f(x: A,\n     w: B)\n{\n    return matmul(x, w)\n}\n",
    )
    library = Source("stdlib/linalg.linnet", "pub op matmul(a: M, b: K)\n")
    use = source.text.rindex("w)")
    diagnostic = Diagnostic(
        "E2202",
        "inner dimensions differ",
        Label(source.span(use, use + 1), "found B"),
        (at(source, "w: B", "declared here"), at(library, "b: K", "K is fixed here")),
        ("no `where` clause says so",),
        ("transpose `w`",),
    )
    assert lines(render(diagnostic)) == [
        "error[E2202]: inner dimensions differ",
        "   ┌─ mlp.linnet:12:22",
        "10 │      w: B)",
        "   │      ---- declared here",
        "   ┆",
        "12 │     return matmul(x, w)",
        "   │                      ^ found B",
        "   ├─ stdlib/linalg.linnet:1:21",
        " 1 │ pub op matmul(a: M, b: K)",
        "   │                     ---- K is fixed here",
        "   = note: no `where` clause says so",
        "   = help: transpose `w`",
    ]


def test_tabs_and_wide_characters_keep_the_marks_below_their_text() -> None:
    source = Source("t", '\tlet x = "漢字"\ty')
    assert lines(render(Diagnostic("E1201", "m", at(source, "y"))))[2:] == [
        '1 │     let x = "漢字"  y',
        "  │                     ^",
    ]
    assert lines(render(Diagnostic("E1201", "m", at(source, '"漢字"'))))[3] == (
        "  │             ^^^^^^"
    )


def test_combining_characters_take_no_cell() -> None:
    source = Source("t", "// e\u0301e x")
    assert lines(render(Diagnostic("E1201", "m", at(source, "x"))))[3] == "  │       ^"


def test_control_and_bidirectional_characters_are_shown_not_obeyed() -> None:
    source = Source("t", "a\x1b[2J\u202eb\udcff c")
    drawn = render(Diagnostic("E1001", "m", at(source, "c", "\x1b[31mred\nline")))
    assert lines(drawn)[2:] == [
        "1 │ a<U+001B>[2J<U+202E>b<FF> c",
        "  │                           ^ <U+001B>[31mred line",
    ]


def test_a_span_over_lines_is_marked_on_its_first() -> None:
    source = Source("t", "let x = f(\n    a,\n)\n")
    diagnostic = Diagnostic("E1201", "m", Label(source.span(8, 19), "here"))
    assert lines(render(diagnostic))[2:] == ["1 │ let x = f(", "  │         ^^ … here"]


def test_an_empty_span_at_the_end_has_one_mark() -> None:
    source = Source("t", "fn f() {\n")
    diagnostic = Diagnostic("E1101", "m", Label(source.span(9, 9)))
    assert lines(render(diagnostic))[1:] == ["  ┌─ t:2:1", "2 │", "  │ ^"]


def test_a_very_long_line_is_cut_around_the_mark() -> None:
    source = Source("t", "x" * 5_000 + "!" + "y" * 5_000)
    _, place, code, marks = lines(render(Diagnostic("E1001", "m", at(source, "!"))))
    assert place == "  ┌─ t:1:5001"
    assert len(code) < 200
    assert code[marks.index("^")] == "!"


def test_two_marks_on_one_line_come_last_first() -> None:
    source = Source("t", "let a = a")
    diagnostic = Diagnostic(
        "E1201", "m", Label(source.span(8, 9), "this"), (Label(source.span(4, 5), "that"),)
    )
    assert lines(render(diagnostic))[2:] == [
        "1 │ let a = a",
        "  │         ^ this",
        "  │     - that",
    ]


def test_colours_only_when_asked() -> None:
    source = Source("t", "x")
    diagnostic = Diagnostic("E1201", "m", at(source, "x"))
    assert "\x1b" not in render(diagnostic)
    assert render(diagnostic, colour=True).startswith("\x1b[31;1merror[E1201]\x1b[0m: m")


def test_without_a_place() -> None:
    assert render(Diagnostic("E5001", "no manifest", file="linnet.toml")) == (
        "error[E5001]: no manifest\n  ┌─ linnet.toml"
    )


def test_all_end_with_a_count() -> None:
    source = Source("t", "x y")
    found = [Diagnostic("E1201", "m", at(source, word)) for word in "xy"]
    assert render_all(found).endswith("\n\n2 errors")
    assert render_all([Diagnostic("W1002", "m", at(source, "x"))]).endswith("\n\n1 warning")
    assert render_all([]) == ""


def test_json_has_bytes_from_zero_and_columns_from_one() -> None:
    source = Source("m.linnet", "// ö\nlet x = é1\n")
    problems = Problems()
    problems.report(
        "E1201",
        "not in scope",
        source.span(13, 15),
        "here",
        related=[Label(source.span(9, 10), "there")],
        notes=["a fact"],
        help="an edit",
    )
    assert to_json(problems) == {
        "version": 1,
        "diagnostics": [
            {
                "code": "E1201",
                "severity": "error",
                "message": "not in scope",
                "label": "here",
                "location": {
                    "file": "m.linnet",
                    "start": {"line": 2, "column": 9, "offset": 14},
                    "end": {"line": 2, "column": 11, "offset": 17},
                },
                "related": [
                    {
                        "label": "there",
                        "location": {
                            "file": "m.linnet",
                            "start": {"line": 2, "column": 5, "offset": 10},
                            "end": {"line": 2, "column": 6, "offset": 11},
                        },
                    }
                ],
                "notes": ["a fact"],
                "help": ["an edit"],
            }
        ],
        "summary": {"errors": 1, "warnings": 0},
    }


def test_json_can_always_be_written() -> None:
    document = to_json([Diagnostic("E1001", "bad \udcff byte")])
    assert document["diagnostics"][0]["location"] is None
    json.dumps(document, ensure_ascii=False).encode("utf-8")


def test_commands_for_github_escape_what_would_end_them() -> None:
    source = Source("a,b:c.linnet", "one\ntwo\n")
    whole = Diagnostic("E1201", "100 %\nof it", Label(source.span(0, 7), "here"), help=("do",))
    assert to_github([whole, Diagnostic("W1001", "m", file="f")]).split("\n") == [
        "::error file=a%2Cb%3Ac.linnet,line=1,endLine=2,title=E1201::100 %25%0Aof it%0Ahere%0A"
        "help: do",
        "::warning file=f,title=W1001::m",
    ]


def test_sarif_counts_code_points_and_quotes_names() -> None:
    source = Source("a b/ü.linnet", "漢字 x\n")
    found = Diagnostic("E1201", "m", at(source, "x"), (at(source, "漢字", "so"),))
    (result,) = to_sarif([found], "1")["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "a%20b/%C3%BC.linnet"
    assert place["region"]["startColumn"] == 4
    (related,) = result["relatedLocations"]
    assert related["message"]["text"] == "so"
    assert to_sarif([], "1")["runs"][0]["tool"]["driver"]["rules"] == []
