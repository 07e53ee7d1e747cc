"""Division of polynomials over atoms, as far as the rewriting rules need it.

In: two `Dim`s in normal form. Out: quotient and remainder with `dim == q * divisor + r`, an
identity that holds for all values of the atoms. No facts are used and nothing is rounded.
"""

from __future__ import annotations

from linnet.dims.expr import MAX_TERMS, ZERO, Dim, Monomial, Term, collect


def without(product: Monomial, factor: Monomial) -> Monomial | None:
    """`product / factor` when every atom of `factor` is in `product` as often, else None."""
    if not factor:
        return product
    rest = list(product)
    for atom in factor:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)


def common_factor(*dims: Dim) -> Monomial:
    """The atoms that every term of every dimension shares, as often as all of them do."""
    products = [product for dim in dims for _, product in dim.terms]
    shared: Monomial = min(products, key=len, default=())
    for product in products:
        rest = list(product)
        kept = []
        for atom in shared:
            if atom in rest:
                rest.remove(atom)
                kept.append(atom)
        shared = tuple(kept)
    return shared


def cofactor(dim: Dim, factor: Monomial) -> Dim:
    """`dim / factor` for a `factor` that all its terms share."""
    rest = ((c, without(product, factor)) for c, product in dim.terms)
    return collect({product: c for c, product in rest if product is not None})


def divide(dim: Dim, divisor: Dim) -> tuple[Dim, Dim]:
    """`(q, r)` with `dim == q * divisor + r`; `q` takes what divides without a fraction.

    A divisor of several terms is only divided out when that leaves a shorter remainder, so that
    `A` by `A + 1` stays `(0, A)`.
    """
    if not divisor.terms or not dim.terms or divisor.poisoned or dim.poisoned:
        return ZERO, dim
    if len(divisor.terms) == 1:
        return _divide_by_term(dim, divisor.terms[0])
    quotient, rest = ZERO, dim
    for _ in range(MAX_TERMS):
        step = next((s for t in rest.terms if (s := _ratio(t, divisor.terms[0]))), None)
        if step is None:
            break
        quotient, rest = quotient + step, rest - step * divisor
    if rest.poisoned or quotient.poisoned or len(rest.terms) >= len(dim.terms):
        return ZERO, dim
    return quotient, rest


def _divide_by_term(dim: Dim, term: Term) -> tuple[Dim, Dim]:
    whole: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for c, product in dim.terms:
        cofactor = without(product, term[1]) if c % term[0] == 0 else None
        if cofactor is None:
            rest[product] = c
        else:
            whole[cofactor] = c // term[0]
    return collect(whole), collect(rest)


def _ratio(term: Term, by: Term) -> Dim | None:
    if term[0] % by[0]:
        return None
    cofactor = without(term[1], by[1])
    return None if cofactor is None else collect({cofactor: term[0] // by[0]})


def exact(dim: Dim, divisor: Dim) -> Dim | None:
    """`dim / divisor` when it leaves no remainder, else None."""
    quotient, rest = divide(dim, divisor)
    return quotient if not rest.terms and not rest.poisoned else None
