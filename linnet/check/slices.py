"""`base[components]`: block arrays, slices, and the way to accesses of index notation.

Components address axes from the left, `...` stands for those not addressed. Compile-time
positions and ranges are part of the type; run-time positions are read.
"""

from __future__ import annotations

from linnet.check import show
from linnet.check.context import Context, is_poison, poison
from linnet.check.index import access
from linnet.check.positions import inside, integer_position
from linnet.check.proofs import nonnegative, suggestion
from linnet.check.substitute import tensor
from linnet.check.typed import (
    ArrayItem,
    FixedAxis,
    KeepAxes,
    RangeAxis,
    RuntimeAxis,
    Slice,
    SliceComponent,
    TExpr,
)
from linnet.check.types import Array, Axis, CompileTimeInt, Optional, Tensor
from linnet.diag import Span
from linnet.dims import Clause, Dim, Pack
from linnet.dims.extent import slice_extent
from linnet.syntax import tree


def index_expr(ctx: Context, node: tree.Index) -> TExpr:
    """`base[…]` of any kind."""
    base = ctx.expr(node.base)
    if is_poison(base):
        _look_inside(ctx, node)
        return poison(node.span)
    if isinstance(base.type, Array):
        return _array_item(ctx, node, base, base.type)
    if not isinstance(base.type, Tensor):
        return ctx.bad(
            "E2104",
            f"{show.quoted(base.type)} cannot be indexed",
            node.base.span,
            "only tensors and block arrays have positions",
            at=node.span,
            help="take it apart first: `match … { some(v) => … none => … }`"
            if isinstance(base.type, Optional)
            else (),
        )
    plain = all(isinstance(c, tree.Expr | tree.Pack) for c in node.components)
    if ctx.frames and plain:
        return access(ctx, node, base, base.type)
    return _slice(ctx, node, base, base.type)


def _look_inside(ctx: Context, node: tree.Index) -> None:
    """Find errors of their own in the components of something unknown.

    Names alone are left out: index variables among them are none of its business."""
    if ctx.frames:
        return
    for component in node.components:
        if isinstance(component, tree.Expr) and not isinstance(component, tree.Name):
            ctx.expr(component)


def _array_item(ctx: Context, node: tree.Index, base: TExpr, array: Array) -> TExpr:
    component = node.components[0]
    if len(node.components) == 1 and isinstance(component, tree.Expr):
        value = ctx.value(component)
        if is_poison(value):
            return poison(node.span)
        if isinstance(value.type, CompileTimeInt) and value.type.value.is_const:
            position = value.type.value
            if not inside(ctx, position, array.length, component.span):
                return poison(node.span)
            return ArrayItem(array.item, node.span, base, position)
    return ctx.bad(
        "E3104",
        "a block array takes one constant integer",
        node.span,
        f"`{node.base.span.text}` is `{show.type_(array)}`",
        help="to go through all of them use `static for`",
    )


# --- slices -----------------------------------------------------------------------------


def _slice(ctx: Context, node: tree.Index, base: TExpr, type: Tensor) -> TExpr:
    placed = _placed(ctx, node, type)
    if placed is None:
        return poison(node.span)
    components: list[SliceComponent] = []
    result: list[Axis] = []
    failed = False
    at = 0
    for axis, component in placed:
        if axis > at:
            components.append(KeepAxes(at, axis))
            result.extend(type.axes[at:axis])
        at = axis + 1
        size = type.axes[axis]
        part = (
            _hidden(ctx, component, size)
            if isinstance(size, Pack)
            else (_component(ctx, component, axis, size))
        )
        if part is None:
            failed = True
            continue
        components.append(part)
        if isinstance(part, RangeAxis):
            result.append(part.extent)
        elif isinstance(part, KeepAxes):
            result.append(size)
    if failed:
        return poison(node.span)
    if at < len(type.axes):
        components.append(KeepAxes(at, len(type.axes)))
        result.extend(type.axes[at:])
    return Slice(tensor(type.dtype, tuple(result)), node.span, base, tuple(components))


