"""What a step must read and compute, by the plan: the numbers that limits are divided by.

In goes an entry's plan and the sizes of a call; out come bytes and operations, step by step or
in total. Only what has to come from memory is counted: weights once, the part of the state that
a call looks at. What the steps hand to one another stays in caches and is not counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from linnet.dims import Dim
from linnet.ir.node import CallAttrs
from linnet.ir.ops import ITEM_SIZES
from linnet.plan.cards import evaluate, size_values
from linnet.plan.types import EntryPlan, KernelStep, Space, Step, View

LENGTHS = "lengths"
"""The layout of a mask that became a number of keys: only these are read."""


@dataclass(frozen=True)
class Cost:
    """Bytes of weights and state to read, and floating-point operations."""

    read: float = 0.0
    operations: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.read + other.read, self.operations + other.operations)


@dataclass(frozen=True)
class Call:
    """The sizes of a call by name, and the position of its first token."""

    sizes: Mapping[str, int]
    position: int = 0


def total(plan: EntryPlan, call: Call) -> Cost:
    """The cost of a whole call. A weight that several steps read is read once."""
    cost = Cost()
    seen: set[int] = set()
    for step in plan.steps:
        part = step_cost(step, call, seen)
        cost += part
    return cost


def step_cost(step: Step, call: Call, seen: set[int] | None = None) -> Cost:
    """The cost of one step. Buffers in `seen` are not read again; those read are added to it."""
    share, visible = _filled(step, call)
    read = 0.0
    known = set() if seen is None else seen
    for view in step.reads:
        if view.buffer.space not in (Space.WEIGHT, Space.STATE) or id(view.buffer) in known:
            continue
        read += _read(step, view, call, share)
        if view.buffer.space is Space.WEIGHT and not _moves(step):
            known.add(id(view.buffer))
    return Cost(read, _operations(step, call) * visible)


def _read(step: Step, view: View, call: Call, share: float) -> float:
    """Bytes of one operand. A step that only moves elements reads as many as it writes."""
    size = _bytes(view, call)
    if view.buffer is step.writes.buffer:
        return 0.0
    if _moves(step):
        return min(size, _bytes(step.writes, call))
    return size * share if view.buffer.space is Space.STATE else size


def _moves(step: Step) -> bool:
    if isinstance(step, KernelStep):
        return step.kernel.card.flops == "0"
    return True


def _operations(step: Step, call: Call) -> float:
    if isinstance(step, KernelStep) and isinstance(step.node.attrs, CallAttrs):
        dim = evaluate(step.kernel.card.flops, step.node.attrs.function.generics)
        return float(dim.evaluate(call.sizes))
    return 0.0


def _filled(step: Step, call: Call) -> tuple[float, float]:
    """Of the keys that an attention could look at: the share that any query sees, which is
    read, and the share that a query sees on average, which is computed with."""
    if not isinstance(step, KernelStep) or not isinstance(step.node.attrs, CallAttrs):
        return 1.0, 1.0
    if all(form.layout != LENGTHS for form in step.kernel.forms):
        return 1.0, 1.0
    sizes = size_values(step.node.attrs.function.generics)
    keys, queries = (sizes[name].evaluate(call.sizes) for name in ("K", "Q"))
    if not keys:
        return 1.0, 1.0
    longest = min(keys, call.position + queries)
    average = min(keys, call.position + (queries + 1) / 2)
    return longest / keys, average / keys


def _bytes(view: View, call: Call) -> float:
    count = Dim.const(1)
    for dim in view.dims:
        count = count * dim
    return float(count.evaluate(call.sizes) * ITEM_SIZES[view.buffer.dtype])
