"""What a checkpoint holds, folded for people: one line a kind of tensor, one node a module.

In go the tensors of an open checkpoint; out come `Kind`s, where `{i}` stands for the positions
of an array, and the tree of modules that the dots in the names make up. Only names, dtypes and
shapes are looked at.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

LETTERS = "ijklmn"
"""Names of array positions, outermost first."""

_NUMBER = re.compile(r"\d+")


class Info(Protocol):
    """What is asked of a tensor."""

    @property
    def dtype(self) -> str: ...
    @property
    def shape(self) -> tuple[int, ...]: ...


@dataclass(frozen=True)
class Kind:
    """Tensors whose names differ in array positions only. `pattern` has `{i}`, `{j}` and so on
    for these; `positions` the numbers that each takes, sorted; `names` all of them."""

    pattern: str
    dtype: str
    shape: tuple[int, ...]
    positions: tuple[tuple[int, ...], ...]
    names: tuple[str, ...]

    @property
    def whole(self) -> bool:
        """Whether every combination of the positions is there."""
        expected = 1
        for numbers in self.positions:
            expected *= len(numbers)
        return expected == len(self.names)


def folded(name: str) -> tuple[str, tuple[int, ...]]:
    """A name with letters for its array positions, and the positions."""
    letters = iter(LETTERS)
    parts: list[str] = []
    positions: list[int] = []
    for part in name.split("."):
        if _NUMBER.fullmatch(part) and len(positions) < len(LETTERS):
            positions.append(int(part))
            part = f"{{{next(letters)}}}"
        parts.append(part)
    return ".".join(parts), tuple(positions)


def kinds(tensors: Mapping[str, Info]) -> list[Kind]:
    """The kinds of tensors, in the order of their first names sorted by position."""
    groups: dict[tuple[str, str, tuple[int, ...]], list[tuple[tuple[int, ...], str]]] = {}
    for name, info in tensors.items():
        pattern, positions = folded(name)
        groups.setdefault((pattern, info.dtype, info.shape), []).append((positions, name))
    found = []
    for (pattern, dtype, shape), members in groups.items():
        members.sort()
        columns = zip(*(positions for positions, _ in members), strict=True)
        numbers = tuple(tuple(sorted(set(column))) for column in columns)
        found.append(Kind(pattern, dtype, shape, numbers, tuple(name for _, name in members)))
    return sorted(found, key=lambda kind: kind.pattern)


def listed(found: Iterable[Kind]) -> Iterator[str]:
    """One line a kind: name, dtype, shape, and what its letters stand for."""
    rows = [(k.pattern, f"{k.dtype} {shown(k.shape)}", _places(k)) for k in found]
    width = max((len(row[0]) for row in rows), default=0)
    second = max((len(row[1]) for row in rows if row[2]), default=0)
    for pattern, type, places in rows:
        yield f"{pattern:<{width}}  {type:<{second}}  {places}".rstrip()


def shown(shape: Iterable[int]) -> str:
    return f"[{', '.join(map(str, shape))}]"


def _places(kind: Kind) -> str:
    parts = [
        f"{letter} = {numbers_text(numbers)}"
        for letter, numbers in zip(LETTERS, kind.positions, strict=False)
    ]
    return ", ".join(parts) + ("" if kind.whole else " (not in all combinations)")


def numbers_text(numbers: tuple[int, ...]) -> str:
    """`0..11` for whole runs, otherwise the numbers or the first and last of them."""
    if len(numbers) > 1 and numbers == tuple(range(numbers[0], numbers[-1] + 1)):
        return f"{numbers[0]}..{numbers[-1]}"
    if len(numbers) <= 8:
        return " ".join(map(str, numbers))
    return f"{len(numbers)} of {numbers[0]}..{numbers[-1]}"


@dataclass
class Node:
    """A module or a tensor of the checkpoint. `path` is its name from the outside."""

    name: str
    path: str
    children: dict[str, Node] = field(default_factory=dict)
    tensor: Info | None = None

    @property
    def is_array(self) -> bool:
        """Whether its children are items 0, 1, 2, … of one and the same form."""
        names = list(self.children)
        if self.tensor is not None or not names or not all(map(str.isdigit, names)):
            return False
        in_order = sorted(map(int, names)) == list(range(len(names)))
        return in_order and len({form(child) for child in self.children.values()}) == 1

    @property
    def item(self) -> Node:
        """The first item of an array."""
        return self.children["0"]

    def leaves(self) -> Iterator[Node]:
        """The tensors at and below it."""
        if self.tensor is not None:
            yield self
        for child in self.children.values():
            yield from child.leaves()


def form(node: Node) -> tuple[object, ...]:
    """What two nodes have in common that one block can describe: names, dtypes, shapes."""
    own = None if node.tensor is None else (node.tensor.dtype, node.tensor.shape)
    return own, tuple((name, form(child)) for name, child in sorted(node.children.items()))


def tree(tensors: Mapping[str, Info]) -> Node:
    """The tensors as a tree of modules; children sorted by name, numbers by value."""
    root = Node("", "")
    for name in sorted(tensors, key=natural):
        node = root
        for part in name.split("."):
            path = f"{node.path}.{part}" if node.path else part
            node = node.children.setdefault(part, Node(part, path))
        node.tensor = tensors[name]
    return root


def natural(name: str) -> list[tuple[int, int, str]]:
    """A key to sort names by in which 10 comes after 9, and weights before biases."""
    parts = itertools.chain(name.split("."))
    return [(1, int(p), "") if p.isdigit() else (p == "bias", 0, p) for p in parts]
