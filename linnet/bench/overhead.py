"""What a step costs besides the model's own work: Python, the call into C, choosing a token.

In goes a loaded model; out come seconds a token. The step is the one that writing text takes, with
a C function in the entry's place that returns at once. Tokens are chosen from made logits, as many
as the model has, that make it easy and hard. Minima of many repetitions: anything else is the noise
of the machine.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from linnet.nest.generate import Request, TextStream
from linnet.nest.model import DECODE, Model, _Steps
from linnet.nest.sampling import Sampler, Sampling

if TYPE_CHECKING:
    Logits = npt.NDArray[np.float32]

REPEATS = 40
TOKENS = 100
DRAWS = 100
PARAMETERS: Sequence[dict[str, Any]] = (
    {"temperature": 0.9, "top_k": 50, "top_p": 0.95},
    {"temperature": 1.0, "top_p": 0.9},
    {"temperature": 2.0, "top_p": 0.99},
)


def measure(model: Model, vocabulary: int) -> dict[str, float]:
    """Seconds: `step` for all but the model's own work, greedy choice included; `greedy` for that
    alone; `sampling` for a draw with the first of `PARAMETERS` from usual logits, and
    `sampling_worst` with any of them from any."""
    greedy = _least(Sampler(Sampling.checked()), _logits(vocabulary)["usual"])
    times = {
        (k, name): _least(Sampler(Sampling.checked(seed=0, **parameters)), logits)
        for k, parameters in enumerate(PARAMETERS)
        for name, logits in _logits(vocabulary).items()
    }
    return {
        "step": _step(model, _logits(vocabulary)["usual"]),
        "greedy": greedy,
        "sampling": times[0, "usual"],
        "sampling_worst": max(times.values()),
    }


def _logits(count: int) -> dict[str, Logits]:
    draws = np.random.default_rng(0).standard_normal(count).astype(np.float32)
    flat = np.zeros(count, np.float32)
    return {"usual": draws * np.float32(3.0), "nearly flat": draws * np.float32(0.1), "flat": flat}


def _least(sampler: Sampler, logits: Logits) -> float:
    return min(_timed(lambda: sampler.pick(logits)) for _ in range(DRAWS))


def _timed(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


class _Made(_Steps):
    """The steps of a model whose results are replaced: an entry that does nothing leaves
    whatever the memory held."""

    def __init__(self, model: Model, logits: Logits) -> None:
        super().__init__(model)
        self._logits = logits

    def reset(self) -> None:
        """A text's beginning is no step: the state stays as it is."""
        self._turn = self._model._turn

    def _call(self, entry: str, ids: Sequence[int], pos: int) -> Logits:
        if entry == DECODE:
            super()._call(entry, ids, pos)
        return self._logits


def _step(model: Model, logits: Logits) -> float:
    """Seconds a token of writing text, with nothing computed."""
    setup = model._writer()
    count = min(TOKENS, (setup.context or TOKENS) - 1)

    def write() -> None:
        request = Request.checked(setup, [0], max_new_tokens=count, ignore_eos=True)
        for _ in TextStream(_Made(model, logits), setup, request):
            pass

    with _idle(model):
        return min(_timed(write) for _ in range(REPEATS)) / count


@contextmanager
def _idle(model: Model) -> Iterator[None]:
    """`decode` calls a C function with the same arguments that has nothing to do."""
    program: Any = model._open()
    machine, symbol = program._machine, program.entries[DECODE].symbol
    prototype = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    own = machine._function(symbol)
    machine._functions[symbol] = prototype(("linnet_pool_size", machine._handle))
    try:
        yield
    finally:
        machine._functions[symbol] = own
