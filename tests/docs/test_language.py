"""The language reference against the compiler's own tables."""

from __future__ import annotations

import re
from pathlib import Path

from linnet.check.entities import PRELUDE_FUNCTIONS

REFERENCE = Path(__file__).parents[2] / "docs" / "language.md"


def test_the_table_of_the_prelude_names_every_function() -> None:
    text = REFERENCE.read_text("utf-8")
    section = text.partition("\n## Prelude\n")[2].partition("\n## ")[0]
    cells = " ".join(re.findall(r"^\|([^|]*)\|", section, re.MULTILINE))
    assert set(PRELUDE_FUNCTIONS) <= set(re.findall(r"\w+", cells))
