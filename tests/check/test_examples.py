"""Every code has an explain page whose programs do what they say, and a rendering on record."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from linnet.check import check_file
from linnet.diag import Diagnostic
from linnet.diag.codes import CODES
from linnet.diag.examples import EXAMPLES
from linnet.diag.page import page
from linnet.diag.render import render_all
from linnet.resources import folder

NEVER_GIVEN = {"E2127"}
"""What only the body of a kernel could do wrong, which E2190 answers as a whole."""


def test_every_code_has_an_example() -> None:
    assert set(CODES) - set(EXAMPLES) == NEVER_GIVEN
    assert set(EXAMPLES) <= set(CODES)


def found_in(place: Path, code: str, which: int) -> list[Diagnostic]:
    """What the checker says about the wrong (0) or repaired (1) program of a code."""
    example = EXAMPLES[code]
    root = place / ("src/lib.linnet" if example.beside else "pond.linnet")
    files = {path: texts[which] for path, texts in example.beside.items()}
    for path, text in files.items():
        (place / path).parent.mkdir(exist_ok=True)
        (place / path).write_text(text, "utf-8")
    root.write_text((example.wrong, example.right)[which], "utf-8")
    return list(check_file(root.relative_to(place)).problems)


@pytest.mark.parametrize("code", EXAMPLES)
def test_the_wrong_one_gives_its_code_and_the_repaired_one_none(
    code: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    golden: Callable[[str, str], None],
) -> None:
    monkeypatch.chdir(tmp_path)
    wrong = found_in(tmp_path, code, 0)
    assert {found.code for found in wrong} == {code}
    # The library is shown relative to the working folder, wherever the checkout is.
    library = os.path.relpath(folder("stdlib"), tmp_path)
    text = render_all(wrong).replace(library, "stdlib").replace(str(tmp_path), ".")
    assert [found.code for found in found_in(tmp_path, code, 1)] == []
    golden(f"diagnostics/explain/{code}.txt", f"{page(code)}\n{text}\n")
