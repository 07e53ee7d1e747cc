"""Fixtures and options that all tests share."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the golden files anew instead of comparing with them",
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with the file of that name below `tests/golden/`.

    A missing file fails and a difference is shown as a diff; with `--update-golden` the file is
    written, to be reviewed like any other change."""

    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
            return
        if not path.exists():
            pytest.fail(f"golden/{name} does not exist; run with --update-golden to write it")
        wanted = path.read_text(encoding="utf-8")
        if wanted != text:
            diff = difflib.unified_diff(
                wanted.splitlines(), text.splitlines(), f"golden/{name}", "now", lineterm=""
            )
            pytest.fail("\n".join(diff), pytrace=False)

    return check
