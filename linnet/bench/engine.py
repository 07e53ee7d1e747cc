"""What a worker asks of an engine, whichever it is: load a checkpoint, write greedy text.

Standard library only: this is imported under the interpreters of other engines.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

F32, BF16 = "f32", "bf16"

Prompts = Sequence[Sequence[int]]
"""One prompt a row, all of the same length."""


class NotInstalledError(Exception):
    """The engine's packages are not there; the message names the first that is missing."""


class NotForThisModelError(Exception):
    """The engine, or our conversion for it, does not know this kind of model; says why."""


@dataclass(frozen=True)
class Job:
    """What to load. `checkpoint` is a folder in the Hugging Face layout; `folder` is what
    `Engine.prepare` wrote; `context` is how many positions are wanted, `rows` which
    numbers of rows will be run; `precision` is what other engines compute in ("f32", or "bf16"
    where they can); `card` is the file of the model's card, for our own engine."""

    checkpoint: str
    folder: str
    threads: int
    context: int
    rows: tuple[int, ...] = (1,)
    precision: str = F32
    card: str = ""


@dataclass
class Run:
    """Greedy text. `ids[row]` are the new tokens; `times[k]` says when token k of all rows was
    there, in seconds of `time.monotonic`; `start` when the prompts were handed over."""

    start: float
    ids: list[list[int]]
    times: list[float] = field(default_factory=list)


class Engine:
    """Base of all engines: the greedy loop over two steps. An engine whose library has a loop
    of its own overrides `run` instead."""

    title = ""
    packages: tuple[str, ...] = ()
    """Distributions whose versions are recorded; the first gives the engine's own."""

    def check(self) -> None:
        """Raise NotInstalledError unless the engine can be imported."""

    def prepare(self, job: Job) -> None:
        """Convert the checkpoint into `job.folder`, once for all workers. Most need none."""

    def load(self, job: Job) -> None:
        raise NotImplementedError

    def prefill(self, prompts: Prompts) -> Any:
        """Take in the prompts from position 0 and give the next token of each row, as whatever
        `decode` takes."""
        raise NotImplementedError

    def decode(self, tokens: Any) -> Any:
        """Take in one token a row and give the next ones."""
        raise NotImplementedError

    def listed(self, tokens: Any) -> list[int]:
        """The tokens as a list."""
        return [int(token) for token in tokens]

    def run(self, prompts: Prompts, count: int) -> Run:
        """Write `count` tokens after each prompt, the likeliest each time, ends ignored."""
        run = Run(time.monotonic(), [[] for _ in prompts])
        tokens = self.prefill(prompts)
        while True:
            for row, token in zip(run.ids, self.listed(tokens), strict=True):
                row.append(token)
            run.times.append(time.monotonic())
            if len(run.times) == count:
                return run
            tokens = self.decode(tokens)

    def logits(self, prompt: Sequence[int]) -> Any:
        """The logits [Vocab] after one prompt as a numpy array, or None if they are not shown."""
        return None


def only_f32(job: Job) -> None:
    """For an engine that computes in f32 alone. Raises NotForThisModelError."""
    if job.precision != F32:
        raise NotForThisModelError(f"it computes in f32 here, not in {job.precision}")


def need(module: str) -> Any:
    """Import a module of the engine. Raises NotInstalledError."""
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError as error:
        raise NotInstalledError(f"{error}") from error
