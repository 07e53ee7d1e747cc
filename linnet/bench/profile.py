"""Times every step of one entry against its own limit.

In goes a model, an entry and its sizes; out comes a `Profile`. The unit is compiled once more
with a clock read after each step (see `codegen/unit/stamps.h.j2`), which costs some 30 ns a
step; nothing else differs from what runs otherwise. Medians over many calls.
"""

from __future__ import annotations

import ctypes
import dataclasses
import statistics
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet import driver
from linnet.artifact import Entry
from linnet.bench import weights
from linnet.bench.client import machine_limits
from linnet.bench.subject import Subject
from linnet.errors import UsageError
from linnet.plan import cost
from linnet.plan.account import LOOP, folded, step_name, step_place
from linnet.plan.cost import Call, Cost, Limits
from linnet.plan.types import EntryPlan, Step, WhileStep

WARM_UP = 2
"""Calls that are not counted."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Request:
    """What to time. `tokens` is the length of a prompt, `rows` how many texts, `position` where
    the first token stands; entries take of these what they have."""

    model: str | Path
    checkpoint: str | Path | None = None
    entry: str = "decode"
    tokens: int = 32
    rows: int = 1
    position: int = 16
    threads: int | None = None
    calls: int = 20
    target: str = "native"
    numerics: str = "equivalent"

    def __post_init__(self) -> None:
        driver.checked_threads(self.threads)
        for name in ("tokens", "rows", "calls"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be at least 1, not {getattr(self, name)}")
        if self.position < 0:
            raise UsageError(f"position must not be negative, and is {self.position}")


@dataclass(frozen=True)
class Line:
    """One step, or several alike: their place in the source, what runs, how many, seconds of
    all of them, and what they must read and compute."""

    where: str
    what: str
    count: int
    seconds: float
    cost: Cost

    def share(self, limits: Limits) -> float | None:
        """The part of the time that the limits explain; None for a step that has none."""
        least = limits.seconds(self.cost.read, self.cost.operations)
        return least / self.seconds if least > 0 and self.seconds > 0 else None


@dataclass(frozen=True)
class Profile:
    """`lines` in running order, step by step. `total` is the whole call, in seconds."""

    model: str
    entry: str
    call: Call
    limits: Limits
    lines: tuple[Line, ...]
    total: float
    is_random: bool

    def grouped(self) -> tuple[Line, ...]:
        """Steps that differ only in the number of their layer as one line, longest first."""
        groups: dict[tuple[str, str], Line] = {}
        for line in self.lines:
            key = folded(line.where, line.what)
            known = groups.get(key, Line(*key, 0, 0.0, Cost()))
            groups[key] = dataclasses.replace(
                known,
                count=known.count + line.count,
                seconds=known.seconds + line.seconds,
                cost=known.cost + line.cost,
            )
        return tuple(sorted(groups.values(), key=lambda line: -line.seconds))


def profile(request: Request, say: Say = lambda text: None) -> Profile:
    """Time an entry. Raises UsageError for an entry that is not there or takes unknown inputs,
    LinnetError for what is wrong with the model, ShapeError for sizes that do not fit."""
    subject = Subject.find(request.model, request.checkpoint)
    with tempfile.TemporaryDirectory(prefix="linnet-bench-") as folder:
        is_random = subject.files is None
        if is_random:
            say("writing random weights")
            weights.write_checkpoint(subject, Path(folder))
            subject = Subject.find(subject.card.file, folder)
        say("compiling with clocks")
        timed = _Timed(subject, request)
        try:
            say("measuring")
            first = machine_limits(timed.threads)
            stamps = timed.run()
            second = machine_limits(timed.threads)
        finally:
            timed.close()
    limits = Limits(
        timed.threads,
        (first.bandwidth + second.bandwidth) / 2,
        (first.peak + second.peak) / 2,
    )
    took = np.diff(stamps, axis=1)
    lines = [
        _line(step, statistics.median(took[:, k].tolist()) * 1e-9, timed.call)
        for k, step in enumerate(timed.plan.steps)
    ]
    total = statistics.median((stamps[:, -1] - stamps[:, 0]).tolist()) * 1e-9
    return Profile(
        subject.card.name, request.entry, timed.call, limits, tuple(lines), total, is_random
    )


def _line(step: Step, seconds: float, call: Call) -> Line:
    what = f"{LOOP}{step.writes.buffer.name}" if isinstance(step, WhileStep) else step_name(step)
    return Line(step_place(step), what, 1, seconds, cost.step_cost(step, call))


class _Timed:
    """A unit with clocks, its weights bound."""

    def __init__(self, subject: Subject, request: Request) -> None:
        from linnet.runtime.program import Program

        self._request = request
        opened = subject.opened(request.rows)
        asked = dataclasses.replace(
            opened.request,
            entries=(request.entry,),
            target=_runnable(request.target),
            numerics=request.numerics,
        )
        generated = driver.generate(asked)
        self.plan: EntryPlan = generated.plan.entries[0]
        built = _built(generated)
        self._stamps = _stamps(built, len(self.plan.steps))
        machine = driver.machine(built, request.threads)
        self.threads = machine.workers
        self._program = Program(built.artifact, machine, opened.source, opened.binding, strict=True)
        self._entry: Entry = self._program.entries[request.entry]
        self._inputs, self.call = _inputs(self._entry, request, subject)

    def run(self) -> npt.NDArray[np.int64]:
        """The stamps [call, step + 1] in nanoseconds."""
        found = []
        sizes = {n: v for n, v in self.call.sizes.items() if n in self._entry.sizes}
        named = sizes if not self._inputs else {}
        for _ in range(WARM_UP + self._request.calls):
            self._program.call(self._request.entry, self._inputs, named)
            found.append(np.array(self._stamps, np.int64))
        return np.stack(found[WARM_UP:])

    def close(self) -> None:
        self._program.close()


def _runnable(name: str) -> str:
    """A target that this machine runs itself. Raises UsageError for another."""
    from linnet.toolchain.native import host_targets

    target = driver.resolve_target(name)
    if target not in host_targets():
        raise UsageError(
            f"this machine does not run {target} itself, so times would mean nothing",
            help="`--loops` counts what is in the inner loops without running them",
        )
    return target


def _built(generated: driver.Generated) -> driver.Built:
    """The unit compiled with a clock read after each step."""
    from linnet.emit.unit import emit_unit
    from linnet.targets.target import load_target
    from linnet.toolchain.cache import default_cache, make_key
    from linnet.toolchain.cc import compile_shared, find_compiler, target_flags

    target = generated.artifact.target
    text = emit_unit(generated.plan, load_target(target), stamps=True)
    compiler = find_compiler()
    flags = target_flags(target, compiler)

    def make(folder: Path) -> None:
        compile_shared(compiler, text, flags, folder / driver.UNIT_LIBRARY)

    key = make_key(timed=text, compiler=compiler.identity, flags=tuple(flags))
    return driver.Built(generated.artifact, default_cache().get_or_build(key, make))


def _stamps(built: driver.Built, steps: int) -> Any:
    from linnet.toolchain.load import load_entry

    return (ctypes.c_int64 * (steps + 1)).in_dll(
        load_entry(built.entry, driver.UNIT_LIBRARY), "linnet_stamps"
    )


def _inputs(entry: Entry, request: Request, subject: Subject) -> tuple[list[Any], Call]:
    """Arguments for an entry, by the names that entries for a task have, and the sizes of the
    call. Raises UsageError for an input of another name."""
    draws = np.random.default_rng(0)
    sizes = {name: request.tokens if name == "S" else request.rows for name in entry.sizes}
    arrays: list[Any] = []
    position = 0
    for argument in entry.inputs:
        shape = [int(dim) if dim.isdigit() else sizes.get(dim, 1) for dim in argument.dims]
        match argument.name:
            case "token" | "tokens":
                arrays.append(draws.integers(0, subject.vocabulary, shape, np.int32))
            case "pos" | "positions":
                position = request.position
                arrays.append(np.full(shape, position, np.int32))
            case "slots":
                arrays.append(np.arange(shape[0], dtype=np.int32))
            case "lengths":
                arrays.append(np.full(shape, request.tokens, np.int32))
            case "kinds":
                arrays.append(np.zeros(shape, np.int32))
            case "pixels":
                arrays.append(draws.standard_normal(shape, np.float32))
            case other:
                raise UsageError(
                    f"`{entry.name}` takes `{other}`, and a profile knows what to give for token, "
                    "tokens, pos, positions, slots, lengths, kinds and pixels only"
                )
    return arrays, Call(sizes, position)


# --- text and data -------------------------------------------------------------------------


def text(found: Profile, *, each: bool = False) -> list[str]:
    """The lines of a report; with `each`, every step on its own."""
    from linnet.bench.report import aligned

    rows: list[Sequence[str]] = [
        ("step", "what runs", "times", "us", "share", "MB read", "Mflop", "times its limit")
    ]
    for line in found.lines if each else found.grouped():
        share = line.share(found.limits)
        rows.append(
            (
                line.where,
                line.what,
                str(line.count),
                f"{line.seconds * 1e6:.1f}",
                f"{line.seconds / found.total:.1%}",
                _or_nothing(line.cost.read / 1e6),
                _or_nothing(line.cost.operations / 1e6),
                "" if share is None else f"{share:.2f}",
            )
        )
    everything = Line("", "", 1, found.total, _sum(found))
    limits, share = found.limits, everything.share(found.limits)
    sizes = ", ".join(f"{name} = {size}" for name, size in found.call.sizes.items())
    head = f"{found.model}, entry {found.entry}" + (f", {sizes}" if sizes else "")
    noun = "thread" if limits.threads == 1 else "threads"
    return [
        f"{head}, position {found.call.position}, {limits.threads} {noun}",
        f"limits here: read {limits.bandwidth / 1e9:.1f} GB/s, "
        f"multiply-add {limits.peak / 1e9:.0f} GFLOP/s",
        *(["random weights of the right shapes"] if found.is_random else []),
        "",
        *aligned(rows, left=2),
        "",
        f"all {len(found.lines)} steps: {found.total * 1e6:.1f} us, "
        f"{everything.cost.read / 1e6:.1f} MB, {everything.cost.operations / 1e6:.1f} Mflop"
        + (f", {share:.2f} times the limit" if share is not None else ""),
        "times its limit: how fast it ran against the slower of the two limits; above 1 where "
        "weights lie in a cache, which is faster than memory",
    ]


def document(found: Profile) -> dict[str, Any]:
    """Everything, for machines; times in seconds."""
    return {
        "model": found.model,
        "entry": found.entry,
        "sizes": dict(found.call.sizes),
        "position": found.call.position,
        "limits": dataclasses.asdict(found.limits),
        "random_weights": found.is_random,
        "seconds": found.total,
        "steps": [
            {**dataclasses.asdict(line), "share_of_limit": line.share(found.limits)}
            for line in found.lines
        ],
    }


def _sum(found: Profile) -> Cost:
    total = Cost()
    for line in found.lines:
        total += line.cost
    return total


def _or_nothing(value: float) -> str:
    return f"{value:.2f}" if value >= 0.005 else ""
