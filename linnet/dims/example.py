"""Find sizes that satisfy the facts, and sizes that break a claim besides.

In: a clause and `Facts`. Out: one assignment by name, or None. The search is small and always
the same: a grid of the smallest sizes the bounds allow, then a fixed number of pseudo-random
ones. Sizes for which a divisor is zero break a clause, as they do at the entry boundary.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator, Sequence

from linnet.dims.clause import Clause
from linnet.dims.expr import Atom, Dim, Numel, Pack, Sym
from linnet.dims.facts import Facts

_GRID = 600  # assignments of the grid
_RANDOM = 400  # pseudo-random assignments after it
_LARGEST = 24  # largest random size above a lower bound


def find_example(
    clause: Clause, facts: Facts, *, zero_divisors: bool = True
) -> dict[str, int] | None:
    """Sizes by name (`*name` for the element count of a pack), the smaller ones first.

    Without `zero_divisors`, sizes that make a divisor of the claim zero are passed over.
    """
    if clause.left.poisoned or clause.right.poisoned:
        return None
    relevant = _connected([clause], facts.clauses)
    for values in _sizes([clause, *relevant], facts):
        if clause.holds(values) or not (zero_divisors or _defined(clause, values)):
            continue
        if all(fact.holds(values) for fact in relevant):
            return _named(values)
    return None


def satisfiable(items: Sequence[Clause], facts: Facts) -> bool:
    """Whether sizes were found for which `items`, which are among `facts`, hold with the rest."""
    relevant = _connected(items, facts.clauses)
    return any(all(c.holds(v) for c in (*items, *relevant)) for v in _sizes(relevant, facts))


def _sizes(clauses: Sequence[Clause], facts: Facts) -> Iterator[dict[Sym | Pack, int]]:
    """Sizes to try for all that `clauses` mention, those solved for by `facts` worked out."""
    unknowns = _unknowns(clauses)
    solved = facts.reasoner.known.solved
    free = [u for u in unknowns if not (isinstance(u, Sym) and u in solved)]
    bound = [(u, solved[u]) for u in unknowns if isinstance(u, Sym) and u in solved]
    numbers = _numbers(clauses)
    for sizes in _assignments([_candidates(u, facts, numbers) for u in free]):
        values: dict[Sym | Pack, int] = dict(zip(free, sizes, strict=True))
        if _complete(values, bound):
            yield values


def _connected(about: Sequence[Clause], facts: Sequence[Clause]) -> list[Clause]:
    """The facts that share symbols with `about`, directly or through other facts."""
    reached: set[Sym | Pack] = set()
    for clause in about:
        reached |= clause.symbols() | clause.packs()
    chosen: list[Clause] = []
    rest = [f for f in facts if not (f.left.poisoned or f.right.poisoned)]
    while True:
        near = [f for f in rest if not reached.isdisjoint(f.symbols() | f.packs())]
        if not near:
            return chosen
        chosen += near
        rest = [f for f in rest if f not in near]
        for fact in near:
            reached |= fact.symbols() | fact.packs()


def _unknowns(clauses: Iterable[Clause]) -> list[Sym | Pack]:
    found: set[Sym | Pack] = set()
    for clause in clauses:
        found |= clause.symbols() | clause.packs()
    return sorted(found, key=lambda u: (u.name, u.uid, isinstance(u, Pack)))


def _defined(clause: Clause, values: dict[Sym | Pack, int]) -> bool:
    try:
        clause.left.evaluate(values)
        clause.right.evaluate(values)
    except ZeroDivisionError:
        return False
    return True


def _numbers(clauses: Iterable[Clause]) -> list[int]:
    """The constants the clauses compare with, and their neighbours."""
    found = {abs(d.constant) for clause in clauses for d in (clause.left, clause.right)}
    return [n + i for n in sorted(found) if n > 1 for i in (-1, 0, 1)]


def _candidates(unknown: Sym | Pack, facts: Facts, numbers: Sequence[int]) -> list[int]:
    """Sizes to try, the most telling ones first; 1 and 0 hide differences and come late."""
    atom: Atom = unknown if isinstance(unknown, Sym) else Numel(unknown)
    known = facts.reasoner.known
    low, high = known.lower(atom) or 0, known.high.get(atom)
    sizes = [2, 3, 1, 0, 4, 5, 6, 7, 8] if low == 0 else [low, low + 1, low + 2]
    if high is not None:
        sizes = [high, *sizes, high - 1]
    sizes += [*numbers, *(low + i for i in range(_LARGEST + 1))]
    allowed = [s for s in sizes if s >= low and (high is None or s <= high)]
    return list(dict.fromkeys(allowed))


def _assignments(candidates: Sequence[Sequence[int]]) -> Iterator[tuple[int, ...]]:
    if not all(candidates):
        return
    width = max(2, int(_GRID ** (1 / max(1, len(candidates)))))
    grid = itertools.product(*(sizes[:width] for sizes in candidates))
    yield from itertools.islice(grid, _GRID)
    source = random.Random(0)
    for _ in range(_RANDOM if candidates else 0):
        yield tuple(source.choice(sizes) for sizes in candidates)


def _complete(values: dict[Sym | Pack, int], bound: Iterable[tuple[Sym, Dim]]) -> bool:
    """Add the sizes that equalities determine; False when they are no sizes."""
    for symbol, value in bound:
        try:
            values[symbol] = value.evaluate(values)
        except (ZeroDivisionError, KeyError, ValueError):
            return False
        if values[symbol] < 0:
            return False
    return True


def _named(values: dict[Sym | Pack, int]) -> dict[str, int]:
    names = [u.name for u in values]
    named: dict[str, int] = {}
    for unknown, size in values.items():
        name = unknown.name if names.count(unknown.name) == 1 else f"{unknown.name}#{unknown.uid}"
        named[f"*{name}" if isinstance(unknown, Pack) else name] = size
    return named
