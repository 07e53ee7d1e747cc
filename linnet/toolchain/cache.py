"""The compile cache: finished artefacts by key, and small facts worth remembering.

In go a key, which its maker computed from everything that matters (`make_key`), and files. Out
comes an `Entry`: a folder whose files have been checked against their digests. Nothing here
knows what the files mean, and nothing is written when this module is imported.

    <root>/artefacts/<key>/      the files of one artefact and manifest.json with their digests
    <root>/records/<name>.json   one small fact each, for example what a compiler said it is
    <root>/staging/, locks/      empty unless somebody is building right now

Many processes may use one cache at once. An artefact is built in a folder of its own under
`staging/` and appears by one rename, so nobody sees half of it; if two build the same one, the
first rename wins and both use it. The lock only saves double work, and waiting for it has a
limit. Nothing is forced to disk: what a power cut has left torn fails its digest and is
discarded and built anew.

What only writing needs (shutil, tempfile) is imported then: a warm start does not write.

A folder that cannot be written costs one warning; the process then goes on with a private
folder that is removed when it ends.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import json
import os
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from linnet.errors import CacheError, ToolchainError

VARIABLE = "LINNET_CACHE"

_MANIFEST = "manifest.json"
_LOCK_SECONDS = 60.0  # longer than an honest build takes; a stopped holder costs this much once
_POLL_SECONDS = 0.02
_ABANDONED_SECONDS = 3600.0  # what a killed process left behind is swept after this time
_FULL_BYTES = 1 << 20  # a file system with less room than this counts as full


class CacheWarning(UserWarning):
    """The cache folder cannot be used, and the process works without what it could keep."""


@dataclass(frozen=True)
class Entry:
    """An artefact in the cache, verified when it was handed out.

    folder: where its files lie. digests: file name to sha256 in hexadecimal.
    """

    key: str
    folder: Path
    digests: Mapping[str, str]

    def path(self, name: str) -> Path:
        """Return the path of file `name`. Raises KeyError if the artefact has no such file."""
        if name not in self.digests:
            raise KeyError(name)
        return self.folder / name


def make_key(**parts: str | bytes | tuple[str, ...] | int | bool | None) -> str:
    """Return a key (64 hexadecimal digits) that differs whenever any of the named parts differs.

    Name everything that has a say in the result: source text, target, flags, the compiler's
    `identity`, our own version. Parts of different kinds or lengths never run into each other.
    """
    digest = hashlib.sha256()
    for name in sorted(parts):
        value = parts[name]
        data = value if isinstance(value, bytes) else ascii(value).encode("ascii")
        digest.update(f"{name}:{type(value).__name__}:{len(data)}:".encode())
        digest.update(data)
    return digest.hexdigest()


def file_digest(path: Path) -> str:
    """Return the sha256 of a file in hexadecimal. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Cache:
    """A cache in one folder. Safe to use from many threads and processes.

    root: the folder, made when first written to; None if there is no place for one, and then
        `reason` says why.
    """

    def __init__(self, root: Path | None, reason: str = "") -> None:
        self._shared = root
        self._private: Path | None = None
        self._reason = reason

    @property
    def root(self) -> Path | None:
        """The folder that is written to now; None before a private one had to be made."""
        return self._private or self._shared

    def folder(self, name: str) -> Path:
        """Return the folder `name` in the cache, for a tool's own use. Raises OSError."""
        if self.root is None:
            raise FileNotFoundError(self._reason)
        return _make_folder(self.root, name)

    # -- artefacts ---------------------------------------------------------------------------

    def get(self, key: str) -> Entry | None:
        """Return the artefact of `key`, its files verified, or None.

        A damaged artefact counts as absent; building it anew replaces it.
        """
        for root in self._roots():
            entry = _verified(key, root / "artefacts" / key)
            if entry is not None:
                return entry
        return None

    def put(self, key: str, files: Mapping[str, bytes | Path]) -> Entry:
        """Keep `files` (name to content, or to a file to copy) under `key`.

        An artefact that is already there stays and is returned: equal keys mean equal content.
        Raises CacheError when not even a private folder can be written.
        """

        import shutil

        def fill(folder: Path) -> None:
            for name, content in files.items():
                if isinstance(content, Path):
                    shutil.copyfile(content, folder / name)
                else:
                    (folder / name).write_bytes(content)

        return self.get_or_build(key, fill)

    def get_or_build(self, key: str, build: Callable[[Path], None]) -> Entry:
        """Return the artefact of `key`; if it is absent, `build(folder)` writes its files first.

        Of several processes that ask at once, usually one builds and the others wait for it.
        What `build` raises comes through, and then nothing is kept.
        """
        entry = self.get(key)
        if entry is not None:
            return entry
        turn = _Turn(self.root, key)
        try:
            while not turn.has_come():
                time.sleep(_POLL_SECONDS)
                entry = self.get(key)
                if entry is not None:
                    return entry
            return self.get(key) or self._publish(key, build)
        finally:
            turn.end()

    # -- records -----------------------------------------------------------------------------

    def read_record(self, name: str) -> dict[str, object] | None:
        """Return the JSON object kept under `name` (letters, digits, `-`, `_`, `.`), or None."""
        for root in self._roots():
            try:
                value = json.loads((root / "records" / f"{name}.json").read_bytes())
            except (OSError, ValueError, RecursionError):
                continue
            if isinstance(value, dict):
                return value
        return None

    def write_record(self, name: str, value: Mapping[str, object]) -> None:
        """Keep a small JSON object. A record only saves time, so failing to keep it is silent."""
        root = self.root
        if root is None or self.read_record(name) == value:
            return
        import tempfile

        temporary: str | None = None
        try:
            folder = _make_folder(root, "records")
            handle, temporary = tempfile.mkstemp(prefix=".record-", dir=folder)
            with open(handle, "w", encoding="ascii") as file:
                json.dump(value, file, sort_keys=True)
            os.replace(temporary, folder / f"{name}.json")
            temporary = None
        except OSError:
            return
        finally:
            if temporary is not None:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)

    # -- writing -----------------------------------------------------------------------------

    def _roots(self) -> list[Path]:
        return [root for root in (self._private, self._shared) if root is not None]

    def _publish(self, key: str, fill: Callable[[Path], None]) -> Entry:
        while True:
            root = self.root
            if root is None:
                self._fall_back(self._reason)
                continue
            try:
                return _publish_in(root, key, fill)
            except (OSError, ToolchainError) as error:
                # A compiler that ran out of disk space reports it in its own words.
                if isinstance(error, ToolchainError) and not _is_full(root):
                    raise
                if root == self._private:
                    raise CacheError(
                        f"the private cache folder `{root}` cannot be written: {_reason(error)}",
                        help=f"set {VARIABLE} to a folder that can be written and has room",
                    ) from error
                self._fall_back(_reason(error))

    def _fall_back(self, reason: str) -> None:
        """Go on in a private folder, with one warning; CacheError if there is no room at all."""
        import tempfile

        where = f"`{self._shared}`" if self._shared is not None else "of this user"
        try:
            private = Path(tempfile.mkdtemp(prefix="linnet-"))
        except OSError as error:
            raise CacheError(
                f"the cache folder {where} cannot be used ({reason}), and neither can a "
                f"temporary one ({_reason(error)})",
                help=f"set {VARIABLE} to a folder that can be written",
            ) from error
        atexit.register(_remove_private, private, os.getpid())
        self._private = private
        warnings.warn(
            f"the cache folder {where} cannot be used ({reason}); compiled code is kept in a "
            f"temporary folder and will be compiled again next time. Set {VARIABLE} to a folder "
            "that can be written.",
            CacheWarning,
            stacklevel=2,
        )


