"""What has been recorded about the sizes in scope, sorted by the rule that uses it.

A passive store: `facts` fills it, `rewrite` and `bounds` read it. Everything in it is in normal
form with respect to what was recorded before.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from linnet.dims.expr import Atom, Dim, Numel, Sym


@dataclass
class Known:
    """The facts in scope. Every `Sym` and `Numel` is at least 0 without being listed."""

    solved: dict[Sym, Dim] = field(default_factory=dict)
    """Symbols that an equality determines (R6); the values mention no solved symbol."""
    replaced: dict[Atom, Dim] = field(default_factory=dict)
    """Other atoms that an equality determines."""
    multiples: list[tuple[Dim, Dim]] = field(default_factory=list)
    """(x, d): `x % d == 0`, which implies that `d` is not zero (R4)."""
    low: dict[Atom, int] = field(default_factory=dict)
    high: dict[Atom, int] = field(default_factory=dict)
    """Numeric bounds of atoms, both inclusive (R7)."""
    nonnegative: list[Dim] = field(default_factory=list)
    """Sums that are at least 0 (R9)."""
    zeros: list[Dim] = field(default_factory=list)
    """Sums that are 0 and could not be solved for an atom."""
    nonzero: list[Dim] = field(default_factory=list)
    """Sums of unknown sign that are not 0."""
    divisors: set[Dim] = field(default_factory=set)
    """Divisors inside recorded clauses. Not zero: a clause that divides by zero is false."""

    def lower(self, atom: Atom) -> int | None:
        """The recorded or inborn lower bound of an atom."""
        found = self.low.get(atom)
        if isinstance(atom, (Sym, Numel)):
            return max(found or 0, 0)
        return found
