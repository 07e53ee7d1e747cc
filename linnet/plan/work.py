"""Which steps are worth sharing between threads.

A barrier costs a microsecond while all threads spin and far more on a busy machine, so a step
that one thread finishes sooner is left to one. Neighbouring steps of that kind need no barrier
between them: a small model runs through on one thread, however many there are.
"""

from __future__ import annotations

import dataclasses

from linnet.dims import Dim
from linnet.ir.expr import Reduce, walk
from linnet.ir.node import CallAttrs
from linnet.plan.cards import evaluate
from linnet.plan.memory import buffer_bytes
from linnet.plan.types import KernelStep, LoopStep, Space, Step, WhileStep
from linnet.plan.views import product

WORTH_SHARING = 30_000
"""Nanoseconds of one thread's work from which a step is shared."""

FLOPS_PER_NS, BYTES_PER_NS = 32, 16
"""What one core does: rough figures for vector code out of its own caches."""

COLD = 8
"""How many times longer a byte takes that no cache has: of a state that is written, of a row
that is gathered from weights."""


def share_work(steps: list[Step]) -> list[Step]:
    """Mark each step as shared or not. A step whose size is not known is shared."""
    return [dataclasses.replace(step, parallel=_is_worth_sharing(step)) for step in steps]


def _is_worth_sharing(step: Step) -> bool:
    """A loop is left to one thread only if all its steps are."""
    if isinstance(step, WhileStep):
        return any(inner.parallel for inner in (*step.condition, *step.body))
    return _is_large(step)


def _is_large(step: KernelStep | LoopStep) -> bool:
    if isinstance(step, LoopStep):
        # Every element it reads is an operation, so the bytes say nothing more.
        return bool(step.visited) and _takes_long(_loop_operations(step), FLOPS_PER_NS)
    return _takes_long(_flops(step), FLOPS_PER_NS) or _takes_long(_bytes(step), BYTES_PER_NS)


def _takes_long(amount: Dim, rate: int) -> bool:
    return not amount.is_const or amount.value / rate >= WORTH_SHARING


def _flops(step: KernelStep) -> Dim:
    attrs = step.node.attrs
    if not isinstance(attrs, CallAttrs):
        return Dim.const(0)
    return evaluate(step.kernel.card.flops, attrs.function.generics)


def _loop_operations(step: LoopStep) -> Dim:
    """Scalar operations: every expression once an element, deeper in reductions. Plain C does
    about one of them where a kernel does a whole register, which the factor stands for."""
    total = product(tuple(index.domain for index in step.visited))
    for expr in walk(step.body):
        if isinstance(expr, Reduce):
            total = total * product(tuple(index.domain for index in expr.indices))
    return total * (len(list(walk(step.body))) * 8)


def _bytes(step: KernelStep) -> Dim:
    """Bytes of what is read and written, cold ones counted `COLD` times. Of a state only the
    written part is touched when a kernel overwrites in place: as much as it reads."""
    cold = step.kernel.card.gathers or step.kernel.card.in_place is not None
    buffers = {id(v.buffer): v.buffer for v in step.reads}
    if step.kernel.card.in_place is not None:
        buffers.pop(id(step.writes.buffer), None)
    elif step.writes.buffer.space is not Space.STATE:
        buffers[id(step.writes.buffer)] = step.writes.buffer
    if step.kernel.card.gathers:
        buffers = {k: b for k, b in buffers.items() if b.space is not Space.WEIGHT}
    total = Dim.const(0)
    for buffer in buffers.values():
        total = total + buffer_bytes(buffer)
    return total * COLD if cold else total
