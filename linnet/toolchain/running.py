"""Run a compiler: with a time limit, in a process group and a folder of its own.

What is run and what it means is `cc`'s. Imported when something is run, which a warm start does
not.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from linnet.errors import ToolchainError

_SHOWN_LINES = 20
_SHOWN_BYTES = 1 << 16


class TimedOutError(Exception):
    """The compiler did not end in time; it has been killed."""


@contextlib.contextmanager
def scratch_folder(parent: Path | None = None) -> Iterator[Path]:
    """A folder for one run, removed afterwards. Raises ToolchainError if none can be made in the
    system's place, OSError in `parent`."""
    try:
        folder = tempfile.TemporaryDirectory(
            prefix="linnet-cc-", dir=parent, ignore_cleanup_errors=True
        )
    except OSError as error:
        if parent is not None:
            raise
        raise ToolchainError(
            f"no temporary folder can be made for the compiler: {error.strerror}",
            help="set TMPDIR to a folder that can be written",
        ) from error
    with folder as name:
        yield Path(name).absolute()


def run(
    words: tuple[str, ...], folder: Path, variables: Mapping[str, str], limit: float
) -> tuple[int, Path]:
    """Run `words` in `folder`, with `variables` beside those of this process, for at most `limit`
    seconds; return the exit status and the file with all that it printed. Raises TimedOutError,
    ToolchainError if it cannot be started.

    The output goes to a file, not a pipe: nothing it prints can fill memory, and no stray
    grandchild that holds a pipe open can keep us waiting.
    """
    environment = {**os.environ, **variables, "LC_ALL": "C", "TMPDIR": str(folder)}
    output = folder / "output.txt"
    with output.open("wb") as file:
        try:
            process = subprocess.Popen(
                words,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise ToolchainError(f"`{words[0]}` cannot be started: {reason}") from error
        try:
            return _ended(process, limit), output
        except BaseException:
            # Also when interrupted: no compiler survives the call that started it.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise


def _ended(process: subprocess.Popen[bytes], limit: float) -> int:
    """Wait for the exit status; not by `Popen.wait`, which on an interrupt goes on waiting for
    a quarter of a second. Raises TimedOutError."""
    give_up = time.monotonic() + limit
    pause = 0.001
    while (status := process.poll()) is None:
        if time.monotonic() > give_up:
            raise TimedOutError
        time.sleep(pause)
        pause = min(2 * pause, 0.02)
    return status


def ending(status: int) -> str:
    """How a run ended, in words."""
    if status >= 0:
        return f"failed with exit status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return f"was ended by {name}" + (" (out of memory?)" if name == "SIGKILL" else "")


def tail(path: Path) -> str:
    """The end of what a run printed."""
    with path.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - _SHOWN_BYTES))
        return file.read().decode("utf-8", errors="replace")


def last_words(text: str) -> str:
    """The last lines of it, indented, each on a line of its own after the first break."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return "".join(f"\n  {line}" for line in lines[-_SHOWN_LINES:])
