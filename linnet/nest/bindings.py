"""`bindings.json`: which tensor of a checkpoint each parameter path takes.

In goes the file and the paths of a program's manifest; out comes a plain dictionary from path
to tensor name, `{i}` patterns written out. A name that the file does not mention stands for
itself. Where older files have other names, a pair may list them all; the first that a checkpoint
has counts. Nothing is computed and no checkpoint is opened here: all work is on names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linnet.errors import CardError
from linnet.nest.nearest import did_you_mean

_POSITION = re.compile(r"(?<![^.])\d+(?![^.])")
_PLACE = re.compile(r"\{([A-Za-z_]\w*)\}")


@dataclass(frozen=True)
class Bindings:
    """The pairs of one file, patterns not yet written out. `title` names them in messages; `others`
    are the pairs' second names, their third, and so on."""

    title: str
    pairs: Mapping[str, str]
    others: tuple[Mapping[str, str], ...] = ()

    def expand(self, paths: Iterable[str]) -> dict[str, str]:
        """Map each of `paths` that the file speaks of to its tensor name.

        A written-out key wins over a pattern. Raises CardError, all problems together, for a
        key that is no path and for two patterns that claim one path differently.
        """
        paths = list(paths)
        known = set(paths)
        # A program whose arrays are all empty has no place for a pattern.
        arrays = any(_POSITION.search(path) for path in paths)
        result = {key: name for key, name in self.pairs.items() if key in known}
        exact = set(result)
        problems = []
        for key, name in self.pairs.items():
            if key in known:
                continue
            pattern = bool(_PLACE.search(key))
            matches = _matches(key, paths) if pattern else []
            if not matches and (arrays or not pattern):
                hint = did_you_mean(key, _generalised(paths) | known) if len(known) < 500 else ""
                problems.append(f"{key!r} is no parameter of the program{_short(hint)}")
            for path, values in matches:
                tensor = name.format(**values)
                if path not in exact and result.setdefault(path, tensor) != tensor:
                    problems.append(f"{key!r} and another pattern both bind {path!r}")
        if problems:
            raise CardError(
                f"{self.title}: these pairs do not fit the program:" + _listed(problems)
            )
        return result

    def further(self, paths: Iterable[str]) -> list[dict[str, str]]:
        """As `expand`, for the second names of `paths`, the third, and so on."""
        paths = list(paths)
        result = []
        for pairs in self.others:
            found = Bindings(self.title, pairs).expand(paths)
            # A key that is written out has all its names itself.
            own = {p: n for p, n in found.items() if p in pairs or p not in self.pairs}
            result.append(own)
        return result

    def kinds(self) -> set[str]:
        """The tensor names of the patterns, with `{i}` for every array position."""
        names = [name for pairs in (self.pairs, *self.others) for name in pairs.values()]
        return {_PLACE.sub("{i}", name) for name in names if _PLACE.search(name)}


