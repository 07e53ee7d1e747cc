"""The sources an editor works on: open ones as they are being typed, others as they are on disk.

Analyses are kept until the text they are of changes. Modules that are not open are read and parsed
once, and again when their file has changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from linnet.diag import Source
from linnet.lsp.analysis import Analysis
from linnet.syntax import tree

MAX_FILES = 500
"""Files of a package that are searched for uses of a name."""

_Stamp = tuple[int, int]


@dataclass(frozen=True)
class _Kept:
    """An analysis and the state of the files on disk that it rests on."""

    analysis: Analysis
    stamps: dict[Path, _Stamp | None]

    def is_current(self) -> bool:
        return all(_stamp(path) == stamp for path, stamp in self.stamps.items())


@dataclass
class Workspace:
    """`texts` are the open documents by real path. `folders` are those the editor works in."""

    std: Path | None = None
    folders: list[Path] = field(default_factory=list)
    texts: dict[Path, str] = field(default_factory=dict)
    _kept: dict[Path, _Kept] = field(default_factory=dict)
    _known: dict[Path, tuple[_Stamp, tree.Module]] = field(default_factory=dict)

    def open(self, path: Path, text: str) -> None:
        """Take the text of a document, opened or changed."""
        path = path.resolve()
        if self.texts.get(path) != text:
            self.texts[path] = text
            self._forget(path)

    def close(self, path: Path) -> None:
        path = path.resolve()
        self.texts.pop(path, None)
        self._forget(path)

    def refresh(self) -> None:
        """Files were made or deleted: what imports lead to may be another thing now."""
        self._kept.clear()

    def _forget(self, changed: Path) -> None:
        """Drop what was said of a file and of all that import it."""
        for path, kept in list(self._kept.items()):
            if path == changed or changed in imported(kept.analysis):
                del self._kept[path]

    def analysis(self, path: Path) -> Analysis:
        """What is known of a file. Raises OSError if it is neither open nor readable."""
        path = path.resolve()
        kept = self._kept.get(path)
        if kept is not None and kept.is_current():
            return kept.analysis
        text = self.texts.get(path)
        if text is None:
            text = path.read_bytes().decode("utf-8", "surrogateescape")
        found = Analysis(Source(str(path), text, path), self._modules(path), self.std)
        files = (path, *imported(found))
        self._kept[path] = _Kept(found, {p: _stamp(p) for p in files if p not in self.texts})
        self._keep_modules(found)
        return found

    def _modules(self, importer: Path) -> dict[Path, tree.Module]:
        """What need not be read from disk: open documents, and files that have not changed."""
        current = {
            path: module
            for path, (stamp, module) in self._known.items()
            if path not in self.texts and _stamp(path) == stamp
        }
        for path in self.texts:
            if path != importer and path in self._kept:
                current[path] = self._kept[path].analysis.module
            elif path != importer:
                current[path] = _parsed(path, self.texts[path])
        return current

    def _keep_modules(self, analysis: Analysis) -> None:
        for real, module in imported(analysis).items():
            stamp = _stamp(real)
            if real not in self.texts and stamp is not None and not module.damaged:
                self._known[real] = stamp, module

    def related(self, path: Path) -> list[Analysis]:
        """The file and those that may name what it declares: open ones, and those of its package
        or of the folders one works in."""
        path = path.resolve()
        found = {path: self.analysis(path)}
        for other in (*self.texts, *self._files(path)):
            if len(found) == MAX_FILES:
                break
            if other not in found:
                try:
                    found[other] = self.analysis(other)
                except OSError:
                    continue
        return list(found.values())

    def _files(self, path: Path) -> Iterator[Path]:
        roots = [above for above in path.parents if (above / "linnet.toml").is_file()][:1]
        for root in roots or self.folders:
            for where, folders, names in os.walk(root):
                folders[:] = sorted(n for n in folders if n[0] != "." and n != "node_modules")
                for name in sorted(names):
                    if name.endswith(".linnet"):
                        yield Path(where, name).resolve()


def imported(analysis: Analysis) -> dict[Path, tree.Module]:
    """The modules behind an analysis by their real paths, its own left out."""
    return {
        module.source.path.resolve(): module
        for name, module in analysis.graph.modules.items()
        if name != analysis.graph.root and module.source.path is not None
    }


def _parsed(path: Path, text: str) -> tree.Module:
    from linnet.diag import Problems
    from linnet.syntax.parse import parse

    return parse(Source(str(path), text, path), Problems())


def _stamp(path: Path) -> _Stamp | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