class _Turn:
    """The turn to build one artefact: a lock between processes, given up on after a while."""

    def __init__(self, root: Path | None, key: str) -> None:
        from filelock import FileLock

        self._give_up = time.monotonic() + _LOCK_SECONDS
        self._held = False
        self._lock: FileLock | None = None
        with contextlib.suppress(OSError):
            if root is not None:
                self._path = _make_folder(root, "locks") / f"{key}.lock"
                self._lock = FileLock(self._path)

    def has_come(self) -> bool:
        """Whether to build now: the lock is ours, or is not to be had, or not in time."""
        from filelock import Timeout

        if self._lock is None or time.monotonic() > self._give_up:
            return True
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            return False
        except (OSError, NotImplementedError):
            return True
        self._held = True
        return True

    def end(self) -> None:
        if self._lock is None or not self._held:
            return
        # Removing the file may let a third process in beside a waiting one: double work, in the
        # worst case, and no litter in the usual one.
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)
        self._lock.release()


_caches: dict[tuple[Path | None, str], Cache] = {}


def default_cache() -> Cache:
    """Return the cache of this user: `$LINNET_CACHE`, or the system's place for caches.

    Nothing is made or checked yet. One object per folder, so that a warning comes once.
    """
    place = _default_root()
    return _caches.setdefault(place, Cache(*place))


