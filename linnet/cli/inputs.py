"""Text that commands read: from a file, or from stdin where that is no terminal."""

from __future__ import annotations

import sys
from pathlib import Path

from linnet.cli.terminal import is_terminal
from linnet.errors import LinnetError

STDIN = "-"


def read(file: str | None) -> str | None:
    """The text of a file, `-` being stdin. Without one stdin's, or None if that is a terminal.

    It is UTF-8; a byte-order mark is left out. Raises LinnetError for bytes that are none, OSError
    for a file that cannot be read.
    """
    if file is not None and file != STDIN:
        path = Path(file).expanduser()
        return _decoded(path.read_bytes(), str(path))
    if sys.stdin is None or (file is None and is_terminal(sys.stdin)):
        return None
    return _decoded(sys.stdin.buffer.read(), "stdin")


def without_last_newline(text: str) -> str:
    """`text` without one final newline."""
    return text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text


def lines(text: str) -> list[str]:
    """The lines of a text, each without its newline; empty ones are lines too."""
    found = text.split("\n")
    return [line.removesuffix("\r") for line in (found if found[-1] else found[:-1])]


def _decoded(data: bytes, where: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise LinnetError(
            f"{where} is not UTF-8 text: byte 0x{data[error.start]:02x} at offset {error.start}",
            help="convert it to UTF-8",
        ) from None
