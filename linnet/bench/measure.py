"""Runs a measurement: rounds in which the machine and all engines take turns.

In goes a `Request`; out comes a `Result`. Each turn is a fresh process (`client`, `worker`), so
that no engine meets the memory, the threads or the warm caches of another, and so that the time
from the start of a process to its first token is measured each round. An engine that cannot be
measured keeps its row, with the reason.
"""

from __future__ import annotations

import datetime
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from linnet import driver
from linnet.bench import environment, weights, workload
from linnet.bench.client import Client, WorkerError, machine_limits
from linnet.bench.engine import BF16, F32, Job
from linnet.bench.results import (
    COMPILE,
    LOAD,
    MEMORY,
    OURS,
    OVERHEAD,
    START,
    Result,
    Row,
    Status,
    agreement,
)
from linnet.bench.subject import ROWS, Subject
from linnet.bench.worker import ENGINES
from linnet.bench.workload import Task
from linnet.errors import UsageError
from linnet.plan import cost
from linnet.plan.cost import Limits

_STATUS = {"missing": Status.MISSING, "unfit": Status.UNFIT, "error": Status.FAILED}
QUICK_BUFFER = 2**27

Say = Callable[[str], None]


@dataclass(frozen=True)
class Request:
    """What to measure. `compare`: engines besides ours. `pythons`: interpreters to look for
    engines in, before this one. `checkpoint`: a folder, or None for what the card leads to.
    `tasks`: keys of those to do, all if empty. `precision`: what other engines compute in."""

    model: str | Path
    checkpoint: str | Path | None = None
    threads: tuple[int, ...] = (1,)
    rounds: int = 5
    quick: bool = False
    tasks: tuple[str, ...] = ()
    compare: tuple[str, ...] = ()
    pythons: tuple[str, ...] = ()
    precision: str = F32
    seed: int = 0

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise UsageError(f"rounds must be at least 1, not {self.rounds}")
        if not self.threads:
            raise UsageError("give at least one number of threads")
        for count in self.threads:
            driver.checked_threads(count)
        if self.precision not in (F32, BF16):
            raise UsageError(f"precision must be {F32} or {BF16}, not {self.precision!r}")
        for name in self.compare:
            if name not in ENGINES:
                raise UsageError(f"there is no engine {name!r}; there are {', '.join(ENGINES)}")


def bench(request: Request, say: Say = lambda text: None) -> Result:
    """Measure. Raises LinnetError for what is wrong with the model or the checkpoint; what is
    wrong with an engine becomes its row."""
    subject = Subject.find(request.model, request.checkpoint)
    tasks = _tasks(subject, request)
    with _checkpoint(subject, request, say) as subject:
        run = _Run(request, subject, tasks, say)
        run.prepare()
        for number in range(request.rounds):
            run.round(number)
        run.compare()
        return run.result


def _tasks(subject: Subject, request: Request) -> tuple[Task, ...]:
    """The tasks asked for that the model can do. Raises UsageError for an unknown one."""
    found = workload.tasks(subject.context, quick=request.quick)
    if ROWS not in subject.generics:
        found = tuple(task for task in found if task.rows == 1)
    for key in request.tasks:
        if all(task.key != key for task in found):
            raise UsageError(
                f"{subject.card.name} has no task {key!r} here; there are "
                + ", ".join(task.key for task in found)
            )
    return tuple(task for task in found if not request.tasks or task.key in request.tasks)


@contextmanager
def _checkpoint(subject: Subject, request: Request, say: Say) -> Iterator[Subject]:
    """The subject with files: its own, or random ones for as long as the block runs."""
    if subject.files is not None:
        yield subject
        return
    with tempfile.TemporaryDirectory(prefix="linnet-bench-") as folder:
        say("writing random weights")
        weights.write_checkpoint(subject, Path(folder), request.seed)
        yield replace(Subject.find(subject.card.file, folder), is_random=True)


