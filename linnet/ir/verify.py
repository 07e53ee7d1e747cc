"""The rules of the Core IR: accepts the legal shapes, reports everything else.

In: a graph. Out: nothing, or `BrokenIR` with the op, the operand types, the types wanted and the
line of source it came from. Dims that are equal only by facts about the sizes are the checker's
business: two dims clash here only when they differ for every size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from linnet.dims import Dim, product_of
from linnet.ir.build import accepts
from linnet.ir.errors import BrokenIR
from linnet.ir.expr import (
    Apply,
    Const,
    DimConst,
    Expr,
    Index,
    IndexRef,
    Load,
    Reduce,
    children,
    walk,
)
from linnet.ir.node import (
    NO_ATTRS,
    CallAttrs,
    Function,
    GetAttrs,
    Graph,
    LoopAttrs,
    MapAttrs,
    Named,
    Node,
    TensorType,
    toposort,
)
from linnet.ir.numbers import integer_range, round_float
from linnet.ir.ops import FUNCTIONS, INT_SIZES, ITEM_SIZES, REDUCTIONS, Kind, Op

_GRAPH_LEAVES = frozenset({Op.INPUT, Op.PARAM, Op.STATE})


def verify(graph: Graph, after: str | None = None) -> None:
    """Raise `BrokenIR` at the first rule that `graph` breaks; `after` names the pass to blame."""
    checker = _Verifier("" if after is None else f" after {after}")
    checker.graph(graph)


@dataclass
class _Verifier:
    context: str
    functions: set[int] = field(default_factory=set)

    def graph(self, graph: Graph) -> None:
        self._roots(graph.outputs(), _GRAPH_LEAVES)
        leaves: dict[tuple[Op, str], Node] = {}
        for node in (*graph.inputs, *toposort(graph.outputs())):
            if isinstance(node.attrs, Named):
                first = leaves.setdefault((node.op, node.attrs.name), node)
                self._need(first is node, node, f"second leaf named `{node.attrs.name}`")
        inputs = {id(node) for node in graph.inputs}
        for node in leaves.values():
            known = id(node) in inputs
            self._need(known == (node.op is Op.INPUT), node, "INPUT leaves are the graph's inputs")
        for path, node in graph.updates.items():
            old = leaves.get((Op.STATE, path))
            same = old is None or _fits(old.type, node.type)
            self._need(same, node, f"update of `{path}` has another type than the state")
        self._need(
            graph.tuple_result or len(graph.results) <= 1,
            graph.results[0] if graph.results else None,
            f"{len(graph.results)} results and no tuple",
        )
        self._symbols(graph)

    def _symbols(self, graph: Graph) -> None:
        known = set(graph.sizes)
        for node in (*graph.inputs, *toposort(graph.outputs())):
            for dim in node.type.dims:
                strange = {s.name for s in dim.symbols()} - known
                self._need(not strange, node, f"size {', '.join(sorted(strange))} is unknown")

    def _roots(self, roots: Sequence[Node], leaves: frozenset[Op]) -> None:
        for node in toposort(roots):
            self._node(node, leaves)

    def _function(self, function: Function, *, results: int | None = None) -> None:
        if id(function) in self.functions:
            return
        self.functions.add(id(function))
        self._need(all(p.op is Op.ARG for p in function.parameters), None, function.op)
        own = {id(p) for p in function.parameters}
        for node in toposort(function.results):
            self._need(
                node.op is not Op.ARG or id(node) in own, node, f"ARG unknown to {function.op}"
            )
        self._roots(function.results, frozenset({Op.ARG}))
        if results is not None:
            self._need(
                len(function.results) == results,
                function.results[0] if function.results else None,
                f"{function.op} gives {len(function.results)} values, not {results}",
            )

    def _node(self, node: Node, leaves: frozenset[Op]) -> None:
        t = node.type
        self._need(t.dtype in ITEM_SIZES, node, "no such dtype")
        self._need(not any(d.poisoned for d in t.dims), node, "a dim beyond i64")
        match node.op, node.args, node.attrs:
            case ((Op.INPUT | Op.PARAM | Op.STATE | Op.ARG), (), Named(name)):
                self._need(node.op in leaves and bool(name), node, "leaf out of place")
            case Op.MAP, args, MapAttrs(indices, body):
                self._need(len(indices) == t.rank, node, f"{len(indices)} indices")
                domains = TensorType(t.dtype, tuple(i.domain for i in indices))
                self._need(_fits(domains, t), node, "domains of the indices are not the dims")
                self._need(body.dtype == t.dtype, node, f"body is {body.dtype}")
                _Body(self, node, args).check(indices, body)
            case Op.RESHAPE, (arg,), attrs if attrs is NO_ATTRS:
                counts = product_of(arg.type.dims), product_of(t.dims)
                same = arg.type.dtype == t.dtype and not _differ(*counts)
                self._need(same, node, "another dtype or element count")
            case Op.CALL, args, CallAttrs(function):
                self._function(function, results=1)
                self._arguments(node, args, function)
                self._need(_fits(function.result.type, t), node, "result has another type")
            case Op.LOOP, args, LoopAttrs(condition, body, carried):
                self._loop(node, args, condition, body, carried)
            case Op.GET, (Node(op=Op.LOOP, attrs=LoopAttrs(carried=carried)) as loop,), GetAttrs(k):
                self._need(0 <= k < carried, node, f"no carried value {k}")
                self._need(_fits(loop.args[k].type, t), node, "another type than the carried value")
            case _:
                self.fail(node, "not a legal shape of node")

    def _loop(
        self, node: Node, args: Sequence[Node], condition: Function, body: Function, carried: int
    ) -> None:
        self._need(0 < carried <= len(args), node, f"{carried} carried values")
        self._function(condition, results=1)
        self._function(body, results=carried)
        self._arguments(node, args, condition)
        self._arguments(node, args, body)
        self._need(condition.result.type == TensorType("bool", ()), node, "condition is no bool")
        for arg, result in zip(args, body.results, strict=False):
            self._need(_fits(arg.type, result.type), node, "a carried value changes its type")
        self._need(_fits(args[0].type, node.type), node, "not the type of the first carried value")

    def _arguments(self, node: Node, args: Sequence[Node], function: Function) -> None:
        wanted = [p.type for p in function.parameters]
        fits = len(args) == len(wanted) and all(
            _fits(a.type, w) for a, w in zip(args, wanted, strict=True)
        )
        shown = ", ".join(type_text(w) for w in wanted)
        self._need(fits, node, f"{function.op} takes ({shown})")

    def _need(self, condition: bool, node: Node | None, message: str) -> None:
        if not condition:
            self.fail(node, message)

    def fail(self, node: Node | None, message: str) -> None:
        raise BrokenIR(f"broken IR{self.context}: {message}{describe(node)}")


@dataclass
class _Body:
    """The rules of one map's body."""

    verifier: _Verifier
    node: Node
    args: Sequence[Node]

    def check(self, indices: Sequence[Index], body: Expr) -> None:
        bound: set[Index] = set()
        self._bind(indices, bound)
        free: dict[int, frozenset[Index]] = {}
        for expr in walk(body):
            self._expr(expr)
            inner = frozenset[Index]().union(*(free[id(c)] for c in children(expr)))
            if isinstance(expr, IndexRef):
                inner |= {expr.index}
            if isinstance(expr, Reduce):
                self._bind(expr.indices, bound)
                inner -= set(expr.indices)
            free[id(expr)] = inner
        strange = {i.name for i in free[id(body)] - set(indices)}
        self._need(not strange, f"index {', '.join(sorted(strange))} is bound nowhere around")

    def _bind(self, indices: Sequence[Index], bound: set[Index]) -> None:
        for index in indices:
            self._need(index not in bound, f"index {index.name} is bound twice")
            bound.add(index)

    def _expr(self, expr: Expr) -> None:
        match expr:
            case Const(dtype=dtype, value=value):
                self._need(_holds(dtype, value), f"{value!r} is no {dtype}")
            case DimConst(dtype=dtype, dim=dim):
                self._need(dtype in ITEM_SIZES and not dim.poisoned, f"dim as {dtype}")
            case IndexRef(dtype=dtype):
                self._need(dtype == "i64", f"index as {dtype}")
            case Load(dtype=dtype, operand=k, at=at):
                self._need(0 <= k < len(self.args), f"load of operand {k}")
                wanted = self.args[k].type
                right = wanted.dtype == dtype and wanted.rank == len(at)
                self._need(right, f"load of operand {k} as {dtype} at {len(at)} positions")
                self._need(all(a.dtype == "i64" for a in at), "positions are i64")
            case Apply():
                self._apply(expr)
            case Reduce(dtype=dtype, kind=kind, indices=indices, body=body):
                right = kind in REDUCTIONS and bool(indices) and body.dtype == dtype
                right = right and (kind in ("any", "all")) == (dtype == "bool")
                self._need(right, f"{kind} of {body.dtype} as {dtype}")
            case _:
                self._need(False, "no legal scalar expression")

    def _apply(self, expr: Apply) -> None:
        fn = FUNCTIONS.get(expr.fn)
        given = [a.dtype for a in expr.args]
        right = fn is not None and fn.arity == len(given) and expr.dtype in ITEM_SIZES
        if right and fn is not None:
            if expr.fn == "select":
                right = given[0] == "bool" and given[1] == given[2] == expr.dtype
            elif fn.kind is not Kind.SPECIAL:
                result = "bool" if fn.kind is Kind.COMPARE else given[0]
                right = len(set(given)) == 1 and accepts(fn.kind, given[0])
                right = right and expr.dtype == result
        self._need(right, f"{expr.fn}({', '.join(given)}) as {expr.dtype}")

    def _need(self, condition: bool, message: str) -> None:
        if not condition:
            self.verifier.fail(self.node, f"{message}, in the body of a map")


