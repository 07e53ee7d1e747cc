"""A comparison in words and as a JSON document."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from linnet.compare.arrays import Difference
from linnet.compare.locate import Finding, Place, place_of
from linnet.compare.run import Result
from linnet.compare.verdicts import State, Verdict
from linnet.ir.node import Origin

AFTER = 6
"""Rows shown after the first difference."""


def text(result: Result, *, everything: bool = False) -> list[str]:
    """The table of values in running order, then the first difference and where it comes from."""
    lines = [f"{result.model} with {result.weights}", f"against {result.stack}"]
    if result.tokens:
        lines.append("tokens " + ",".join(map(str, result.tokens)))
    lines += ["", *_table(result, everything), ""]
    states = [result.verdicts.state(k) for k in result.trace.order]
    if result.finding is None:
        equal = states.count(State.EQUAL)
        lines.append(f"all {equal} values that could be compared agree, of {len(states)}")
        if result.modules:
            lines.append(f"{len(result.modules)} blocks were matched with modules")
        return lines
    return [*lines, *_finding(result, result.finding)]


def _table(result: Result, everything: bool) -> list[str]:
    trace, finding = result.trace, result.finding
    rows: list[tuple[str, ...]] = [("value", "made at", "", "max abs", "relative", "theirs")]
    left = 0
    since: int | None = None
    for position in trace.order:
        if since is not None and since >= AFTER and not everything:
            left += 1
            continue
        verdict = result.verdicts[position]
        if verdict.state is State.UNSEEN and position not in trace.on_inputs:
            continue  # a constant: nobody passes those by
        difference = verdict.difference
        figures = ("", "")
        if difference is not None:
            figures = (f"{difference.absolute:.1e}", f"{difference.relative:.1e}")
        mark = {State.EQUAL: "equal", State.DIFFERS: "DIFFERS", State.UNSEEN: "-"}[verdict.state]
        where = _place(trace.origin(position))
        rows.append((trace.label(position), where, mark, *figures, verdict.against))
        if finding is not None and (since is not None or position == finding.differs):
            since = 0 if since is None else since + 1
    lines = _columns(rows)
    if left:
        lines.append(f"... {left} more values (--all shows them)")
    return lines


def _columns(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if k in (3, 4) else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def _finding(result: Result, finding: Finding) -> Iterator[str]:
    trace, verdict = result.trace, finding.verdict
    assert verdict.difference is not None
    against = f" from {verdict.against}" if verdict.against else ""
    yield f"first difference: {finding.what}{against}"
    yield f"  {_worst(verdict.difference)}"
    yield f"look at: {finding.place.label}  {_full(finding.place.origin)}"
    for position in finding.equal:
        yield f"  came in equal: {_taken(result, finding, position)}"
    for position in finding.unknown:
        yield f"  came in, not compared: {_taken(result, finding, position)}"
    for position in finding.others:
        where = _full(trace.origin(position))
        yield f"  also not found in theirs: {trace.label(position)}  {where}"


def _taken(result: Result, finding: Finding, position: int) -> str:
    """What came in: the parameter that took it, where it was made, and what it is if that is
    short to say."""
    trace, array = result.trace, result.trace.arrays[position]
    role = trace.roles(finding.suspect).get(position, "")
    words = f"{role} = " if role else ""
    words += f"{array.item():.7g}" if array.ndim == 0 else trace.label(position)
    where = _place(trace.origin(position))
    against = result.verdicts[position].against
    facts = [where, f"is {against}" if against else ""]
    return f"{words}  ({', '.join(fact for fact in facts if fact)})"


def _worst(difference: Difference) -> str:
    index = ", ".join(map(str, difference.index))
    return (
        f"at [{index}]: {difference.ours:.7g} in place of {difference.theirs:.7g}; at most "
        f"{difference.absolute:.2g} apart, relative {difference.relative:.2g}"
    )


def _place(origin: Origin | None) -> str:
    return f"{Path(origin.file).name}:{origin.line}" if origin is not None else ""


def _full(origin: Origin | None) -> str:
    return f"{origin.file}:{origin.line}" if origin is not None else ""


def document(result: Result) -> dict[str, Any]:
    """Everything, for tools."""
    trace, finding = result.trace, result.finding
    return {
        "model": result.model,
        "weights": result.weights,
        "stack": result.stack,
        "tokens": list(result.tokens),
        "agree": finding is None,
        "modules": {path: list(found) for path, found in result.modules.items()},
        "values": [_value(result, position) for position in trace.order],
        "finding": None if finding is None else _found(result, finding),
    }


def _found(result: Result, finding: Finding) -> dict[str, Any]:
    return {
        "differs": {"what": finding.what, **_judged(finding.verdict)},
        "look_at": _shown(finding.place),
        "came_in_equal": [_named(result, k) for k in finding.equal],
        "came_in_not_compared": [_named(result, k) for k in finding.unknown],
        "also_not_found": [_named(result, k) for k in finding.others],
    }


def _named(result: Result, position: int) -> dict[str, Any]:
    return {"value": position, **_shown(place_of(result.trace, position))}


def _shown(place: Place) -> dict[str, Any]:
    origin = place.origin
    return {
        "label": place.label,
        "block": place.block,
        "method": place.method,
        "op": place.op,
        "file": origin.file if origin is not None else "",
        "line": origin.line if origin is not None else 0,
    }


def _value(result: Result, position: int) -> dict[str, Any]:
    shape = list(result.trace.arrays[position].shape)
    return {**_named(result, position), "shape": shape, **_judged(result.verdicts[position])}


def _judged(verdict: Verdict) -> dict[str, Any]:
    found = {"state": verdict.state.value, "against": verdict.against}
    difference = verdict.difference
    if difference is None:
        return found
    return {
        **found,
        "max_abs": _number(difference.absolute),
        "relative": _number(difference.relative),
        "worst_index": list(difference.index),
        "ours": _number(difference.ours),
        "theirs": _number(difference.theirs),
    }


def _number(value: float) -> float | str:
    """JSON has no infinity and no NaN; they are words."""
    return value if math.isfinite(value) else str(value)
