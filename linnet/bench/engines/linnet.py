"""Our own engine: the entries of a model of the zoo, as a program that embeds it calls them.

One text runs by `prefill` and `decode`, several rows by `prefill_slots` and `decode_rows` of
the same source bound to that many rows.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from linnet.bench.engine import Engine, Job, NotForThisModelError, Prompts

if TYPE_CHECKING:
    from linnet.nest.model import Model


class ThisEngine(Engine):
    title = "linnet"
    packages = ("linnet", "numpy")

    def prepare(self, job: Job) -> None:
        for rows in job.rows:  # compile: this is measured on its own
            _loaded(job, rows).close()

    def load(self, job: Job) -> None:
        self._job = job
        self._model = _loaded(job, 1)
        self._rows = 1
        self._pos = 0

    def run(self, prompts: Prompts, count: int) -> Any:
        self._hold(len(prompts))
        return super().run(prompts, count)

    def _hold(self, rows: int) -> None:
        """Another number of rows is another program."""
        if rows != self._rows:
            self._model.close()
            self._model = _loaded(self._job, rows)
            self._rows = rows

    def prefill(self, prompts: Prompts) -> Any:
        import numpy as np

        tokens = np.array(prompts, np.int32)
        rows, self._pos = tokens.shape
        if rows == 1:
            return self._likeliest(self._model.call("prefill", tokens, 0))
        slots, lengths = np.arange(rows), np.full(rows, self._pos)
        return self._likeliest(self._model.call("prefill_slots", tokens, slots, lengths))

    def decode(self, tokens: Any) -> Any:
        import numpy as np

        pos, self._pos = self._pos, self._pos + 1
        if self._rows == 1:
            return self._likeliest(self._model.call("decode", tokens, pos))
        positions = np.full(self._rows, pos)
        return self._likeliest(self._model.call("decode_rows", tokens, positions))

    def logits(self, prompt: Sequence[int]) -> Any:
        import numpy as np

        self._hold(1)
        return self._model.call("prefill", np.array([prompt], np.int32), 0)[0]

    def overhead(self, vocabulary: int) -> dict[str, float]:
        """Seconds a token besides the model's own work; see `linnet.bench.overhead`."""
        from linnet.bench.overhead import measure

        self._hold(1)
        return measure(self._model, vocabulary)

    def listed(self, tokens: Any) -> list[int]:
        found: list[int] = tokens[:, 0].tolist()
        return found

    def _likeliest(self, logits: Any) -> Any:
        return logits.argmax(axis=1, keepdims=True).astype("int32")


def _loaded(job: Job, rows: int) -> Model:
    from linnet import nest
    from linnet.bench.subject import ROWS

    generics = {} if rows == 1 else {ROWS: rows}
    model = nest.load(
        job.card, checkpoint=job.checkpoint, generics=generics, threads=job.threads, offline=True
    )
    wanted = ("prefill", "decode") if rows == 1 else ("prefill_slots", "decode_rows")
    lacking = [entry for entry in wanted if entry not in model.entries]
    if lacking:
        model.close()
        raise NotForThisModelError(f"the source has no entry {', '.join(lacking)}")
    return model


def compile_cold(job: Job) -> float:
    """Seconds from the source to the compiled library of all entries, with an empty cache."""
    from linnet.bench.subject import Subject
    from linnet.toolchain.cache import VARIABLE

    with tempfile.TemporaryDirectory(prefix="linnet-bench-") as folder:
        os.environ[VARIABLE] = folder
        from linnet import driver

        start = time.monotonic()
        driver.build(Subject.find(job.card, job.checkpoint).opened().request)
        return time.monotonic() - start