def _holds(dtype: str, value: object) -> bool:
    if dtype == "bool":
        return isinstance(value, bool)
    if dtype in INT_SIZES:
        low, high = integer_range(dtype)
        return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
    if dtype not in ITEM_SIZES or not isinstance(value, float):
        return False
    return value != value or round_float(value, dtype) == value


def _differ(a: Dim, b: Dim) -> bool:
    """Whether the two differ for every size."""
    if a == b:
        return False
    gap = a - b
    return gap.is_const and gap.value != 0


def _fits(a: TensorType, b: TensorType) -> bool:
    return (
        a.dtype == b.dtype
        and a.rank == b.rank
        and not any(_differ(x, y) for x, y in zip(a.dims, b.dims, strict=True))
    )


def type_text(type: TensorType) -> str:
    """`f32[B, 768]`, or `f32` for a scalar."""
    return f"{type.dtype}[{', '.join(map(str, type.dims))}]" if type.dims else type.dtype


def describe(node: Node | None) -> str:
    """The tail of a complaint: op, operand types, type, and the place in the source."""
    if node is None:
        return ""
    args = ", ".join(f"{a.op.value} {type_text(a.type)}" for a in node.args)
    name = f" `{node.attrs.name}`" if isinstance(node.attrs, Named) else ""
    place = "" if node.origin is None else f", from {node.origin}"
    return f"; {node.op.value}{name}({args}) -> {type_text(node.type)}{place}"
