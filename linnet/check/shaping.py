"""The prelude functions about shapes: reshape, permute, broadcast_to, concat, iota, fill."""

from __future__ import annotations

from linnet.check import show
from linnet.check.arguments import dtype_argument, positional
from linnet.check.context import Context, is_poison, poison
from linnet.check.dims_of import dim_of, shape_of, size_of
from linnet.check.fit import ANNOTATION, fit
from linnet.check.operators import pair_help
from linnet.check.proofs import (
    ONE,
    counterexample,
    equal,
    same_axis,
    same_dtype_class,
    suggestion,
)
from linnet.check.substitute import numel, tensor
from linnet.check.typed import (
    BroadcastTo,
    Concat,
    CumSum,
    Fill,
    Iota,
    Permute,
    Reshape,
    TExpr,
)
from linnet.check.types import (
    Axis,
    CompileTimeInt,
    DType,
    FloatLiteral,
    Scalar,
    Shape,
    Tensor,
)
from linnet.diag import Label
from linnet.dims import Clause, Dim, Pack
from linnet.syntax import tree


def _shape_argument(
    ctx: Context, node: tree.Expr, name: str, *, sizes: bool = True
) -> Shape | None:
    """The shape literal a function takes, or None after E2101 or an error inside it. Without
    `sizes` its numbers may be anything."""
    if isinstance(node, tree.ShapeLiteral) and sizes:
        return shape_of(ctx, node)
    if isinstance(node, tree.ShapeLiteral):
        dims = [dim_of(ctx, element) for element in node.elements]
        whole = tuple(dim for dim in dims if dim is not None)
        return whole if len(whole) == len(dims) else None
    value = ctx.value(node)
    if not is_poison(value):
        ctx.report(
            "E2101",
            f"`{name}` takes a shape here",
            node.span,
            f"this is {show.quoted(value.type)}",
            help="write it out, as in `[B, 2 * H]`",
        )
    return None


def _tensor_argument(ctx: Context, node: tree.Expr, name: str, packs: bool = True) -> TExpr | None:
    """An argument that is a tensor, of known rank unless `packs` are fine; None after E2101."""
    value = ctx.value(node)
    if is_poison(value):
        return None
    if isinstance(value.type, Tensor):
        pack = next((a for a in value.type.axes if isinstance(a, Pack)), None)
        if packs or pack is None:
            return value
        label = f"`*{pack.name}` stands for any number of axes"
    else:
        label = f"this is {show.quoted(value.type)}"
    what = "a tensor" if packs else "a tensor of known rank"
    ctx.report("E2101", f"`{name}` takes {what}", value.span, label)
    return None


def reshape(ctx: Context, node: tree.Call) -> TExpr:
    """`reshape(x, [..])`: provably equal element counts (E2203)."""
    if not positional(ctx, node, 2):
        return poison(node.span)
    value = _tensor_argument(ctx, node.args[0].value, "reshape")
    shape = _shape_argument(ctx, node.args[1].value, "reshape")
    if value is None or shape is None:
        return poison(node.span)
    assert isinstance(value.type, Tensor)
    before, after = numel(value.type.axes), numel(shape)
    if not equal(ctx.facts, before, after):
        claim = Clause.of("==", before, after)
        ctx.report(
            "E2203",
            "reshape may change the number of elements",
            node.span,
            f"has {after} elements, `{node.args[0].value.span.text}` has {before}",
            related=(Label(value.span, f"this is {show.quoted(value.type)}"),),
            notes=counterexample(ctx.facts, claim),
            help=suggestion(ctx, claim),
        )
        return poison(node.span)
    return Reshape(tensor(value.type.dtype, shape), node.span, value)


