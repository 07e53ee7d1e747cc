"""One arena for everything an entry works with: buffers whose lives do not meet share a slot.

A slot's size is a dim. A free slot is taken when the prover can say which of the two is the
larger, for all sizes; the slot then has the larger one. Nothing is allocated during a call.
"""

from __future__ import annotations

from dataclasses import dataclass

from linnet.dims import Dim, Facts, is_nonnegative
from linnet.ir.ops import ITEM_SIZES
from linnet.plan.types import Buffer, EntryPlan, Space, Step
from linnet.plan.views import product

ALIGNMENT = 64
"""Bytes: a cache line, and the widest vector register."""


@dataclass
class _Slot:
    size: Dim
    free_after: int


def aligned(size: Dim) -> Dim:
    """`size` rounded up to the alignment."""
    if size.is_const:
        return Dim.const(-(-size.value // ALIGNMENT) * ALIGNMENT)
    return (size + (ALIGNMENT - 1)).floordiv(Dim.const(ALIGNMENT)) * ALIGNMENT


def larger(a: Dim, b: Dim, facts: Facts) -> Dim:
    """The larger of two sizes, as one of them where the prover can tell."""
    if is_nonnegative(a - b, facts):
        return a
    return b if is_nonnegative(b - a, facts) else a.maximum(b)


def buffer_bytes(buffer: Buffer) -> Dim:
    return product(buffer.dims) * ITEM_SIZES[buffer.dtype]


def plan_memory(plan: EntryPlan, facts: Facts) -> None:
    """Give each ARENA buffer its slot and fill in `plan.slots`."""
    last_use = _last_uses(plan.steps)
    slots: list[_Slot] = []
    for now, step in enumerate(plan.steps):
        buffer = step.writes.buffer
        if buffer.space is not Space.ARENA or buffer.index >= 0:
            continue
        size = buffer_bytes(buffer)
        buffer.index = _take(slots, size, now, facts)
        slots[buffer.index].free_after = last_use.get(id(buffer), now)
    plan.slots = [slot.size for slot in slots]


def _last_uses(steps: list[Step]) -> dict[int, int]:
    last: dict[int, int] = {}
    for now, step in enumerate(steps):
        for view in (*step.reads, step.writes):
            last[id(view.buffer)] = now
    return last


def _take(slots: list[_Slot], size: Dim, now: int, facts: Facts) -> int:
    """The number of a slot for `size` bytes, free from step `now` on."""
    grown: int | None = None
    for number, slot in enumerate(slots):
        if slot.free_after >= now:
            continue
        if is_nonnegative(slot.size - size, facts):
            return number
        if grown is None and is_nonnegative(size - slot.size, facts):
            grown = number
    if grown is not None:
        slots[grown].size = size
        return grown
    slots.append(_Slot(size, now))
    return len(slots) - 1
