"""Whether each of our values agrees with another run's.

With a recording of another stack a value is held against a module's where the two certainly mean
the same: what the only method called from outside gives, against what the module gave. Any other
value is looked for among all that was computed inside that module: being found says that it is
right, not being found says nothing. With another trace of ours every value has its counterpart.
"""

from __future__ import annotations

import enum
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from linnet.compare.arrays import Difference, difference, same_axes, tolerance
from linnet.compare.recording import FUNCTION, GAVE, TAKEN, Event, Recording
from linnet.compare.trace import Trace
from linnet.ir.node import Probe

LEAST = 8
"""Elements that a value needs to be known again by them."""
LOGITS = "logits"


class State(enum.Enum):
    EQUAL = "equal"
    DIFFERS = "differs"
    UNSEEN = "unseen"


@dataclass(frozen=True)
class Verdict:
    """What is known of one value. `against` names what it was held against."""

    state: State
    against: str = ""
    difference: Difference | None = None


UNSEEN = Verdict(State.UNSEEN)


@dataclass(frozen=True)
class Point:
    """A value where it was held against their module's: `probe` took it in or gave it (`what`)."""

    position: int
    probe: Probe
    what: str
    verdict: Verdict


@dataclass(frozen=True)
class Verdicts:
    """What is known of the value at each position; those left out are unseen. `crossed` are points
    where a value differs that is right elsewhere: the wrong one was handed on. `vouched` are the
    calls that gave what their module gave."""

    of: Mapping[int, Verdict]
    crossed: tuple[Point, ...] = ()
    vouched: frozenset[Probe] = frozenset()

    def __getitem__(self, position: int) -> Verdict:
        return self.of.get(position, UNSEEN)

    def state(self, position: int) -> State:
        return self[position].state


def against_trace(ours: Trace, theirs: Trace, asked: float | None) -> Verdicts:
    """Value by value, both of one graph."""
    found = {}
    for k, (mine, other) in enumerate(zip(ours.arrays, theirs.arrays, strict=True)):
        found[k] = _verdict(difference(mine, other), tolerance(ours.dtype(k), asked), "")
    return Verdicts(found)


def against_recording(
    ours: Trace,
    theirs: Recording,
    modules: Mapping[str, tuple[str, ...]],
    asked: float | None,
) -> Verdicts:
    """`modules` are the candidates of each block path, as `modules.blocks` gives them."""
    return _Judge(ours, theirs, modules, asked).verdicts()


def _verdict(found: Difference, allowed: float, against: str) -> Verdict:
    state = State.EQUAL if found.relative <= allowed else State.DIFFERS
    return Verdict(state, against, found)


