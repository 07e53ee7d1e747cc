"""`linnet.toml`: the name of a package, its language, and where its dependencies lie.

    [package]
    name = "reed-models"
    version = "0.2.0"
    language = "0.1"

    [dependencies]
    shared = { path = "../shared" }

Reads one manifest and reports everything that is wrong with it as E5001, at the line that is
wrong. Nothing of a package is executed, and dependencies are not followed here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linnet.diag import Problems, Source, Span
from linnet.syntax.tokens import KEYWORDS

NAME = "linnet.toml"
LANGUAGE = "0.1"

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_PACKAGE_KEYS = ("name", "version", "language")
_FORM = 'write it as `name = { path = "../folder" }`'


@dataclass(frozen=True, eq=False)
class Dependency:
    """`folder` is absolute; `span` is the entry in the manifest."""

    name: str
    folder: Path
    span: Span


@dataclass(frozen=True, eq=False)
class Manifest:
    """What a manifest says. `broken` names dependencies that were refused; with `readable`
    false nothing is known and every import through the package is excused."""

    source: Source
    name: str
    dependencies: Mapping[str, Dependency]
    broken: frozenset[str]
    readable: bool


def read_manifest(path: Path, shown: str, problems: Problems) -> Manifest:
    """Read the manifest at `path`; `shown` is its name in diagnostics."""
    try:
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        source = Source(shown, "", path)
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        _report(problems, source.span(0, 0), f"`{NAME}` cannot be read: {why}")
        return Manifest(source, "", {}, frozenset(), False)
    import tomllib  # most programs have no manifest

    source = Source(shown, text, path)
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        _report(problems, _error_span(source, str(error)), f"`{NAME}` is no valid TOML: {error}")
        return Manifest(source, "", {}, frozenset(), False)
    return _Reader(source, problems).read(data, path.parent)


class _Reader:
    def __init__(self, source: Source, problems: Problems) -> None:
        self.source = source
        self.problems = problems

    def read(self, data: Mapping[str, Any], folder: Path) -> Manifest:
        self._unknown(data, ("package", "dependencies"), "table")
        package = data.get("package")
        if isinstance(package, dict):
            self._package(package)
        else:
            self._report("package", "the table `[package]` is missing", help=_package_help())
            package = {}
        dependencies = data.get("dependencies", {})
        if not isinstance(dependencies, dict):
            self._report("dependencies", "`dependencies` must be a table", help=_FORM)
            dependencies = {}
        good: dict[str, Dependency] = {}
        for name, value in dependencies.items():
            dependency = self._dependency(name, value, folder)
            if dependency is not None:
                good[name] = dependency
        broken = frozenset(dependencies) - frozenset(good)
        return Manifest(self.source, str(package.get("name", "")), good, broken, True)

    def _package(self, package: Mapping[str, Any]) -> None:
        self._unknown(package, _PACKAGE_KEYS, "key")
        for key in _PACKAGE_KEYS:
            if key not in package:
                self._report("package", f"`{key}` is missing in `[package]`", help=_package_help())
            elif not isinstance(package[key], str):
                self._report(key, f"`{key}` must be a string")
        language = package.get("language", LANGUAGE)
        if isinstance(language, str) and language != LANGUAGE:
            self._report(
                "language",
                f"this compiler speaks language {LANGUAGE}, the package asks for {language}",
                help=f'write `language = "{LANGUAGE}"`',
            )

    def _dependency(self, name: str, value: object, folder: Path) -> Dependency | None:
        if not _IDENTIFIER.fullmatch(name) or name in KEYWORDS or name == "std":
            self._report(
                name,
                f"`{name}` cannot name a dependency",
                help="the name starts `use` paths: an identifier, and neither `std` nor `crate`",
            )
            return None
        form = isinstance(value, dict) and set(value) == {"path"}
        path = value["path"] if isinstance(value, dict) and form else None
        if not isinstance(path, str) or not path or "\0" in path:
            self._report(
                name,
                f"dependency `{name}` must have exactly one field, `path`, a string",
                help=_FORM,
            )
            return None
        return Dependency(name, Path(os.path.realpath(folder / path)), self._place(name))

    def _unknown(self, table: Mapping[str, Any], known: tuple[str, ...], sort: str) -> None:
        for key in table:
            if key not in known:
                near = nearest(key, known)
                help = f"did you mean `{near[0]}`?" if near else f"known are {_listed(known)}"
                self._report(key, f"unknown {sort} `{key}`", help=help)

    def _report(self, key: str, message: str, help: str | None = None) -> None:
        _report(self.problems, self._place(key), message, () if help is None else (help,))

    def _place(self, key: str) -> Span:
        """The line where `key` is set or is a table, or the start of the file. TOML gives no
        places, so this is a search by text."""
        word = re.escape(key)
        match = re.search(rf"^[ \t]*(\[?[ \t]*[\"']?{word}\b[^\r\n]*)", self.source.text, re.M)
        if match is None:
            return self.source.span(0, 0)
        return self.source.span(match.start(1), match.start(1) + len(match.group(1).rstrip()))


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """The one of `known` that resembles `name` most, or nothing: at most a third of the name may
    have to change."""
    from difflib import get_close_matches  # wanted only when something is wrong

    close = get_close_matches(name, list(known), 3)
    return [other for other in close if _distance(name, other) <= max(len(name) // 3, 1)][:1]


def _distance(first: str, second: str) -> int:
    """How many characters have to be changed, added or taken away."""
    row = list(range(len(second) + 1))
    for at, char in enumerate(first, 1):
        before, row[0] = row[0], at
        for column, other in enumerate(second, 1):
            change = before + (char != other)
            before = row[column]
            row[column] = min(change, before + 1, row[column - 1] + 1)
    return row[-1]


def _error_span(source: Source, message: str) -> Span:
    place = re.search(r"line (\d+), column (\d+)", message)
    if place is None:
        return source.span(len(source.text), len(source.text))
    offset = source.line_starts[int(place.group(1)) - 1] + int(place.group(2)) - 1
    return source.span(offset, min(offset + 1, len(source.text)))


def _report(problems: Problems, span: Span, message: str, help: Iterable[str] = ()) -> None:
    problems.report("E5001", message, span, help=help)


def _package_help() -> str:
    return f'a package says `name = "…"`, `version = "…"` and `language = "{LANGUAGE}"`'


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