def _default_root() -> tuple[Path | None, str]:
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return Path(os.path.abspath(os.path.expanduser(chosen))), ""
    import platformdirs

    try:
        root = platformdirs.user_cache_path("linnet", appauthor=False)
    except (OSError, RuntimeError, KeyError):
        return None, "this user has no home folder"
    # Without a home folder `~` stays as it is and would become a folder of that name here.
    if not root.is_absolute() or "~" in root.parts:
        return None, "this user has no home folder"
    return root, ""


def _verified(key: str, folder: Path) -> Entry | None:
    """Return the artefact in `folder` if its manifest and every digest hold, else None."""
    try:
        manifest = json.loads((folder / _MANIFEST).read_bytes())
        digests = manifest["files"]
        if manifest["key"] != key or not isinstance(digests, dict):
            return None
        for name, digest in digests.items():
            if file_digest(folder / name) != digest:
                return None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return Entry(key, folder, digests)


def _publish_in(root: Path, key: str, fill: Callable[[Path], None]) -> Entry:
    """Build an artefact aside and rename it into place; an equal one that is there wins."""
    import shutil
    import tempfile

    staging = _make_folder(root, "staging")
    _make_folder(root, "artefacts")
    _sweep(root)
    folder = Path(tempfile.mkdtemp(prefix=f"{key[:12]}-", dir=staging))
    try:
        fill(folder)
        digests = {path.name: file_digest(path) for path in sorted(folder.iterdir())}
        manifest = {"key": key, "files": digests}
        (folder / _MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="ascii")
        return _move_into_place(folder, root, key, digests)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _move_into_place(folder: Path, root: Path, key: str, digests: dict[str, str]) -> Entry:
    final = root / "artefacts" / key
    for _ in range(3):
        try:
            os.rename(folder, final)
            return Entry(key, final, digests)
        except OSError:
            if not os.path.lexists(final):
                raise
        entry = _verified(key, final)
        if entry is not None:
            return entry
        _discard(final, root)
    raise CacheError(
        f"the damaged cache folder `{final}` cannot be replaced",
        help=f"remove it, or set {VARIABLE} to another folder",
    )


def _discard(folder: Path, root: Path) -> None:
    """Take a damaged artefact out of sight by a rename, then remove it."""
    import shutil
    import tempfile

    with contextlib.suppress(OSError):
        aside = tempfile.mkdtemp(prefix="discarded-", dir=root / "staging")
        try:
            os.rename(folder, os.path.join(aside, "damaged"))
        finally:
            shutil.rmtree(aside, ignore_errors=True)


def _sweep(root: Path) -> None:
    """Remove what processes that were killed long ago left in `staging/` and `locks/`."""
    import shutil

    limit = time.time() - _ABANDONED_SECONDS
    for folder in (root / "staging", root / "locks"):
        with contextlib.suppress(OSError):
            for path in folder.iterdir():
                if path.lstat().st_mtime >= limit:
                    continue
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)


def _make_folder(root: Path, name: str) -> Path:
    # Only this user: whoever can write here can make this user run code.
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = root / name
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _remove_private(folder: Path, owner: int) -> None:
    import shutil

    if os.getpid() == owner:  # a forked child must not remove its parent's folder
        shutil.rmtree(folder, ignore_errors=True)


def _is_full(folder: Path) -> bool:
    import shutil

    try:
        return shutil.disk_usage(folder).free < _FULL_BYTES
    except OSError:
        return False


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return "no space left" if isinstance(error, ToolchainError) else str(error)
