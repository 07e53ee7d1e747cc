"""Join a step to the kernel before it, where that kernel can finish its work in registers.

    y = linear(x, w, bias)        z = linear(x, w, bias) with gelu
    z = gelu(y)             ==>

    y = linear(x, w, bias)        z = linear(x, w, bias) added to r
    z = r + y               ==>

    y = linear(x, w, bias)        z = linear(x, w, bias) times r
    z = r * y               ==>

An activation may be followed by one of the others. Only when nobody else reads `y`, `r` is there
before the kernel runs, and `z` may be written that early: neither the kernel nor a step between
has to see what its memory held (a state, mostly). The operations and their order stay, so do the
bits; a barrier and two passes over memory go.
"""

from __future__ import annotations

import dataclasses
from collections import Counter

from linnet.dims import Dim
from linnet.ir.expr import Apply, IndexRef, Load
from linnet.plan import views
from linnet.plan.types import (
    Form,
    KernelInstance,
    KernelStep,
    LoopStep,
    PointerArgument,
    Space,
    Step,
    View,
    WhileStep,
    written,
)

RESIDUAL, FACTOR = "residual", "factor"
PARTNERS = (RESIDUAL, FACTOR)
"""A tensor of the result's shape that is added to it, or that it is multiplied by."""

_PARTNERS = {"add": RESIDUAL, "mul": FACTOR}
"""By the function of a map."""


def join_epilogues(steps: list[Step]) -> list[Step]:
    """Join what can be joined; the order of the others stays."""
    reads = Counter(id(view.buffer) for step in steps for view in _buffers_read(step))
    writers: dict[int, int] = {}
    joined: list[Step] = []
    for step in steps:
        for place in _producers(step, joined, writers, reads):
            merged = _merge(joined[place], step, place, writers)
            if merged is not None and _may_write(step, joined[place:]):
                joined[place] = merged
                writers[id(merged.writes.buffer)] = place
                break
        else:
            writers.update((id(view.buffer), len(joined)) for view in written(step))
            joined.append(step)
    return joined


def _buffers_read(step: Step) -> list[View]:
    """Views a step reads, each buffer once."""
    return list({id(view.buffer): view for view in step.reads}.values())


def _producers(
    step: Step, joined: list[Step], writers: dict[int, int], reads: Counter[int]
) -> list[int]:
    """Where the kernels stand whose results only `step` reads, of those that can take an epilogue;
    the last one first, since what it waits for is there already."""
    places = []
    for view in _buffers_read(step):
        place = writers.get(id(view.buffer))
        if place is None or view.buffer.space is not Space.ARENA or reads[id(view.buffer)] > 1:
            continue
        earlier = joined[place]
        if isinstance(earlier, KernelStep) and _has_room(earlier.kernel):
            places.append(place)
    return sorted(places, reverse=True)


def _has_room(kernel: KernelInstance) -> bool:
    """Whether anything can still be done to a kernel's result before the store."""
    is_last = any(part in PARTNERS for part in kernel.epilogue)
    return kernel.card.in_place is None and not is_last


def _may_write(step: Step, earlier: list[Step]) -> bool:
    """Whether nothing from the kernel on touches the memory that `step` writes."""
    touched = (view.buffer for other in earlier for view in (*other.reads, *written(other)))
    return all(buffer is not step.writes.buffer for buffer in touched)


def _merge(earlier: Step, step: Step, place: int, writers: dict[int, int]) -> KernelStep | None:
    assert isinstance(earlier, KernelStep)
    match step:
        case KernelStep():
            return _with_activation(earlier, step)
        case LoopStep():
            return _with_partner(earlier, step, place, writers)
        case WhileStep():
            return None


def _with_activation(earlier: KernelStep, step: KernelStep) -> KernelStep | None:
    name = earlier.kernel.card.activations.get(step.kernel.card.op)
    if name is None or earlier.kernel.epilogue or not _is_whole(step.reads[0], earlier.writes):
        return None
    kernel = dataclasses.replace(earlier.kernel, epilogue=(name,))
    reason = f"{earlier.reason}; {name} before the store"
    return _finished(earlier, kernel, (), step, reason)


def _with_partner(
    earlier: KernelStep, step: LoopStep, place: int, writers: dict[int, int]
) -> KernelStep | None:
    match step.body:
        case Apply(fn="add" | "mul" as fn, dtype="f32", args=(Load() as a, Load() as b)):
            name, pair = _PARTNERS[fn], (a, b)
        case _:
            return None
    if name not in earlier.kernel.card.partners:
        return None
    own = [id(index) for index in step.indices]
    for load in pair:
        at = [id(p.index) if isinstance(p, IndexRef) else None for p in load.at]
        if at != own:
            return None
    one, two = (step.operands[load.operand] for load in pair)
    partner = two if one.buffer is earlier.writes.buffer else one
    product = one if partner is two else two
    stride = views.row_stride(partner)
    ready = writers.get(id(partner.buffer), -1) < place
    if not _is_whole(product, earlier.writes) or stride is None or not ready:
        return None
    form = Form(name, "rows", partner.buffer.dtype, 1)
    kernel = dataclasses.replace(
        earlier.kernel,
        forms=(*earlier.kernel.forms, form),
        epilogue=(*earlier.kernel.epilogue, name),
    )
    extra = (PointerArgument(partner, (stride,)),)
    does = "adds the residual" if name == RESIDUAL else "multiplies by the factor"
    return _finished(earlier, kernel, extra, step, f"{earlier.reason}; {does}")


def _is_whole(view: View, result: View) -> bool:
    """Whether a view is all of a kernel's result, in its order."""
    return (
        view.buffer is result.buffer
        and view.offset == Dim.const(0)
        and views.is_dense(view)
        and views.product(view.dims) == views.product(result.dims)
    )


def _finished(
    earlier: KernelStep,
    kernel: KernelInstance,
    extra: tuple[PointerArgument, ...],
    step: Step,
    reason: str,
) -> KernelStep:
    """`earlier` writing what `step` wrote. The result's pointer is the last operand, before the
    scratch memory if there is any."""
    arguments = list(earlier.arguments)
    at = next(
        k
        for k in reversed(range(len(arguments)))
        if isinstance(a := arguments[k], PointerArgument) and a.view is earlier.writes
    )
    arguments[at : at + 1] = [*extra, PointerArgument(step.writes)]
    return dataclasses.replace(
        earlier,
        kernel=kernel,
        arguments=tuple(arguments),
        reads=(*earlier.reads, *(e.view for e in extra)),
        writes=step.writes,
        node=earlier.node,
        reason=reason,
    )
