"""Sources on disk: which there are, and how one is replaced."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

SUFFIX = ".linnet"


def sources(paths: Iterable[Path]) -> Iterator[Path]:
    """The files among `paths` and the `.linnet` files below its folders, each once, those of a
    folder by name. Hidden folders and `node_modules` below a folder are left out, and links to
    folders are not followed. Raises FileNotFoundError for a path that is not there."""
    seen: set[Path] = set()
    for path in paths:
        for file in _below(path) if path.is_dir() else (path,):
            if not file.exists():
                raise FileNotFoundError(2, "No such file or directory", str(file))
            real = file.resolve()
            if real not in seen:
                seen.add(real)
                yield file


def _below(folder: Path) -> Iterator[Path]:
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(n for n in folders if n[0] != "." and n != "node_modules")
        for name in sorted(names):
            file = Path(where, name)
            if name.endswith(SUFFIX) and file.is_file():
                yield file


def replace(path: Path, text: str) -> None:
    """Make `text` the content of the existing file `path`, at once or not at all. A link stays
    one and its target changes; permissions are kept, and the owner where that is allowed. Raises
    OSError."""
    real = path.resolve()
    if not os.access(real, os.W_OK):
        raise PermissionError(13, "Permission denied", str(path))
    status = real.stat()
    handle, name = tempfile.mkstemp(prefix=f".{real.name}.", dir=real.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8", "surrogateescape"))
            file.flush()
            with contextlib.suppress(PermissionError):
                os.fchown(file.fileno(), status.st_uid, status.st_gid)
            os.fchmod(file.fileno(), stat.S_IMODE(status.st_mode))
            os.fsync(file.fileno())
        os.replace(name, real)
    except BaseException:
        os.unlink(name)
        raise
