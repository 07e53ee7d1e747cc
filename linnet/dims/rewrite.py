"""Normal form under facts: rules R2 to R6 and R11 of the language reference.

In: a `Dim` and a `Known`. Out: an equal `Dim` (equal wherever it is defined and the facts hold)
in which solved symbols are replaced, multiples are pulled out of quotients and remainders, and
quotients known to be exact are folded back. Whether a sum is non-negative is asked through a
`Judge`, which is `bounds` in practice.
"""

from __future__ import annotations

from typing import Protocol

from linnet.dims.expr import (
    POISONED,
    ZERO,
    Atom,
    Dim,
    Div,
    Min,
    Mod,
    Monomial,
    Numel,
    Sym,
    atom_key,
    collect,
)
from linnet.dims.known import Known
from linnet.dims.poly import cofactor, common_factor, divide, exact, without

_FOLDS = 64  # quotients folded back in one expression
_CHAIN = 3  # divisibility facts used one after another for one quotient


class Judge(Protocol):
    """Answers whether sums are non-negative."""

    level: int
    """How deep in questions inside questions it is; deeper it tries less hard."""

    def nonnegative(self, dim: Dim) -> bool:
        """Whether `dim >= 0` follows from the facts."""


class Rewriter:
    """Rewrites with one `Known`; `forget` when a fact is added."""

    def __init__(self, known: Known, judge: Judge) -> None:
        self._known = known
        self._judge = judge
        self._cache: dict[tuple[Dim, int], Dim] = {}

    def forget(self) -> None:
        """Drop what was worked out; the facts have changed."""
        self._cache.clear()

    def normalise(self, dim: Dim) -> Dim:
        """The normal form of `dim` under the facts."""
        if dim.poisoned or self._is_normal(dim):
            return dim
        key = (dim, self._judge.level)  # what is proven on the way depends on the level
        found = self._cache.get(key)
        if found is None:
            found = self._cache[key] = self._fold(dim.rewrite(self._atom))
        return found

    def _is_normal(self, dim: Dim) -> bool:
        """Whether there is nothing to rewrite: plain symbols that no equality determines."""
        known = self._known
        if dim.depth or known.replaced:
            return False
        return not known.solved or known.solved.keys().isdisjoint(dim.symbols())

    def expand(self, dim: Dim) -> Dim:
        """`normalise(dim)` with every `d * (x / d)` written as `x - x % d`, exact or not."""
        return self._fold(self.normalise(dim), also_inexact=True)

    def is_multiple(self, dim: Dim, divisor: Dim) -> bool:
        """Whether the facts make `dim` a multiple of the non-zero `divisor` (both normal)."""
        return not dim.poisoned and not self._split(dim, divisor)[1].terms

    def clear_denominators(self, dim: Dim) -> Dim:
        """A normal form that is zero exactly where `dim` is, with fewer exact quotients.

        `x / d` with `d` dividing `x` has a non-zero `d`, so multiplying by `d` loses nothing.
        """
        for _ in range(4):
            quotient = next((a for a in _quotients(dim) if self.is_multiple(a.left, a.right)), None)
            if quotient is None:
                break
            dim = self._fold(dim * quotient.right)
        return dim

    def _atom(self, atom: Atom) -> Dim:
        if isinstance(atom, Sym):
            return self._known.solved.get(atom) or Dim.of(atom)
        if isinstance(atom, Numel):
            return self._known.replaced.get(atom) or Dim.of(atom)
        left, right = self.normalise(atom.left), self.normalise(atom.right)
        if isinstance(atom, (Div, Mod)):
            return self._divided(atom, left, right)
        return self._replaced(self._extreme(isinstance(atom, Min), left, right))

    def _divided(self, atom: Div | Mod, left: Dim, right: Dim) -> Dim:
        """R2, R3, R4: the quotient or remainder of normal forms."""
        if left.poisoned or right.poisoned:
            return POISONED
        quotient, rest = ZERO, left
        if self._is_positive(right) or right in self._known.divisors:
            quotient, rest = self._split(left, right)
            if not rest.terms or self._in_range(rest, right):
                return quotient if isinstance(atom, Div) else rest
            common = common_factor(rest, right)
            if common:  # x*a / (x*b) is a / b, and x*a % (x*b) is x * (a % b), for x not zero
                rest, right = cofactor(rest, common), cofactor(right, common)
                scale = collect({common: 1})
                inner = self._divided(atom, rest, right)
                return quotient + inner if isinstance(atom, Div) else scale * inner
        if isinstance(atom, Div):
            return quotient + self._replaced(rest.floordiv(right))
        return self._replaced(rest.mod(right))

    def _extreme(self, smaller: bool, left: Dim, right: Dim) -> Dim:
        """R11: a minimum or maximum whose order may be known."""
        if self._judge.nonnegative(right - left):
            return left if smaller else right
        if self._judge.nonnegative(left - right):
            return right if smaller else left
        return left.minimum(right) if smaller else left.maximum(right)

    def _replaced(self, dim: Dim) -> Dim:
        table = self._known.replaced
        if not table or table.keys().isdisjoint(dim.atoms()):
            return dim
        return dim.rewrite(lambda atom: table.get(atom) or Dim.of(atom))

    def _is_positive(self, dim: Dim) -> bool:
        return dim.value > 0 if dim.is_const else self._judge.nonnegative(dim - 1)

    def _in_range(self, rest: Dim, divisor: Dim) -> bool:
        """R3: `0 <= rest < divisor`."""
        if rest.is_const and rest.value < 0:
            return False
        return self._judge.nonnegative(divisor - rest - 1) and self._judge.nonnegative(rest)

    def _split(self, dim: Dim, divisor: Dim) -> tuple[Dim, Dim]:
        """`(q, r)` with `dim == q * divisor + r`, using divisibility facts (R2, R4)."""
        quotient, rest = divide(dim, divisor)
        for x, d in self._known.multiples:
            if len(x.terms) > 1 and rest.terms and exact(d, divisor) is not None:
                times, rest = divide(rest, x)
                quotient = quotient + times * x.floordiv(divisor)
        kept: dict[Monomial, int] = {}
        for c, product in rest.terms:
            part = self._quotient(collect({product: c}), divisor, _CHAIN)
            if part is None:
                kept[product] = c
            else:
                quotient = quotient + part
        return quotient, collect(kept)

    def _quotient(self, dim: Dim, divisor: Dim, chain: int) -> Dim | None:
        """`dim / divisor` if the facts make every term a multiple of it, else None."""
        if dim.poisoned:
            return None
        total = ZERO
        for c, product in dim.terms:
            part = self._term_quotient(collect({product: c}), divisor, chain)
            if part is None:
                return None
            total = total + part
        return total

    def _term_quotient(self, term: Dim, divisor: Dim, chain: int) -> Dim | None:
        plain = exact(term, divisor)
        if plain is not None or chain == 0:
            return plain
        for x, d in self._known.multiples:
            rest = exact(term, x)
            if rest is None:
                continue
            if exact(d, divisor) is not None:  # x is a multiple of d, and d of the divisor
                return rest * x.floordiv(divisor)
            inner = x.floordiv(d)
            smaller = exact(divisor, d)
            if smaller is not None:  # divide by d here, by what is left of the divisor next
                found = self._quotient(rest * inner, smaller, chain - 1)
            elif self._has_fact_about(inner):
                found = self._quotient(rest * d * inner, divisor, chain - 1)
            else:
                continue
            if found is not None:
                return found
        return None

    def _has_fact_about(self, dim: Dim) -> bool:
        return any(not dim.atoms().isdisjoint(x.atoms()) for x, _ in self._known.multiples)

    def _fold(self, dim: Dim, also_inexact: bool = False) -> Dim:
        """R5: `d * (x / d)` becomes `x`, until nothing changes."""
        for _ in range(_FOLDS):
            for atom in _quotients(dim):
                folded = self._fold_one(dim, atom, also_inexact)
                if folded is not None:
                    dim = folded
                    break
            else:
                return dim
        return dim

    def _fold_one(self, dim: Dim, atom: Div, also_inexact: bool) -> Dim | None:
        with_atom: dict[Monomial, int] = {}
        for c, product in dim.terms:
            cofactor = without(product, (atom,))
            if cofactor is not None:
                with_atom[cofactor] = c
        factor, _ = divide(collect(with_atom), atom.right)
        if not factor.terms:
            return None
        if self.is_multiple(atom.left, atom.right):
            whole = atom.left
        elif also_inexact:
            whole = atom.left - self._divided(Mod(atom.left, atom.right), atom.left, atom.right)
        else:
            return None
        return dim + factor * (whole - atom.right * Dim.of(atom))


def _quotients(dim: Dim) -> list[Div]:
    found = [atom for atom in dim.atoms() if isinstance(atom, Div)]
    return sorted(found, key=atom_key) if len(found) > 1 else found
