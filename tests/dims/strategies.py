"""Random dimensions and clauses over a few symbols, for the property tests of this folder."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from hypothesis import strategies as st

from linnet.dims import Clause, Dim, Sym

SYMBOLS = [Sym(name) for name in "ABC"]
NAMES = {s.name: Dim.sym(s) for s in SYMBOLS}

leaves = st.one_of(st.sampled_from(list(NAMES.values())), st.integers(-2, 4).map(Dim.const))
operations = st.sampled_from(
    [
        Dim.__add__,
        Dim.__sub__,
        Dim.__mul__,
        Dim.floordiv,
        Dim.mod,
        Dim.minimum,
        Dim.maximum,
    ]
)


def _combine(inner: st.SearchStrategy[Dim]) -> st.SearchStrategy[Dim]:
    return st.builds(lambda op, a, b: op(a, b), operations, inner, inner)


dims = st.recursive(leaves, _combine, max_leaves=6)
small_dims = st.recursive(leaves, _combine, max_leaves=3)

comparisons = st.builds(Clause.of, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), dims, dims)
divisibilities = st.builds(
    lambda a, b, r: Clause.of("==", a.mod(b), r), small_dims, small_dims, st.sampled_from([0, 0, 1])
)
bounds = st.builds(
    lambda a, op, n: Clause.of(op, a, n),
    leaves,
    st.sampled_from([">", "<=", "=="]),
    st.integers(0, 3),
)
facts = st.lists(st.one_of(comparisons, divisibilities, bounds, bounds), max_size=4)
edge_leaves = st.one_of(
    leaves, st.sampled_from([2**62, -(2**62), 2**63 - 1, -(2**63)]).map(Dim.const)
)
edge_claims = st.builds(
    Clause.of,
    st.sampled_from(["==", "<", ">="]),
    st.recursive(edge_leaves, _combine, max_leaves=6),
    st.recursive(edge_leaves, _combine, max_leaves=3),
)
claims = st.one_of(comparisons, divisibilities)


def sizes(limit: int) -> Iterator[dict[Sym, int]]:
    """Every assignment of sizes below `limit` to the symbols."""
    for values in itertools.product(range(limit), repeat=len(SYMBOLS)):
        yield dict(zip(SYMBOLS, values, strict=True))
