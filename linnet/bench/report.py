"""A result as text and as one JSON document.

In goes a `Result`; out come lines for a terminal, or plain data. Nothing is measured here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from linnet.bench.results import (
    COMPILE,
    LOAD,
    MEMORY,
    OURS,
    OVERHEAD,
    START,
    Figure,
    Result,
    Row,
    Status,
)

BUSY = 0.1
"""CPUs kept busy by others from which on a measurement is called disturbed."""

_MORE = {START: ("start", "s"), LOAD: ("load", "s"), MEMORY: ("memory", "MB")}


def text(result: Result) -> list[str]:
    """The lines of a report."""
    environment = result.environment
    lines = [
        f"{result.title}, {environment['machine']}, target {environment['target']}",
        f"weights: {result.weights}",
        f"medians of {_counted(result.rounds, 'round')}; each engine in fresh processes, in turn",
    ]
    for threads in result.threads:
        lines += ["", *_block(result, threads)]
    return [*lines, "", *_notes(result)]


def _block(result: Result, threads: int) -> list[str]:
    """The table of one number of threads."""
    head = [_counted(threads, "thread"), *(task.title for task in result.tasks)]
    head += [title for title, _ in _MORE.values()]
    units = ["", *(task.unit for task in result.tasks), *(unit for _, unit in _MORE.values())]
    table = [head, units]
    for row in (r for r in result.rows if r.threads == threads):
        if row.status is not Status.MEASURED:
            table.append([row.title, row.status.value])
            continue
        table.append([_marked(row), *_figures(result, row)])
        if row.engine == OURS:
            table.append(["  of the limit", *_shares(result, row)])
            table.append(["  spread", *_spreads(result, row)])
    table.append(["the machine", *_bounds(result, threads)])
    if any(_leads(result, threads)):
        table.append(["linnet / best other", *_leads(result, threads)])
    limit = result.limit(threads)
    about = f"read {limit.bandwidth / 1e9:.1f} GB/s, multiply-add {limit.peak / 1e9:.0f} GFLOP/s"
    return [*aligned(table), f"limits here: {about}"]


def _marked(row: Row) -> str:
    return row.title if row.is_believed else f"{row.title} (other ids)"


def _figures(result: Result, row: Row) -> list[str]:
    found = [_shown(row.figures.get(task.key)) for task in result.tasks]
    found += [_shown(row.figures.get(key), 1e6 if key == MEMORY else 1.0) for key in _MORE]
    return found


def _shown(figure: Figure | None, scale: float = 1.0) -> str:
    return "" if figure is None else number(figure.median / scale)


def _shares(result: Result, row: Row) -> list[str]:
    shares = [result.share(row, task) for task in result.tasks]
    return ["" if share is None else f"{share:.2f}" for share in shares]


def _spreads(result: Result, row: Row) -> list[str]:
    keys = [*(task.key for task in result.tasks), *_MORE]
    return [f"{row.figures[key].spread:.0%}" if key in row.figures else "" for key in keys]


def _bounds(result: Result, threads: int) -> list[str]:
    bounds = [result.bound(task, threads) for task in result.tasks]
    return ["" if bound is None else number(bound) for bound in bounds]


def _leads(result: Result, threads: int) -> list[str]:
    found = [
        result.lead(task.key, threads, higher_is_better=task.higher_is_better)
        for task in result.tasks
    ]
    found += [result.lead(key, threads, higher_is_better=False) for key in _MORE]
    return ["" if lead is None else f"{lead[0]:.2f}x" for lead in found]


def _notes(result: Result) -> list[str]:
    """What a reader must know to judge the tables."""
    lines = [
        "the machine: what the limits allow, by the bytes that must be read and the operations; "
        "start: from the start of the process to the first token"
    ]
    ours = result.rows[0]
    if COMPILE in ours.figures:
        lines.append(f"compiling all entries anew: {number(ours.figures[COMPILE].median)} s")
    lines += _overhead(ours)
    lines.append(f"weights as laid out: {number(result.stored_bytes / 1e6)} MB")
    for row in (r for r in result.rows if r.threads == result.threads[0]):
        lines += _row_notes(row)
    disturbed = [share for row in result.rows for share in row.others if share > BUSY]
    total = sum(len(row.others) for row in result.rows)
    if disturbed:
        lines.append(
            f"disturbed: in {len(disturbed)} of {total} measurements other processes kept more "
            f"than {BUSY:g} CPUs busy"
        )
    return lines


def _overhead(ours: Row) -> list[str]:
    """What a token costs besides the model's own work."""
    micros = {
        name: f"{ours.figures[key].median * 1e6:.0f}"
        for name, key in OVERHEAD.items()
        if key in ours.figures
    }
    if not micros:
        return []
    return [
        f"overhead of a step: {micros['step']} us beside the model's own work, of which greedy "
        f"choice {micros['greedy']} us",
        f"sampling: {micros['sampling']} us a token with temperature, top-k and top-p; "
        f"{micros['sampling_worst']} us at worst (flat logits, top-p 0.99, temperature 2)",
    ]


