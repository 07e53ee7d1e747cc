"""What a step must read and compute, by the plan: the numbers that limits are divided by.

In goes an entry's plan and the sizes of a call; out come bytes and operations, step by step or
in total. What has to come from memory is counted as read: weights once, the part of the state
that a call looks at. What the steps hand to one another mostly stays in caches; it is counted by
itself and plays no part in the limit.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from linnet.dims import Dim
from linnet.errors import UsageError
from linnet.ir.expr import Apply, Expr, Reduce, children
from linnet.ir.node import CallAttrs, Graph, Named
from linnet.ir.ops import FUNCTIONS, ITEM_SIZES, Kind
from linnet.plan.cards import evaluate, size_values
from linnet.plan.types import EntryPlan, KernelStep, LoopStep, Space, Step, View, WhileStep, leaves
from linnet.plan.views import product

LENGTHS = "lengths"
"""The layout of a mask that became a number of keys: only these are read."""

POSITIONS = ("pos", "positions")
"""Inputs, by the names that entries for serving have, that say where the first token stands."""

USUAL_SIZE, USUAL_POSITION = 32, 16
"""The call that is meant when none is given, as far as an entry takes it."""


@dataclass(frozen=True)
class Cost:
    """Bytes of weights and state to read, operations (two a multiply-add), and bytes that are
    taken from other steps and handed to them."""

    read: float = 0.0
    operations: float = 0.0
    handed: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.read + other.read,
            self.operations + other.operations,
            self.handed + other.handed,
        )

    @property
    def intensity(self) -> float | None:
        """Operations for each byte read; None where nothing is read."""
        return self.operations / self.read if self.read else None


@dataclass(frozen=True)
class Limits:
    """What a machine does on `threads` threads: `bandwidth` in bytes read a second, `peak` in f32
    operations a second (two a multiply-add)."""

    threads: int
    bandwidth: float
    peak: float

    def seconds(self, read: float, operations: float) -> float:
        """The least time for reading so many bytes and doing so many operations."""
        return max(read / self.bandwidth, operations / self.peak)

    def is_memory(self, read: float, operations: float) -> bool:
        """Whether reading takes the longer."""
        return read / self.bandwidth >= operations / self.peak


@dataclass(frozen=True)
class Call:
    """The sizes of a call by name, and the position of its first token."""

    sizes: Mapping[str, int] = field(default_factory=dict)
    position: int = 0


def call_of(graph: Graph, sizes: Mapping[str, int], position: int | None = None) -> Call | None:
    """The call of an entry that is meant by `sizes`, and by usual numbers for what they leave
    open; None when the entry's conditions fit no usual number. The position is that of entries
    that take one.

    Raises UsageError for given sizes that the entry refuses."""
    takes_position = any(
        isinstance(node.attrs, Named) and node.attrs.name in POSITIONS for node in graph.inputs
    )
    where = (USUAL_POSITION if position is None else position) if takes_position else 0
    given = {name: sizes[name] for name in graph.sizes if name in sizes}
    free = [name for name in graph.sizes if name not in given]
    for numbers in _usual(len(free)):
        found = {**given, **dict(zip(free, numbers, strict=True))}
        if all(clause.holds(found) for clause in graph.clauses):
            return Call(found, where)
    if free or not given:
        return None
    broken = next(clause for clause in graph.clauses if not clause.holds(given))
    shown = ", ".join(f"{name} = {size}" for name, size in given.items())
    raise UsageError(f"`{graph.name}` does not take {shown}: it asks for {broken.text}")


def _usual(count: int) -> Iterable[tuple[int, ...]]:
    """Sizes to try for `count` names: the usual one, then smaller ones, then any up to twice it."""
    smaller = [USUAL_SIZE >> k for k in range(USUAL_SIZE.bit_length())]
    if count > 3:
        return [(size,) * count for size in smaller]
    found = itertools.product(smaller, repeat=count)
    return itertools.chain(found, ((size,) * count for size in range(1, 2 * USUAL_SIZE + 1)))


def total(plan: EntryPlan, call: Call) -> Cost:
    """The cost of a whole call, of one round of each loop. A weight that several steps read is
    read once."""
    cost = Cost()
    seen: set[int] = set()
    for step in leaves(plan.steps):
        cost += step_cost(step, call, seen)
    return cost


def step_cost(step: Step, call: Call, seen: set[int] | None = None) -> Cost:
    """The cost of one step, or of one round of a loop. Buffers in `seen` are not read again; those
    read are added to it."""
    known = set[int]() if seen is None else seen
    if isinstance(step, WhileStep):
        cost = Cost()
        for inner in leaves([step]):
            cost += step_cost(inner, call, known)
        return cost
    share, visible = _filled(step, call)
    read = handed = 0.0
    for view in step.reads:
        if view.buffer.space not in (Space.WEIGHT, Space.STATE):
            handed += _bytes(view, call)
            continue
        if id(view.buffer) in known:
            continue
        read += _read(step, view, call, share)
        if view.buffer.space is Space.WEIGHT and not _moves(step):
            known.add(id(view.buffer))
    operations = float(formula(step).evaluate(call.sizes)) * visible
    return Cost(read, operations, handed + _written(step, call))


def formula(step: KernelStep | LoopStep) -> Dim:
    """Operations of a step over the entry's sizes, nothing masked: by a kernel's card, or one for
    each function of numbers in the body of a loop."""
    if isinstance(step, LoopStep):
        return product(tuple(index.domain for index in step.indices)) * _operations(step.body)
    if isinstance(step.node.attrs, CallAttrs):
        return evaluate(step.kernel.card.flops, step.node.attrs.function.generics)
    return Dim.const(0)


def _operations(body: Expr) -> Dim:
    """Operations on floating-point numbers for one element."""
    found = Dim.const(0)
    seen: set[int] = set()
    rest = [body]
    while rest:
        expr = rest.pop()
        if id(expr) in seen:
            continue
        seen.add(id(expr))
        if isinstance(expr, Reduce):
            combined = _operations(expr.body) + 1
            found = found + product(tuple(index.domain for index in expr.indices)) * combined
            continue
        if isinstance(expr, Apply) and FUNCTIONS[expr.fn].kind in (Kind.NUMERIC, Kind.FLOAT):
            found = found + (1 if expr.dtype.startswith(("f", "bf")) else 0)
        rest += children(expr)
    return found


def _read(step: KernelStep | LoopStep, view: View, call: Call, share: float) -> float:
    """Bytes of one operand. A step that only moves elements reads as many as it writes."""
    size = _bytes(view, call)
    if view.buffer is step.writes.buffer and isinstance(step, KernelStep):
        return 0.0  # what a kernel overwrites in place it does not look at
    if _moves(step):
        return min(size, _bytes(step.writes, call))
    return size * share if view.buffer.space is Space.STATE else size


def _written(step: KernelStep | LoopStep, call: Call) -> float:
    """Bytes that a step writes: of what it overwrites in place, as many as it is given."""
    if isinstance(step, KernelStep) and step.kernel.card.in_place is not None:
        others = [view for view in step.reads if view.buffer is not step.writes.buffer]
        return max((_bytes(view, call) for view in others), default=0.0)
    return _bytes(step.writes, call)


def _moves(step: Step) -> bool:
    if isinstance(step, KernelStep):
        return step.kernel.card.flops == "0"
    return True


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
    return float(product(view.dims).evaluate(call.sizes) * ITEM_SIZES[view.buffer.dtype])
