#!/usr/bin/env python3
"""Is decoding as fast as transformers, and prefill nearly? On GPT-2 124M, at equal threads.

    bench/decode_and_prefill.py [--checkpoint DIR] [--threads 1,2] [--rounds 5] [--json]

Both engines run the same checkpoint (random weights of the published size unless one is given)
in f32, in fresh processes that take turns within each round; a figure is the median of the
rounds, a ratio is how many times faster we are. Speeds count only if the greedy ids agree.
Ends with 1 when a ratio is below its floor. Needs the extra `bench`; `linnet bench` measures
more tasks, and other engines.
"""

from __future__ import annotations

import argparse
import json
import runpy
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from linnet.bench.measure import Request, bench
from linnet.bench.results import OURS, Result, Row, Status
from linnet.bench.workload import Task
from linnet.errors import LinnetError

THEIRS = "transformers"
FLOORS = {"decode_16": 1.0, "decode_512": None, "prefill_32": None, "prefill_512": 0.8}
"""The tasks, with the ratio that must be reached."""


@dataclass(frozen=True)
class Line:
    """One task on one number of threads. Rates in tokens a second; `spread` is how far the
    ratios of the rounds lie apart, from the smallest to the largest."""

    task: str
    threads: int
    ours: float
    theirs: float
    ratio: float
    spread: tuple[float, float]
    floor: float | None

    @property
    def holds(self) -> bool:
        return self.floor is None or self.ratio >= self.floor


def main() -> int:
    options = parsed()
    with checkpoint_folder(options.checkpoint) as folder:
        request = Request(
            "gpt2",
            checkpoint=folder,
            threads=tuple(int(n) for n in options.threads.split(",")),
            rounds=options.rounds,
            tasks=tuple(FLOORS),
            compare=(THEIRS,),
        )
        try:
            result = bench(request, lambda text: print(text, file=sys.stderr))
            lines = compared(result)
        except LinnetError as error:
            sys.exit(f"error: {error}")
    if options.json:
        print(
            json.dumps({"date": result.date, "lines": [asdict(line) for line in lines]}, indent=2)
        )
    else:
        show(lines)
    return 0 if all(line.holds for line in lines) else 1


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--checkpoint", help="a GPT-2 in the Hugging Face layout; default: random")
    parser.add_argument("--threads", default="1,2", help="numbers of threads (default: 1,2)")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each engine (default: 5)")
    parser.add_argument("--json", action="store_true", help="print a document, not a table")
    return parser.parse_args()


@contextmanager
def checkpoint_folder(given: str | None) -> Iterator[str]:
    """The folder given, or one with random weights for as long as the block runs."""
    if given is not None:
        yield given
        return
    tool = Path(__file__).parents[1] / "tests" / "tools" / "make_gpt2_checkpoint.py"
    with tempfile.TemporaryDirectory(prefix="gpt2-124m-") as folder:
        print("writing 500 MB of random weights", file=sys.stderr)
        runpy.run_path(str(tool))["main"](["--size", "gpt2", "--out", folder])
        yield folder


def compared(result: Result) -> list[Line]:
    """Both engines side by side. Raises LinnetError if one was not measured, or if they
    disagree about the text."""
    lines = []
    for threads in result.threads:
        ours, theirs = (row(result, engine, threads) for engine in (OURS, THEIRS))
        if not theirs.is_believed:
            raise LinnetError(
                f"the greedy ids differ after {theirs.agreeing} of {theirs.compared} tokens"
            )
        lines += [line(task, ours, theirs) for task in result.tasks]
    return lines


def row(result: Result, engine: str, threads: int) -> Row:
    found = next(r for r in result.rows if (r.engine, r.threads) == (engine, threads))
    if found.status is not Status.MEASURED:
        raise LinnetError(f"{engine}: {found.status.value}: {found.reason}")
    return found


def line(task: Task, ours: Row, theirs: Row) -> Line:
    rates = [
        [rate(task, sample) for sample in row.figures[task.key].samples] for row in (ours, theirs)
    ]
    ratios = [a / b for a, b in zip(*rates, strict=True)]
    return Line(
        task=task.key,
        threads=ours.threads,
        ours=statistics.median(rates[0]),
        theirs=statistics.median(rates[1]),
        ratio=statistics.median(ratios),
        spread=(min(ratios), max(ratios)),
        floor=FLOORS[task.key],
    )


def rate(task: Task, sample: float) -> float:
    """Tokens a second; a prefill's sample is in milliseconds for the whole prompt."""
    return sample if task.higher_is_better else 1000.0 * task.prompt / sample


def show(lines: list[Line]) -> None:
    print(f"{'task':14}{'threads':>8}{'linnet':>12}{THEIRS:>14}{'ratio':>8}   {'rounds':12} floor")
    for item in lines:
        rounds = f"{item.spread[0]:.2f}..{item.spread[1]:.2f}"
        floor = "-" if item.floor is None else f"{item.floor:.1f}"
        verdict = "" if item.holds else "   BELOW"
        print(
            f"{item.task:14}{item.threads:8}{item.ours:8.1f} t/s{item.theirs:10.1f} t/s"
            f"{item.ratio:8.2f}   {rounds:12} {floor:>5}{verdict}"
        )


if __name__ == "__main__":
    sys.exit(main())
