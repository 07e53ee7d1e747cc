"""The plan in words and as one JSON document: for each op what runs and why, what it must read and
compute, and which limit of a machine that meets.

For `linnet explain`; `account` has the facts. Steps that are alike in all layers make one line.
Columns: how often, where, what runs, on how many threads, then numbers of one of them.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from linnet.plan.account import (
    Account,
    Choice,
    Entry,
    Instance,
    Machine,
    Op,
    Operand,
    account,
    folded,
    states,
)
from linnet.plan.cost import Cost, Limits
from linnet.plan.types import UnitPlan

_WIDTH = 100


def explain(unit: UnitPlan, target: str, numerics: str) -> str:
    """A report of a unit's plan, for the calls that are meant when none is given."""
    return text(account(unit, target, numerics))


def text(found: Account, machine: Machine | None = None, *, each: bool = False) -> str:
    """A report; with the limits of a machine, in time; with `each`, every step on its own."""
    lines = [f"{found.unit.name} for {found.target}, numerics {found.numerics}", ""]
    if machine is not None:
        lines += [*_limits(machine), ""]
    lines += _weights(found.unit)
    lines += _states(found.unit)
    for entry in found.entries:
        lines += _entry(entry, machine, each)
    lines += _kernels(found)
    lines += _loops(found)
    lines += _notes(machine)
    return "\n".join(lines) + "\n"


# --- memory --------------------------------------------------------------------------------


def _limits(machine: Machine) -> Iterator[str]:
    for limits in dict.fromkeys((machine.one, machine.all)):
        yield (
            f"limits on {_plural(limits.threads, 'thread')}: read "
            f"{limits.bandwidth / 1e9:.1f} GB/s, multiply-add {limits.peak / 1e9:.0f} GFLOP/s"
        )


def _weights(unit: UnitPlan) -> list[str]:
    layouts = Counter(w.layout for w in unit.weights)
    lines = [f"weights: {len(unit.weights)} in memory, {_bytes(sum(w.size for w in unit.weights))}"]
    for layout, count in sorted(layouts.items()):
        size = sum(w.size for w in unit.weights if w.layout == layout)
        what = "as in the checkpoint" if layout == "dense" else f"repacked by {layout} at load"
        lines.append(f"  {count:4} {what}, {_bytes(size)}")
    return [*lines, ""]


def _states(unit: UnitPlan) -> list[str]:
    groups = states(unit)
    if not groups:
        return []
    count, size = (sum(numbers) for numbers in zip(*groups.values(), strict=True))
    lines = [f"state: {_plural(count, 'tensor')}, {_bytes(size)}"]
    for (path, dtype, dims), (number, own) in groups.items():
        lines.append(f"  {number:4} {path} {dtype}{dims} in this order, {_bytes(own)}")
    return [*lines, ""]


# --- entries -------------------------------------------------------------------------------


def _entry(entry: Entry, machine: Machine | None, each: bool) -> list[str]:
    steps = [op for op in entry.ops if not op.what.startswith("while")]
    kernels = sum(op.kernel is not None for op in steps)
    shared = sum(op.parallel for op in steps)
    lines = [
        f"entry {entry.name}: {_plural(len(steps), 'step')} ({_plural(kernels, 'kernel')}, "
        f"{_plural(len(steps) - kernels, 'loop')}), {shared} shared by all threads",
        f"  working memory: {' + '.join(entry.slots) or '0'} bytes; "
        f"scratch a thread: {entry.scratch} bytes",
        f"  {_call(entry, machine)}",
    ]
    rows = [_head(machine), *(_row(op, n, machine) for op, n in _grouped(entry.ops, each))]
    return [*lines, *_table(rows), ""]


def _call(entry: Entry, machine: Machine | None) -> str:
    """The call that costs are given for, and all of them together."""
    if entry.call is None or entry.cost is None:
        asked = ", ".join(entry.conditions)
        return f"no costs: none of the usual sizes fit {asked}; give some with --size"
    sizes = [f"{name} = {size}" for name, size in entry.call.sizes.items()]
    if entry.call.position:
        sizes.append(f"position {entry.call.position}")
    what = f"a call ({', '.join(sizes)})" if sizes else "a call"
    line = f"{what}: reads {_bytes(entry.cost.read)}, {_number(entry.cost.operations / 1e6)} Mflop"
    if entry.cost.intensity is not None:
        line += f", {_number(entry.cost.intensity)} flop a byte"
    if machine is not None and (least := _least(entry.cost, machine.all)):
        line += f"; at least {_number(least[0] * 1e3)} ms, by {least[1]}"
    return line


