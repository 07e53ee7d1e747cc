"""`bench.json` beside a card: the headline figures of one result, in the format of nest cards.

In goes a `Result`; out comes the document, and the file. Only `linnet bench --update` writes it.
A method is an engine on a number of threads; metrics of ours stand beside the format's own.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from linnet.bench.results import COMPILE, LOAD, MEMORY, OURS, OVERHEAD, START, Result, Row, Status

FILE = "bench.json"
REFERENCE = "transformers"
"""The engine that differences are taken against, where it was measured."""


def document(result: Result) -> dict[str, Any]:
    """The content of bench.json."""
    reference = _reference(result)
    return {
        "date": result.date,
        "environment": result.environment,
        "workload": {
            "device": "cpu",
            "prompt_tokens": _decode(result, "prompt", 16),
            "new_tokens": _decode(result, "count", 64),
            "batch": 1,
            "warmup": 1,
            "iters": result.rounds,
            "seed": result.seed,
        },
        "weights": result.weights,
        "method": "medians over rounds in which the machine's limits and all engines take turns, "
        "each in a fresh process; rates in tokens a second, times in milliseconds",
        "limits": {
            str(threads): {
                "read_gb_s": _short(result.limit(threads).bandwidth / 1e9),
                "multiply_add_gflop_s": _short(result.limit(threads).peak / 1e9),
            }
            for threads in result.threads
        },
        "methods": [_method(result, row, reference) for row in result.rows],
        "reference": reference,
    }


def update(result: Result, folder: Path) -> Path:
    """Write bench.json into a card's folder, whole or not at all. Raises OSError."""
    file = folder / FILE
    temporary = folder / f".{FILE}.{os.getpid()}"
    text = json.dumps(document(result), indent=2, ensure_ascii=False) + "\n"
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, file)
    return file


def _reference(result: Result) -> str | None:
    measured = [r for r in result.rows if r.status is Status.MEASURED]
    row = next((r for r in measured if r.engine == REFERENCE), None)
    return None if row is None else _key(row)


def _key(row: Row) -> str:
    return f"{row.engine}-{row.threads}t"


def _method(result: Result, row: Row, reference: str | None) -> dict[str, Any]:
    noun = "thread" if row.threads == 1 else "threads"
    kind = "linnet" if row.engine == OURS else "reference"
    error = None if row.status is Status.MEASURED else f"{row.status.value}: {row.reason}"
    return {
        "method": f"{row.title}, {row.threads} {noun}",
        "kind": kind,
        "key": _key(row),
        "metrics": _metrics(result, row),
        "max_abs_diff": _difference(result, row, reference),
        "notes": _notes(result, row),
        "error": error,
    }


def _difference(result: Result, row: Row, reference: str | None) -> float | None:
    """Largest difference of logits to the reference's; known between it and us."""
    if reference is None or _key(row) == reference:
        return None
    other = next(
        (r for r in result.rows if r.engine == REFERENCE and r.threads == row.threads), None
    )
    return other.difference if other is not None and row.engine == OURS else None


def _metrics(result: Result, row: Row) -> dict[str, Any]:
    names = {
        "ttft_ms": (f"prefill_{_short_prompt(result)}", 1.0),
        "decode_tok_s": (f"decode_{_decode(result, 'prompt', 16)}", 1.0),
        "load_s": (LOAD, 1.0),
        "start_s": (START, 1.0),
        "peak_memory_mib": (MEMORY, 2.0**-20),
        "compile_s": (COMPILE, 1.0),
        **{f"{key}_us": (key, 1e6) for key in OVERHEAD.values()},
    }
    metrics: dict[str, Any] = {
        name: _short(row.figures[key].median * scale)
        for name, (key, scale) in names.items()
        if key in row.figures
    }
    for task in result.tasks:
        if task.key in row.figures:
            unit = "ms" if task.kind == "prefill" else "tok_s"
            metrics[f"{task.key}_{unit}"] = _short(row.figures[task.key].median)
            share = result.share(row, task)
            if share is not None:
                metrics[f"{task.key}_of_limit"] = _short(share)
    if row.ids:
        metrics["first_token"] = next(iter(row.ids.values()))[0][0]
    return metrics


def _notes(result: Result, row: Row) -> str:
    notes = [result.weights]
    if row.engine != OURS and row.agreeing is not None:
        notes.append(f"{row.agreeing} of {row.compared} greedy ids are linnet's")
    notes += [f"{name} {version}" for name, version in row.versions.items() if version != "?"]
    return "; ".join(notes)


def _decode(result: Result, field: str, default: int) -> int:
    task = next((t for t in result.tasks if t.kind == "decode"), None)
    return default if task is None else int(getattr(task, field))


def _short_prompt(result: Result) -> int:
    return next((t.prompt for t in result.tasks if t.kind == "prefill"), 0)


def _short(value: float) -> float:
    """Four significant digits: what a measurement can tell."""
    return float(f"{value:.4g}")