class _Judge:
    def __init__(
        self,
        ours: Trace,
        theirs: Recording,
        modules: Mapping[str, tuple[str, ...]],
        asked: float | None,
    ) -> None:
        self.ours = ours
        self.theirs = theirs
        self.modules = modules
        self.asked = asked
        self.moments: dict[tuple[str, str], dict[int, Event]] = defaultdict(dict)
        for event in theirs.events:
            if event.what != FUNCTION:
                self.moments[event.module, event.what][event.call] = event

    def verdicts(self) -> Verdicts:
        points = list(self._points())
        found: dict[int, Verdict] = {}
        for point in points:
            _better(found, point.position, point.verdict)
        if self.ours.graph.own_results == 1 and LOGITS in self.theirs.outputs:
            array = self.theirs.arrays[self.theirs.outputs[LOGITS]]
            _better(found, 0, self._held(0, array, LOGITS))
        for position in self.ours.order:
            if found.get(position, UNSEEN).state is not State.EQUAL:
                _better(found, position, self._searched(position))
        right = {k for k, verdict in found.items() if verdict.state is State.EQUAL}
        differing = (p for p in points if p.verdict.state is State.DIFFERS)
        equal = (p for p in points if p.verdict.state is State.EQUAL and p.what == GAVE)
        return Verdicts(
            found,
            tuple(point for point in differing if point.position in right),
            frozenset(point.probe for point in equal),
        )

    def _points(self) -> Iterator[Point]:
        """Where values are held against those of modules."""
        for probe, number in _outer_calls(self.ours.graph.probes):
            for position, what in _ends(probe):
                if position is not None:
                    verdict = self._paired(probe, position, what, number)
                    if verdict is not None:
                        yield Point(position, probe, what, verdict)

    def _paired(self, probe: Probe, position: int, what: str, number: int) -> Verdict | None:
        """The value against what its module took in or gave; the best of several candidates."""
        found = []
        for module in self.modules.get(probe.path, ()):
            event = self.moments[module, what].get(number)
            if event is None:
                continue
            for key in event.arrays:
                verdict = self._held(position, self.theirs.arrays[key], f"{module} {what}")
                if verdict is not None:
                    found.append(verdict)
        return min(found, key=_relative, default=None)

    def _held(self, position: int, array: Any, against: str) -> Verdict | None:
        mine = self.ours.arrays[position]
        if mine.size != array.size or not same_axes(mine.shape, array.shape):
            return None
        allowed = tolerance(self.ours.dtype(position), self.asked)
        return _verdict(difference(mine, array), allowed, against)

    def _searched(self, position: int) -> Verdict | None:
        """The value among all that was seen inside the module around it."""
        mine = self.ours.arrays[position]
        if mine.dtype.kind != "f" or mine.size < LEAST:
            return None
        allowed = tolerance(self.ours.dtype(position), self.asked)
        for event in self._inside(self._around(position)):
            for key in event.arrays:
                array = self.theirs.arrays[key]
                if array.size == mine.size and array.dtype.kind == "f":
                    found = difference(mine, array)
                    if found.relative <= allowed:
                        where = f"{event.module} {event.name or event.what}".strip()
                        return Verdict(State.EQUAL, where, found)
        return None

    def _around(self, position: int) -> str:
        """The nearest matched module around the block in which a value is made."""
        maker = self.ours.makers.get(position)
        origin = self.ours.graph.results[position].origin
        path = maker.path if maker is not None else origin.path if origin is not None else ""
        parts = path.split(".")
        while parts and ".".join(parts) not in self.modules:
            parts.pop()
        return self.modules[".".join(parts)][0] if parts else ""

    def _inside(self, module: str) -> Iterator[Event]:
        for event in self.theirs.events:
            if not module or event.module == module or event.module.startswith(f"{module}."):
                yield event


def _better(found: dict[int, Verdict], position: int, new: Verdict | None) -> None:
    """Keep what says most: a value that is somewhere equal is right."""
    old = found.get(position)
    if new is None or (old is not None and old.state is State.EQUAL):
        return
    if old is None or new.state is State.EQUAL:
        found[position] = new


def _relative(verdict: Verdict) -> float:
    return verdict.difference.relative if verdict.difference is not None else float("inf")


def _outer_calls(probes: tuple[Probe, ...]) -> list[tuple[Probe, int]]:
    """The calls that stand for a module's: those of the only method that is called from outside
    the block, with their number. Methods that share the work of a block are none of them."""
    outer = [p for p in probes if not p.op and p.caller != p.path]
    methods: dict[str, set[str]] = defaultdict(set)
    for probe in outer:
        methods[probe.path].add(probe.method)
    counts: Counter[str] = Counter()
    found = []
    for probe in outer:
        if len(methods[probe.path]) == 1:
            found.append((probe, counts[probe.path]))
            counts[probe.path] += 1
    return found


def _ends(probe: Probe) -> list[tuple[int | None, str]]:
    """What a call took in first and what it gave, where that is one value."""
    first = probe.arguments[0] if probe.arguments else None
    return [(first, TAKEN), (probe.values[0] if len(probe.values) == 1 else None, GAVE)]
