"""Ctrl+C ends the process with 130 at once, wherever it is.

The usual way is Python's: the signal becomes a KeyboardInterrupt, compilers are stopped,
folders are cleaned, and `main` exits. But Python looks at signals only between two of its own
instructions, and a call into C code may last for seconds. So a second thread hears of the
signal through a pipe, gives the first one `GRACE` seconds, and then ends the process itself.
SIGTERM is treated in the same way, with 143.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

GRACE = 0.2
"""Seconds for an orderly end. Finished artefacts appear by a rename, so nothing is half done
when it is not enough."""


class _State:
    """The signal that came, and what is to be said before the process ends."""

    signal: int | None = None
    last_words: Callable[[], None] | None = None


_state = _State()


def on_stop(last_words: Callable[[], None] | None) -> None:
    """Have `last_words` called if the process is ended from the second thread."""
    _state.last_words = last_words


def came() -> bool:
    """Whether an interrupt has come: whatever fails after it fails because of it."""
    return _state.signal is not None


def status() -> int:
    """The exit status of an interrupted process."""
    return 128 + (_state.signal or signal.SIGINT)


@contextlib.contextmanager
def honoured() -> Iterator[None]:
    """Let an interrupt within the block end the process, with its own exit status.

    Not by SystemExit: where the signal struck while Python ran code from a string, which any
    import may do, Python would end by that signal whatever is raised later."""
    try:
        yield
    except BaseException:
        if not came():
            raise
        atexit._run_exitfuncs()
        os._exit(status())


def install() -> None:
    """Start to listen. Does nothing outside of the main thread, or where interrupts are
    already ignored or handled by somebody else."""
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, _stop)
    signal.signal(signal.SIGTERM, _stop)
    sys.unraisablehook = _quietly
    threading.Thread(target=_watch, args=(reader,), name="interrupts", daemon=True).start()


def _stop(number: int, frame: FrameType | None) -> None:
    if _state.signal is not None:
        os._exit(status())  # asked twice
    _state.signal = number
    raise KeyboardInterrupt


def _watch(reader: int) -> None:
    while (number := os.read(reader, 1)[0]) not in (signal.SIGINT, signal.SIGTERM):
        pass
    time.sleep(GRACE)
    try:
        if _state.last_words is not None:
            _state.last_words()
    finally:
        os._exit(128 + number)


def _quietly(unraisable: Any) -> None:
    """An interrupt within a finaliser cannot be raised, and is no reason for a traceback."""
    if not came():
        sys.__unraisablehook__(unraisable)
