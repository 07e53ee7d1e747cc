"""The other end of a worker: start the process, ask, and end it whatever happens.

In go requests as `linnet.bench.worker` describes them; out come its answers, or `WorkerError`
when the process is gone or an answer says that something failed.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import linnet
from linnet.errors import ToolchainError

if TYPE_CHECKING:
    from linnet.plan.cost import Limits

WORKER = "linnet.bench.worker"


class WorkerError(Exception):
    """What a worker could not do. `kind` is "missing", "unfit" or "error"."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Client:
    """A worker process of `python`, alive from `with` to its end. `module` is run in it. `started`
    is the moment before it was made, in seconds of `time.monotonic`."""

    def __init__(
        self, python: str = sys.executable, threads: int = 0, module: str = WORKER
    ) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__
        # A link of its own, not the folder this package is in: that may hold packages made for
        # another interpreter.
        self._place = tempfile.TemporaryDirectory(prefix="linnet-bench-")
        link = Path(self._place.name) / "linnet"
        link.symlink_to(Path(linnet.__file__).resolve().parent, target_is_directory=True)
        environment = {**os.environ, "PYTHONPATH": _search_path(self._place.name)}
        if threads:  # pools that read their size when they are imported
            names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
            environment |= dict.fromkeys(names, str(threads))
        self.started = time.monotonic()
        try:
            self._process = subprocess.Popen(
                [python, "-m", module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                env=environment,
                encoding="utf-8",
            )
        except OSError as error:
            self._close()
            raise WorkerError("missing", f"{python}: {error.strerror}") from error

    def ask(self, do: str, **details: Any) -> dict[str, Any]:
        """The answer to one request. Raises WorkerError."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, **details}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except OSError:
            line = ""
        if not line:
            status = self._process.wait()
            raise WorkerError("error", f"the worker ended with status {status}{self._last_words()}")
        answer: dict[str, Any] = json.loads(line)
        for kind in ("missing", "unfit", "error"):
            if kind in answer:
                raise WorkerError(kind, answer[kind])
        return answer

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *exception: object) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        try:
            self._process.wait(timeout=0 if exception[0] is not None else 10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._close()

    def _close(self) -> None:
        self._log.close()
        self._place.cleanup()

    def _last_words(self) -> str:
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return f": {lines[-1].strip()}" if lines else ""


def machine_limits(threads: int, **sizes: int) -> Limits:
    """The machine's limits, measured in a process of their own. `sizes` are those of
    `limits.measure`. Raises ToolchainError."""
    from linnet.plan.cost import Limits

    try:
        with Client() as client:
            return Limits(**client.ask("limits", threads=threads, **sizes))
    except WorkerError as error:
        raise ToolchainError(f"the limits of this machine cannot be measured: {error}") from error


def _search_path(own: str) -> str:
    given = os.environ.get("PYTHONPATH")
    return f"{own}{os.pathsep}{given}" if given else own
