"""What a compiled unit says about itself: enough to bind, check and call it, and no more.

The compiler writes it, the runtime reads it, and a cache hit needs nothing else. It is plain
data that goes through JSON; dims travel as text over the entry's sizes.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any

FORMAT = 1
"""Raised whenever the meaning of a field or the C calling convention changes."""


@dataclass(frozen=True)
class Argument:
    """An input or a result of an entry. `dims` are dim texts, e.g. ("B", "S", "768")."""

    name: str
    dtype: str
    dims: tuple[str, ...]


@dataclass(frozen=True)
class ClauseInfo:
    """A condition on the sizes. `left op right` is evaluated; `text` and `place` are shown."""

    op: str
    left: str
    right: str
    text: str
    place: str


@dataclass(frozen=True)
class ValueRange:
    """Every element of the integer input `name` must lie in [low, high), dims as text.
    With `distinct`, no value may occur twice. `reason` completes "because ..."."""

    name: str
    low: str
    high: str
    reason: str
    place: str
    distinct: bool = False


@dataclass(frozen=True)
class Weight:
    """A parameter the code reads. `layout` is "dense" (as in the manifest, converted to
    `dtype`) or the name of a packing function of the unit; `size` is in bytes as laid out;
    `dims` is the manifest's shape (what the checkpoint must hold); `args` are numbers handed
    to the packing function, which starts at element `offset` of the parameter."""

    path: str
    dtype: str
    dims: tuple[int, ...]
    layout: str
    size: int
    args: tuple[int, ...] = ()
    offset: int = 0


@dataclass(frozen=True)
class State:
    path: str
    dtype: str
    dims: tuple[int, ...]


@dataclass(frozen=True)
class Entry:
    """`symbol` is the exported C function; `sizes` the order of its size arguments;
    `inputs`, `results`, `weights` and `states` are in the order of their pointer tables
    (the last two are positions in the unit's lists). `arena` is the bytes of working memory
    as a dim text; `scratch` the bytes a worker needs."""

    name: str
    symbol: str
    sizes: tuple[str, ...]
    inputs: tuple[Argument, ...]
    results: tuple[Argument, ...]
    tuple_result: bool
    clauses: tuple[ClauseInfo, ...]
    ranges: tuple[ValueRange, ...]
    weights: tuple[int, ...]
    states: tuple[int, ...]
    arena: str
    scratch: str


@dataclass(frozen=True)
class Parameter:
    """A member of the manifest that a checkpoint may hold, whether the code reads it or not."""

    path: str
    dtype: str
    dims: tuple[int, ...]
    optional: bool
    group: str


@dataclass(frozen=True)
class Artifact:
    """One compiled unit: all its entries, and the memory they share."""

    name: str
    target: str
    numerics: str
    generics: tuple[tuple[str, int | str], ...]
    manifest: tuple[Parameter, ...]
    weights: tuple[Weight, ...]
    states: tuple[State, ...]
    entries: tuple[Entry, ...]
    explain: str = ""
    constants: tuple[tuple[str, int | float | bool | str], ...] = ()
    format: int = FORMAT

    @property
    def packs(self) -> tuple[str, ...]:
        """The packing functions that the weights need, sorted."""
        return tuple(sorted({w.layout for w in self.weights if w.layout != "dense"}))

    def to_json(self) -> str:
        """One JSON document; `from_json` is the inverse."""
        return json.dumps(dataclasses.asdict(self), indent=1, sort_keys=True)

    @staticmethod
    def from_json(text: str) -> Artifact:
        """Read what `to_json` wrote. Raises ValueError on another format or damaged text."""
        data = json.loads(text)
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise ValueError("artifact of another format")
        try:
            return _artifact(data)
        except (KeyError, TypeError) as error:
            raise ValueError(f"damaged artifact: {error}") from error


def _tuples(value: Any) -> Any:
    return tuple(_tuples(v) for v in value) if isinstance(value, list) else value


def _record(cls: Any, data: dict[str, Any], **nested: Any) -> Any:
    return cls(**{k: nested[k] if k in nested else _tuples(v) for k, v in data.items()})


def _artifact(data: dict[str, Any]) -> Artifact:
    def all_of(cls: Any, items: list[dict[str, Any]]) -> tuple[Any, ...]:
        return tuple(_record(cls, item) for item in items)

    def entry(item: dict[str, Any]) -> Entry:
        result: Entry = _record(
            Entry,
            item,
            inputs=all_of(Argument, item["inputs"]),
            results=all_of(Argument, item["results"]),
            clauses=all_of(ClauseInfo, item["clauses"]),
            ranges=all_of(ValueRange, item["ranges"]),
        )
        return result

    artifact: Artifact = _record(
        Artifact,
        data,
        manifest=all_of(Parameter, data["manifest"]),
        weights=all_of(Weight, data["weights"]),
        states=all_of(State, data["states"]),
        entries=tuple(entry(item) for item in data["entries"]),
    )
    return artifact
