"""Runs programs through the whole compiler and holds the C against the interpreter.

In: the text of a module. Out: an assertion. Every block with entries is a *case* for some values
of its generics and some choice of its optional weights; its entries are called in turn, several
times, with other sizes and other inputs each time, and the state carried along. All cases of a
module go into one C file, under names of their own.

What is compared: every result and, at the end, every state. Exactly, unless an entry calls a
kernel (another order of additions) or a function like `exp` (an approximation within a bound).
All targets must agree with each other to the last bit, NaN being NaN.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from support.compiled import compiled
from support.targets import missing

from linnet.check import check_source
from linnet.check.typed import BlockDecl, GenericParam, Program
from linnet.check.types import CLASSES
from linnet.diag import Source
from linnet.dims import Facts, Sym
from linnet.errors import ShapeError, SourceError
from linnet.interp import run
from linnet.ir.expr import Apply, walk
from linnet.ir.node import (
    CallAttrs,
    Function,
    Graph,
    LoopAttrs,
    MapAttrs,
    Named,
    Node,
    TensorType,
    toposort,
)
from linnet.ir.ops import Op
from linnet.lower import bound_generics, lower_entry, manifest
from linnet.passes.rewrite import rewrite
from linnet.plan.build import entry_facts
from linnet.plan.cards import match
from linnet.runtime.boundary import NUMPY

CALLS = 3
ROOT_SIZES = (4, 6, 2, 3, 8, 1, 12, 0, 16, 5)
SIZES = (3, 0, 1, 5, 2, 4, 8, 6, 7)
MOVING = ("std.nn.cache::", "std.nn.embedding::")
"""Ops whose kernels only move data."""
APPROXIMATE = frozenset({"exp", "log", "rsqrt", "sin", "cos", "tanh"})
TOLERANCE = {"bf16": 2e-2, "f16": 4e-3, "f32": 2e-5, "f64": 1e-11}


# --- programs to cases --------------------------------------------------------------------


@dataclass(eq=False)
class Case:
    """One block with all that is needed to run it. Graphs, weights and states carry `prefix`."""

    title: str
    graphs: list[Graph]
    weights: dict[str, Any]
    calls: list[tuple[Graph, dict[str, Any], dict[str, int]]] = field(default_factory=list)


def checked(text: str, name: str = "program.linnet") -> Program:
    """The typed program of one module; one with errors fails the test with them."""
    result = check_source(Source(name, text, Path(name)))
    found = [f"{d.code} {d.message} at {d.primary.span}" for d in result.problems if d.is_error]
    assert result.program is not None, found
    return result.program


def cases(program: Program, name: str, draw: np.random.Generator) -> list[Case]:
    """All cases of a module; at least one for each of its blocks with entries."""
    found: list[Case] = []
    for root in program.roots():
        settings = list(_settings(root, draw))
        before = len(found)
        for generics in settings:
            for absent in _absences(program, root, generics):
                prefix = f"{name}{len(found)}"
                case = case_of(program, root, generics, absent, prefix, draw)
                if case is not None:
                    found.append(case)
        assert len(found) > before, f"no sizes suit {root.name}"
    return found


def _settings(root: BlockDecl, draw: np.random.Generator) -> Iterator[dict[str, int | str]]:
    """Values for the generics of a root: some ordinary ones, and the smallest it allows."""
    allowed = []
    names = [g for g in root.generics if isinstance(g.symbol, Sym)]
    for sizes in itertools.product(ROOT_SIZES, repeat=len(names)):
        generics: dict[str, int | str] = {g.name: n for g, n in zip(names, sizes, strict=True)}
        others = [g for g in root.generics if not isinstance(g.symbol, Sym)]
        generics.update({g.name: _dtype(g, draw, not allowed) for g in others})
        try:
            bound_generics(root, generics)
        except ShapeError:
            continue
        allowed.append(generics)
        if len(allowed) > 4000:
            break
    yield allowed[0]
    if len(allowed) > 1:
        small = sorted(allowed[1:], key=_largest)[: 1 + len(allowed) // 4]
        yield small[int(draw.integers(len(small)))]
        yield min(allowed[1:], key=lambda g: sum(v for v in g.values() if isinstance(v, int)))


def _largest(generics: dict[str, int | str]) -> int:
    return max((v for v in generics.values() if isinstance(v, int)), default=0)


def _dtype(generic: GenericParam, draw: np.random.Generator, plain: bool) -> str:
    names = sorted(CLASSES[generic.kind])
    usual = "i32" if "f32" not in names else "f32"
    return usual if plain else str(draw.choice(names))


def _absences(
    program: Program, root: BlockDecl, generics: dict[str, int | str]
) -> list[frozenset[str]]:
    """All optional weights there, none of them, and every second one (whole groups)."""
    try:
        entries = manifest(program, root, generics).weights
    except ShapeError:
        return []
    units = dict.fromkeys(e.group or e.path for e in entries if e.optional)
    choices = [(), tuple(units), tuple(units)[::2], tuple(units)[1::2]]
    return [
        frozenset(e.path for e in entries if e.optional and (e.group or e.path) in choice)
        for choice in dict.fromkeys(choices)
    ]


def case_of(
    program: Program,
    root: BlockDecl,
    generics: dict[str, int | str],
    absent: frozenset[str],
    prefix: str,
    draw: np.random.Generator,
) -> Case | None:
    """None where the program rules these generics out for all of its entries."""
    members = manifest(program, root, generics).weights
    graphs: list[Graph] = []
    for entry in root.entries:
        try:
            graph = lower_entry(program, root, entry.name, generics, absent)
        except SourceError as error:
            if error.diagnostics[0].code not in ("E2206", "E2208", "E2209"):
                raise
            continue
        if next(some_sizes(graph, draw), None) is not None:
            graphs.append(renamed(graph, prefix))
    if not graphs:
        return None
    weights = {
        f"{prefix}.{e.path}": some_array(e.type, {}, draw) for e in members if e.path not in absent
    }
    without = f" without {', '.join(sorted(absent))}" if absent else ""
    case = Case(f"{root.name}{generics}{without}", graphs, weights)
    choices = [list(some_sizes(graph, draw)) for graph in graphs]
    for turn in range(CALLS):
        for graph, sizes in zip(graphs, choices, strict=True):
            now = sizes[turn % len(sizes)]
            wild = turn == 1 and not kernels(graph)
            inputs = {name(n): some_array(n.type, now, draw, wild=wild) for n in graph.inputs}
            case.calls.append((graph, inputs, now))
    return case


def renamed(graph: Graph, prefix: str) -> Graph:
    """The graph with its own name and member paths, so that many fit into one unit."""

    def rule(node: Node) -> Node:
        if node.op in (Op.PARAM, Op.STATE) and isinstance(node.attrs, Named):
            return dataclasses.replace(node, attrs=Named(f"{prefix}.{node.attrs.name}"))
        return node

    graph = rewrite(graph, rule)
    updates = {f"{prefix}.{path}": node for path, node in graph.updates.items()}
    return dataclasses.replace(graph, name=f"{prefix}_{graph.name}", updates=updates)


def name(node: Node) -> str:
    assert isinstance(node.attrs, Named)
    return node.attrs.name


# --- inputs -------------------------------------------------------------------------------


def some_sizes(graph: Graph, draw: np.random.Generator) -> Iterator[dict[str, int]]:
    """A few settings of the sizes of a call that its clauses allow, small ones among them."""
    tried = itertools.product(SIZES, repeat=len(graph.sizes))
    allowed = []
    for sizes in tried:
        values = dict(zip(graph.sizes, sizes, strict=True))
        if _holds(graph, values):
            allowed.append(values)
        if len(allowed) > 4000:
            break
    if not allowed:
        return
    yield allowed[int(draw.integers(len(allowed)))]
    yield min(allowed, key=lambda v: sum(v.values()))
    yield allowed[int(draw.integers(len(allowed)))]


def _holds(graph: Graph, values: dict[str, int]) -> bool:
    fine = all(clause.holds(values) for clause in graph.clauses)
    return fine and all(d.evaluate(values) >= 0 for n in graph.inputs for d in n.type.dims)


def some_array(
    type: TensorType, sizes: dict[str, int], draw: np.random.Generator, *, wild: bool = False
) -> Any:
    """Random elements, as they cross the boundary; `wild`: also the ends of each range, NaN."""
    shape = tuple(d.evaluate(sizes) for d in type.dims)
    dtype = type.dtype
    if dtype == "bool":
        return np.asarray(draw.integers(0, 2, shape), np.bool_)
    if dtype[0] in "iu":
        return _integers(NUMPY[dtype], shape, draw, wild)
    values = np.asarray(draw.normal(size=shape) * draw.choice([0.5, 1.0, 3.0]))
    if wild:
        odd = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, -3e9, 1e-40, 65504.0, 2.5, -0.5, 300.0]
        values = np.where(draw.random(shape) < 0.5, draw.choice(odd, shape), values)
    with np.errstate(over="ignore"):
        if dtype != "bf16":
            return values.astype(NUMPY[dtype])
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def _integers(kind: Any, shape: tuple[int, ...], draw: np.random.Generator, wild: bool) -> Any:
    info = np.iinfo(kind)
    small = draw.integers(max(info.min, -2), 9, shape)
    if not wild:
        return np.asarray(small, kind)
    odd = np.array([info.min, info.max, info.max - 1, 0, 1, 7, 31, 64], kind)
    any_ = draw.integers(info.min, info.max, shape, kind, endpoint=True)
    values = np.where(draw.random(shape) < 0.5, draw.choice(odd, shape), any_)
    return np.asarray(np.where(draw.random(shape) < 0.3, small.astype(kind), values), kind)


# --- running ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Value:
    """A result or state, with where it comes from and how far another may be from it."""

    where: str
    array: Any
    dtype: str
    allowed: float


@functools.lru_cache(maxsize=2048)
def interpreted(case: Case, policy: str) -> list[Value]:
    """What every call must give, and the states after the last."""
    state: dict[str, Any] = {}
    found: list[Value] = []
    loose = 0.0
    for turn, (graph, inputs, sizes) in enumerate(case.calls):
        results, new = run(graph, inputs, case.weights, state, sizes=sizes)
        state.update(new)
        allowed = tolerance(graph, policy)
        loose = max(loose, allowed)
        shown = {k: v.shape for k, v in inputs.items()}
        for k, (node, value) in enumerate(zip(graph.results, results, strict=True)):
            where = f"{case.title}: call {turn} of {graph.name}, result {k}, {sizes} {shown}"
            found.append(Value(where, np.asarray(value), node.type.dtype, max(allowed, loose)))
    for path, leaf in sorted(states(case).items()):
        where = f"{case.title}: state {path}"
        found.append(Value(where, state[path], leaf.type.dtype, loose))
    return found


def _first_value(state: Node) -> Any:
    return np.zeros(tuple(d.value for d in state.type.dims), NUMPY[state.type.dtype])


def states(case: Case) -> dict[str, Node]:
    return {
        name(node): node
        for graph in case.graphs
        for node in toposort(graph.outputs())
        if node.op is Op.STATE
    }


def compiled_values(
    found: Sequence[Case], target: str, policy: str, flags: tuple[str, ...] = ()
) -> list[list[Any]]:
    """What the C gives, case by case, in the order of `interpreted`."""
    graphs = [graph for case in found for graph in case.graphs]
    weights = {path: array for case in found for path, array in case.weights.items()}
    with compiled(graphs, weights, target, policy=policy, flags=flags) as program:
        values: list[list[Any]] = []
        for case in found:
            own: list[Any] = []
            for graph, inputs, sizes in case.calls:
                arrays = [inputs[name(node)] for node in graph.inputs]
                result = program.call(graph.name, arrays, {s: sizes[s] for s in graph.sizes})
                own += [np.asarray(v) for v in (result if graph.tuple_result else (result,))]
            used = {state.path for state in program.artifact.states}
            own += [
                program.state(path) if path in used else _first_value(leaf)
                for path, leaf in sorted(states(case).items())
            ]
            values.append(own)
    return values


def assert_agreement(
    found: Sequence[Case], runs: Sequence[tuple[str, str]], flags: tuple[str, ...] = ()
) -> None:
    """Compile all cases for each (target, policy) that this machine runs; compare everything."""
    first: dict[str, tuple[str, list[list[Any]]]] = {}
    for target, policy in runs:
        if missing(target) is None:
            got = compiled_values(found, target, policy, flags)
            assert_close(found, got, target, policy)
            other, theirs = first.setdefault(policy, (target, got))
            assert_same_bits(found, got, theirs, f"{target} and {other}", policy)


def assert_close(found: Sequence[Case], got: list[list[Any]], target: str, policy: str) -> None:
    """Hold what the C gave against the interpreter."""
    for case, own in zip(found, got, strict=True):
        for value, wanted in zip(own, interpreted(case, policy), strict=True):
            _assert_close(value, wanted, f"{target}, {policy}")


def assert_same_bits(
    found: Sequence[Case], ours: list[list[Any]], theirs: list[list[Any]], run: str, policy: str
) -> None:
    for case, own, its in zip(found, ours, theirs, strict=True):
        for value, wanted, other in zip(own, interpreted(case, policy), its, strict=True):
            message = f"{run} differ ({policy})\n{wanted.where}"
            assert bits(value, wanted.dtype) == bits(other, wanted.dtype), message


def _assert_close(value: Any, wanted: Value, run: str) -> None:
    assert value.shape == wanted.array.shape, (run, wanted.where)
    got, expected = floats(value, wanted.dtype), floats(wanted.array, wanted.dtype)
    message = f"{run}\n{wanted.where}"
    if wanted.allowed == 0 or got.dtype.kind in "biu":
        np.testing.assert_array_equal(got, expected, message)
    else:
        near = wanted.allowed * max(1.0, _largest_of(expected))
        np.testing.assert_allclose(got, expected, wanted.allowed, near, err_msg=message)


def _largest_of(array: Any) -> float:
    """The largest finite magnitude: sums of large numbers that cancel are this uncertain."""
    finite = np.abs(array[np.isfinite(array)].astype(np.float64))
    return float(finite.max()) if finite.size else 0.0


def floats(array: Any, dtype: str) -> Any:
    """bf16 bits as the floats they stand for; other dtypes as they are."""
    if dtype != "bf16":
        return np.asarray(array)
    return (np.asarray(array, np.uint16).astype(np.uint32) << 16).view(np.float32)


def bits(array: Any, dtype: str) -> bytes:
    """The bytes of an array; every NaN counts as the same."""
    values = floats(array, dtype)
    if values.dtype.kind == "f":
        values = np.where(np.isnan(values), values.dtype.type(np.nan), values)
    return values.tobytes()


# --- what may differ ----------------------------------------------------------------------


def tolerance(graph: Graph, policy: str) -> float:
    """0 where results must be equal; else by the narrowest float dtype in play."""
    exact = not (functions(graph) & APPROXIMATE or (policy != "exact" and kernels(graph)))
    dtypes = {node.type.dtype for node in nodes(graph)}
    return 0.0 if exact else next(TOLERANCE[d] for d in (*TOLERANCE, "f32") if d in dtypes)


def nodes(graph: Graph) -> Iterator[Node]:
    """All nodes, those in the bodies of ops and loops too."""
    yield from _inside(graph.outputs(), set())


def _inside(roots: Sequence[Node], seen: set[int]) -> Iterator[Node]:
    for node in toposort(roots):
        yield node
        for function in _functions(node):
            if id(function) not in seen:
                seen.add(id(function))
                yield from _inside(function.results, seen)


def _functions(node: Node) -> tuple[Function, ...]:
    match node.attrs:
        case CallAttrs(function=function):
            return (function,)
        case LoopAttrs(condition=condition, body=body):
            return (condition, body)
    return ()


def functions(graph: Graph) -> set[str]:
    """The scalar functions that a graph applies."""
    return {
        expr.fn
        for node in nodes(graph)
        if isinstance(node.attrs, MapAttrs)
        for expr in walk(node.attrs.body)
        if isinstance(expr, Apply)
    }


def kernels(graph: Graph) -> bool:
    """Whether a kernel that calculates stands for a call of this graph."""
    facts: Facts = entry_facts(graph)
    calls = [n for n in nodes(graph) if n.op is Op.CALL]
    cards = [match(call, facts, "equivalent").card for call in calls]
    return any(card is not None and not card.op.startswith(MOVING) for card in cards)
