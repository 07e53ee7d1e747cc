"""Is this sum never negative? Rules R7 to R10 of the language reference.

In: a `Dim` in normal form and a `Known`. Out: numeric bounds by interval arithmetic, and a yes
(or no answer) to `p >= 0` by subtracting recorded facts from `p`. A yes holds for all sizes that
satisfy the facts and for which `p` is defined.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TypeAlias

from linnet.dims.expr import Atom, Compound, Dim, Div, Max, Min, Monomial, Numel, Sym, collect
from linnet.dims.known import Known
from linnet.dims.poly import without

Interval: TypeAlias = tuple[int | None, int | None]

_STEPS = 3  # facts subtracted from one sum
_TRIES = 300  # sums looked at for one question
_NESTED = 2  # questions inside questions that may still subtract facts


class Bounds:
    """Bounds under one `Known`; `forget` when a fact is added."""

    def __init__(self, known: Known, normalise: Callable[[Dim], Dim]) -> None:
        self._known = known
        self._normalise = normalise
        self.level = 0  # see `rewrite.Judge`
        self._tries = 0
        self._intervals: dict[tuple[Atom, int], Interval] = {}
        self._proven: set[Dim] = set()
        self._failed: set[tuple[Dim, int]] = set()

    def forget(self) -> None:
        """Drop what was worked out; the facts have changed."""
        self._intervals.clear()
        self._proven.clear()
        self._failed.clear()

    def nonnegative(self, dim: Dim) -> bool:
        """Whether `dim >= 0` follows from the facts."""
        if dim.poisoned:
            return False
        if dim.is_const:
            return dim.value >= 0
        question = self._normalise(dim)
        if question.poisoned:
            return False
        if question in self._proven:
            return True
        if (question, self.level) in self._failed:
            return False
        answer = self._decide(question)
        if answer:
            self._proven.add(question)
        elif self._tries <= _TRIES:  # not for want of budget
            self._failed.add((question, self.level))
        return answer

    def _decide(self, dim: Dim) -> bool:
        if self._at_least_zero(dim):
            return True
        if self.level >= _NESTED:
            return False
        if self.level == 0:  # questions inside this one share its budget
            self._tries = 0
        self.level += 1
        try:
            return self._combine(dim, _STEPS) or self._by_cases(dim, _STEPS)
        finally:
            self.level -= 1

    def _at_least_zero(self, dim: Dim) -> bool:
        low = self.interval(dim)[0]
        return low is not None and low >= 0

    def interval(self, dim: Dim) -> Interval:
        """Bounds of a sum from the bounds of its terms (R8)."""
        if dim.poisoned:
            return None, None
        low: int | None = 0
        high: int | None = 0
        for c, product in dim.terms:
            bottom, top = self._term_interval(c, product)
            low = None if low is None or bottom is None else low + bottom
            high = None if high is None or top is None else high + top
        return low, high

    def _term_interval(self, c: int, product: Monomial) -> Interval:
        low, high = self._product_interval(product)
        if c < 0:
            low, high = high, low
        return None if low is None else c * low, None if high is None else c * high

    def _product_interval(self, product: Monomial) -> Interval:
        if len(product) == 1:
            return self._atom_interval(product[0])
        low: int = 1
        top: int | None = 1
        for atom in product:
            bottom, limit = self._atom_interval(atom)
            if bottom is None or bottom < 0:
                return None, None
            low *= bottom
            top = None if top is None or limit is None else top * limit
        return low, top

    def _atom_interval(self, atom: Atom) -> Interval:
        key = (atom, self.level)
        found = self._intervals.get(key)
        if found is None:
            low, high = self._inherent(atom)
            lower, upper = self._known.lower(atom), self._known.high.get(atom)
            low = lower if low is None else low if lower is None else max(low, lower)
            high = upper if high is None else high if upper is None else min(high, upper)
            found = self._intervals[key] = (low, high)
        return found

    def _inherent(self, atom: Atom) -> Interval:
        if isinstance(atom, (Sym, Numel)):
            return 0, None
        left, right = self._operand(atom.left), self._operand(atom.right)
        if isinstance(atom, Min):
            return _both(min, left[0], right[0]), _either(min, left[1], right[1])
        if isinstance(atom, Max):
            return _either(max, left[0], right[0]), _both(max, left[1], right[1])
        if right[0] is None or right[0] < 0:
            return None, None
        # Not negative, and not zero where the quotient is defined: at least 1.
        divisor = (max(right[0], 1), right[1])
        if not isinstance(atom, Div):
            return _mod_interval(left, divisor)
        low, high = _div_interval(left, divisor)
        return 1 if low == 0 and self._reaches_one(atom, left[0]) else low, high

    def _reaches_one(self, atom: Div, low: int | None) -> bool:
        """A positive multiple of the divisor has it at least once, and so has a larger size."""
        if low is not None and low >= 1 and (atom.left, atom.right) in self._known.multiples:
            return True
        return self.nonnegative(atom.left - atom.right)

    def _operand(self, dim: Dim) -> Interval:
        low, high = self.interval(dim)
        if (low is None or low < 0) and self.nonnegative(dim):
            low = 0
        return low, high

    def _combine(self, dim: Dim, steps: int) -> bool:
        """R9: `dim` is at least a sum of multiples of facts."""
        if self._at_least_zero(dim):
            return True
        self._tries += 1
        if steps == 0 or self._tries > _TRIES or dim.poisoned:
            return False
        seen = {dim}
        for rest in self._remainders(dim):
            if rest not in seen:
                seen.add(rest)
                if self._combine(rest, steps - 1):
                    return True
        return False

    def _remainders(self, dim: Dim) -> Iterator[Dim]:
        """What is left of `dim` after one fact is taken off so that a term cancels."""
        unbounded = [t for t in dim.terms if self._term_interval(*t)[0] is None]
        # A term without lower bound has to go in any case; else any term may be the right one.
        targets = unbounded[:1] or [t for t in dim.terms if t[1]]
        facts = [*self._facts(), *self._about(dim)]
        for c, product in targets:
            for fact in facts:
                for k, inner in fact.terms:
                    if not inner or (k > 0) != (c > 0):
                        continue
                    cofactor = without(product, inner)
                    if cofactor is not None and self._all_nonnegative(cofactor):
                        scale = math.gcd(c, k)
                        factor = collect({cofactor: abs(c) // scale})
                        yield self._normalise(dim * (abs(k) // scale) - fact * factor)

    def _all_nonnegative(self, product: Monomial) -> bool:
        lows = [self._atom_interval(atom)[0] for atom in product]
        return all(low is not None and low >= 0 for low in lows)

    def _facts(self) -> Iterator[Dim]:
        yield from self._known.nonnegative
        for zero in self._known.zeros:
            yield zero
            yield -zero

    def _about(self, dim: Dim) -> Iterator[Dim]:
        """R10 and its kin: sums that are never negative because of what the atoms mean."""
        for atom in sorted_compounds(dim):
            here = Dim.of(atom)
            if isinstance(atom, Min):
                yield from (atom.left - here, atom.right - here)
                continue
            if isinstance(atom, Max):
                yield from (here - atom.left, here - atom.right)
                continue
            low = self._operand(atom.right)[0]
            if low is None or low < 0:
                continue
            if isinstance(atom, Div):
                yield atom.left - atom.right * here
                yield atom.right * here + atom.right - 1 - atom.left
            else:
                yield atom.right - 1 - here
            if self.nonnegative(atom.left):
                yield atom.left - here

    def _by_cases(self, dim: Dim, depth: int) -> bool:
        """A minimum or maximum is one of its operands: enough if the claim holds for both."""
        choice = next((a for a in sorted_compounds(dim) if isinstance(a, (Min, Max))), None)
        if choice is None or depth == 0:
            return False
        for operand in (choice.left, choice.right):
            case = self._normalise(_with(dim, choice, operand))
            if not (self._combine(case, _STEPS) or self._by_cases(case, depth - 1)):
                return False
        return True


def _with(dim: Dim, atom: Atom, value: Dim) -> Dim:
    return dim.rewrite(lambda each: value if each == atom else Dim.of(each))


def sorted_compounds(dim: Dim) -> list[Compound]:
    """The quotients, remainders, minima and maxima among the atoms, in the order of the terms."""
    found: dict[Compound, None] = {}
    for _, product in dim.terms:
        for atom in product:
            if not isinstance(atom, (Sym, Numel)):
                found[atom] = None
    return list(found)


def _both(choose: Callable[[int, int], int], a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else choose(a, b)


def _either(choose: Callable[[int, int], int], a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else choose(a, b)


def _div_interval(left: Interval, divisor: tuple[int, int | None]) -> Interval:
    """Bounds of a floor quotient by a divisor that is at least 1."""
    low, high = left
    small, large = divisor
    if low is not None:
        if low < 0:
            low = low // small
        else:
            low = 0 if large is None else low // max(large, 1)
    if high is not None:
        if high >= 0:
            high = high // small
        else:
            high = -1 if large is None else high // max(large, 1)
    return low, high


def _mod_interval(left: Interval, divisor: tuple[int, int | None]) -> Interval:
    """Bounds of a floor remainder by a divisor that is at least 1."""
    high = None if divisor[1] is None else max(divisor[1] - 1, 0)
    if left[0] is not None and left[0] >= 0:
        high = _either(min, high, left[1])
    return 0, high
