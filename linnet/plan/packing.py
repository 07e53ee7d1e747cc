"""Weights that kernels want in an order of their own, laid out once at load.

A packed operand is a matrix parameter, or a strided view of one: `permute(weight, [1, 0])` of a
checkpoint that stores [In, Out] packs to the same panels as a weight stored [Out, In], and a
convolution's kernels [Out, C, K, K] reshaped to [Out, C * K * K] are a matrix as they lie.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from linnet.dims import Facts
from linnet.ir.node import CallAttrs, Graph, MapAttrs, Named, Node, toposort
from linnet.ir.ops import ITEM_SIZES, Op
from linnet.plan import views
from linnet.plan.cards import Card
from linnet.plan.types import Buffer, Space, View, WeightOrder

PANEL = 64
"""Rows of a panel; `codegen/rt/pack.h` and the linear kernels agree on it."""


def dense_order(param: Node) -> WeightOrder:
    """A parameter as the manifest has it."""
    assert isinstance(param.attrs, Named)
    size = views.product(param.type.dims).value * ITEM_SIZES[param.type.dtype]
    return WeightOrder(param.attrs.name, param.type.dtype, "dense", (), size)


def stored_order(param: Node, stored: Mapping[str, str]) -> WeightOrder | None:
    """A parameter in the half float that the checkpoint has it in; None if it has another."""
    full = dense_order(param)
    dtype = stored.get(full.path)
    if dtype is None:
        return None
    size = full.size // ITEM_SIZES[full.dtype] * ITEM_SIZES[dtype]
    return WeightOrder(full.path, dtype, "dense", (), size)


def packed_order(
    arg: Node, function: str, facts: Facts, stored: Mapping[str, str]
) -> WeightOrder | None:
    """How packing function `function` lays out an operand, or None if it is no matrix of a
    parameter. What the checkpoint has in a half float (`stored`, by path) stays one."""
    view = param_view(arg, facts)
    if view is None or len(view.dims) != 2:
        return None
    param = _moved_param(arg)
    assert isinstance(param.attrs, Named)
    rows, columns = (dim.value for dim in view.dims)
    dtype = stored.get(param.attrs.name, arg.type.dtype)
    return WeightOrder(
        path=param.attrs.name,
        dtype=dtype,
        layout=function if dtype == arg.type.dtype else f"{function}_16",
        args=(rows, columns, *(stride.value for stride in view.strides)),
        size=-(-rows // PANEL) * PANEL * columns * ITEM_SIZES[dtype],
        offset=view.offset.value,
    )


def param_view(arg: Node, facts: Facts) -> View | None:
    """A parameter, or what moves and reshapes make of one, as a view of the parameter's own
    order; None for anything else. The buffer is a stand-in: no weight is asked for yet."""
    if arg.op is Op.PARAM:
        return views.dense(_stand_in(arg))
    if not arg.args or not (arg.op is Op.RESHAPE or isinstance(arg.attrs, MapAttrs)):
        return None
    inner = param_view(arg.args[0], facts)
    if inner is None:
        return None
    if isinstance(arg.attrs, MapAttrs):
        return views.mapped(arg.attrs, inner, facts)
    return views.reshaped(inner, arg.type.dims)


def _moved_param(arg: Node) -> Node:
    """The parameter below moves and reshapes."""
    while arg.op is not Op.PARAM:
        arg = arg.args[0]
    return arg


def _stand_in(param: Node) -> Buffer:
    return Buffer("", Space.WEIGHT, param.type.dtype, param.type.dims)


def can_pack(call: Node, card: Card, facts: Facts) -> bool:
    """Whether every operand that the card takes only packed can be."""
    return all(
        packed_order(arg, function, facts, {}) is not None
        for arg, function in _packed_only(call, card)
    )


def needed_orders(
    graph: Graph, cards: Mapping[int, Card | None], facts: Facts, stored: Mapping[str, str]
) -> Iterable[WeightOrder]:
    """The packed weights that calls of `graph` cannot do without. `cards` is by function id."""
    for node in toposort(graph.outputs()):
        if not isinstance(node.attrs, CallAttrs):
            continue
        card = cards.get(id(node.attrs.function))
        if card is not None:
            for arg, function in _packed_only(node, card):
                order = packed_order(arg, function, facts, stored)
                if order is not None:
                    yield order


def _packed_only(call: Node, card: Card) -> Iterable[tuple[Node, str]]:
    assert isinstance(call.attrs, CallAttrs)
    for parameter, arg in zip(call.attrs.function.parameters, call.args, strict=True):
        assert isinstance(parameter.attrs, Named)
        operand = card.operand(parameter.attrs.name)
        if operand is not None and all(form.startswith("packed:") for form in operand.layouts):
            yield arg, operand.layouts[0].removeprefix("packed:")
