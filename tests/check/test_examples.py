"""The examples of `linnet explain` do what they are examples of."""

from __future__ import annotations

import pytest

from check.programs import diagnostics
from linnet.diag.codes import CODES
from linnet.diag.examples import EXAMPLES


@pytest.mark.parametrize("code", EXAMPLES)
def test_the_wrong_one_gives_its_code_and_the_repaired_one_none(code: str) -> None:
    assert code in CODES
    example = EXAMPLES[code]
    assert {found.code for found in diagnostics(example.wrong)} == {code}
    assert [found.code for found in diagnostics(example.right)] == []
