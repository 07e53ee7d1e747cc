"""The checker against the programs of `accept/` and `reject/`, the library and the zoo.

A program of `accept/` must check without any diagnostic, lints included. A program of `reject/`
says what it expects itself:

    let y = x + gone // expect: E1201          the codes of this line, separated by blanks
    // expect-file: E1102                      a code of this file whose line is not compared

Everything the checker reports must be expected and everything expected must be reported, as a
multiset. A folder of `packages/` is one program: its root is `src/lib.linnet`, and the
expectations of all its files count.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from linnet.check import check_file
from linnet.diag.codes import CODES
from linnet.resources import folder

HERE = Path(__file__).parent
ON_LINE = re.compile(r"// expect: ((?:[EW]\d{4} ?)+)\s*$")
IN_FILE = re.compile(r"^// expect-file: ((?:[EW]\d{4} ?)+)\s*$")

ACCEPT = sorted((HERE / "accept").glob("*.linnet"))
REJECT = sorted((HERE / "reject").glob("*.linnet"))
ACCEPT += sorted((HERE / "accept").glob("packages/*/src/lib.linnet"))
PACKAGES = sorted(path.parent for path in (HERE / "reject").glob("packages/*/linnet.toml"))


def name_of(path: Path) -> str:
    """What pytest calls a program: its file, or its folder for a package."""
    return path.parent.parent.name if path.stem == "lib" else path.stem


def lines_of(path: Path) -> list[str]:
    """The lines of a program; bytes that are no UTF-8 (which some programs contain) are kept."""
    return path.read_bytes().decode("utf-8", "surrogateescape").split("\n")


def expected_in(path: Path) -> tuple[Counter[tuple[int, str]], Counter[str]]:
    """The expectations with a line, as (line, code), and those of the whole file."""
    on_line: Counter[tuple[int, str]] = Counter()
    in_file: Counter[str] = Counter()
    for number, line in enumerate(lines_of(path), start=1):
        if found := ON_LINE.search(line):
            on_line.update((number, code) for code in found.group(1).split())
        if found := IN_FILE.match(line):
            in_file.update(found.group(1).split())
    return on_line, in_file


def reported_for(root: Path) -> list[tuple[str, int, str]]:
    """What the checker says about a program, as (file name, line, code)."""
    reported = []
    for problem in check_file(root).problems:
        if problem.primary is None:
            reported.append((Path(problem.file or root).name, 0, problem.code))
        else:
            span = problem.primary.span
            reported.append((Path(span.source.name).name, span.line, problem.code))
    return reported


def compare(root: Path, files: list[Path]) -> None:
    """Compare the diagnostics of a program with what its files expect."""
    missing: Counter[tuple[str, int, str]] = Counter()
    anywhere: Counter[str] = Counter()
    for path in files:
        on_line, in_file = expected_in(path)
        missing.update({(path.name, line, code): n for (line, code), n in on_line.items()})
        anywhere.update(in_file)
    surplus: list[tuple[str, int, str]] = []
    for place in reported_for(root):
        if missing[place] > 0:
            missing[place] -= 1
        elif anywhere[place[2]] > 0:
            anywhere[place[2]] -= 1
        else:
            surplus.append(place)
    left = sorted((+missing).elements()) + sorted((+anywhere).elements())
    assert (left, surplus) == ([], []), f"not reported: {left}; not expected: {surplus}"


SHIPPED = [*folder("stdlib").glob("**/*.linnet"), *folder("nest").glob("**/*.linnet")]


@pytest.mark.parametrize("path", sorted(SHIPPED), ids=name_of)
def test_shipped_source_checks_without_a_word(path: Path) -> None:
    assert reported_for(path) == []


@pytest.mark.parametrize("path", ACCEPT, ids=name_of)
def test_accepted_without_a_word(path: Path) -> None:
    assert reported_for(path) == []


@pytest.mark.parametrize("path", REJECT, ids=name_of)
def test_rejected_with_the_expected_codes(path: Path) -> None:
    compare(path, [path])


@pytest.mark.parametrize("folder", PACKAGES, ids=name_of)
def test_package_rejected_with_the_expected_codes(folder: Path) -> None:
    compare(folder / "src" / "lib.linnet", sorted((folder / "src").glob("**/*.linnet")))


# Bodies of kernels, which are not read yet, and manifests: no program here brings these about.
LATER = {"E2127", "E5001"}


def test_every_code_has_a_program() -> None:
    covered: set[str] = set()
    for path in (HERE / "reject").glob("**/*.linnet"):
        on_line, in_file = expected_in(path)
        covered.update(code for _, code in on_line)
        covered.update(in_file)
    assert covered == set(CODES) - LATER
