"""Kernel cards: what each template under `codegen/kernels/` stands for, and what it asks.

A card is the only thing the plan knows of a kernel. A call is handed to a kernel when the
op is the card's, the dtypes are among the card's, and every condition on the op's generics
is true for all sizes. Which layout each operand is given in follows in `build`.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from linnet.dims import Dim, Facts, holds, parse, parse_clause
from linnet.ir.node import CallAttrs, Node
from linnet.resources import folder


@dataclass(frozen=True)
class Operand:
    """An operand of the op, and the layouts the kernel takes it in, preferred first."""

    name: str
    layouts: tuple[str, ...]
    """How an operand may be passed, besides `packed:<function>`:

    dense    contiguous, row-major
    stored   a whole parameter that the checkpoint holds in a half float: dense, in that dtype
    rows     all leading axes collapse into one with a stride, the last axis contiguous
    strided  a stride for each axis but the last, the last axis contiguous
    scalar   by value
    lengths  a mask that is a prefix, as int64 counts with a stride for each leading axis"""


@dataclass(frozen=True)
class Expectation:
    """A range for the values of an integer operand: low <= value < high over op generics.
    The op is defined outside it too, but a caller's value there is a mistake."""

    operand: str
    low: str
    high: str
    reason: str
    distinct: bool = False


@dataclass(frozen=True, eq=False)
class Card:
    """See `codegen/README.md` for the file format."""

    name: str
    op: str
    template: str
    summary: str
    dtypes: Mapping[str, tuple[str, ...]]
    where: tuple[str, ...]
    operands: tuple[Operand, ...]
    in_place: str | None  # the operand that the result overwrites
    runtime: tuple[str, ...]  # generics always passed as arguments
    scratch: str | None  # floats a worker, over op generics
    expects: tuple[Expectation, ...] = ()
    flops: str = "0"  # floating-point operations, over op generics
    gathers: bool = False  # reads only a few rows of its weights
    partners: tuple[str, ...] = ()  # can add ("residual") or multiply by ("factor") a tensor
    activations: Mapping[str, str] = field(default_factory=dict)  # op it can apply -> its name

    def operand(self, name: str) -> Operand | None:
        return next((o for o in self.operands if o.name == name), None)


@functools.cache
def cards() -> tuple[Card, ...]:
    """All cards of this installation: those that ask for more first, then by family and name."""
    root = folder("codegen")
    found = [_read(path, root) for path in sorted((root / "kernels").glob("*/*.toml"))]
    return tuple(sorted(found, key=lambda card: -len(card.where)))


def _read(path: Path, root: Path) -> Card:
    data: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    template = path.with_suffix(".c.j2").relative_to(root).as_posix()
    operands = tuple(
        Operand(name, tuple([spec] if isinstance(spec, str) else spec))
        for name, spec in data["operands"].items()
    )
    return Card(
        name=path.stem,
        op=data["op"],
        template=template,
        summary=data.get("summary", ""),
        dtypes={k: tuple(v) for k, v in data.get("dtypes", {}).items()},
        where=tuple(data.get("where", ())),
        operands=operands,
        in_place=_in_place(data["result"]),
        runtime=tuple(data.get("runtime", ())),
        scratch=data.get("scratch"),
        expects=tuple(Expectation(**item) for item in data.get("expects", ())),
        flops=data.get("flops", "0"),
        gathers=data.get("gathers", False),
        partners=tuple(
            part for part in ("residual", "factor") if data.get("epilogue", {}).get(part, False)
        ),
        activations=data.get("epilogue", {}).get("activations", {}),
    )


def _in_place(result: str) -> str | None:
    """`result = "in place: cache"` names an operand; the other form is "dense"."""
    return result.removeprefix("in place: ") if result.startswith("in place: ") else None


@dataclass(frozen=True)
class Match:
    """The answer for one call: the card, or why there is none."""

    card: Card | None
    reason: str


def match(call: Node, facts: Facts, policy: str) -> Match:
    """The kernel for a CALL under a numerics policy."""
    if policy == "exact":
        return Match(None, "policy `exact` runs the op's own body")
    assert isinstance(call.attrs, CallAttrs)
    function = call.attrs.function
    misses = []
    for card in cards():
        if card.op != function.op:
            continue
        miss = misfit(card, function.generics, facts)
        if miss is None:
            return Match(card, card.summary)
        misses.append(f"{card.name}: {miss}")
    return Match(None, "; ".join(misses) or "no kernel stands for this op")


def misfit(card: Card, generics: Mapping[str, Any], facts: Facts) -> str | None:
    """What a card asks for that a call does not have, or None."""
    for name, allowed in card.dtypes.items():
        if generics.get(name) not in allowed:
            return f"{name} is {generics.get(name)}, it takes {' or '.join(allowed)}"
    sizes = size_values(generics)
    for text in card.where:
        clause = parse_clause(text, sizes)
        if not holds(clause, facts):
            return f"it asks for {text}"
    return None


def size_values(generics: Mapping[str, Any]) -> dict[str, Dim]:
    """The op's Dim generics as they are bound, packs as their element counts."""
    values: dict[str, Dim] = {}
    for name, value in generics.items():
        if isinstance(value, Dim):
            values[name] = value
        elif isinstance(value, tuple):
            count = Dim.const(1)
            for dim in value:
                count = count * dim
            values[name] = count
    return values


def evaluate(text: str, generics: Mapping[str, Any]) -> Dim:
    """A dim text of a card over the generics of one call."""
    return parse(text, size_values(generics))
