"""The progress line of what may take long: loading a model, compiling for the first time.

The layers below say what they do through the standard logger `linnet`; the progress line shows
their latest word, and `-v` prints them all.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from linnet.cli.terminal import Console


class _Line(logging.Handler):
    """Shows each record in the progress line, or prints it with `-v`."""

    def __init__(self, console: Console) -> None:
        super().__init__(logging.INFO)
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        if self._console.verbose:
            self._console.detail(record.getMessage())
        else:
            self._console.show_status(record.getMessage())


@contextmanager
def watched(console: Console, what: str) -> Iterator[None]:
    """Show `what`, and whatever the layers below report, until the block ends."""
    logger = logging.getLogger("linnet")
    handler, level = _Line(console), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        with console.progress(what):
            yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def no_download_bars() -> None:
    """Keep the hub's own progress bars away; they show on terminals only."""
    from huggingface_hub.utils.tqdm import disable_progress_bars

    disable_progress_bars()