def _row_notes(row: Row) -> list[str]:
    if row.status is not Status.MEASURED:
        return [f"{row.title}: {row.status.value}: {row.reason}"]
    if row.engine == OURS:
        return []
    versions = ", ".join(f"{name} {version}" for name, version in row.versions.items())
    verdict = f"{row.agreeing} of {row.compared} greedy ids are ours"
    if row.agreeing == row.compared:
        verdict = f"all {row.compared} greedy ids are ours"
    if row.difference is not None:
        verdict += f", logits differ by at most {row.difference:.1e}"
    return [f"{row.title}: {versions}; {verdict}"]


# --- data ----------------------------------------------------------------------------------


def document(result: Result) -> dict[str, Any]:
    """Everything, for machines."""
    return {
        "model": result.model,
        "date": result.date,
        "environment": result.environment,
        "weights": {
            "used": result.weights,
            "random": result.is_random,
            "seed": result.seed,
            "bytes": result.stored_bytes,
        },
        "rounds": result.rounds,
        "limits": {
            str(threads): [asdict(limit) for limit in found]
            for threads, found in result.limits.items()
        },
        "tasks": [
            {
                **asdict(task),
                "unit": task.unit,
                "read_bytes": result.costs[task.key].read if task.key in result.costs else None,
                "operations": result.costs[task.key].operations
                if task.key in result.costs
                else None,
            }
            for task in result.tasks
        ],
        "rows": [_row_document(result, row) for row in result.rows],
    }


def _row_document(result: Result, row: Row) -> dict[str, Any]:
    shares = {t.key: s for t in result.tasks if (s := result.share(row, t)) is not None}
    return {
        "engine": row.engine,
        "threads": row.threads,
        "precision": row.precision,
        "status": row.status.value,
        "reason": row.reason or None,
        "versions": row.versions,
        "agreeing_ids": row.agreeing,
        "compared_ids": row.compared,
        "is_believed": row.is_believed,
        "max_abs_diff": row.difference,
        "figures": {
            key: {"median": figure.median, "spread": figure.spread, "samples": figure.samples}
            for key, figure in row.figures.items()
        },
        "share_of_limit": shares,
        "cpus_used_by_others": row.others,
    }


# --- layout --------------------------------------------------------------------------------


def number(value: float) -> str:
    """Three significant digits, no exponent."""
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def aligned(table: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Lines of a table: the first `left` columns to the left, numbers to the right. A row of
    two cells is a name and a remark, which may be longer than its column."""
    whole = [row for row in table if len(row) > 2]
    count = max(len(row) for row in whole)
    widths = [max(len(row[k]) for row in whole if k < len(row)) for k in range(count)]
    widths[0] = max(len(row[0]) for row in table)
    lines = []
    for row in table:
        if len(row) == 2:
            lines.append(f"{row[0]:<{widths[0]}}  {row[1]}")
            continue
        cells = [
            f"{cell:<{width}}" if k < left else f"{cell:>{width}}"
            for k, (cell, width) in enumerate(zip(row, widths, strict=False))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
