"""One arena for everything an entry works with: buffers whose lives do not meet share a slot.

A slot's size is a dim. A free slot is taken when the prover can say which of the two is the
larger, for all sizes; the slot then has the larger one. Nothing is allocated during a call.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from linnet.dims import Dim, Facts, is_nonnegative
from linnet.ir.ops import ITEM_SIZES
from linnet.plan.types import Buffer, EntryPlan, Space, Step, WhileStep, leaves
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
    last_use = _LastUses().of(plan.steps)
    slots: list[_Slot] = []
    for now, step in enumerate(leaves(plan.steps)):
        buffer = step.writes.buffer
        if buffer.space is not Space.ARENA or buffer.index >= 0:
            continue
        size = buffer_bytes(buffer)
        buffer.index = _take(slots, size, now, facts)
        slots[buffer.index].free_after = last_use.get(id(buffer), now)
    plan.slots = [slot.size for slot in slots]


@dataclass
class _LastUses:
    """Numbers all steps as they stand, and notes for each buffer (by id) the number of the last
    that needs it. What a loop finds when it begins, and what it is tested by, lives until the
    loop is over: there may always be another round."""

    first: dict[int, int] = field(default_factory=dict)
    last: dict[int, int] = field(default_factory=dict)

    def of(self, steps: Iterable[Step]) -> dict[int, int]:
        self._number(steps, 0)
        return self.last

    def _number(self, steps: Iterable[Step], now: int) -> int:
        for step in steps:
            if isinstance(step, WhileStep):
                now = self._rounds(step, now)
                continue
            for view in (*step.reads, step.writes):
                self.first.setdefault(id(view.buffer), now)
                self.last[id(view.buffer)] = now
            now += 1
        return now

    def _rounds(self, step: WhileStep, start: int) -> int:
        after = self._number((*step.condition, *step.body), start)
        for view in step.reads:
            if self.first[id(view.buffer)] < start or view is step.test:
                self.last[id(view.buffer)] = after - 1
        return after


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
