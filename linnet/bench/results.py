"""What a measurement gives, as plain data: figures, rows of engines, limits, environment.

Nothing is measured, printed or written here.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from linnet.bench.workload import Task
from linnet.plan.cost import Cost, Limits

OURS = "linnet"

LOAD, START, MEMORY, COMPILE = "load", "start", "memory", "compile"
"""Figures besides those of tasks: seconds, seconds, bytes, seconds."""

OVERHEAD = {
    "step": "step_overhead",
    "greedy": "greedy",
    "sampling": "sampling",
    "sampling_worst": "sampling_worst",
}
"""Figures of what a token costs besides the model's work, in seconds, by what a worker says."""

ENOUGH_AGREEMENT = {"f32": 16, "bf16": 1}
"""Leading ids that must be ours before a speed is compared with ours, by the precision that an
engine computes in: other roundings soon lead to another text."""


@dataclass
class Figure:
    """Samples of one quantity, one a round."""

    samples: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    @property
    def spread(self) -> float:
        """(largest - smallest) / median."""
        return (max(self.samples) - min(self.samples)) / self.median if self.median else 0.0


class Status(Enum):
    MEASURED = "measured"
    MISSING = "not installed"
    UNFIT = "not for this model"
    FAILED = "failed"


@dataclass
class Row:
    """One engine on one number of threads. `reason` completes a status other than MEASURED.
    `agreeing` of `compared` ids are ours, counted from the first; None for ourselves."""

    engine: str
    title: str
    threads: int
    status: Status = Status.MEASURED
    reason: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    figures: dict[str, Figure] = field(default_factory=dict)
    ids: dict[str, list[list[int]]] = field(default_factory=dict)
    others: list[float] = field(default_factory=list)
    precision: str = "f32"
    agreeing: int | None = None
    compared: int = 0
    difference: float | None = None

    def add(self, key: str, value: float) -> None:
        """Another sample."""
        self.figures.setdefault(key, Figure()).samples.append(value)

    @property
    def is_believed(self) -> bool:
        """Whether its speed may be compared with ours: it computes the same."""
        if self.engine == OURS:
            return True
        enough = min(ENOUGH_AGREEMENT[self.precision], self.compared)
        return self.agreeing is not None and self.agreeing >= enough


@dataclass
class Result:
    """Everything about one run. `limits` has one list a number of threads, one item a round;
    `costs` the work of each task; `weights` says in words which were used."""

    model: str
    title: str
    date: str
    weights: str
    is_random: bool
    seed: int
    rounds: int
    tasks: tuple[Task, ...]
    threads: tuple[int, ...]
    costs: dict[str, Cost]
    stored_bytes: int
    environment: dict[str, Any]
    limits: dict[int, list[Limits]] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)

    def limit(self, threads: int) -> Limits:
        """Medians over the rounds."""
        found = self.limits[threads]
        return Limits(
            threads,
            statistics.median(limit.bandwidth for limit in found),
            statistics.median(limit.peak for limit in found),
        )

    def bound(self, task: Task, threads: int) -> float | None:
        """The figure that the machine's limits allow for a task."""
        if task.key not in self.costs or threads not in self.limits:
            return None
        cost = self.costs[task.key]
        seconds = self.limit(threads).seconds(cost.read, cost.operations)
        return 1000.0 * seconds if task.kind == "prefill" else task.rows / seconds

    def share(self, row: Row, task: Task) -> float | None:
        """How much of the limit a row reaches; 1 is all of it."""
        bound = self.bound(task, row.threads)
        if bound is None or task.key not in row.figures:
            return None
        figure = row.figures[task.key].median
        return figure / bound if task.higher_is_better else bound / figure

    def ours(self, threads: int) -> Row | None:
        return next((r for r in self.rows if r.engine == OURS and r.threads == threads), None)

    def lead(self, key: str, threads: int, *, higher_is_better: bool) -> tuple[float, Row] | None:
        """How many times better we are than the best other engine that is believed, and which
        that is."""
        ours = self.ours(threads)
        others = [
            r
            for r in self.rows
            if r.threads == threads and r.engine != OURS and r.is_believed and key in r.figures
        ]
        if ours is None or key not in ours.figures or not others:
            return None
        mine = ours.figures[key].median

        def factor(row: Row) -> float:
            theirs = row.figures[key].median
            return mine / theirs if higher_is_better else theirs / mine

        best = min(others, key=factor)
        return factor(best), best


def agreement(ours: Iterable[list[int]], theirs: Iterable[list[int]]) -> tuple[int, int]:
    """How many leading ids agree in the row in the middle, and how many were compared.

    Not in the row that agrees least: of many texts one soon comes to two ids that are almost
    equally likely, and an engine that rounds otherwise (llama.cpp keeps its GELU in an f16 table)
    takes the other and goes on with another text. An engine that computes something else
    disagrees in most rows."""
    counts, compared = [], 0
    for mine, other in zip(ours, theirs, strict=True):
        compared = min(len(mine), len(other))
        counts.append(next((k for k in range(compared) if mine[k] != other[k]), compared))
    return sorted(counts)[(len(counts) - 1) // 2] if counts else 0, compared
