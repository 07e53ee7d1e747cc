"""The plan in words: what runs for each op and why, what is repacked, memory, work.

For `linnet explain`. Sizes that stay symbolic are printed as such.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from linnet.dims import Dim
from linnet.ir.node import CallAttrs
from linnet.ir.ops import ITEM_SIZES
from linnet.plan.cards import evaluate
from linnet.plan.memory import buffer_bytes
from linnet.plan.types import (
    EntryPlan,
    KernelStep,
    LoopStep,
    Space,
    Step,
    UnitPlan,
    WhileStep,
    leaves,
)


def explain(unit: UnitPlan, target: str, numerics: str) -> str:
    """A report of a unit's plan."""
    lines = [f"{unit.name} for {target}, numerics {numerics}", ""]
    lines += _weights(unit)
    lines += _states(unit)
    for entry in unit.entries:
        lines += _entry(entry)
    return "\n".join(lines) + "\n"


def _weights(unit: UnitPlan) -> list[str]:
    layouts = Counter(w.layout for w in unit.weights)
    total = sum(w.size for w in unit.weights)
    lines = [f"weights: {len(unit.weights)} in memory, {_bytes(total)}"]
    for layout, count in sorted(layouts.items()):
        size = sum(w.size for w in unit.weights if w.layout == layout)
        what = "as in the checkpoint" if layout == "dense" else f"repacked by {layout} at load"
        lines.append(f"  {count:4} {what}, {_bytes(size)}")
    return [*lines, ""]


def _states(unit: UnitPlan) -> list[str]:
    sizes = [ITEM_SIZES[node.type.dtype] * _count(node.type.dims).value for node in unit.states]
    return [f"state: {_plural(len(sizes), 'tensor')}, {_bytes(sum(sizes))}", ""] if sizes else []


def _count(dims: tuple[Dim, ...]) -> Dim:
    total = Dim.const(1)
    for dim in dims:
        total = total * dim
    return total


def _entry(plan: EntryPlan) -> list[str]:
    memory = " + ".join(str(size) for size in plan.slots) or "0"
    steps = list(leaves(plan.steps))
    kernels = sum(isinstance(step, KernelStep) for step in steps)
    shared = sum(step.parallel for step in steps)
    lines = [
        f"entry {plan.graph.name}: {_plural(len(steps), 'step')} ({_plural(kernels, 'kernel')}, "
        f"{_plural(len(steps) - kernels, 'loop')}), {shared} shared by all threads",
        f"  working memory: {memory} bytes; scratch a thread: {plan.scratch} bytes",
    ]
    rows = list(_rows(plan.steps, ""))
    widths = [max((len(row[k]) for row in rows), default=0) for k in range(5)]
    for row in rows:
        cells = "  ".join(cell.ljust(width) for cell, width in zip(row[:5], widths, strict=True))
        lines.append(f"  {cells}  {row[5]}".rstrip())
    return [*lines, ""]


_Row = tuple[str, str, str, str, str, str]


def _rows(steps: Iterable[Step], indent: str) -> Iterator[_Row]:
    """One row a step, and one for each loop above its own."""
    for step in steps:
        if isinstance(step, WhileStep):
            carried = ", ".join(view.buffer.name for view in step.carried)
            where = step.node.origin.path if step.node.origin is not None else ""
            yield (f"{indent}{where}", f"while, carrying {carried}", "", "", "", step.reason)
            yield from _rows((*step.condition, *step.body), indent + "  ")
        else:
            where, what, threads, read, flops, why = _row(step)
            yield (indent + where, what, threads, read, flops, why)


def _row(step: KernelStep | LoopStep) -> _Row:
    """Where, what runs, on how many threads, bytes of weights and state it reads, operations,
    why."""
    origin = step.node.origin
    where = origin.path if origin is not None and origin.path else step.writes.buffer.name
    threads, read = "all threads" if step.parallel else "one thread", _read_bytes(step)
    if isinstance(step, LoopStep):
        return (where, f"loop {step.writes.buffer.name}", threads, read, "", step.reason)
    flops = ""
    if isinstance(step.node.attrs, CallAttrs) and step.kernel.card.flops != "0":
        flops = f"{evaluate(step.kernel.card.flops, step.node.attrs.function.generics)} flop"
    return (where, step.kernel.symbol, threads, read, flops, step.reason)


def _read_bytes(step: Step) -> str:
    """Bytes of weights and state behind the operands (each buffer once)."""
    buffers = {
        id(v.buffer): v.buffer for v in step.reads if v.buffer.space in (Space.WEIGHT, Space.STATE)
    }
    total = Dim.const(0)
    for buffer in buffers.values():
        total = total + buffer_bytes(buffer)
    return f"reads {_bytes(total.value)}" if total.is_const and total.value else ""


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _bytes(size: int) -> str:
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size} B"
