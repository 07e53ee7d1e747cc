"""Propose the `where` item that would make a claim provable.

In: a clause that `prove` did not accept, and the facts. Out: the text of one item (or a few,
joined by commas) that the prover, given it as a fact, finds sufficient; None if there is none
to offer. An item is only offered with sizes known that satisfy it together with the facts;
items about packs are not offered.
"""

from __future__ import annotations

from collections.abc import Iterator

from linnet.dims.clause import Clause
from linnet.dims.example import satisfiable
from linnet.dims.expr import Dim, Mod, atom_key, collect, content, exact_quotient
from linnet.dims.facts import Facts
from linnet.dims.poly import cofactor, common_factor
from linnet.dims.prove import holds, never
from linnet.dims.record import divisors

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def suggest(clause: Clause, facts: Facts) -> str | None:
    """The `where` item (or items) to add, e.g. `W % P == 0`.

    None if the claim holds, can never hold, or no item was found that would do.
    """
    if clause.left.poisoned or clause.right.poisoned:
        return None
    if holds(clause, facts) or never(clause, facts):
        return None
    for items in _candidates(clause, facts):
        if not _acceptable(items, facts):
            continue
        extended = facts.extended(items)
        if holds(clause, extended) and satisfiable(items, extended):
            return ", ".join(item.text for item in items)
    return None


def _acceptable(items: list[Clause], facts: Facts) -> bool:
    return bool(items) and not any(
        item.packs() or item.left.poisoned or item.right.poisoned or _is_hopeless(item, facts)
        for item in items
    )


def _is_hopeless(item: Clause, facts: Facts) -> bool:
    """Whether it is plain that no sizes satisfy the item."""
    zero = (facts.normalise(d) for d in divisors(item.left, item.right))
    return any(d.is_const and d.value == 0 for d in zero) or never(item, facts)


def _candidates(clause: Clause, facts: Facts) -> Iterator[list[Clause]]:
    """Lists of items, from the shortest and most usual to the claim itself."""
    doubtful = [
        Clause.of(">", d, 0)
        for d in dict.fromkeys(divisors(clause.left, clause.right))
        if not holds(Clause.of("!=", d, 0), facts)
    ]
    gap = facts.normalise(clause.left - clause.right)
    if gap.poisoned:
        return
    goals = list(_goals(clause, gap, facts))
    yield doubtful
    yield from goals
    for goal in goals if doubtful else ():
        yield [*goal, *doubtful]


def _goals(clause: Clause, gap: Dim, facts: Facts) -> Iterator[list[Clause]]:
    exact = [Clause.of("==", Dim.of(m), 0) for m in _remainders(gap, facts)]
    for item in exact:
        yield [item]
    if len(exact) > 1:
        yield exact
    positive = [Clause.of(">", Dim.sym(s), 0) for s in sorted(gap.symbols(), key=str)]
    if clause.op in ("==", "!="):
        yield [_arranged(clause.op, _without_common_factor(gap))]
        yield [_arranged(clause.op, gap)]
    else:
        rest = gap if clause.op in (">", ">=") else -gap
        if clause.op in (">", "<"):
            rest = rest - 1
        plain = [[_at_least_zero(rest)]]
        signs = [[item] for item in positive] + [positive]
        # Of a quotient, `H > 0` says more to a reader than `H / N > 0`.
        yield from [*signs, *plain] if rest.depth else [*plain, *signs]
        for item in exact:
            yield [item, *positive]
    yield [Clause.of(clause.op, clause.left, clause.right)]


def _remainders(gap: Dim, facts: Facts) -> list[Mod]:
    """The remainders that stand between the two sides once quotients are multiplied out."""
    rewriter = facts.reasoner.rewriter
    found: dict[Mod, None] = {}
    for form in (rewriter.expand(gap), rewriter.expand(rewriter.clear_denominators(gap))):
        for atom in sorted(form.atoms(), key=atom_key):
            if isinstance(atom, Mod):
                found[atom] = None
    return list(found)


def _without_common_factor(gap: Dim) -> Dim:
    """`gap` divided by its content and by the atoms that all its terms share."""
    return cofactor(exact_quotient(gap, max(content(gap), 1)), common_factor(gap))


def _sides(gap: Dim) -> tuple[Dim, Dim]:
    """The positive and the negated negative terms: `gap == left - right`."""
    left = collect({product: c for c, product in gap.terms if c > 0})
    return left, left - gap


def _arranged(op: str, gap: Dim) -> Clause:
    left, right = _sides(gap)
    return _readable(op, left, right)


def _at_least_zero(dim: Dim) -> Clause:
    """`dim >= 0` without a common factor, in the spelling one would write."""
    scale = content(collect({product: c for c, product in dim.terms if product}))
    if scale > 1:
        rounded = dim - dim.constant + (dim.constant // scale) * scale
        dim = exact_quotient(rounded, scale)
    if dim.constant == -1:  # a - 1 >= 0 reads better as a > 0
        return _readable(">", *_sides(dim + 1))
    return _readable(">=", *_sides(dim))


def _readable(op: str, left: Dim, right: Dim) -> Clause:
    """Constants stand on the right; of two symbols the one compared as smaller comes first."""
    smaller_first = op in (">", ">=") and not right.is_const
    if left.is_const or smaller_first:
        left, right, op = right, left, _MIRRORED[op]
    return Clause.of(op, left, right)
