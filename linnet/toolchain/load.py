"""Open a compiled library, after its digest has been checked once more.

In goes a cache entry (or a path with its digest), out comes a `ctypes.CDLL`. The functions in it
are declared elsewhere.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from linnet.errors import CacheError, ToolchainError
from linnet.toolchain.cache import VARIABLE, Entry, file_digest


def load_entry(entry: Entry, name: str = "unit.so") -> ctypes.CDLL:
    """Load file `name` of a cache entry. Raises as `load_library`, KeyError for a wrong name."""
    return load_library(entry.path(name), entry.digests[name])


def load_library(path: Path, digest: str) -> ctypes.CDLL:
    """Load the shared library at `path`, whose sha256 must be `digest`.

    Raises CacheError if the file is gone or altered, ToolchainError if the system refuses it.
    """
    try:
        found = file_digest(path)
    except OSError as error:
        raise CacheError(
            f"the compiled library `{path}` cannot be read: {error.strerror}",
            help=f"run again to compile it anew, or set {VARIABLE} to another folder",
        ) from error
    if found != digest:
        raise CacheError(
            f"the compiled library `{path}` is damaged: its digest is {found[:12]}…, "
            f"not {digest[:12]}…",
            help="run again to compile it anew",
        )
    try:
        return ctypes.CDLL(os.path.abspath(path), mode=ctypes.RTLD_LOCAL)
    except OSError as error:
        raise ToolchainError(
            f"the compiled library `{path}` cannot be loaded: {error}",
            help=f"if its file system forbids running programs, set {VARIABLE} to another folder",
        ) from error