class _Run:
    """One measurement on its way."""

    def __init__(
        self, request: Request, subject: Subject, tasks: tuple[Task, ...], say: Say
    ) -> None:
        self.request = request
        self.tasks = tasks
        self.subject = subject
        self.say = say
        self._folder = tempfile.TemporaryDirectory(prefix="linnet-bench-")
        self._python: dict[str, str] = {}
        self.result = Result(
            model=subject.card.name,
            title=subject.card.about.title,
            date=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            weights=self._weights(),
            is_random=subject.is_random,
            seed=request.seed,
            rounds=request.rounds,
            tasks=tasks,
            threads=request.threads,
            costs={},
            stored_bytes=0,
            environment=environment.described(),
        )

    def _weights(self) -> str:
        if self.subject.is_random:
            return f"random weights of the right shapes (seed {self.request.seed})"
        assert self.subject.files is not None
        return f"the checkpoint's ({self.subject.files.weights.name})"

    # --- before the rounds ----------------------------------------------------------------

    def prepare(self) -> None:
        """Work out what the tasks cost, find the engines, convert the checkpoint for them."""
        self.say("compiling")
        self._costs()
        for engine in (OURS, *(e for e in ENGINES if e in self.request.compare)):
            self.say(f"preparing {engine}")
            self._prepare(engine)

    def _costs(self) -> None:
        for rows in sorted({1, *(task.rows for task in self.tasks)}):
            plan = driver.generate(self.subject.opened(rows).request).plan
            if rows == 1:
                self.result.stored_bytes = sum(w.size for w in plan.weights)
            for task in (t for t in self.tasks if t.rows == rows):
                entry = next((e for e in plan.entries if e.graph.name == task.entry), None)
                if entry is not None:
                    self.result.costs[task.key] = cost.total(entry, _call(task))

    def _prepare(self, engine: str) -> None:
        precision = F32 if engine == OURS else self.request.precision
        rows = [Row(engine, engine, count, precision=precision) for count in self.request.threads]
        self.result.rows += rows
        try:
            found = self._find(engine)
            Path(self._job(engine, 1)["folder"]).mkdir(exist_ok=True)
            with Client(self._python[engine]) as client:
                client.ask(
                    "prepare", engine=engine, job=self._job(engine, max(self.request.threads))
                )
        except WorkerError as error:
            for row in rows:
                row.status, row.reason = _STATUS[error.kind], str(error)
            return
        for row in rows:
            row.title = found["title"] + ("" if row.precision == F32 else f", {row.precision}")
            row.versions = found["versions"]

    def _find(self, engine: str) -> dict[str, Any]:
        """What the first interpreter that has the engine says about it. Raises WorkerError when
        none has."""
        problem = WorkerError("missing", "no interpreter")
        pythons = () if engine == OURS else self.request.pythons
        for python in (*pythons, sys.executable):
            try:
                with Client(python) as client:
                    found = client.ask("check", engine=engine)
            except WorkerError as error:
                problem = error
                continue
            self._python[engine] = python
            return found
        raise problem

    def _job(self, engine: str, threads: int) -> dict[str, Any]:
        files = self.subject.files
        assert files is not None
        place = files.weights
        if engine != OURS and not place.is_dir():
            place = place.parent
        job = Job(
            checkpoint=str(place),
            folder=str(Path(self._folder.name) / engine),
            threads=threads,
            context=self.subject.context,
            rows=tuple(sorted({1, *(task.rows for task in self.tasks)})),
            precision=self.request.precision,
            card=str(self.subject.card.file) if engine == OURS else "",
        )
        return asdict(job)

    # --- rounds ---------------------------------------------------------------------------

    def round(self, number: int) -> None:
        """Everything once; the order turns from round to round."""
        for threads in self.request.threads:
            rows = [r for r in self.result.rows if r.threads == threads]
            first = number % len(rows)
            self._title(number, threads, "the machine")
            self.result.limits.setdefault(threads, []).append(self._limits(threads))
            for row in (*rows[first:], *rows[:first]):
                if row.status is Status.MEASURED:
                    self._title(number, threads, row.engine)
                    self._turn(row)
        ours = self.result.ours(self.request.threads[0])
        if (
            ours is not None
            and ours.status is Status.MEASURED
            and (number == 0 or not self.request.quick)
        ):
            self._title(number, 1, "the compiler")
            self._compile(ours)

    def _title(self, number: int, threads: int, what: str) -> None:
        noun = "thread" if threads == 1 else "threads"
        self.say(f"round {number + 1} of {self.request.rounds}: {what}, {threads} {noun}")

    def _limits(self, threads: int) -> Limits:
        sizes = {"buffer": QUICK_BUFFER} if self.request.quick else {}
        return machine_limits(threads, **sizes)

    def _turn(self, row: Row) -> None:
        try:
            with Client(self._python[row.engine], row.threads) as client:
                self._measure(client, row)
        except WorkerError as error:
            row.status, row.reason = _STATUS[error.kind], str(error)

    def _measure(self, client: Client, row: Row) -> None:
        vocabulary, seed = self.subject.vocabulary, self.request.seed
        job = self._job(row.engine, row.threads)
        row.add(LOAD, client.ask("load", engine=row.engine, job=job)["seconds"])
        begin = workload.start_task()
        first = client.ask("run", prompts=workload.prompts(begin, vocabulary, seed), count=1)
        row.add(START, first["runs"][0]["times"][0] - client.started)
        remembered = False
        for task in self.tasks:
            if task.rows > 1 and not remembered:  # the memory of one text
                row.add(MEMORY, client.ask("memory")["peak"])
                remembered = True
            answer = client.ask(
                "run",
                prompts=workload.prompts(task, vocabulary, seed),
                count=task.count,
                repeats=task.repeats,
            )
            runs = answer["runs"]
            figures = sorted(task.figure(run["start"], run["times"]) for run in runs)
            row.add(task.key, figures[len(figures) // 2])
            row.ids.setdefault(task.key, runs[0]["ids"])
            if answer["others"] is not None:
                row.others.append(answer["others"])
        if not remembered:
            row.add(MEMORY, client.ask("memory")["peak"])
        if row.engine == OURS:
            found = client.ask("overhead", vocabulary=vocabulary)
            for name, key in OVERHEAD.items():
                row.add(key, found[name])
        if not self._logits(row).exists():
            prompt = workload.prompts(begin, vocabulary, seed)[0]
            client.ask("logits", prompt=prompt, file=str(self._logits(row)))

    def _logits(self, row: Row) -> Path:
        """Where an engine's logits after the short prompt are kept."""
        return Path(self._folder.name) / f"{row.engine}-{row.threads}.npy"

    def _compile(self, row: Row) -> None:
        with Client() as client:
            job = self._job(OURS, row.threads)
            row.add(COMPILE, client.ask("compile", job=job)["seconds"])

    # --- after them -----------------------------------------------------------------------

    def compare(self) -> None:
        """Hold the text and the logits of every engine against ours."""
        for row in self.result.rows:
            ours = self.result.ours(row.threads)
            if row.engine == OURS or ours is None or row.status is not Status.MEASURED:
                continue
            row.agreeing, row.compared = _agreement(ours, row)
            row.difference = _difference(self._logits(ours), self._logits(row))
        self._folder.cleanup()


def _call(task: Task) -> cost.Call:
    """The call that a task's figure is about; in the middle of its tokens where they differ."""
    if task.kind == "prefill":
        return cost.Call({"S": task.prompt})
    return cost.Call({}, task.prompt + task.count // 2)


def _agreement(ours: Row, theirs: Row) -> tuple[int, int]:
    """Leading ids that are ours in the task that agrees least, of how many; where only prompts
    were measured, first ids of how many prompts."""
    found = [agreement(ours.ids[k], theirs.ids[k]) for k in theirs.ids if k in ours.ids]
    texts = [pair for pair in found if pair[1] > 1]
    if texts:
        return min(texts)
    return sum(same for same, _ in found), sum(count for _, count in found)


def _difference(ours: Path, theirs: Path) -> float | None:
    """The largest difference of two saved arrays; None if one of them was not shown."""
    if not (ours.exists() and theirs.exists()):
        return None
    return float(np.abs(np.load(ours) - np.load(theirs)).max())
