"""README, CONTRIBUTING and the pages of docs/: every block runs, every link leads somewhere.

`pytest tests/docs --update-golden` writes what the blocks print now into the pages; like any
other golden file they are to be reviewed then.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from .blocks import ROOT, Page, blocks_of, environment, matches

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
LINK = re.compile(r"\[[^\]]*\]\((?!https?:)([^)#\s]+)")
PLACE = re.compile(r"`((?:linnet|stdlib|nest|codegen|tests|docs|bench|scripts|\.ci)/[\w./-]*)`")


@pytest.fixture(scope="session")
def variables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    found = environment(tmp_path_factory.mktemp("shared"))
    with pytest.MonkeyPatch.context() as patch:
        for name in [n for n in os.environ if n.startswith("LINNET_")]:
            patch.delenv(name)
        for name in ("LINNET_CACHE", "HF_HOME", "HF_HUB_OFFLINE"):
            patch.setenv(name, found[name])
        yield found


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_block_does_what_the_page_says(
    path: Path, tmp_path: Path, variables: dict[str, str], request: pytest.FixtureRequest
) -> None:
    text = path.read_text("utf-8")
    shutil.copytree(ROOT / "tests/data/stranger", tmp_path / "checkpoint")
    page = Page(path, tmp_path, variables)
    update = bool(request.config.getoption("--update-golden"))
    written = page.run(text, update=update)
    if update:
        path.write_text(written, "utf-8")
        return
    assert not page.problems, "\n\n".join(page.problems)


@pytest.mark.parametrize("path", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda path: path.name)
def test_links_and_paths_lead_somewhere(path: Path) -> None:
    text = "".join(p for p in blocks_of(path.read_text("utf-8")) if isinstance(p, str))
    lost = [link for link in LINK.findall(text) if not (path.parent / link).exists()]
    lost += [place for place in PLACE.findall(text) if not (ROOT / place).exists()]
    assert lost == []


@pytest.mark.parametrize(
    ("expected", "actual", "same"),
    [
        ("a\nb\n", "a\nb\n", True),
        ("a\n", "a  \n", True),
        ("a\n", "b\n", False),
        ("", "", True),
        ("", "a\n", False),
        ("...\n", "", True),
        ("a\n...\nd\n", "a\nb\nc\nd\n", True),
        ("a\n...\nd\n", "a\nb\nc\n", False),
        ("a.b\n", "axb\n", False),
    ],
)
def test_comparison_with_gaps(expected: str, actual: str, same: bool) -> None:
    assert matches(expected, actual) is same