def permute(ctx: Context, node: tree.Call) -> TExpr:
    """`permute(x, [..])`: constants, each axis once (E2210)."""
    if not positional(ctx, node, 2):
        return poison(node.span)
    value = _tensor_argument(ctx, node.args[0].value, "permute", packs=False)
    axes = _shape_argument(ctx, node.args[1].value, "permute", sizes=False)
    if value is None or axes is None:
        return poison(node.span)
    assert isinstance(value.type, Tensor)
    rank = len(value.type.axes)
    order = tuple(a.value for a in axes if isinstance(a, Dim) and a.is_const)
    if len(order) < len(axes) or sorted(order) != list(range(rank)):
        return ctx.bad(
            "E2210",
            f"{show.axes(axes)} is no permutation of {rank} axes",
            node.args[1].value.span,
            f"each of 0 to {rank - 1} has to stand here once",
            at=node.span,
            related=(Label(value.span, f"this is {show.quoted(value.type)}"),),
        )
    permuted = tuple(value.type.axes[axis] for axis in order)
    return Permute(Tensor(value.type.dtype, permuted), node.span, value, order)


def broadcast_to(ctx: Context, node: tree.Call) -> TExpr:
    """`broadcast_to(x, [..])`: right-aligned, each axis equal to the target's or 1 (E2207)."""
    if not positional(ctx, node, 2):
        return poison(node.span)
    value = _broadcastable(ctx, node.args[0].value)
    shape = _shape_argument(ctx, node.args[1].value, "broadcast_to")
    if value is None or shape is None:
        return poison(node.span)
    assert isinstance(value.type, Tensor | Scalar)
    axes = value.type.axes if isinstance(value.type, Tensor) else ()
    if len(axes) > len(shape):
        return ctx.bad(
            "E2207",
            "`broadcast_to` cannot take axes away",
            node.span,
            f"from {len(axes)} axes to {len(shape)}",
            notes=(f"the operand is {show.quoted(value.type)}",),
        )
    for axis, target in zip(axes, shape[len(shape) - len(axes) :], strict=True):
        if same_axis(ctx.facts, axis, target):
            continue
        if isinstance(axis, Dim) and equal(ctx.facts, axis, ONE):
            continue
        return ctx.bad(
            "E2207",
            f"axis `{show.axis(axis)}` cannot be stretched to `{show.axis(target)}`",
            node.span,
            "neither provably equal nor 1",
            related=(Label(value.span, f"this is {show.quoted(value.type)}"),),
            help=pair_help(ctx, axis, target),
        )
    return BroadcastTo(tensor(value.type.dtype, shape), node.span, value)


def _broadcastable(ctx: Context, node: tree.Expr) -> TExpr | None:
    value = ctx.value(node)
    if isinstance(value.type, Scalar):
        return value  # a rank-0 tensor
    if is_poison(value):
        return None
    if isinstance(value.type, Tensor) and not any(isinstance(a, Pack) for a in value.type.axes):
        return value
    ctx.report(
        "E2101",
        "`broadcast_to` takes a tensor of known rank",
        value.span,
        f"this is {show.quoted(value.type)}",
    )
    return None


# --- concat -----------------------------------------------------------------------------


def concat(ctx: Context, node: tree.Call) -> TExpr:
    """`concat(a, b, …, axis = k)`: all other axes provably equal (E2202)."""
    found = _along(ctx, node, "two tensors or more are needed", "concat(a, b, axis = 0)")
    return poison(node.span) if found is None else _concat(ctx, node, *found)


