"""Constructors of the Core IR: they infer types, check what they are given, and fold.

Passes and the lowering build nodes and scalar expressions through here, so that each invariant
of `verify` holds from the start. Folding is local and exact: constants of integers, booleans
and correctly rounded float functions, a cast to the same dtype, a select of a known side.
Wrong use raises `BrokenIR`: it is a bug of the caller, never of a user.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from linnet.dims import Clause, Dim
from linnet.ir.errors import BrokenIR
from linnet.ir.expr import Apply, Const, DimConst, Expr, Index, IndexRef, Load, Reduce
from linnet.ir.node import (
    CallAttrs,
    Function,
    GetAttrs,
    Graph,
    LoopAttrs,
    MapAttrs,
    Named,
    Node,
    Origin,
    TensorType,
)
from linnet.ir.numbers import convert, fold
from linnet.ir.ops import FLOAT_SIZES, FUNCTIONS, INT_SIZES, ITEM_SIZES, REDUCTIONS, Kind, Op

# --- scalar expressions -----------------------------------------------------------------


def const(value: int | float | bool, dtype: str) -> Const:
    """`value` rounded to `dtype` as a literal or a cast would be."""
    return Const(dtype, convert(value, dtype))


def dim_const(dim: Dim, dtype: str = "i64") -> Expr:
    """A dimension as a number of `dtype`; a plain `Const` when it is known."""
    return const(dim.value, dtype) if dim.is_const else DimConst(dtype, dim)


def index_ref(index: Index) -> IndexRef:
    """The position of a loop variable, an i64."""
    return IndexRef("i64", index)


def load(node: Node, operand: int, at: Sequence[Expr]) -> Load:
    """The element of `node` (the map's operand number `operand`) at i64 positions `at`."""
    if len(at) != node.type.rank:
        raise BrokenIR(f"load of {node.type.rank} axes at {len(at)} positions")
    return Load(node.type.dtype, operand, tuple(at))


def cast(expr: Expr, dtype: str) -> Expr:
    """`expr` as `dtype`; itself when it has that dtype already."""
    if expr.dtype == dtype:
        return expr
    if isinstance(expr, Const):
        return const(expr.value, dtype)
    if isinstance(expr, DimConst) and expr.dtype == "i64":
        return DimConst(dtype, expr.dim)
    return Apply(dtype, "cast", (expr,))


def select(condition: Expr, chosen: Expr, otherwise: Expr) -> Expr:
    """`chosen` where `condition` is true, else `otherwise`; both of one dtype."""
    if condition.dtype != "bool" or chosen.dtype != otherwise.dtype:
        raise BrokenIR(f"select({condition.dtype}, {chosen.dtype}, {otherwise.dtype})")
    if isinstance(condition, Const):
        return chosen if condition.value else otherwise
    return (
        chosen
        if chosen is otherwise
        else Apply(chosen.dtype, "select", (condition, chosen, otherwise))
    )


def apply(fn: str, *args: Expr) -> Expr:
    """A function of `FUNCTIONS` on operands of one dtype (`cast` and `select` have their own
    constructors). Comparisons give bool, everything else the operands' dtype."""
    if fn == "select":
        return select(*args)
    kind = function_kind(fn, len(args))
    dtype = args[0].dtype
    if any(a.dtype != dtype for a in args) or not accepts(kind, dtype):
        raise BrokenIR(f"{fn}({', '.join(a.dtype for a in args)})")
    result = "bool" if kind is Kind.COMPARE else dtype
    if all(isinstance(a, Const) for a in args):
        value = fold(fn, dtype, [a.value for a in args if isinstance(a, Const)])
        if value is not None:
            return Const(result, value)
    return Apply(result, fn, args)


def function_kind(fn: str, arity: int) -> Kind:
    """The kind of a scalar function that is not SPECIAL, called with `arity` operands."""
    entry = FUNCTIONS.get(fn)
    if entry is None or entry.arity != arity or entry.kind is Kind.SPECIAL:
        raise BrokenIR(f"no scalar function `{fn}` of {arity} operands")
    return entry.kind


def accepts(kind: Kind, dtype: str) -> bool:
    """Whether functions of `kind` take operands of `dtype`."""
    match kind:
        case Kind.FLOAT:
            return dtype in FLOAT_SIZES
        case Kind.NUMERIC:
            return dtype in FLOAT_SIZES or dtype in INT_SIZES
        case Kind.INTEGER:
            return dtype in INT_SIZES
        case Kind.BITS:
            return dtype in INT_SIZES or dtype == "bool"
        case Kind.LOGIC:
            return dtype == "bool"
        case _:
            return dtype in ITEM_SIZES


def both(left: Expr, right: Expr) -> Expr:
    """Logical and of two bools, without the known sides."""
    for known, other in ((left, right), (right, left)):
        if isinstance(known, Const):
            return other if known.value else known
    return apply("and", left, right)


def clamp(position: Expr, dim: Dim) -> Expr:
    """An i64 position brought into 0 .. dim - 1, for an axis that is not empty."""
    if isinstance(position, IndexRef) and position.index.domain == dim:
        return position
    if isinstance(position, Const) and dim.is_const and 0 <= position.value < dim.value:
        return position
    low = apply("max", position, const(0, "i64"))
    return apply("min", low, dim_const(dim - 1))


def reduce(kind: str, indices: Sequence[Index], body: Expr) -> Reduce:
    """`body` combined over all positions of `indices`, first index outermost."""
    if kind not in REDUCTIONS or not indices:
        raise BrokenIR(f"reduction `{kind}` over {len(indices)} indices")
    if (kind in ("any", "all")) != (body.dtype == "bool"):
        raise BrokenIR(f"{kind} of {body.dtype}")
    return Reduce(body.dtype, kind, tuple(indices), body)


def neutral(kind: str, dtype: str) -> int | float | bool:
    """What a reduction over nothing gives: 0, 1, the lowest, the highest value, false, true."""
    if kind in ("any", "all"):
        return kind == "all"
    if kind in ("sum", "prod"):
        return convert(int(kind == "prod"), dtype)
    sign = -1.0 if kind == "max" else 1.0
    return convert(sign * math.inf, dtype)


# --- leaves -----------------------------------------------------------------------------


def tensor(dtype: str, dims: Iterable[Dim | int] = ()) -> TensorType:
    """A type from dims or plain sizes."""
    return TensorType(dtype, tuple(Dim.const(d) if isinstance(d, int) else d for d in dims))


def input_node(name: str, type: TensorType, origin: Origin | None = None) -> Node:
    """A parameter of the entry."""
    return Node(Op.INPUT, (), type, Named(name), origin)


def param(path: str, type: TensorType, origin: Origin | None = None) -> Node:
    """A weight, by member path."""
    return Node(Op.PARAM, (), type, Named(path), origin)


def state(path: str, type: TensorType, origin: Origin | None = None) -> Node:
    """The value a state member has when the entry starts."""
    return Node(Op.STATE, (), type, Named(path), origin)


def arg(name: str, type: TensorType, origin: Origin | None = None) -> Node:
    """A parameter of a Function."""
    return Node(Op.ARG, (), type, Named(name), origin)


# --- values -----------------------------------------------------------------------------


@dataclass
class Operands:
    """The operands of a map while its body is written: each node gets one number."""

    nodes: list[Node] = field(default_factory=list)
    _numbers: dict[int, int] = field(default_factory=dict)

    def load(self, node: Node, at: Sequence[Expr] = ()) -> Load:
        """The element of `node` at `at`."""
        number = self._numbers.setdefault(id(node), len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append(node)
        return load(node, number, at)


def indices_for(dims: Sequence[Dim], names: str = "ijklmnopqrst") -> tuple[Index, ...]:
    """One fresh loop variable an axis."""
    return tuple(Index(names[k] if k < len(names) else f"i{k}", dim) for k, dim in enumerate(dims))


def map_node(
    args: Sequence[Node], indices: Sequence[Index], body: Expr, origin: Origin | None = None
) -> Node:
    """The tensor (no indices: the scalar) whose element at `indices` is `body`."""
    type = TensorType(body.dtype, tuple(i.domain for i in indices))
    return Node(Op.MAP, tuple(args), type, MapAttrs(tuple(indices), body), origin)


def scalar(value: Expr, origin: Origin | None = None) -> Node:
    """A rank-0 node from an expression that reads nothing."""
    return map_node((), (), value, origin)


def elementwise(fn: str, *args: Node, origin: Origin | None = None) -> Node:
    """`fn` on nodes of equal dims, scalars among them read as they are."""
    shaped = next((a for a in args if a.type.rank), args[0])
    indices = indices_for(shaped.type.dims)
    at = tuple(index_ref(i) for i in indices)
    operands = Operands()
    body = apply(fn, *(operands.load(a, at if a.type.rank else ()) for a in args))
    return map_node(operands.nodes, indices, body, origin)


def reshape(node: Node, dims: Sequence[Dim | int], origin: Origin | None = None) -> Node:
    """The same elements in row-major order under `dims`; the node itself if they are its own."""
    type = tensor(node.type.dtype, dims)
    if type == node.type:
        return node
    if node.op is Op.RESHAPE:
        return reshape(node.args[0], dims, origin)
    return Node(Op.RESHAPE, (node,), type, origin=origin)


def call(function: Function, args: Sequence[Node], origin: Origin | None = None) -> Node:
    """An op applied to arguments in the order of `function.parameters`."""
    if len(args) != len(function.parameters):
        raise BrokenIR(f"{function.op} takes {len(function.parameters)}, given {len(args)}")
    return Node(Op.CALL, tuple(args), function.result.type, CallAttrs(function), origin)


def loop(
    condition: Function,
    body: Function,
    carried: Sequence[Node],
    others: Sequence[Node],
    origin: Origin | None = None,
) -> tuple[Node, ...]:
    """`while`: the carried values after the last round, one GET node each."""
    attrs = LoopAttrs(condition, body, len(carried))
    node = Node(Op.LOOP, (*carried, *others), carried[0].type, attrs, origin)
    return tuple(
        Node(Op.GET, (node,), value.type, GetAttrs(k), origin) for k, value in enumerate(carried)
    )


def graph(
    name: str,
    inputs: Sequence[Node],
    results: Sequence[Node],
    updates: Mapping[str, Node] | None = None,
    clauses: Sequence[Clause] = (),
    *,
    sizes: Sequence[str] | None = None,
    tuple_result: bool = False,
    origin: Origin | None = None,
) -> Graph:
    """An entry. `sizes` left out: the symbols of the inputs' dims, in order of appearance."""
    if sizes is None:
        names = (
            s.name
            for node in inputs
            for dim in node.type.dims
            for s in sorted(dim.symbols(), key=lambda s: s.name)
        )
        sizes = tuple(dict.fromkeys(names))
    return Graph(
        name,
        tuple(inputs),
        tuple(results),
        dict(updates or {}),
        tuple(sizes),
        tuple(clauses),
        tuple_result,
        origin,
    )
