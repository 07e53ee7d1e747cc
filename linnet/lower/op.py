"""One op alone, without an entry around it: its body as a Function.

In: the op's declaration, what its generics stand for, and which parameters get a value. Out: the
Function a CALL of it would carry. This is how a kernel is held against the definition.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from linnet.check.substitute import Bindings
from linnet.check.typed import FunctionDecl
from linnet.check.types import GenericArgument
from linnet.dims import Dim, Facts
from linnet.errors import ShapeError, UsageError
from linnet.ir.node import Function, Manifest
from linnet.lower.body import Body
from linnet.lower.calls import op_function
from linnet.lower.context import Context
from linnet.lower.problems import place_of

Given = int | str | Dim | Sequence[int | Dim]


def lower_op(
    decl: FunctionDecl, generics: Mapping[str, Given], without: Collection[str] = ()
) -> Function:
    """The body of `decl`. `generics` has a value for each generic: a size or `Dim`, a dtype name,
    a sequence of sizes for a pack. `without` names the optional parameters that are `none`.

    Raises `UsageError` for generics that are missing, `ShapeError` for sizes that the `where`
    list rules out."""
    bindings = Bindings()
    for param in decl.generics:
        if param.name not in generics:
            raise UsageError(f"op `{decl.name}` needs a value for `{param.name}`")
        bindings.bind(param.symbol, _argument(generics[param.name]))
    clauses = [bindings.clause(clause) for clause in decl.where]
    for clause in clauses:
        if not clause.symbols() and not clause.holds({}):
            raise ShapeError(f"{place_of(clause.origin)}: `{clause.text}` does not hold")
    open_clauses = [c for c in clauses if c.symbols()]
    body = Body(Context(Manifest(()), frozenset(), Facts(open_clauses)), bindings)
    present = [p.variable.name not in without for p in decl.parameters]
    return op_function(body, decl, bindings, present)


def _argument(value: Given) -> GenericArgument:
    if isinstance(value, int):
        return Dim.const(value)
    if isinstance(value, (str, Dim)):
        return value
    return tuple(Dim.const(d) if isinstance(d, int) else d for d in value)
