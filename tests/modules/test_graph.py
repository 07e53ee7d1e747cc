"""Circles of imports."""

from __future__ import annotations

from pathlib import Path

import pytest

from linnet.diag import Diagnostic, Problems
from linnet.modules import load


def check(folder: Path, edges: dict[str, str]) -> list[Diagnostic]:
    """Load a library whose modules import as `edges` says; the root imports the first."""
    for name, targets in edges.items():
        uses = "".join(f"use std.{target}\n" for target in targets)
        (folder / f"{name}.linnet").write_text(f"module std.{name}\n{uses}")
    root = folder / "root.linnet"
    problems = Problems()
    root.write_text("".join(["module root\n", *(f"use std.{name}\n" for name in edges)]))
    load(root, problems, folder)
    return list(problems)


@pytest.mark.parametrize(
    ("edges", "circles"),
    [
        ({"a": "b", "b": "c", "c": ""}, []),
        ({"a": "bc", "b": "d", "c": "d", "d": ""}, []),
        ({"a": "a"}, ["module `std.a` imports itself"]),
        ({"a": "b", "b": "a"}, ["`std.a` -> `std.b` -> `std.a`"]),
        ({"a": "b", "b": "c", "c": "a"}, ["`std.a` -> `std.b` -> `std.c` -> `std.a`"]),
        # one report for a knot, by its shortest circle
        ({"a": "b", "b": "ca", "c": "a"}, ["`std.a` -> `std.b` -> `std.a`"]),
        # two knots, the second reached from the first
        ({"a": "bc", "b": "a", "c": "d", "d": "c"},
         ["`std.a` -> `std.b` -> `std.a`", "`std.c` -> `std.d` -> `std.c`"]),
        # a way into a circle is not part of it
        ({"a": "b", "b": "c", "c": "b"}, ["`std.b` -> `std.c` -> `std.b`"]),
    ],
)  # fmt: skip
def test_circles(tmp_path: Path, edges: dict[str, str], circles: list[str]) -> None:
    found = check(tmp_path, edges)
    assert [d.code for d in found] == ["E1206"] * len(circles)
    assert [d.message.split(": ")[-1] for d in found] == circles


def test_every_import_of_the_circle_is_shown(tmp_path: Path) -> None:
    (problem,) = check(tmp_path, {"a": "b", "b": "c", "c": "a"})
    assert problem.primary is not None
    assert problem.primary.span.source.name == "stdlib/a.linnet"
    assert [(label.span.source.name, label.text) for label in problem.related] == [
        ("stdlib/b.linnet", "`std.b` imports `std.c`"),
        ("stdlib/c.linnet", "`std.c` imports `std.a`"),
    ]


def test_a_long_chain_of_imports_needs_no_recursion(tmp_path: Path) -> None:
    length = 1_500
    for n in range(length):
        following = f"use std.m{n + 1}\n" if n + 1 < length else "use std.m0\n"
        (tmp_path / f"m{n}.linnet").write_text(f"module std.m{n}\n{following}")
    problems = Problems()
    graph = load(tmp_path / "m0.linnet", problems, tmp_path)
    assert len(graph.modules) == length
    assert problems.codes() == ("E1206",)