def _placed(
    ctx: Context, node: tree.Index, type: Tensor
) -> list[tuple[int, tree.Expr | tree.Slice]] | None:
    """Each component with the axis it addresses, in order. None after E2204 or E3106."""
    dots = [n for n, c in enumerate(node.components) if isinstance(c, tree.Dots)]
    pack = next((c for c in node.components if isinstance(c, tree.Pack)), None)
    if pack is not None:
        ctx.report(
            "E3106",
            "a pack index stands only in index notation",
            pack.span,
            "no axis of a slice",
            help="write `...` for the axes that are not addressed",
        )
        return None
    if len(dots) > 1:
        span = node.components[dots[1]].span
        ctx.report("E2204", "`...` appears twice", span, "the second one", help="remove one")
        return None
    count, rank = len(node.components) - len(dots), len(type.axes)
    if count > rank:
        ctx.report(
            "E2204",
            show.indices_for_axes(count, rank),
            node.span,
            f"`{node.base.span.text}` is `{show.type_(type)}`",
        )
        return None
    placed: list[tuple[int, tree.Expr | tree.Slice]] = []
    for number, component in enumerate(node.components):
        if isinstance(component, tree.Expr | tree.Slice):
            behind = bool(dots) and number > dots[0]
            axis = rank - (len(node.components) - number) if behind else number
            placed.append((axis, component))
    return placed


def _hidden(ctx: Context, node: tree.Expr | tree.Slice, pack: Pack) -> SliceComponent | None:
    ctx.report(
        "E3106",
        f"this axis is hidden in the pack `*{pack.name}`",
        node.span,
        "a pack has no single axes to address",
        help="skip the pack with `...`, as in `x[..., 0:D]`",
    )
    return None


def _component(
    ctx: Context, node: tree.Expr | tree.Slice, axis: int, size: Dim
) -> SliceComponent | None:
    if isinstance(node, tree.Slice):
        return _range(ctx, node, axis, size)
    position = integer_position(ctx, node)
    if position is None:
        return None
    if isinstance(position.type, CompileTimeInt):
        dim = position.type.value
        return FixedAxis(axis, dim) if inside(ctx, dim, size, node.span) else None
    return RuntimeAxis(axis, position)


def _range(ctx: Context, node: tree.Slice, axis: int, size: Dim) -> SliceComponent | None:
    if node.start is None and node.stop is None and node.step is None:
        return KeepAxes(axis, axis + 1)
    start = _bound(ctx, node.start)
    stop = _bound(ctx, node.stop)
    step = _step(ctx, node.step)
    if (start is None and node.start) or (stop is None and node.stop) or step is None:
        return None
    begin = start if start is not None else Dim.const(0)
    return RangeAxis(axis, begin, step, slice_extent(size, ctx.facts, begin, stop, step))


def _bound(ctx: Context, node: tree.Expr | None) -> Dim | None:
    """A slice bound that is provably at least 0, or None after E2209."""
    if node is None:
        return None
    value = ctx.value(node)
    if is_poison(value):
        return None
    if not isinstance(value.type, CompileTimeInt):
        return _bad_bound(ctx, node.span, f"this is {show.quoted(value.type)}")
    dim = value.type.value
    if nonnegative(ctx.facts, dim):
        return dim
    label = "this is negative" if dim.is_const else "this may be negative"
    help = () if dim.is_const else suggestion(ctx, Clause.of(">=", dim, 0))
    return _bad_bound(ctx, node.span, label, help)


def _bad_bound(ctx: Context, span: Span, label: str, help: tuple[str, ...] = ()) -> Dim | None:
    """Report a bad bound; always None."""
    ctx.report(
        "E2209",
        "a slice bound is a compile-time integer of at least 0",
        span,
        label,
        help=help or "there are no negative bounds: count from the end with `N - 1`",
    )
    return None


def _step(ctx: Context, node: tree.Expr | None) -> int | None:
    if node is None:
        return 1
    value = ctx.value(node)
    if is_poison(value):
        return None
    dim = value.type.value if isinstance(value.type, CompileTimeInt) else None
    if dim is not None and dim.is_const and dim.value > 0:
        return dim.value
    ctx.report(
        "E2209",
        "a slice step is a positive integer constant",
        node.span,
        f"this is `{node.span.text}`",
    )
    return None
