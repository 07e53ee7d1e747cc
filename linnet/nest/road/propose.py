"""Which tensor each parameter takes, proposed by names and shapes.

In go the parameters of a program and the tensors of a checkpoint, both folded into kinds where
`{i}` stands for array positions; out comes a `Proposal`: pairs with the reason for each, what is
open with its candidates, and what is left over on both sides. A pair needs equal shapes and
equal positions; names decide among those that have them. Pairs that are found help their
neighbours: the parts of one module lie in one module.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from linnet.nest.road.tensors import Info, Kind, kinds

CLEAR = 0.12
"""By how much a pair must be better than any other of its two sides."""

ENOUGH = 0.35
"""The least likeness of names at which a pair is believed where several shapes would fit."""

OTHER_NUMBERS = 0.7
"""What is left of the likeness of two names with different numbers in them."""

SHOWN = 4

_WORDS = {
    "q": "query",
    "k": "key",
    "v": "value",
    "o": "output",
    "out": "output",
    "attn": "attention",
    "ln": "norm",
    "layernorm": "norm",
    "rmsnorm": "norm",
    "emb": "embedding",
    "embed": "embedding",
    "embeddings": "embedding",
    "pos": "position",
    "positions": "position",
    "tok": "token",
    "tokens": "token",
    "word": "token",
    "words": "token",
    "ffn": "mlp",
    "dense": "fc",
    "gamma": "weight",
    "beta": "bias",
    "lin": "proj",
    "linear": "proj",
    "projection": "proj",
    "cls": "class",
    "positional": "position",
}
"""Short and other forms of words in names of parameters, and the form they are compared in."""


_PLAIN = frozenset(
    ["proj", "layer", "layers", "block", "blocks", "h", "model", "transformer", "c", "w", "fc"]
)
"""Words that say little: many modules of a model have them in their names."""

PLAIN_WEIGHT = 0.25

_ORDER = frozenset(["pre", "post", "input", "before", "after"])
"""Words that say where something stands. `attention_norm` may be the norm before attention, and
`post_attention_norm` the one before what follows: with such a word on one side only, the others
prove little."""

OTHER_ORDER = 0.4


class Declared(Protocol):
    """What is asked of a parameter."""

    @property
    def path(self) -> str: ...
    @property
    def dims(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> str: ...
    @property
    def optional(self) -> bool: ...


@dataclass(frozen=True)
class Pair:
    """A parameter and its tensor, with `{i}` for positions; `why` completes "because"."""

    path: str
    tensor: str
    shape: tuple[int, ...]
    why: str


@dataclass(frozen=True)
class Open:
    """A parameter without a tensor. `candidates` are tensors that could be it, each with what
    speaks for or against it; `why` says what could not be decided."""

    path: str
    shape: tuple[int, ...]
    optional: bool
    why: str
    candidates: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Proposal:
    """`left` are tensors that no parameter takes, with their shapes. `kept` are given pairs of
    optional parameters whose tensors other checkpoints of the family have, and this one lacks."""

    pairs: tuple[Pair, ...]
    open: tuple[Open, ...]
    left: tuple[tuple[str, tuple[int, ...]], ...]
    kept: tuple[tuple[str, str], ...] = ()

    @property
    def bindings(self) -> dict[str, str]:
        """The content of bindings.json: pairs of one name are left out, as they mean themselves."""
        known = [(pair.path, pair.tensor) for pair in self.pairs] + [*self.kept]
        return {path: tensor for path, tensor in known if path != tensor}

    @property
    def complete(self) -> bool:
        """Whether every parameter that must have a tensor has one."""
        return all(item.optional for item in self.open)


def propose(
    parameters: Iterable[Declared],
    tensors: Mapping[str, Info],
    given: Mapping[str, str] | None = None,
) -> Proposal:
    """Pair `parameters` with `tensors`. `given` are pairs that stand (path to tensor name, as
    written in bindings.json): those that fit are kept, whatever the names say, and so are those
    of optional parameters whose tensor this checkpoint lacks."""
    declared = list(parameters)
    optional = {p.path: p.optional for p in declared}
    ours, theirs = _units({p.path: _Shape(p.dtype, p.dims) for p in declared}, tensors)
    spare = (u.pattern for u in ours if all(optional[name] for name in u.names))
    search = _Search(ours, theirs, frozenset(spare))
    search.take_given(given or {})
    search.run()
    return Proposal(
        pairs=tuple(search.pair(unit) for unit in ours if unit.pattern in search.found),
        open=tuple(search.unsolved(unit) for unit in ours if unit.pattern not in search.found),
        left=tuple((u.pattern, u.shape) for u in theirs if u.pattern not in search.taken),
        kept=tuple((o, t) for o, t in search.lacking.items() if o not in search.found),
    )


@dataclass(frozen=True)
class _Shape:
    dtype: str
    shape: tuple[int, ...]


def _units(
    parameters: Mapping[str, Info], tensors: Mapping[str, Info]
) -> tuple[list[Kind], list[Kind]]:
    """Both sides as kinds. Numbers that are positions on one side only (an item of a list whose
    items differ, say) are part of the name there."""
    ours, theirs = kinds(_plain(parameters)), kinds(_plain(tensors))
    known = {kind.positions for kind in ours} & {kind.positions for kind in theirs}
    return _spread(ours, known), _spread(theirs, known)


def _plain(side: Mapping[str, Info]) -> dict[str, Info]:
    """Without dtypes, which a binding may convert."""
    return {name: _Shape("", info.shape) for name, info in side.items()}


def _spread(found: list[Kind], known: set[tuple[tuple[int, ...], ...]]) -> list[Kind]:
    result = []
    for kind in found:
        if kind.whole and kind.positions in known:
            result.append(kind)
        else:
            result += [Kind(name, "", kind.shape, (), (name,)) for name in kind.names]
    return result


@dataclass
class _Search:
    """`found` maps our patterns to theirs, with `reasons`; `taken` is the other direction.
    `lacking` maps optional parameters to the tensors that were given for them and are not here."""

    ours: list[Kind]
    theirs: list[Kind]
    optional: frozenset[str] = frozenset()
    found: dict[str, str] = field(default_factory=dict)
    taken: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    lacking: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._weights = _rarity([*self.ours, *self.theirs])
        self._likeness = {
            (o.pattern, t.pattern): likeness(o.pattern, t.pattern, self._weights)
            for o in self.ours
            for t in self.theirs
            if _fits(o, t) and not _of_other_kinds(o.pattern, t.pattern)
        }

    def take_given(self, given: Mapping[str, str]) -> None:
        ours = {unit.pattern: unit for unit in self.ours}
        theirs = {unit.pattern: unit for unit in self.theirs}
        for path, tensor in given.items():
            path, tensor = _lettered(path, path), _lettered(tensor, path)
            one, other = ours.get(path), theirs.get(tensor)
            if one and other and _fits(one, other) and tensor not in self.taken:
                self._take(path, tensor, "bindings.json says so")
            elif path in self.optional and other is None:
                self.lacking[path] = tensor

    def run(self) -> None:
        """Take what is clear, and look again, as each pair says something about others."""
        for unit in self.ours:
            if (unit.pattern, unit.pattern) in self._likeness and unit.pattern not in self.found:
                self._take(unit.pattern, unit.pattern, "it has the same name")
        while self._round():
            pass

    def _round(self) -> bool:
        scores = self._scores()
        clear = []
        for (ours, theirs), score in scores.items():
            rivals = [s for (o, t), s in scores.items() if (o == ours) != (t == theirs)]
            if not rivals:
                clear.append((score + 1, ours, theirs, self._alone(ours, theirs)))
            elif self._must(ours, theirs, scores):
                clear.append((score, ours, theirs, "it must have one, and this is all there is"))
            elif score >= ENOUGH and score - max(rivals) >= CLEAR:
                clear.append((score, ours, theirs, "its name is the likest"))
        for _, ours, theirs, why in sorted(clear, reverse=True):
            if ours not in self.found and theirs not in self.taken:
                self._take(ours, theirs, why)
                if len(clear) > 1:
                    return True
        return bool(clear)

    def _must(self, ours: str, theirs: str, scores: Mapping[tuple[str, str], float]) -> bool:
        """Whether a parameter that must have a tensor has this one candidate, which all others
        that could take it can do without."""
        if ours in self.optional or any(o == ours and t != theirs for o, t in scores):
            return False
        others = {o for o, t in scores if t == theirs and o != ours}
        return others <= self.optional

    def _alone(self, ours: str, theirs: str) -> str:
        others = sum((o == ours) != (t == theirs) for o, t in self._likeness)
        return "the others of its shape are taken" if others else "no other has its shape"

    def _scores(self) -> dict[tuple[str, str], float]:
        """The likeness of all pairs that are still possible, raised where the modules that
        they lie in belong together, and lowered where they belong to others."""
        modules, direct = self._modules()
        back = {theirs: ours for ours, theirs in modules.items()}
        result = {}
        for (ours, theirs), score in self._likeness.items():
            if ours not in self.found and theirs not in self.taken:
                one = next((m for m in _around(ours) if m in modules), None)
                other = next((m for m in _around(theirs) if m in back), "")
                here = one is not None and _within(theirs, modules[one])
                there = other in back and _within(ours, back[other])
                if here and there:
                    score += 0.5 if one in direct else 0.15
                elif (one in direct and not here) or (back.get(other) in direct and not there):
                    score -= 0.5
                result[ours, theirs] = score
        return result

    def _modules(self) -> tuple[dict[str, str], set[str]]:
        """Modules that belong together by the pairs found so far: those that hold a pair
        directly, named again in the second, and those around several parts that lie in one
        module on both sides. The latter may be larger on one side than on the other."""
        result: dict[str, str] = {}
        certain = set()
        for one in {m for ours in self.found for m in _around(ours)}:
            inside = {o: t for o, t in self.found.items() if _within(o, one)}
            other = _common([_module(t) for t in inside.values()])
            parts = {o.removeprefix(f"{one}.").partition(".")[0] for o in inside}
            branches = {t.removeprefix(f"{other}.").partition(".")[0] for t in inside.values()}
            direct = all(_module(o) == one for o in inside)
            if not other or not (direct or (len(parts) > 1 and len(branches) > 1)):
                continue
            if all(_within(o, one) for o, t in self.found.items() if _within(t, other)):
                result[one] = other
                certain |= {one} if direct else set()
        theirs = list(result.values())
        single = {one: other for one, other in result.items() if theirs.count(other) == 1}
        return single, certain

    def _take(self, ours: str, theirs: str, why: str) -> None:
        self.found[ours], self.taken[theirs], self.reasons[ours] = theirs, ours, why

    # What came of it.

    def pair(self, unit: Kind) -> Pair:
        return Pair(
            unit.pattern,
            self.found[unit.pattern],
            unit.shape,
            self.reasons[unit.pattern],
        )

    def unsolved(self, unit: Kind) -> Open:
        optional = unit.pattern in self.optional
        if unit.pattern in self.lacking:
            why = f"this checkpoint lacks {self.lacking[unit.pattern]}, which bindings.json names"
            return Open(unit.pattern, unit.shape, optional, why)
        scores = {t: s for (o, t), s in self._scores().items() if o == unit.pattern}
        if scores:
            best = sorted(scores, key=lambda t: -scores[t])[:SHOWN]
            why = f"{len(scores)} tensors have its shape" if len(scores) > 1 else "it is unsure"
            listed = tuple((t, f"likeness {max(0.0, scores[t]):.2f}") for t in best)
            return Open(unit.pattern, unit.shape, optional, f"{why}, and no name is clear", listed)
        near = sorted(
            (t for t in self.theirs if t.pattern not in self.taken),
            key=lambda t: -likeness(unit.pattern, t.pattern, self._weights),
        )
        likely = [
            (t.pattern, _against(unit, t))
            for t in near[:2]
            if likeness(unit.pattern, t.pattern, self._weights) >= ENOUGH
        ]
        why = "no tensor that is left has its shape"
        return Open(unit.pattern, unit.shape, optional, why, tuple(likely))


def _fits(ours: Kind, theirs: Kind) -> bool:
    return ours.shape == theirs.shape and ours.positions == theirs.positions


def _against(ours: Kind, theirs: Kind) -> str:
    if ours.shape != theirs.shape:
        turned = ours.shape == theirs.shape[::-1]
        return f"has the shape {list(theirs.shape)}" + (": the axes are turned" if turned else "")
    return "has other positions"


def _lettered(pattern: str, by: str) -> str:
    """A pattern of bindings.json with this module's letters for its placeholders, which are
    numbered in the order of `by`."""
    names = list(dict.fromkeys(re.findall(r"\{(\w+)\}", by)))
    letters = dict(zip(names, "ijklmn", strict=False))
    return re.sub(r"\{(\w+)\}", lambda m: f"{{{letters.get(m.group(1), m.group(1))}}}", pattern)


def _module(name: str) -> str:
    return name.rpartition(".")[0]


def _around(name: str) -> Iterator[str]:
    """The modules around a name, the innermost first."""
    while name := _module(name):
        yield name


def _within(name: str, module: str) -> bool:
    return name.startswith(f"{module}.")


def _common(modules: list[str]) -> str:
    """The innermost module that is or holds all of these."""
    parts = [module.split(".") for module in modules]
    shared = []
    for column in zip(*parts, strict=False):
        if len(set(column)) > 1:
            break
        shared.append(column[0])
    return ".".join(shared)


# --- likeness of names ----------------------------------------------------------------------


def tokens(name: str) -> tuple[str, ...]:
    """The words of a name, in their common form; positions are none."""
    found = []
    for part in re.split(r"[._]", re.sub(r"\{\w\}", "", name)):
        for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", part):
            found.append(_WORDS.get(word.lower(), word.lower()))
    return tuple(found)


def likeness(one: str, other: str, weights: Mapping[str, float]) -> float:
    """How alike two names are, from 0 to 1: the share of their words that have a counterpart,
    rare words counting more, and the last word counting again. A name that ends in the other one
    stands above all others."""
    first, second = _without_end(tokens(one)), _without_end(tokens(other))
    if other.endswith(f".{one}"):
        return 1.0
    there = sum(weights.get(w, 1.0) * _best(w, second) for w in first)
    back = sum(weights.get(w, 1.0) * _best(w, first) for w in second)
    whole = sum(weights.get(w, 1.0) for w in (*first, *second))
    last = _best(_telling(first), (_telling(second),))
    if not whole:
        return 0.0
    score = min(0.8 * (there + back) / whole + 0.2 * last, 1 - CLEAR)
    numbers = [[w for w in words if w.isdigit()] for words in (first, second)]
    if all(numbers) and numbers[0] != numbers[1]:
        score *= OTHER_NUMBERS
    return score if _ORDER & {*first} == _ORDER & {*second} else score * OTHER_ORDER


def _of_other_kinds(one: str, other: str) -> bool:
    """Whether one is a weight and the other a bias."""
    ends = {words[-1] for words in (tokens(one), tokens(other)) if words}
    return ends == {"weight", "bias"}


def _without_end(words: tuple[str, ...]) -> tuple[str, ...]:
    return words[:-1] if len(words) > 1 and words[-1] in ("weight", "bias") else words


def _telling(words: tuple[str, ...]) -> str:
    """The last word that says something, else the last."""
    return next((w for w in reversed(words) if w not in _PLAIN), words[-1] if words else "")


def _best(word: str, others: tuple[str, ...]) -> float:
    return max((_alike(word, other) for other in others), default=0.0)


def _alike(one: str, other: str) -> float:
    """1 for the same word; less for a beginning, an end, or the letters of it in order."""
    if one == other:
        return 1.0
    short, long = sorted((one, other), key=len)
    if short.isdigit() or long.isdigit():
        return 0.0
    if long.startswith(short) or (len(short) > 2 and long.endswith(short)):
        return 0.7
    letters = iter(long)
    if len(short) > 1 and short[0] == long[0] and all(c in letters for c in short):
        return 0.5
    return 0.0


def _rarity(units: Iterable[Kind]) -> dict[str, float]:
    """The weight of each word: the more names have it, the less it says."""
    counts: dict[str, int] = {}
    for unit in units:
        for word in set(tokens(unit.pattern)):
            counts[word] = counts.get(word, 0) + 1
    return {
        word: (PLAIN_WEIGHT if word in _PLAIN else 1.0) / count**0.5
        for word, count in counts.items()
    }