def _along(
    ctx: Context, node: tree.Call, needed: str, example: str
) -> tuple[list[TExpr], int, tree.Argument] | None:
    """The tensors and the axis of `concat` (two tensors or more) and `cumsum` (one)."""
    name = example.partition("(")[0]
    several = name == "concat"
    parts = [argument for argument in node.args if argument.name is None]
    named = [argument for argument in node.args if argument.name is not None]
    wrong = next((a for a in named if a.name is not None and a.name.name != "axis"), None)
    problem = ""
    if node.type_args:
        ctx.report("E2111", f"`{name}` takes no generic arguments", node.callee.span)
        return None
    if wrong is not None or len(named) > 1:
        problem = "only `axis` is given by name, once"
    elif not named:
        problem = "no `axis = …`"
    elif (len(parts) < 2) if several else (len(parts) != 1):
        problem = needed
    values = [_tensor_argument(ctx, part.value, name) for part in parts]
    if problem:
        span = node.callee.span if wrong is None else wrong.span
        ctx.report(
            "E2102", f"arguments do not fit `{name}`", span, problem, help=f"write `{example}`"
        )
        return None
    axis = _constant(ctx, named[0].value)
    whole = [value for value in values if value is not None]
    return (whole, axis, named[0]) if axis is not None and len(whole) == len(values) else None


def cumsum(ctx: Context, node: tree.Call) -> TExpr:
    """`cumsum(x, axis = k)`: running sums of a Numeric tensor."""
    found = _along(ctx, node, "one tensor is needed", "cumsum(x, axis = 0)")
    if found is None:
        return poison(node.span)
    (value,), axis, argument = found
    assert isinstance(value.type, Tensor)
    place = _axis(ctx, node, value.type, axis, argument, "`cumsum` has no axis {} to add along")
    if place is None:
        return poison(node.span)
    if not same_dtype_class(value.type.dtype, "Numeric"):
        return ctx.bad(
            "E2112",
            f"`cumsum` does not take `{show.dtype_class(value.type.dtype)}`",
            value.span,
            f"this is {show.quoted(value.type)}",
            at=node.span,
            help="it adds up numbers; count truth values as `cast<i32>(…)`",
        )
    rank = len(value.type.axes)
    return CumSum(value.type, node.span, value, rank - 1 - place if axis < 0 else place, axis < 0)


def _axis(
    ctx: Context, node: tree.Call, type: Tensor, axis: int, argument: tree.Argument, message: str
) -> int | None:
    """The entry of the type's axes that `axis` names, or None after E2210."""
    rank = len(type.axes)
    position = axis if axis >= 0 else rank + axis
    counted = type.axes[: position + 1] if axis >= 0 else type.axes[max(position, 0) :]
    if 0 <= position < rank and not any(isinstance(a, Pack) for a in counted):
        return position
    ctx.report(
        "E2210",
        message.format(axis),
        argument.span,
        f"the operand is {show.quoted(type)}",
        notes=("axes count from 0, from the back with -1, and never across a pack",),
    )
    return None


def _constant(ctx: Context, node: tree.Expr) -> int | None:
    """A number known to the checker, or None after E2209."""
    value = ctx.value(node)
    if isinstance(value.type, CompileTimeInt) and value.type.value.is_const:
        return value.type.value.value
    if not is_poison(value):
        ctx.report(
            "E2209",
            "an axis is an integer constant",
            node.span,
            f"this is {show.quoted(value.type)}",
            help="write the number; from the back it is -1, -2, …",
        )
    return None


def _concat(
    ctx: Context, node: tree.Call, values: list[TExpr], axis: int, argument: tree.Argument
) -> TExpr:
    types = [value.type for value in values if isinstance(value.type, Tensor)]
    first = types[0]
    for value, type in zip(values, types, strict=True):
        if type.dtype != first.dtype:
            return ctx.bad(
                "E2103",
                "operands of `concat` have different element types",
                value.span,
                f"`{show.dtype(type.dtype)}` against `{show.dtype(first.dtype)}`",
                at=node.span,
                help=f"convert it: `cast<{show.dtype(first.dtype)}>(…)`",
            )
    for value, type in zip(values, types, strict=True):
        if len(type.axes) != len(first.axes):
            return _uneven(ctx, node, values[0], value, "another number of axes")
    rank = len(first.axes)
    position = _axis(ctx, node, first, axis, argument, "`concat` has no axis {} to join along")
    if position is None:
        return poison(node.span)
    total = Dim.const(0)
    for value, type in zip(values, types, strict=True):
        for number, (x, y) in enumerate(zip(first.axes, type.axes, strict=True)):
            if number != position and not same_axis(ctx.facts, x, y):
                what = f"axis {number}: `{show.axis(y)}` is not provably `{show.axis(x)}`"
                return _uneven(ctx, node, values[0], value, what, pair_help(ctx, x, y))
        joined = type.axes[position]
        assert isinstance(joined, Dim)
        total = total + joined
    axes: list[Axis] = list(first.axes)
    axes[position] = total
    from_end = axis < 0
    counted_from = rank - 1 - position if from_end else position
    type = Tensor(first.dtype, tuple(axes))
    return Concat(type, node.span, tuple(values), counted_from, from_end)


