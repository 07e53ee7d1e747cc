"""Symbolic dimensions, `where` clauses, and the prover that decides about them.

    expr      the normal form: `Dim` and its atoms
    clause    a `where` item, provable and evaluable
    parse     printed dimensions read back
    facts     what is in scope where a question is asked
    prove     yes, no, or cannot say
    suggest   the `where` item that would turn the answer into yes
    extent    the size of a sliced axis

Behind `facts` stand `record` (which rule uses which fact), `rewrite` (normal form under facts),
`bounds` (is this sum ever negative) and `poly` (division without facts).
"""

from linnet.dims.clause import Clause
from linnet.dims.expr import (
    Atom,
    Dim,
    Div,
    Max,
    Min,
    Mod,
    Numel,
    Pack,
    Sym,
    product_of,
)
from linnet.dims.extent import slice_extent
from linnet.dims.facts import Facts
from linnet.dims.parse import parse, parse_clause
from linnet.dims.prove import (
    Proved,
    Refuted,
    Unknown,
    Verdict,
    equal,
    holds,
    is_equal,
    is_nonnegative,
    is_positive,
    never,
    nonnegative,
    positive,
    prove,
)
from linnet.dims.suggest import suggest

__all__ = [
    "Atom",
    "Clause",
    "Dim",
    "Div",
    "Facts",
    "Max",
    "Min",
    "Mod",
    "Numel",
    "Pack",
    "Proved",
    "Refuted",
    "Sym",
    "Unknown",
    "Verdict",
    "equal",
    "holds",
    "is_equal",
    "is_nonnegative",
    "is_positive",
    "never",
    "nonnegative",
    "parse",
    "parse_clause",
    "positive",
    "product_of",
    "prove",
    "slice_extent",
    "suggest",
]
