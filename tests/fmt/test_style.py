"""The style itself, and what is refused or bounded."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from fmt.checks import formatted

from linnet.errors import SourceError
from linnet.fmt.layout import _LAYOUTS
from linnet.syntax.table import table

GRAMMAR = Path(__file__).parent / "grammar.linnet"


def body(text: str) -> str:
    """The statements of a function after formatting, without its head."""
    whole = formatted(f"module m\nfn f() {{ {text} }}\n")
    return "\n".join(line[4:] for line in whole.split("\n")[2:-2])


def test_the_sample_of_the_grammar_is_in_house_style() -> None:
    text = GRAMMAR.read_text("utf-8")
    assert formatted(text) == text


def test_every_alternative_of_the_grammar_has_a_layout() -> None:
    actions = {rule.action for rule in table().rules} - {None, "binary"}
    assert actions == set(_LAYOUTS)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("let x=a+b*-c", "let x = a + b * -c"),
        ("let x=(a+b)[0 : n,..., *s]", "let x = (a + b)[0:n, ..., *s]"),
        ("let x = f < N , 2 > ( a , b = 1 )", "let x = f<N, 2>(a, b = 1)"),
        ("let x = p<q", "let x = p < q"),
        ("let x = f(a, b,)", "let x = f(\n    a,\n    b,\n)"),
        ("let x = ( a , )", "let x = (a,)"),
        ("let x: Tensor[N,;T] = y", "let x: Tensor[\n    N,;\n    T\n] = y"),
        ("let x = 1 let y = 2", "let x = 1\nlet y = 2"),
        ("\n\n let x = 1 \n\n\n\n let y = 2 \n\n", "let x = 1\n\nlet y = 2"),
        ("let x = 1 /* one */ // end\n", "let x = 1 /* one */ // end"),
        ("let x = 1\n  // own\n\n", "let x = 1\n// own"),
        ("let x = f(a, // why\n b)", "let x = f(\n    a, // why\n    b\n)"),
        ("let x = // why\n a + b", "let x = // why\n    a + b"),
    ],
)  # fmt: skip
def test_statements(given: str, wanted: str) -> None:
    assert body(given) == wanted


def test_lines_end_at_a_hundred_characters() -> None:
    fits = "let x = " + "a" * 40 + " + " + "b" * 45  # 4 blanks before it
    assert len(fits) == 96
    assert body(fits) == fits
    assert body(fits + "b") == fits.replace("= ", "=\n    ") + "b"
    call = "let x = f(" + "a" * 40 + ", " + "b" * 43
    assert body(call + ")") == call + ")"
    assert body(call + "b)") == f"let x = f(\n    {'a' * 40},\n    {'b' * 44}\n)"
    long = "a" * 60
    assert body(f"return {long} + {long} * {long}") == (
        f"return {long}\n    + {long}\n        * {long}"
    )


def test_one_clause_stays_with_the_brace_and_several_stand_alone() -> None:
    head = "module m\nblock B<N: Dim>\n"
    assert formatted(head + "where N > 0 { }") == head + "where N > 0 {}\n"
    wanted = head + "where\n    N > 0,\n    N < 9\n{\n    param x: f32\n}\n"
    assert formatted(head + "where N > 0, N < 9 { param x: f32 }") == wanted


def test_comments_before_and_behind_everything() -> None:
    text = "// first\n\n\n// second\nmodule m // end\n// last"
    assert formatted(text) == "// first\n\n// second\nmodule m // end\n// last\n"
    assert formatted("/* a */ module /* b */ m /* c */") == "/* a */ module /* b */ m /* c */\n"


def test_the_stars_of_a_long_comment_stand_below_each_other() -> None:
    text = "module m\nfn f() {\n/* a\n* b\n      * c\n*/\nlet x = 1 }\n"
    assert "    /* a\n     * b\n     * c\n     */\n    let x" in formatted(text)


@pytest.mark.parametrize("text", ["", "module m\nfn f( {}", "module m\nconst A = 08", "\0", "x"])
def test_what_does_not_parse_is_refused(text: str) -> None:
    with pytest.raises(SourceError) as caught:
        formatted(text)
    assert caught.value.diagnostics


@pytest.mark.parametrize("bracket", ["()", "[]", "f()", "some()", "-()"])
def test_nesting_takes_no_stack(bracket: str) -> None:
    def text(depth: int) -> str:
        inner = bracket[:-1] * depth + "1" + bracket[-1] * depth
        return f"module m\nfn f() {{\n    return {inner}\n}}\n"

    once = formatted(text(190))
    assert formatted(once) == once
    with pytest.raises(SourceError, match="does not parse"):
        formatted(text(10_000))


def test_long_chains_and_files_take_little_time() -> None:
    # Ten thousand lines: 2.5 s on the machine this was written on.
    chain = " + ".join(["x"] * 10_000)
    function = "fn f(x: Tensor[4; f32]) -> f32 {\n" + "    let y = f(x[0:2], [1, 2])\n" * 98 + "}\n"
    start = time.process_time()
    lines = formatted(f"module m\nfn g() {{ return {chain} }}\n").split("\n")
    assert len(lines) == 10_004
    text = "module m\n" + function * 100
    assert formatted(text) == text
    assert time.process_time() - start < 20
