"""The process in which one engine is measured: `python -m linnet.bench.worker`.

Requests come on stdin and answers go to stdout, one JSON object a line; whatever an engine
prints goes to stderr. A request names what to `do`:

    check    engine                          -> title; versions, {distribution: version}
    prepare  engine, job                     -> seconds
    load     engine, job                     -> seconds
    run      prompts, count, repeats         -> runs: start, ids, times; busy
    logits   prompt, file                    -> shown (the array is saved to `file`)
    overhead vocabulary                      -> step, greedy, sampling, sampling_worst, seconds
    memory                                   -> peak, bytes of this process
    limits   threads, buffer, steps          -> threads, bandwidth, peak
    compile  job                             -> seconds, without what the cache remembers

An answer with `missing`, `unfit` or `error` says why there is none. Times are those of
`time.monotonic`, which all processes of a machine share. Nothing is imported that the engine
does not need.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from importlib import import_module, metadata
from typing import Any, TextIO

from linnet.bench.engine import Engine, Job, NotForThisModelError, NotInstalledError

ENGINES = {
    "linnet": "linnet.bench.engines.linnet",
    "transformers": "linnet.bench.engines.transformers",
    "torch.compile": "linnet.bench.engines.torch_compile",
    "ctranslate2": "linnet.bench.engines.ctranslate2",
    "llama.cpp": "linnet.bench.engines.llama_cpp",
    "onnxruntime": "linnet.bench.engines.onnxruntime",
    "openvino": "linnet.bench.engines.openvino",
}
"""Engines by name; a module has one class, `ThisEngine`."""


def engine_named(name: str) -> Engine:
    """A new engine. Raises KeyError for an unknown name, NotInstalledError."""
    engine: Engine = import_module(ENGINES[name]).ThisEngine()
    return engine


class Worker:
    """Answers requests; holds at most one loaded engine."""

    def __init__(self) -> None:
        self._engine: Engine | None = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to one request; an error becomes one that says so."""
        try:
            found: dict[str, Any] = getattr(self, f"do_{request.pop('do')}")(**request)
            return found
        except NotInstalledError as error:
            return {"missing": str(error)}
        except NotForThisModelError as error:
            return {"unfit": str(error)}
        except Exception as error:  # whatever a foreign library raises is a row of the report
            traceback.print_exc()
            return {"error": f"{type(error).__name__}: {error}"}

    def do_check(self, engine: str) -> dict[str, Any]:
        found = engine_named(engine)
        found.check()
        versions = {name: _version(name) for name in found.packages}
        return {"title": found.title, "versions": versions}

    def do_prepare(self, engine: str, job: dict[str, Any]) -> dict[str, Any]:
        found = engine_named(engine)
        found.check()
        start = time.monotonic()
        found.prepare(Job(**job))
        return {"seconds": time.monotonic() - start}

    def do_load(self, engine: str, job: dict[str, Any]) -> dict[str, Any]:
        self._engine = engine_named(engine)
        start = time.monotonic()
        self._engine.load(Job(**job))
        return {"seconds": time.monotonic() - start}

    def do_run(self, prompts: list[list[int]], count: int, repeats: int = 1) -> dict[str, Any]:
        runs = []
        before = _Clock()
        for _ in range(repeats):
            run = self._loaded().run(prompts, count)
            runs.append({"start": run.start, "ids": run.ids, "times": run.times})
        return {"runs": runs, "others": before.others()}

    def do_logits(self, prompt: list[int], file: str) -> dict[str, Any]:
        logits = self._loaded().logits(prompt)
        if logits is None:
            return {"shown": False}
        import numpy as np

        np.save(file, np.asarray(logits, np.float32))
        return {"shown": True}

    def do_overhead(self, vocabulary: int) -> dict[str, Any]:
        from linnet.bench.engines.linnet import ThisEngine

        engine = self._loaded()
        assert isinstance(engine, ThisEngine)
        return dict(engine.overhead(vocabulary))

    def do_memory(self) -> dict[str, Any]:
        return {"peak": peak_memory()}

    def do_limits(self, threads: int, **sizes: int) -> dict[str, Any]:
        from linnet.bench import limits

        found = limits.measure(threads, **sizes)
        return {"threads": found.threads, "bandwidth": found.bandwidth, "peak": found.peak}

    def do_compile(self, job: dict[str, Any]) -> dict[str, Any]:
        from linnet.bench.engines.linnet import compile_cold

        return {"seconds": compile_cold(Job(**job))}

    def _loaded(self) -> Engine:
        if self._engine is None:
            raise RuntimeError("nothing is loaded")
        return self._engine


class _Clock:
    """What the whole machine and this process have worked so far."""

    def __init__(self) -> None:
        self._time, self._own, self._all = time.monotonic(), time.process_time(), _busy_seconds()

    def others(self) -> float | None:
        """How many CPUs everything else kept busy since; None where that is not known."""
        busy = _busy_seconds()
        elapsed = time.monotonic() - self._time
        if busy is None or self._all is None or elapsed < 0.1:  # the count has steps of 10 ms
            return None
        return max(0.0, (busy - self._all - (time.process_time() - self._own)) / elapsed)


def _busy_seconds() -> float | None:
    """Seconds that the CPUs of this machine have worked, summed; Linux only."""
    try:
        with open("/proc/stat", encoding="ascii") as file:
            user, nice, system, _, _, irq, soft, steal, *_ = map(int, file.readline().split()[1:])
    except (OSError, ValueError):
        return None
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")


def peak_memory() -> int:
    """The most bytes that this process has had in memory, mapped files included."""
    try:
        # Not the rusage figure, which counts the process that forked this one.
        with open("/proc/self/status", encoding="ascii") as file:
            for line in file:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    import resource

    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "?"


def _own_stdout() -> TextIO:
    """A stream to the parent; what anyone prints goes to stderr from now on."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def serve(worker: Worker) -> None:
    """Answer requests until there are no more."""
    answers = _own_stdout()
    for line in sys.stdin:
        answers.write(json.dumps(worker.answer(json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    serve(Worker())
