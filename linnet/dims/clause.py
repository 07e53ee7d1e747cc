"""`where` items: one comparison of two dimensions, with the words the user wrote.

The checker proves clauses (`prove`), and the entry boundary evaluates the same objects for the
actual sizes (`Clause.holds`). Nothing here reasons about sizes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from linnet.dims.expr import Dim, Pack, Sym, as_dim

COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Clause:
    """One `where` item. Two clauses are equal when they compare the same dimensions."""

    op: str
    """`==`, `!=`, `<`, `<=`, `>` or `>=`."""
    left: Dim
    right: Dim
    text: str = field(compare=False)
    """As the user wrote it; it survives substitution."""
    origin: object | None = field(default=None, compare=False)
    """Where it stands in the source: a span, or an origin of the IR."""

    def __post_init__(self) -> None:
        if self.op not in COMPARISONS:
            raise ValueError(f"`{self.op}` is not a comparison")

    @staticmethod
    def of(op: str, left: Dim | int, right: Dim | int, origin: object | None = None) -> Clause:
        """A clause nobody wrote down; its text is printed from the dimensions."""
        a, b = as_dim(left), as_dim(right)
        return Clause(op, a, b, f"{a} {op} {b}", origin)

    def holds(self, values: Mapping[Any, int]) -> bool:
        """Whether it is true for actual sizes, keyed by `Sym` or by name.

        A zero divisor counts as a violation. Raises KeyError for a symbol without a value.
        """
        if self.left.poisoned or self.right.poisoned:
            return False
        try:
            return COMPARISONS[self.op](self.left.evaluate(values), self.right.evaluate(values))
        except ZeroDivisionError:
            return False

    def substitute(
        self, mapping: Mapping[Sym, Dim], packs: Mapping[Pack, Dim] | None = None
    ) -> Clause:
        """The clause about other dimensions, with the same text and origin."""
        left = self.left.substitute(mapping, packs)
        right = self.right.substitute(mapping, packs)
        return Clause(self.op, left, right, self.text, self.origin)

    def symbols(self) -> frozenset[Sym]:
        """Every symbol of either side."""
        return self.left.symbols() | self.right.symbols()

    def packs(self) -> frozenset[Pack]:
        """Every pack of either side."""
        return self.left.packs() | self.right.packs()

    def __str__(self) -> str:
        return f"{self.left} {self.op} {self.right}"