def _uneven(
    ctx: Context,
    node: tree.Call,
    first: TExpr,
    value: TExpr,
    label: str,
    help: tuple[str, ...] = (),
) -> TExpr:
    return ctx.bad(
        "E2202",
        "operands of `concat` differ in more than the joined axis",
        value.span,
        label,
        at=node.span,
        related=(Label(first.span, f"this is {show.quoted(first.type)}"),),
        notes=(f"this operand is {show.quoted(value.type)}",),
        help=help,
    )


# --- new tensors ------------------------------------------------------------------------


def _one_dtype(ctx: Context, node: tree.Call) -> tuple[bool, DType | None]:
    """The optional single generic argument: whether it is fine, and the dtype."""
    written = node.type_args or ()
    if len(written) > 1:
        ctx.report(
            "E2111", f"`{node.callee.span.text}` takes one generic argument", node.callee.span
        )
        return False, None
    if not written:
        return True, None
    dtype = dtype_argument(ctx, written[0])
    return dtype is not None, dtype


def iota(ctx: Context, node: tree.Call) -> TExpr:
    """`iota<T = i64>(n)`: 0, 1, … of a Numeric dtype (E2112)."""
    fine, dtype = _one_dtype(ctx, node)
    if not positional(ctx, node, 1, generics=True):
        return poison(node.span)
    size = size_of(ctx, node.args[0].value)
    if not fine or size is None:
        return poison(node.span)
    dtype = dtype or "i64"
    if not same_dtype_class(dtype, "Numeric"):
        return ctx.bad(
            "E2112",
            f"`iota` cannot count in `{show.dtype(dtype)}`",
            (node.type_args or (node,))[0].span,
            f"one of {show.members('Numeric')} is needed",
            at=node.span,
        )
    return Iota(Tensor(dtype, (size,)), node.span)


def fill(ctx: Context, node: tree.Call) -> TExpr:
    """`fill<T>([..], v)`; without `T` the dtype is that of `v`, which then is no literal."""
    fine, dtype = _one_dtype(ctx, node)
    if not positional(ctx, node, 2, generics=True):
        return poison(node.span)
    shape = _shape_argument(ctx, node.args[0].value, "fill")
    value = ctx.value(node.args[1].value)
    if not fine or shape is None or is_poison(value):
        return poison(node.span)
    if dtype is None and isinstance(value.type, CompileTimeInt | FloatLiteral):
        return ctx.bad(
            "E2110",
            "the dtype of `fill` cannot be worked out",
            node.callee.span,
            "a literal has no dtype of its own",
            at=node.span,
            help="write it: `fill<f32>(…)`",
        )
    if dtype is None and not isinstance(value.type, Scalar):
        return ctx.bad(
            "E2101",
            "`fill` takes a scalar",
            value.span,
            f"this is {show.quoted(value.type)}",
            at=node.span,
        )
    if dtype is not None:
        value = fit(ctx, value, Scalar(dtype), ANNOTATION)
        if is_poison(value):
            return poison(node.span)
    assert isinstance(value.type, Scalar)
    return Fill(tensor(value.type.dtype, shape), node.span, value)
