"""What is measured: tasks by name, and the prompts they run on.

A task is greedy text after a prompt. Its figure is the rate of the tokens after the first
(`decode`, `rows`) or the time until the first is there (`prefill`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

Kind = Literal["decode", "prefill", "rows"]

START = "start"
"""The first run in a fresh process: one token after a short prompt."""


@dataclass(frozen=True)
class Task:
    """`count` tokens after prompts of `prompt` tokens in each of `rows` rows. `repeats`: runs
    in a worker, of which the median counts. `title` heads its column."""

    key: str
    kind: Kind
    title: str
    prompt: int
    count: int
    rows: int = 1
    repeats: int = 1

    @property
    def unit(self) -> str:
        return "ms" if self.kind == "prefill" else "tok/s"

    @property
    def higher_is_better(self) -> bool:
        return self.kind != "prefill"

    @property
    def entry(self) -> str:
        """The entry of the source whose work is measured."""
        return {"decode": "decode", "prefill": "prefill", "rows": "decode_rows"}[self.kind]

    def figure(self, start: float, times: list[float]) -> float:
        """The figure of one run, from when it started and when each token was there."""
        if self.kind == "prefill":
            return 1000.0 * (times[0] - start)
        return self.rows * (len(times) - 1) / (times[-1] - times[0])


SHORT = 16
"""Tokens of a short prompt."""


def tasks(context: int, *, quick: bool = False) -> tuple[Task, ...]:
    """The tasks that fit a context; with `quick`, a few short ones."""
    new = 16 if quick else 64
    depths = (16,) if quick else (16, 512)
    prompts = (32,) if quick else (32, 512, 1023)
    rows = (8,) if quick else (8, 32)
    found = [Task(f"decode_{n}", "decode", f"decode after {n}", n, new) for n in depths]
    found += [
        Task(f"prefill_{n}", "prefill", f"prefill {n}", n, 1, repeats=5 if n < 100 else 2)
        for n in prompts
    ]
    found += [
        Task(f"rows_{n}", "rows", f"batch of {n}", SHORT, 8 if quick else 32, rows=n) for n in rows
    ]
    return tuple(task for task in found if task.prompt + task.count <= context)


def start_task() -> Task:
    return Task(START, "prefill", "start", SHORT, 1)


def prompts(task: Task, vocabulary: int, seed: int) -> list[list[int]]:
    """Ids for a task, one list a row; the same for every engine. The last ids of a vocabulary
    are often special, so they are left out."""
    draws = np.random.default_rng([seed, task.prompt, task.rows])
    usable = max(1, vocabulary - min(16, vocabulary // 2))
    found: list[list[int]] = draws.integers(0, usable, (task.rows, task.prompt)).tolist()
    return found
