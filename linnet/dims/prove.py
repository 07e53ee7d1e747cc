"""Decide claims about dimensions: yes, no, or cannot say.

In: a claim and the `Facts` in scope. Out: `Proved`, `Refuted` with sizes that satisfy the facts
and break the claim, or `Unknown` with what could not be shown to vanish. `Proved` is never wrong
for non-negative sizes that satisfy the facts; it may be missing. `Refuted` means that some
sizes break the claim; `never` is the stronger question whether all sizes do.

Wherever dimensions (not clauses) are compared, their divisors are taken to be non-zero: a
quotient is only written where its divisor is proven positive. `prove` checks that itself,
because a `where` clause may divide freely and is false where it divides by zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TypeAlias

from linnet.dims.clause import Clause
from linnet.dims.example import find_example
from linnet.dims.expr import Dim
from linnet.dims.facts import Facts
from linnet.dims.poly import divide
from linnet.dims.record import divisors


@dataclass(frozen=True)
class Proved:
    """The claim holds for all sizes that satisfy the facts."""


@dataclass(frozen=True)
class Refuted:
    """Some sizes satisfy the facts and break the claim."""

    example: dict[str, int] = field(default_factory=dict)
    """Such sizes, by name; the element count of a pack stands under `*name`."""


@dataclass(frozen=True)
class Unknown:
    """Neither a proof nor a counterexample was found."""

    residue: Dim
    """The difference of the two sides (or the divisor in doubt), in normal form."""


Verdict: TypeAlias = Proved | Refuted | Unknown


def prove(clause: Clause, facts: Facts) -> Verdict:
    """Whether `clause` holds for all sizes that satisfy `facts`."""
    if holds(clause, facts):
        return Proved()
    example = find_example(clause, facts)
    if example is not None:
        return Refuted(example)
    return Unknown(_doubt(clause, facts))


def equal(a: Dim, b: Dim, facts: Facts) -> Verdict:
    """Whether `a == b`. Divisors inside are taken to be non-zero."""
    if is_equal(a, b, facts):
        return Proved()
    return _not_proved(Clause.of("==", a, b), facts)


def nonnegative(dim: Dim, facts: Facts) -> Verdict:
    """Whether `dim >= 0`. Divisors inside are taken to be non-zero."""
    if is_nonnegative(dim, facts):
        return Proved()
    return _not_proved(Clause.of(">=", dim, 0), facts)


def positive(dim: Dim, facts: Facts) -> Verdict:
    """Whether `dim > 0`. Divisors inside are taken to be non-zero."""
    if is_nonnegative(dim - 1, facts):
        return Proved()
    return _not_proved(Clause.of(">", dim, 0), facts)


def holds(clause: Clause, facts: Facts) -> bool:
    """Whether `prove` says `Proved`, without looking for a counterexample."""
    return _compare(clause, facts) and _doubtful_divisor(clause, facts) is None


def is_equal(a: Dim, b: Dim, facts: Facts) -> bool:
    """Whether `equal` says `Proved`; the cheap form for the checker's many questions."""
    if a == b:
        return True
    if a.poisoned or b.poisoned:
        return False
    answer = facts.answers.get((a, b))
    if answer is None:
        normalise = facts.normalise
        answer = normalise(a) == normalise(b) or is_zero(a - b, facts)
        facts.answers[a, b] = answer
    return answer


def is_nonnegative(dim: Dim, facts: Facts) -> bool:
    """Whether `nonnegative` says `Proved`."""
    reasoner = facts.reasoner
    if reasoner.bounds.nonnegative(dim):
        return True
    if not dim.depth or dim.poisoned:
        return False
    written_out = reasoner.rewriter.expand(dim)  # d * (x / d) + x % d is x
    return written_out != facts.normalise(dim) and reasoner.bounds.nonnegative(written_out)


def is_positive(dim: Dim, facts: Facts) -> bool:
    """Whether `positive` says `Proved`."""
    return is_nonnegative(dim - 1, facts)


def never(clause: Clause, facts: Facts) -> bool:
    """Whether `clause` is false for *all* sizes that satisfy `facts` (provably)."""
    gap = facts.normalise(clause.left - clause.right)
    if gap.poisoned:
        return False
    match clause.op:
        case "==":
            return _is_nonzero(gap, facts)
        case "!=":
            return is_zero(gap, facts)
        case "<":
            return is_nonnegative(gap, facts)
        case "<=":
            return is_nonnegative(gap - 1, facts)
        case ">":
            return is_nonnegative(-gap, facts)
        case _:
            return is_nonnegative(-gap - 1, facts)


def is_zero(dim: Dim, facts: Facts) -> bool:
    """Whether `dim == 0` follows from the facts."""
    gap = facts.normalise(dim)
    if gap.poisoned:
        return False
    if not gap.terms:
        return True
    if gap.is_const:
        return False
    return _reduces_to_zero(gap, facts) or (
        is_nonnegative(gap, facts) and is_nonnegative(-gap, facts)
    )


def _reduces_to_zero(gap: Dim, facts: Facts) -> bool:
    """Try the equalities as they stand, then cleared of quotients, then with remainders."""
    rewriter = facts.reasoner.rewriter
    forms = (gap, rewriter.clear_denominators(gap), rewriter.expand(gap))
    for form in forms:
        for zero in facts.reasoner.known.zeros:
            form = divide(form, zero)[1]
        if not form.terms and not form.poisoned:
            return True
    return False


def _is_nonzero(gap: Dim, facts: Facts) -> bool:
    if is_nonnegative(gap - 1, facts) or is_nonnegative(-gap - 1, facts):
        return True
    if gap in facts.reasoner.known.nonzero or -gap in facts.reasoner.known.nonzero:
        return True
    common = math.gcd(*(c for c, product in gap.terms if product))
    return common > 1 and gap.constant % common != 0  # 2 * A - 2 * B - 1 is odd


def _compare(clause: Clause, facts: Facts) -> bool:
    gap = clause.left - clause.right
    match clause.op:
        case "==":
            return is_equal(clause.left, clause.right, facts)
        case "!=":
            return not gap.poisoned and _is_nonzero(facts.normalise(gap), facts)
        case "<":
            return is_nonnegative(-gap - 1, facts)
        case "<=":
            return is_nonnegative(-gap, facts)
        case ">":
            return is_nonnegative(gap - 1, facts)
        case _:
            return is_nonnegative(gap, facts)


def _doubtful_divisor(clause: Clause, facts: Facts) -> Dim | None:
    """A divisor of `clause` that the facts do not rule out to be zero."""
    for divisor in divisors(clause.left, clause.right):
        normal = facts.normalise(divisor)
        if normal in facts.reasoner.known.divisors:
            continue
        if not _is_nonzero(normal, facts):
            return divisor
    return None


def _doubt(clause: Clause, facts: Facts) -> Dim:
    if _compare(clause, facts):
        return _doubtful_divisor(clause, facts) or clause.left - clause.right
    return facts.normalise(clause.left - clause.right)


def _not_proved(clause: Clause, facts: Facts) -> Verdict:
    example = find_example(clause, facts, zero_divisors=False)
    return Unknown(_doubt(clause, facts)) if example is None else Refuted(example)