def load_bindings(file: Path) -> Bindings:
    """Read one flat JSON object of strings and lists of strings. Raises CardError naming each bad
    pair."""
    try:
        data = json.loads(file.read_bytes(), object_pairs_hook=_unique)
    except OSError as error:
        raise CardError(f"cannot read the bindings {file}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise CardError(f"{file} is not a flat JSON object: {error}") from error
    if not isinstance(data, dict):
        raise CardError(f"{file} must hold one JSON object: parameter path to tensor name")
    return checked_bindings(data, str(file))


def checked_bindings(pairs: Mapping[str, Any], title: str) -> Bindings:
    """Pairs of parameter path and tensor name as bindings; `title` is what messages call them.
    Raises CardError naming each bad pair."""
    names = {key: name if isinstance(name, list) else [name] for key, name in pairs.items()}
    problems = [
        w for key, all in names.items() for n in all or [None] if (w := _pair_problem(key, n))
    ]
    if problems:
        raise CardError(f"{title}: these pairs are not valid:" + _listed(problems))
    most = max(map(len, names.values()), default=1)
    first, *others = [{k: n[at] for k, n in names.items() if at < len(n)} for at in range(most)]
    return Bindings(title, first, tuple(others))


def tensor_names(
    bindings: Bindings | None,
    paths: Iterable[str],
    available: Iterable[str],
    prefixes: Sequence[str] = ("",),
) -> dict[str, str]:
    """The tensor that each parameter path takes from a checkpoint with the names `available`.

    All names get the prefix under which most of them are there. Of several names for a path it is
    the first that is there, or the first. A name may still be missing: whoever binds reports that.
    Raises CardError as `Bindings.expand`.
    """
    paths, there = list(paths), set(available)
    bound = {} if bindings is None else bindings.expand(paths)
    further = [] if bindings is None else bindings.further(paths)
    names = {p: (bound.get(p, p), *(more[p] for more in further if p in more)) for p in paths}
    prefix = _best_prefix(set(names.values()), there, prefixes)
    return {path: prefix + _first(prefix, known, there) for path, known in names.items()}


def rival_of(
    bindings: Bindings | None,
    names: Mapping[str, str],
    available: Iterable[str],
    prefixes: Sequence[str] = ("",),
) -> tuple[str, str] | None:
    """A tensor of `names` (as `tensor_names` gave them) with another that a checkpoint holds under
    a second name or prefix of the same path; None if there is no such pair."""
    there = set(available)
    bound = {} if bindings is None else bindings.expand(names)
    further = [] if bindings is None else bindings.further(names)
    for path, name in names.items():
        known = (bound.get(path, path), *(more[path] for more in further if path in more))
        others = {prefix + one for prefix in ("", *prefixes) for one in known} - {name}
        if name in there and others & there:
            return name, min(others & there)
    return None


def kind_of(name: str) -> str:
    """A path or tensor name with `{i}` for every array position."""
    return _POSITION.sub("{i}", name)


def _best_prefix(wanted: set[tuple[str, ...]], available: set[str], prefixes: Sequence[str]) -> str:
    hits = [
        sum(prefix + _first(prefix, n, available) in available for n in wanted)
        for prefix in prefixes
    ]
    return prefixes[hits.index(max(hits))] if hits else ""


def _first(prefix: str, names: tuple[str, ...], available: set[str]) -> str:
    """The first of `names` that is there, or the first."""
    return next((name for name in names if prefix + name in available), names[0])


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise ValueError(f"the key {key!r} occurs twice")
        result[key] = value
    return result


def _pair_problem(key: Any, name: Any) -> str | None:
    if not isinstance(key, str) or not isinstance(name, str) or not name or not key:
        return f"{key!r} must name a tensor by a string, not {name!r}"
    if set("{}") & set(_PLACE.sub("", name)):
        return f"{key!r}: its tensor name {name!r} has a bracket that is no {{i}}"
    lost = set(_PLACE.findall(name)) - set(_PLACE.findall(key))
    if lost:
        return f"{key!r}: its tensor name uses {{{min(lost)}}}, which the path does not have"
    return None


def _matches(pattern: str, paths: list[str]) -> list[tuple[str, dict[str, str]]]:
    """The paths that `pattern` stands for, each with the numbers of its placeholders."""
    seen: set[str] = set()

    def group(place: re.Match[str]) -> str:
        name = place.group(1)
        if name in seen:
            return f"(?P={name})"
        seen.add(name)
        return rf"(?P<{name}>\d+)"

    parts, at = [], 0
    for place in _PLACE.finditer(pattern):
        parts += [re.escape(pattern[at : place.start()]), group(place)]
        at = place.end()
    matcher = re.compile("".join(parts) + re.escape(pattern[at:]))
    found = ((path, matcher.fullmatch(path)) for path in paths)
    return [(path, match.groupdict()) for path, match in found if match]


def _generalised(paths: list[str]) -> set[str]:
    """The paths with `{i}` for their first array position, to suggest as patterns."""
    return {re.sub(r"(?<=\.)\d+(?=\.)", "{i}", path, count=1) for path in paths}


def _short(hint: str) -> str:
    """Keep a suggestion, drop a list of all paths."""
    return hint if "did you mean" in hint else ""


def _listed(problems: list[str]) -> str:
    return "".join(f"\n  {problem}" for problem in problems)
