"""What is in scope where a dimension is checked: declared symbols and `where` clauses.

`Facts` is cheap to extend: the child shares the parent's clauses, and the work of sorting them
out is done once, at the first question.
"""

from __future__ import annotations

from collections.abc import Iterable

from linnet.dims.clause import Clause
from linnet.dims.expr import Dim, Sym
from linnet.dims.record import Reasoner, reason_about


class Facts:
    """Clauses taken for true. Every symbol and every element count is at least 0 anyway."""

    def __init__(self, clauses: Iterable[Clause] = (), symbols: Iterable[Sym] = ()) -> None:
        self._clauses: tuple[Clause, ...] = tuple(clauses)
        self._order: dict[Sym, int] = {s: i for i, s in enumerate(symbols)}
        self._reasoner: Reasoner | None = None
        self.answers: dict[tuple[Dim, Dim], bool] = {}
        """Equalities already decided; `prove` keeps them here."""

    @property
    def clauses(self) -> tuple[Clause, ...]:
        """The clauses recorded so far, in the order they came."""
        return self._clauses

    @property
    def reasoner(self) -> Reasoner:
        """The facts sorted by rule, worked out at the first use."""
        if self._reasoner is None:
            self._reasoner = reason_about(self._clauses, self._order)
        return self._reasoner

    def assume(self, clause: Clause) -> None:
        """Take `clause` for true from now on, in this object only."""
        self._clauses = (*self._clauses, clause)
        self._changed()

    def declare(self, symbol: Sym) -> None:
        """Note a symbol; later ones are the first that equalities are solved for."""
        self._order = {**self._order, symbol: len(self._order)}
        self._changed()

    def extended(self, clauses: Iterable[Clause], symbols: Iterable[Sym] = ()) -> Facts:
        """A new `Facts` that knows more; this one stays as it is."""
        added = tuple(clauses)
        declared = (*self._order, *(s for s in symbols if s not in self._order))
        if not added and len(declared) == len(self._order):
            return self
        return Facts((*self._clauses, *added), declared)

    def normalise(self, dim: Dim) -> Dim:
        """The normal form of `dim` under the facts: equal to it wherever they hold."""
        return self.reasoner.rewriter.normalise(dim)

    def _changed(self) -> None:
        self._reasoner = None
        self.answers = {}
