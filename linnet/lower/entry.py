"""One entry of a root block, with bound generics, to the Core IR.

In: the checked program, values for the root's generics, the weights the checkpoint lacks, and
sizes to fix. Out: a verified `Graph` whose symbols are the entry's remaining generics. Raises
`UsageError` for wrong names, `ShapeError` for generics the root rules out, and `SourceError`
for an entry whose conditions the given sizes break or that this compiler cannot run.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import cast as as_type

from linnet.check.substitute import Bindings, field_types
from linnet.check.typed import BlockDecl, FunctionDecl, Program
from linnet.check.types import Struct, Tuple, Type
from linnet.diag import Span
from linnet.dims import Clause, Dim, Facts, Sym, holds
from linnet.errors import UsageError
from linnet.ir import build as ir
from linnet.ir.node import Graph, Node, TensorType
from linnet.ir.verify import verify
from linnet.lower.body import Body
from linnet.lower.context import Context
from linnet.lower.manifest import BlockValue, bind_root, joined
from linnet.lower.manifest import manifest as manifest_of
from linnet.lower.probes import Recorder, attach
from linnet.lower.problems import origin_of, unsupported, violated_entry_clause
from linnet.lower.values import Value

_DEPTH = 20_000
"""Python frames that a deeply nested expression may take; the parser bounds the nesting."""


def lower_entry(
    program: Program,
    root: BlockDecl,
    entry_name: str,
    generics: Mapping[str, int | str],
    absent: frozenset[str] = frozenset(),
    bind: Mapping[str, int] | None = None,
    probes: bool = False,
) -> Graph:
    """The graph of `root.entry_name`. `absent` are the paths of optional weights without a
    value; `bind` fixes generics of the entry; with `probes` the values of its calls are further
    results."""
    block = bind_root(root, generics)
    decl = _entry(root, entry_name)
    bindings = joined(block.bindings, _own(decl, bind or {}))
    clauses = _clauses(decl, bindings)
    whole = manifest_of(program, root, generics)
    context = Context(whole, absent, Facts(clauses))
    with _deep_recursion():
        recorder = Recorder() if probes else None
        graph = _lower(context, block, decl, bindings, clauses, recorder)
        if recorder is not None:
            graph = attach(graph, recorder.calls)
    verify(graph, after="lowering")
    return graph


@contextmanager
def _deep_recursion() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _DEPTH))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _entry(root: BlockDecl, name: str) -> FunctionDecl:
    decl = root.functions.get(name)
    if decl is None or decl.kind != "entry":
        names = ", ".join(f"`{e.name}`" for e in root.entries) or "none"
        raise UsageError(f"{root.name} has no entry `{name}`", help=f"its entries are {names}")
    return decl


def _own(decl: FunctionDecl, bind: Mapping[str, int]) -> Bindings:
    """The entry's own generics: numbers where given, else symbols known by their names."""
    names = [g.name for g in decl.generics]
    unknown = sorted(set(bind) - set(names))
    if unknown:
        known = ", ".join(f"`{n}`" for n in names) or "none"
        raise UsageError(
            f"entry `{decl.name}` has no generic `{unknown[0]}`", help=f"its generics are {known}"
        )
    bindings = Bindings()
    for param in decl.generics:
        if not isinstance(param.symbol, Sym):
            raise unsupported(f"an entry with the generic `{param.name}: {param.kind}`", param.span)
        value = bind.get(param.name)
        if value is None:
            bindings.bind(param.symbol, Dim.sym(Sym(param.name)))
            continue
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
            raise UsageError(f"`{param.name}` is a whole number of at least 0, not {value!r}")
        bindings.bind(param.symbol, Dim.const(value))
    return bindings


def _clauses(decl: FunctionDecl, bindings: Bindings) -> list[Clause]:
    """The `where` items that are left to be settled for actual sizes."""
    values = {s: d.value for s, d in bindings.dims.items() if d.is_const}
    left: list[Clause] = []
    for clause in decl.where:
        bound = bindings.clause(clause)
        if not bound.symbols():
            if not bound.holds({}):
                raise violated_entry_clause(decl.name, clause, values)
        elif bound not in left and not holds(bound, Facts()):
            place = clause.origin
            origin = origin_of(place, decl.name) if isinstance(place, Span) else place
            left.append(Clause(bound.op, bound.left, bound.right, bound.text, origin))
    return left


def _lower(
    context: Context,
    block: BlockValue,
    decl: FunctionDecl,
    bindings: Bindings,
    clauses: list[Clause],
    recorder: Recorder | None,
) -> Graph:
    body = Body(context, bindings, block, method=decl.name, recorder=recorder)
    inputs: list[Node] = []
    for parameter in decl.parameters:
        variable = parameter.variable
        value = _input(body, variable.name, variable.type, parameter.span, inputs)
        body.locals[variable] = value
    result = body.run(decl.body)
    return ir.graph(
        decl.name,
        inputs,
        tuple(_leaves(() if result is None else result)),
        {path: context.states[path] for path in sorted(context.states)},
        (*clauses, *context.clauses),
        sizes=[g.name for g in decl.generics if bindings.dims[as_type(Sym, g.symbol)].symbols()],
        tuple_result=isinstance(result, tuple),
        origin=origin_of(decl.span, decl.name),
    )


def _input(body: Body, name: str, type: Type, span: Span, inputs: list[Node]) -> Value:
    """An INPUT node; the parts of a tuple are inputs of their own, `name.0`, `name.1`, ..., those
    of a struct `name.field`."""
    if isinstance(type, Struct):
        fields = zip(type.decl.fields, field_types(type), strict=True)
        return tuple(_input(body, f"{name}.{f}", item, span, inputs) for f, item in fields)
    if isinstance(type, Tuple):
        return tuple(
            _input(body, f"{name}.{k}", item, span, inputs) for k, item in enumerate(type.items)
        )
    # Dims stay as written, not normalised: a caller's shape has to tell each size.
    axes = body.bindings.type(type)
    dims = tuple(d for d in getattr(axes, "axes", ()) if isinstance(d, Dim))
    for dim in dims:
        body.context.dim(dim, span)
    node = ir.input_node(name, TensorType(body.dtype_of_type(type), dims), origin_of(span, name))
    inputs.append(node)
    return node


def _leaves(value: Value) -> Iterator[Node]:
    if isinstance(value, tuple):
        for part in value:
            yield from _leaves(part)
    else:
        assert isinstance(value, Node)
        yield value
