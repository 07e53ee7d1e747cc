"""Symbolic dimensions, `where` clauses, and the prover that decides about them.

`expr` is the normal form, `clause` a `where` item, `parse` reads printed dimensions back.
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
from linnet.dims.parse import parse, parse_clause

__all__ = [
    "Atom",
    "Clause",
    "Dim",
    "Div",
    "Max",
    "Min",
    "Mod",
    "Numel",
    "Pack",
    "Sym",
    "parse",
    "parse_clause",
    "product_of",
]
