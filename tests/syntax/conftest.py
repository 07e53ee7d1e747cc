"""What the tests of the parser share: parsing a snippet and printing a tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest

from linnet.diag import Problems, Source
from linnet.syntax import tree
from linnet.syntax.parse import parse


def _show(value: Any) -> str:
    """A node as `(Kind field …)`: names and values bare, absent parts as `-`, lists in `[]`."""
    if isinstance(value, tree.Node):
        parts = [
            _show(getattr(value, field.name))
            for field in fields(value)
            if not field.name.endswith("span") and field.name not in ("text", "doc")
        ]
        return f"({' '.join([type(value).__name__, *parts])})"
    if isinstance(value, tuple):
        return f"[{' '.join(_show(part) for part in value)}]"
    return "-" if value is None else str(value)


@pytest.fixture
def show() -> Callable[[Any], str]:
    return _show


@pytest.fixture
def read() -> Callable[[str], tuple[tree.Module, Problems]]:
    """Parse a text as it is."""

    def run(text: str) -> tuple[tree.Module, Problems]:
        problems = Problems()
        return parse(Source("test.linnet", text), problems), problems

    return run


@pytest.fixture
def good(read: Callable[[str], tuple[tree.Module, Problems]]) -> Callable[[str], tree.Module]:
    """Parse items below a `module` line; they must be free of errors."""

    def run(items: str) -> tree.Module:
        module, problems = read("module test\n" + items)
        assert [str(d.message) for d in problems] == []
        assert not module.damaged
        return module

    return run


@pytest.fixture
def expression(good: Callable[[str], tree.Module]) -> Callable[[str], str]:
    """The printed tree of an expression."""

    def run(text: str) -> str:
        (item,) = good(f"const it = {text}\n").items
        assert isinstance(item, tree.Const)
        assert item.value.span.text == text
        return _show(item.value)

    return run


@pytest.fixture
def statement(good: Callable[[str], tree.Module]) -> Callable[[str], str]:
    """The printed tree of one statement."""

    def run(text: str) -> str:
        (item,) = good(f"fn it() {{ {text} }}\n").items
        assert isinstance(item, tree.Function)
        (found,) = item.body.statements
        assert found.span.text == text
        return _show(found)

    return run


@pytest.fixture
def codes(read: Callable[[str], tuple[tree.Module, Problems]]) -> Callable[[str], list[str]]:
    """The codes of a whole text, in order."""

    def run(text: str) -> list[str]:
        return list(read(text)[1].codes())

    return run
