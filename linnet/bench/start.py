"""Where the time of a start goes: from a new process to the first token, step by step.

In goes a model; out comes a `Start`, medians over several fresh processes in which everything is
compiled and the files have been read before, as at any start but the first. The child process
(`python -m linnet.bench.start`) loads the model as any program would and notes the moments that
`linnet.runtime.moments` tells of. What runs beside the main thread, the packing of weights, has a
line of its own and is in no sum.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROUNDS = 5
BEGIN, IMPORTS, TOKEN = "interpreter", "import linnet", "first token, after 16"

Say = Callable[[str], None]


@dataclass(frozen=True)
class Request:
    """What to time, and how often. `threads`: None is what this process may use."""

    model: str | Path
    checkpoint: str | Path | None = None
    threads: int | None = None
    rounds: int = ROUNDS


@dataclass(frozen=True)
class Start:
    """`steps`: seconds by name, in their order, one after the other. `total`: from the start of
    the process to the end of the last step. `packing`: seconds that packing took beside them,
    None if nothing is packed. `user`, `system`: seconds of all CPUs in this program and in the
    kernel. `peak`: bytes of memory at most; `weights`: bytes of the checkpoint's files."""

    model: str
    threads: int
    steps: dict[str, float]
    total: float
    packing: float | None
    user: float
    system: float
    peak: int
    weights: int
    is_random: bool


def start(request: Request, say: Say = lambda text: None) -> Start:
    """Time starts. Raises LinnetError for what is wrong with the model or the checkpoint."""
    import tempfile

    from linnet import driver
    from linnet.bench import weights
    from linnet.bench.subject import Subject
    from linnet.errors import UsageError
    from linnet.targets.detect import allowed_cpus, usable_threads

    if request.rounds < 1:
        raise UsageError(f"rounds must be at least 1, not {request.rounds}")
    driver.checked_threads(request.threads)
    subject = Subject.find(request.model, request.checkpoint)
    with tempfile.TemporaryDirectory(prefix="linnet-bench-") as folder:
        is_random = subject.files is None
        if is_random:
            say("writing random weights")
            weights.write_checkpoint(subject, Path(folder))
            subject = Subject.find(subject.card.file, folder)
        assert subject.files is not None
        prompt = _prompt(subject)
        job = [str(subject.card.file), str(subject.files.weights), request.threads, prompt]
        say("compiling")
        _child(job)  # compiles, and has the files read
        found = []
        for number in range(request.rounds):
            say(f"start {number + 1} of {request.rounds}")
            found.append(_child(job))
        size = sum(file.stat().st_size for file in subject.opened().source.files)
    threads = min(request.threads or usable_threads(), allowed_cpus())
    return _medians(subject.card.name, threads, found, size, is_random)


def _prompt(subject: Any) -> list[int]:
    """Ids to begin with; none for a model that writes no text, of which only loading is timed."""
    from linnet.bench import workload

    if subject.card.text is None:
        return []
    return workload.prompts(workload.start_task(), subject.vocabulary, 0)[0]


def _child(job: list[Any]) -> dict[str, Any]:
    """What one fresh process tells. Raises ToolchainError if it fails."""
    import subprocess

    from linnet.errors import ToolchainError

    place = str(Path(__file__).resolve().parents[2])
    paths = [place, *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "linnet.bench.start", json.dumps([begun, *job])],
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()[-1:] or [f"status {done.returncode}"]
        raise ToolchainError(f"a new process could not load the model: {said[0]}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _medians(
    model: str, threads: int, found: list[dict[str, Any]], size: int, is_random: bool
) -> Start:
    def median(name: str) -> float:
        return float(statistics.median(one[name] for one in found))

    names = found[0]["steps"]
    steps = {name: statistics.median(one["steps"][name] for one in found) for name in names}
    packing = None if found[0]["packing"] is None else median("packing")
    return Start(
        model,
        threads,
        steps,
        median("total"),
        packing,
        median("user"),
        median("system"),
        int(median("peak")),
        size,
        is_random,
    )


# --- text and data -------------------------------------------------------------------------


def text(found: Start) -> list[str]:
    """The lines of a report."""
    from linnet.bench.report import aligned

    rows: list[tuple[str, ...]] = [("step", "ms", "so far")]
    passed = 0.0
    for name, seconds in found.steps.items():
        passed += seconds
        rows.append((name, f"{seconds * 1e3:.1f}", f"{passed * 1e3:.1f}"))
    noun = "thread" if found.threads == 1 else "threads"
    packing = (
        ["no weight is packed"]
        if found.packing is None
        else [f"beside these, from `numpy` on: weights are packed, {found.packing * 1e3:.1f} ms"]
    )
    return [
        f"{found.model}, a new process with {found.threads} {noun}, all compiled and files read",
        *(["random weights of the right shapes"] if found.is_random else []),
        "",
        *aligned(rows),
        "",
        f"all: {found.total * 1e3:.1f} ms (medians, of steps and of the whole)",
        *packing,
        f"CPU time: {found.user * 1e3:.0f} ms in the program, {found.system * 1e3:.0f} ms in the "
        "kernel, mostly for memory used for the first time",
        f"memory at most: {found.peak / 1e6:.0f} MB, for weights of {found.weights / 1e6:.0f} MB",
    ]


def document(found: Start) -> dict[str, Any]:
    """Everything, for machines; times in seconds, sizes in bytes."""
    return asdict(found)


# --- the process that is timed -------------------------------------------------------------


def _main(begun: float, card: str, weights: str, threads: int | None, prompt: list[int]) -> None:
    """Load, run once, and print what passed when."""
    from linnet.runtime import moments

    heard = moments.listen()
    moments.passed(BEGIN)
    from linnet import nest

    moments.passed(IMPORTS)
    model = nest.load(card, checkpoint=weights, threads=threads, offline=True)
    if prompt and "prefill" in model.entries:
        import numpy as np

        model.call("prefill", np.array([prompt], np.int32), 0)[0].argmax()
        moments.passed(TOKEN)
    print(json.dumps(_told(begun, heard)))


def _told(begun: float, heard: list[tuple[str, float]]) -> dict[str, Any]:
    import resource

    from linnet.bench.worker import peak_memory
    from linnet.runtime.layout import PACKED, PACKING

    steps: dict[str, float] = {}
    before = begun
    for name, moment in heard:
        if name not in (PACKING, PACKED):
            steps[name] = moment - before
            before = moment
    times = dict(heard)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "steps": steps,
        "total": before - begun,
        "packing": times[PACKED] - times[PACKING] if PACKED in times else None,
        "user": usage.ru_utime,
        "system": usage.ru_stime,
        "peak": peak_memory(),
    }


if __name__ == "__main__":
    _main(*json.loads(sys.argv[1]))
