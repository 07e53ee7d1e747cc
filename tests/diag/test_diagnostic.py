"""The collector: order, duplicates, warnings."""

from __future__ import annotations

import pytest

from linnet.diag import CODES, Diagnostic, Label, Problems, Source

SOURCE = Source("b.linnet", "one two three")
OTHER = Source("a.linnet", "one two three")


def test_sorted_by_file_place_and_code_whatever_the_order_of_adding() -> None:
    reports = [
        Diagnostic("E2203", "later", Label(SOURCE.span(4, 7))),
        Diagnostic("E1201", "first", Label(SOURCE.span(0, 3))),
        Diagnostic("E1101", "same place, smaller code", Label(SOURCE.span(4, 7))),
        Diagnostic("E1204", "other file", Label(OTHER.span(8, 13))),
    ]
    for order in (reports, reports[::-1]):
        problems = Problems()
        problems.extend(order)
        assert problems.codes() == ("E1204", "E1201", "E1101", "E2203")


def test_equal_reports_are_kept_once() -> None:
    problems = Problems()
    for _ in range(2):
        problems.report("E1201", "`x` is not in scope", SOURCE.span(0, 3), help="declare it")
    assert len(problems) == 1
    problems.report("E1201", "`x` is not in scope", SOURCE.span(4, 7), help="declare it")
    assert len(problems) == 2


def test_warnings_appear_only_without_errors() -> None:
    problems = Problems()
    problems.report("W1002", "`a` is never used", SOURCE.span(0, 3))
    assert (problems.codes(), problems.has_errors) == (("W1002",), False)
    problems.report("E1201", "`b` is not in scope", SOURCE.span(4, 7))
    assert (problems.codes(), problems.has_errors) == (("E1201",), True)


def test_an_empty_collector_is_true_and_has_no_errors() -> None:
    problems = Problems()
    assert problems
    assert not problems.has_errors
    assert list(problems) == []


def test_an_undeclared_code_is_refused() -> None:
    with pytest.raises(KeyError, match="E9999"):
        Diagnostic("E9999", "no such code")


def test_codes_are_declared_with_title_and_explanation() -> None:
    for number, code in CODES.items():
        assert code.number == number
        assert code.title
        assert not code.title.endswith(".")
        assert code.explanation.endswith(".")
        assert code.severity == ("warning" if number[0] == "W" else "error")
    assert len(CODES) == 68
