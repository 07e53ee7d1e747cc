"""Turn `where` clauses into a `Known`: which rule uses which fact.

In: clauses and the order in which symbols were declared. Out: a filled `Known` with the rewriter
and the bounds that read it. Facts that contradict each other, or that no rule can use, are
recorded as far as they make sense and never raise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from linnet.dims.bounds import Bounds, sorted_compounds
from linnet.dims.clause import Clause
from linnet.dims.expr import (
    Atom,
    Dim,
    Div,
    Max,
    Min,
    Mod,
    Numel,
    Sym,
    collect,
    content,
    exact_quotient,
)
from linnet.dims.known import Known
from linnet.dims.rewrite import Rewriter

_ROUNDS = 40  # equalities solved for a symbol


class Reasoner:
    """The facts in scope and the two halves of the prover that work with them."""

    def __init__(self, solved: Mapping[Sym, Dim]) -> None:
        self.known = Known(solved=dict(solved))
        self.bounds = Bounds(self.known, self._normalise)
        self.rewriter = Rewriter(self.known, self.bounds)

    def _normalise(self, dim: Dim) -> Dim:
        return self.rewriter.normalise(dim)

    def forget(self) -> None:
        """Drop all caches; a fact was added."""
        self.bounds.forget()
        self.rewriter.forget()


class Solved(Exception):
    """Ends a round: an equality determines a symbol, so all is recorded again without it."""

    def __init__(self, symbol: Sym, value: Dim) -> None:
        super().__init__(symbol.name)
        self.symbol = symbol
        self.value = value


def reason_about(clauses: Sequence[Clause], order: Mapping[Sym, int]) -> Reasoner:
    """A reasoner that knows `clauses`. Symbols declared late are the first to be solved for."""
    solved: dict[Sym, Dim] = {}
    ranked = sorted(clauses, key=_rank)
    for _ in range(_ROUNDS):
        reasoner = Reasoner(solved)
        recorder = _Recorder(reasoner, order)
        try:
            recorder.record_all(ranked)
        except Solved as found:
            replace = {found.symbol: found.value}
            solved = {s: value.substitute(replace) for s, value in solved.items()}
            solved[found.symbol] = found.value
            continue
        break
    _settle(reasoner)
    return reasoner


def _settle(reasoner: Reasoner) -> None:
    """Bring the values of solved symbols into normal form, now that all facts are known."""
    reasoner.forget()
    values = {s: reasoner.rewriter.normalise(v) for s, v in reasoner.known.solved.items()}
    reasoner.known.solved.update({s: v for s, v in values.items() if not v.poisoned})
    reasoner.forget()


def _rank(clause: Clause) -> tuple[int, int]:
    """Simple facts first: they help to normalise the others."""
    kinds = {"==": 2, "!=": 3}
    kind = kinds.get(clause.op, 0)
    if kind == 2 and _remainders(clause):
        kind = 1
    return max(clause.left.depth, clause.right.depth), kind


def _remainders(clause: Clause) -> bool:
    return any(isinstance(a, Mod) for a in clause.left.atoms() | clause.right.atoms())


class _Recorder:
    """One round over all clauses. Raises Solved as soon as an equality determines a symbol."""

    def __init__(self, reasoner: Reasoner, order: Mapping[Sym, int]) -> None:
        self._reasoner = reasoner
        self._known = reasoner.known
        self._order = order

    def record_all(self, clauses: Sequence[Clause]) -> None:
        for value in list(self._known.solved.values()):
            self._at_least_zero(value)
        for clause in clauses:
            if not (clause.left.poisoned or clause.right.poisoned):
                self._record(clause)
                self._reasoner.forget()
        self._retry_nonzero()
        self._solve_pinned()

    def _record(self, clause: Clause) -> None:
        normalise = self._reasoner.rewriter.normalise
        for divisor in divisors(clause.left, clause.right):
            self._known.divisors.add(normalise(divisor))
        gap = normalise(clause.left - clause.right)
        if gap.poisoned:
            return
        match clause.op:
            case "==":
                self._zero(gap)
            case "!=":
                self._known.nonzero.append(gap)
                self._retry_nonzero()
            case "<" | "<=":
                self._at_least_zero(-gap - 1 if clause.op == "<" else -gap)
            case _:
                self._at_least_zero(gap - 1 if clause.op == ">" else gap)

    def _retry_nonzero(self) -> None:
        """`p != 0` with a known sign is a strict bound (R7)."""
        kept: list[Dim] = []
        for gap in self._known.nonzero:
            if self._reasoner.bounds.nonnegative(gap):
                self._at_least_zero(gap - 1)
            elif self._reasoner.bounds.nonnegative(-gap):
                self._at_least_zero(-gap - 1)
            else:
                kept.append(gap)
        self._known.nonzero[:] = kept
        self._reasoner.forget()

    def _solve_pinned(self) -> None:
        """A symbol between equal bounds is a number."""
        for atom, high in self._known.high.items():
            if self._known.lower(atom) == high:
                if isinstance(atom, Sym):
                    raise Solved(atom, Dim.const(high))
                self._known.replaced[atom] = Dim.const(high)

    def _at_least_zero(self, dim: Dim) -> None:
        """Record `dim >= 0`, as a bound of an atom if it is one (R7), else for R9."""
        sums = {product: c for c, product in dim.terms if product}
        scale = content(collect(sums))
        if scale == 0 or dim.poisoned:
            return
        # A common factor of the coefficients tightens the constant to a multiple of it.
        whole = {product: c // scale for product, c in sums.items()} | {(): dim.constant // scale}
        tight = collect(whole)
        terms = [t for t in tight.terms if t[1]]
        if len(terms) == 1 and len(terms[0][1]) == 1:
            self._bound(terms[0][0], terms[0][1][0], tight.constant)
            return
        self._known.nonnegative.append(tight)
        self._operands_too(tight)
        if len(terms) == 1 and terms[0][0] > 0 and tight.constant < 0:
            self._positive_factors(terms[0][1])

    def _bound(self, sign: int, atom: Atom, constant: int) -> None:
        known = self._known
        if sign > 0:
            known.low[atom] = max(-constant, known.low.get(atom, -constant))
        else:
            known.high[atom] = min(constant, known.high.get(atom, constant))
        if not isinstance(atom, Sym):  # its operands may be bounded by it: keep the sum as well
            known.nonnegative.append(Dim.of(atom) * sign + constant)
            self._operands_too(known.nonnegative[-1])

    def _operands_too(self, dim: Dim) -> None:
        """`min(a, b) + r >= 0` holds for `a` and for `b` as well; so does `r - max(a, b) >= 0`."""
        for c, product in dim.terms:
            atom = product[0] if len(product) == 1 else None
            if isinstance(atom, Min if c > 0 else Max):
                rest = dim - Dim.of(atom) * c
                self._at_least_zero(rest + atom.left * c)
                self._at_least_zero(rest + atom.right * c)

    def _positive_factors(self, product: Sequence[Atom]) -> None:
        """A positive product of non-negative factors has no factor that is zero."""
        lows = {a: self._reasoner.bounds.interval(Dim.of(a))[0] for a in product}
        if all(low is not None and low >= 0 for low in lows.values()):
            for atom in lows:
                self._bound(1, atom, -1)

    def _zero(self, dim: Dim) -> None:
        """Record `dim == 0` (R4, R6)."""
        scale = content(dim)
        if dim.is_const or dim.poisoned:
            return
        dim = exact_quotient(dim, scale)
        self._divisibility(dim)
        symbol = self._solvable_symbol(dim)
        if symbol is not None and not _solve(dim, symbol).poisoned:
            raise Solved(symbol, _solve(dim, symbol))
        atom = next((a for a in sorted_compounds(dim) if _alone(dim, a)), None)
        value = dim if atom is None else _solve(dim, atom)
        if atom is None or value.poisoned:
            self._known.zeros.append(dim)
            return
        if isinstance(atom, Div) and self._reasoner.rewriter.is_multiple(atom.left, atom.right):
            # x / d == v with an exact quotient says more as x == d * v.
            self._zero(self._reasoner.rewriter.normalise(atom.left - atom.right * value))
        else:
            self._known.replaced[atom] = value

    def _divisibility(self, dim: Dim) -> None:
        """`x % d == r` makes `x - r` a multiple of `d`."""
        for atom in sorted_compounds(dim):
            if isinstance(atom, Mod) and _alone(dim, atom):
                multiple = self._reasoner.rewriter.normalise(atom.left - _solve(dim, atom))
                if multiple.terms and not multiple.poisoned:
                    self._known.multiples.append((multiple, atom.right))

    def _solvable_symbol(self, dim: Dim) -> Sym | None:
        symbols = [a for a in dim.atoms() if isinstance(a, Sym) and _alone(dim, a)]
        return max(symbols, key=lambda s: (self._order.get(s, -1), s.name, s.uid), default=None)


def _alone(dim: Dim, atom: Atom) -> bool:
    """Whether `atom` is one term of `dim` with coefficient ±1 and occurs nowhere else in it."""
    uses = [(c, product) for c, product in dim.terms if _occurs(atom, product)]
    return len(uses) == 1 and uses[0][1] == (atom,) and abs(uses[0][0]) == 1


def _occurs(atom: Atom, product: Sequence[Atom]) -> bool:
    for each in product:
        if each == atom:
            return True
        if not isinstance(each, (Sym, Numel)):
            inside = (*each.left.terms, *each.right.terms)
            if any(_occurs(atom, inner) for _, inner in inside):
                return True
    return False


def _solve(dim: Dim, atom: Atom) -> Dim:
    """The value of `atom` that makes `dim` zero; `atom` is alone in it."""
    here = Dim.of(atom)
    return here - dim if (1, (atom,)) in dim.terms else here + dim


def divisors(*dims: Dim) -> Iterator[Dim]:
    """Every divisor inside `dims` that is not a non-zero number, inner ones first."""
    for dim in dims:
        for atom in sorted_compounds(dim):
            yield from divisors(atom.left, atom.right)
            if isinstance(atom, (Div, Mod)) and not (atom.right.is_const and atom.right.value != 0):
                yield atom.right
