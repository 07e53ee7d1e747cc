"""A target: one instruction set, as the table `codegen/isa/<name>.toml` describes it.

In: the name of a table. Out: a `Target`, whose groups of spellings (`f32`, `i32`) are what
templates render through: `target.f32.fma(a="x", b="w", c="sum")` is the C text of a fused
multiply-add. This module chooses nothing, knows no compiler flags and asks no compiler
(`detect` does).
"""

from __future__ import annotations

import functools
import string
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linnet.errors import UsageError
from linnet.resources import folder

VIRTUAL_LANES = 16
"""Every reduction that needs lanes uses this many, on every target (f32)."""


@dataclass(frozen=True)
class Spelling:
    """The C text of one operation, with named holes: `vld1q_f32({p})`."""

    name: str
    text: str

    @functools.cached_property
    def holes(self) -> frozenset[str]:
        """The names that a call must fill, no more and no fewer."""
        return frozenset(field for _, field, _, _ in string.Formatter().parse(self.text) if field)

    def __call__(self, **args: object) -> str:
        """Fill the holes. Raises TypeError unless exactly the holes are named."""
        if set(args) != self.holes:
            wants, got = sorted(self.holes), sorted(args)
            raise TypeError(f"spelling `{self.name}` wants {wants}, got {got}")
        return self.text.format(**args)


@dataclass(frozen=True)
class Register:
    """One of the native registers that together hold the 16 virtual lanes."""

    index: int
    at: int  # the first virtual lane it holds

    def __str__(self) -> str:
        return str(self.index)

    def of(self, pointer: str) -> str:
        """Where this register's elements begin, counted from `pointer`."""
        return f"{pointer} + {self.at}" if self.at else pointer

    def left(self, count: str) -> str:
        """How many of the `count` elements from the first register on are for this one."""
        return f"{count} - {self.at}" if self.at else count


class Spellings:
    """One table of a target: fixed words (`vec`, `lanes`) and operations (`load`, `fma`).

    Words are plain attributes, operations are `Spelling`s. A name that the table lacks raises
    AttributeError, which a strict template turns into an error that names it.
    """

    def __init__(self, group: str, table: dict[str, Any]) -> None:
        for key, value in table.items():
            is_operation = isinstance(value, str) and "{" in value
            setattr(self, key, Spelling(f"{group}.{key}", value) if is_operation else value)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"this target spells no `{name}`")


class VectorSpellings(Spellings):
    """A float table; knows how its registers make up the 16 virtual lanes."""

    lanes: int
    vec: str

    @property
    def regs(self) -> tuple[Register, ...]:
        """The registers of 16 virtual lanes: 4 on NEON, 2 on AVX2, 1 on AVX-512."""
        count = VIRTUAL_LANES // self.lanes
        return tuple(Register(i, i * self.lanes) for i in range(count))

    def each(self, stem: str) -> str:
        """The variables `stem0, stem1, ...`, one a register, as an argument list."""
        return ", ".join(f"{stem}{r.index}" for r in self.regs)

    def span(self, count: int) -> tuple[Register, ...]:
        """The registers that hold `count` consecutive elements; `count` in whole registers."""
        return tuple(Register(i, i * self.lanes) for i in range(count // self.lanes))


@dataclass(frozen=True)
class Target:
    """What templates get of an instruction set.

    `name`: as the user says it. `includes`: the system headers of its intrinsics. `simd`: the
    template of its several-statement primitives, relative to `codegen/`. `tile`: how many rows
    and columns of a matrix product its registers hold at once.
    """

    name: str
    includes: tuple[str, ...]
    simd: str
    f32: VectorSpellings
    i32: Spellings
    tile: Spellings

    def context(self) -> dict[str, object]:
        """The names a template may use: `target` and its groups of spellings."""
        return {"target": self, "f32": self.f32, "i32": self.i32, "tile": self.tile}


def target_names() -> tuple[str, ...]:
    """All targets that have a table, sorted."""
    return tuple(sorted(path.stem for path in _tables().glob("*.toml")))


@functools.cache
def load_target(name: str) -> Target:
    """Read the table of target `name`. Raises UsageError when there is none."""
    if name not in target_names():
        known = ", ".join(target_names())
        raise UsageError(f"unknown target `{name}`", help=f"the targets are: {known}")
    table = tomllib.loads((_tables() / f"{name}.toml").read_text(encoding="utf-8"))
    return Target(
        name=name,
        includes=tuple(table["includes"]),
        simd=table["simd"],
        f32=VectorSpellings("f32", table["f32"]),
        i32=Spellings("i32", table.get("i32", {})),
        tile=Spellings("tile", table["tile"]),
    )


def _tables() -> Path:
    return folder("codegen") / "isa"
