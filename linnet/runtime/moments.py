"""Moments of a start, for whoever wants to know where its time goes.

A step of loading says `passed(what)` when it is done. Nobody listens as a rule, and then that
costs nothing; after `listen()` each moment is kept, with its time.
"""

from __future__ import annotations

import time

_heard: list[tuple[str, float]] | None = None


def listen() -> list[tuple[str, float]]:
    """Keep what passes from now on in the list returned: (what, seconds of `time.monotonic`)."""
    global _heard
    _heard = []
    return _heard


def passed(what: str) -> None:
    """Say that a step is done."""
    if _heard is not None:
        _heard.append((what, time.monotonic()))