def _grouped(ops: Sequence[Op], each: bool) -> Iterable[tuple[Op, int]]:
    if each:
        return [(op, 1) for op in ops]
    counts = Counter(op.alike for op in ops)
    first = {op.alike: op for op in reversed(ops)}
    return [(first[key], counts[key]) for key in dict.fromkeys(op.alike for op in ops)]


_LEFT = (1, 2, 3, 9)
"""Columns of words."""


def _head(machine: Machine | None) -> list[str]:
    head = ["times", "op", "what runs", "threads", "kB read", "kflop", "flop/B", "kB handed on"]
    return head if machine is None else [*head, "least us", "limit"]


def _row(op: Op, count: int, machine: Machine | None) -> list[str]:
    where, what = (op.where, op.what) if count == 1 else folded(op.where, op.what)
    row = [str(count), "  " * op.depth + where, what, "all" if op.parallel else "one"]
    if op.cost is None:
        return row
    cost = op.cost
    row += [_number(cost.read / 1e3), _number(cost.operations / 1e3)]
    row += [_number(cost.intensity), _number(cost.handed / 1e3)]
    least = None if machine is None else _least(cost, machine.of(op))
    return row if least is None else [*row, _number(least[0] * 1e6), least[1]]


def _least(cost: Cost, limits: Limits) -> tuple[float, str] | None:
    """The least time of a cost and what it takes; None for none."""
    seconds = limits.seconds(cost.read, cost.operations)
    if not seconds:
        return None
    return seconds, "memory" if limits.is_memory(cost.read, cost.operations) else "arithmetic"


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Words to the left, numbers to the right."""
    widths = [0] * len(rows[0])
    for row in rows:
        widths = [max(width, len(row[k]) if k < len(row) else 0) for k, width in enumerate(widths)]
    for row in rows:
        cells = [
            f"{cell:<{width}}" if k in _LEFT else f"{cell:>{width}}"
            for k, (cell, width) in enumerate(zip(row, widths, strict=False))
        ]
        yield "  " + "  ".join(cells).rstrip()


# --- why -----------------------------------------------------------------------------------


def _kernels(found: Account) -> Iterator[str]:
    for choice in found.choices:
        card = choice.card
        yield f"kernel {card.name} for {card.op}, codegen/kernels/{_file(choice)}"
        yield from _wrapped(f"does: {card.summary}", 2)
        yield from _wrapped(f"chosen: {_chosen(choice)}", 2)
        for instance in choice.instances:
            yield f"  {instance.kernel.symbol}, {_plural(instance.steps, 'step')}"
            operands = "; ".join(_operand(operand) for operand in instance.operands)
            yield from _wrapped(f"{operands}{_joined(instance)}", 4)
        yield ""


def _file(choice: Choice) -> str:
    return choice.card.template.removeprefix("kernels/")


def _chosen(choice: Choice) -> str:
    """The conditions that hold, the cards that asked for more, and those that ask for less."""
    card = choice.card
    holds = [f"{name} is {' or '.join(allowed)}" for name, allowed in card.dtypes.items()]
    holds += [f"{clause} for all sizes" for clause in card.where]
    words = " and ".join(holds) or "it takes every call of the op"
    if choice.passed:
        words += f"; not {', '.join(choice.passed)}"
    if choice.left:
        asks = "asks" if len(choice.left) == 1 else "ask"
        words += f"; before {', '.join(choice.left)}, which {asks} for less"
    return words


def _operand(operand: Operand) -> str:
    words = f"{operand.name}: {operand.dtype} {operand.layout}"
    if operand.strides:
        words += f" by {', '.join(operand.strides)}"
    return words + (f" in a {operand.space}" if operand.space in ("weight", "state") else "")


def _joined(instance: Instance) -> str:
    names = {"residual": "adds the residual before the store"}
    joined = [names.get(e, f"{e} before the store") for e in instance.kernel.epilogue]
    return "".join(f"; joined: {words}" for words in joined)


def _loops(found: Account) -> list[str]:
    """Why there are loops, and which; then ops that no kernel takes."""
    reasons: dict[str, dict[str, None]] = {}
    refused: dict[str, str] = {}
    for entry in found.entries:
        refused.update(entry.refused)
        for op in (op for op in entry.ops if op.kernel is None):
            short = folded(op.where, op.what)[1].removeprefix("loop ")
            reasons.setdefault(op.reason, {})[short] = None
    lines = []
    if reasons:
        lines.append("loops in C over the elements of a value")
        for reason, names in reasons.items():
            lines += _wrapped(f"{reason}: {', '.join(names)}", 2)
        lines.append("")
    if refused:
        lines.append("ops that become loops")
        for name, reason in refused.items():
            lines += _wrapped(f"{name}: {reason}", 2)
        lines.append("")
    return lines


def _notes(machine: Machine | None) -> Iterator[str]:
    yield from _wrapped(
        "kB read: weights, and what is looked at of states; flop: two a multiply-add, masked ones "
        "not counted; kB handed on: taken from other steps and given to them, mostly in caches",
        0,
    )
    if machine is not None:
        yield from _wrapped(
            "least us: the longer of reading that much and computing that much, at the measured "
            "limits of as many threads",
            0,
        )


# --- data ----------------------------------------------------------------------------------


def document(found: Account, machine: Machine | None = None) -> dict[str, Any]:
    """Everything, for machines; bytes, operations and seconds."""
    unit = found.unit
    return {
        "name": unit.name,
        "target": found.target,
        "numerics": found.numerics,
        "limits": None if machine is None else asdict(machine),
        "weights": [asdict(weight) for weight in unit.weights],
        "states": [
            {"path": path, "dtype": dtype, "dims": dims, "count": count, "bytes": size}
            for (path, dtype, dims), (count, size) in states(unit).items()
        ],
        "entries": [_entry_document(entry, machine) for entry in found.entries],
        "kernels": [_choice_document(choice) for choice in found.choices],
    }


def _entry_document(entry: Entry, machine: Machine | None) -> dict[str, Any]:
    call = entry.call
    return {
        "name": entry.name,
        "sizes": None if call is None else dict(call.sizes),
        "position": None if call is None else call.position,
        "conditions": entry.conditions,
        "working_memory": entry.slots,
        "scratch": entry.scratch,
        "ops_without_kernel": dict(entry.refused),
        **_cost_document(entry.cost, None if machine is None else machine.all),
        "steps": [_op_document(op, machine) for op in entry.ops],
    }


def _op_document(op: Op, machine: Machine | None) -> dict[str, Any]:
    return {
        "op": op.where,
        "source": op.source,
        "runs": op.what,
        "card": None if op.kernel is None else op.kernel.card.name,
        "depth": op.depth,
        "all_threads": op.parallel,
        "reason": op.reason,
        "epilogue": [] if op.kernel is None else op.kernel.epilogue,
        "operands": [asdict(operand) for operand in op.operands],
        "operations_formula": op.formula or None,
        **_cost_document(op.cost, None if machine is None else machine.of(op)),
    }


def _cost_document(cost: Cost | None, limits: Limits | None) -> dict[str, Any]:
    least = None if cost is None or limits is None else _least(cost, limits)
    return {
        "read_bytes": None if cost is None else cost.read,
        "operations": None if cost is None else cost.operations,
        "handed_on_bytes": None if cost is None else cost.handed,
        "operations_a_byte": None if cost is None else cost.intensity,
        "least_seconds": None if least is None else least[0],
        "limit": None if least is None else least[1],
    }


def _choice_document(choice: Choice) -> dict[str, Any]:
    card = choice.card
    return {
        "card": card.name,
        "op": card.op,
        "template": card.template,
        "summary": card.summary,
        "where": card.where,
        "dtypes": dict(card.dtypes),
        "passed_over": choice.passed,
        "before": choice.left,
        "functions": [
            {
                "name": instance.kernel.symbol,
                "constants": dict(instance.kernel.consts),
                "sizes": instance.kernel.sizes,
                "epilogue": instance.kernel.epilogue,
                "operands": [asdict(operand) for operand in instance.operands],
                "result": instance.kernel.result,
                "steps": instance.steps,
            }
            for instance in choice.instances
        ],
    }


# --- words ---------------------------------------------------------------------------------


def _number(value: float | None) -> str:
    """Three digits or all before the point; nothing for nothing."""
    if not value:
        return ""
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2g}" if value < 0.1 else f"{value:.2f}"


def _wrapped(words: str, indent: int) -> list[str]:
    """Lines of a remark; what follows the first stands further in."""
    return textwrap.wrap(
        words,
        _WIDTH,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + 2),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _bytes(size: float) -> str:
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size:.0f} B"
