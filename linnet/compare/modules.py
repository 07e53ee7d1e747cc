"""Which module of the other stack is which block of ours, told by the weights alone.

In go the tensor name of each of our parameters and the names of their parameters. A parameter of
ours is one of theirs by its name, under whatever prefix fits most names; the rest by equal
contents. A block is the module that holds the parameters of that block and no others. A module
that only wraps another holds the same ones, so that there may be several candidates, outer ones
first. Nothing here knows the name of any model.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping

Digests = Callable[[list[str]], Mapping[str, str]]
"""A text for the contents of each parameter named; equal texts are equal parameters."""


def parameters(
    names: Mapping[str, str], theirs: Iterable[str], ours_of: Digests, theirs_of: Digests
) -> dict[str, str]:
    """Their parameter for each path of ours that has one. `names` maps our paths to tensors of
    the checkpoint; contents are asked for only where names do not settle it."""
    there = set(theirs)
    drop, add = _prefixes(set(names.values()), there)
    found = {}
    for path, name in names.items():
        moved = _joined(add, _without(name, drop))
        if moved in there:
            found[path] = moved
    left = [path for path in names if path not in found]
    spare = sorted(there - set(found.values()))
    if left and spare:
        found |= _by_contents(ours_of(left), theirs_of(spare))
    return found


def _by_contents(ours: Mapping[str, str], theirs: Mapping[str, str]) -> dict[str, str]:
    """Pairs with contents that occur once on either side."""
    places: dict[str, list[str]] = defaultdict(list)
    for name, text in theirs.items():
        places[text].append(name)
    often = Counter(ours.values())
    return {
        path: places[text][0]
        for path, text in ours.items()
        if often[text] == 1 and len(places[text]) == 1
    }


def _prefixes(names: set[str], theirs: set[str]) -> tuple[str, str]:
    """The prefix to take off our names and the one to put on, so that most of them are there."""
    drops, adds = _common_prefixes(names), _common_prefixes(theirs)
    best = ("", "")
    most = -1
    for drop in drops:
        bare = {_without(name, drop) for name in names}
        for add in adds:
            hits = sum(_joined(add, name) in theirs for name in bare)
            if hits > most:
                best, most = (drop, add), hits
    return best


def _common_prefixes(names: set[str]) -> list[str]:
    """The empty prefix and each that a third of the names or more begin with, short ones first."""
    counts: Counter[str] = Counter()
    for name in names:
        parts = name.split(".")
        counts.update(".".join(parts[:k]) for k in range(1, len(parts)))
    often = [prefix for prefix, count in counts.items() if 3 * count >= len(names)]
    return ["", *sorted(often, key=len)]


def _without(name: str, prefix: str) -> str:
    return name.removeprefix(f"{prefix}.") if prefix else name


def _joined(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


def blocks(
    paths: Iterable[str], matched: Mapping[str, str], theirs: Iterable[str]
) -> dict[str, tuple[str, ...]]:
    """The candidate modules of each of our block paths, outer ones first; blocks without any are
    left out. `paths` are all our parameters that are in use, `matched` those of theirs."""
    ours: dict[str, set[str]] = defaultdict(set)
    unsure = set()
    for path in paths:
        for block in _above(path):
            ours[block].add(matched.get(path, ""))
            if path not in matched:
                unsure.add(block)
    holders: dict[frozenset[str], list[str]] = defaultdict(list)
    held: dict[str, set[str]] = defaultdict(set)
    for name in theirs:
        for module in _above(name):
            held[module].add(name)
    for module, own in held.items():
        holders[frozenset(own)].append(module)
    found = {}
    for block, own in ours.items():
        modules = sorted(holders.get(frozenset(own), ()), key=len)
        if modules and block not in unsure:
            found[block] = modules
    return {block: tuple(_chosen(block, modules, ours)) for block, modules in found.items()}


def _chosen(block: str, modules: list[str], ours: Mapping[str, set[str]]) -> list[str]:
    """Blocks that wrap each other and modules that do are paired in order where there are as
    many of both; otherwise all are candidates."""
    chain = sorted((b for b, own in ours.items() if own == ours[block]), key=len)
    return [modules[chain.index(block)]] if len(chain) == len(modules) else modules


def _above(path: str) -> list[str]:
    """The blocks a member stands in: `a.b.weight` in "a.b", "a" and ""."""
    parts = path.split(".")
    return [".".join(parts[:k]) for k in range(len(parts) - 1, -1, -1)]
