"""From verdicts to a place: the first value that parts from theirs, and the op to look at.

A value that differs may only hand on what another did wrong, and between two values that could be
compared may lie some that could not. So the search goes back from the first difference, through
values nobody vouches for, until it meets ones that are equal; the earliest of what lies between
is the place to look at first. A value that is right as it was made, and differs where it is taken
or handed on, is another matter: there the wrong value is used, and the place is that use.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from linnet.compare.recording import TAKEN
from linnet.compare.trace import Trace
from linnet.compare.verdicts import Point, State, Verdict, Verdicts
from linnet.ir.node import Origin, Probe


@dataclass(frozen=True)
class Place:
    """A place in the source: the method of a block, and the op or function that it calls there
    (empty where it is neither), with the words to show."""

    label: str
    block: str
    method: str
    op: str
    origin: Origin | None


@dataclass(frozen=True)
class Finding:
    """`what` parts first from theirs, by `verdict`; `place` is where to look. Positions in the
    trace: `suspect` is the value made there; `others` are further values between that have no
    equal in theirs; `equal` came in right, `unknown` came in unchecked."""

    what: str
    verdict: Verdict
    differs: int
    place: Place
    suspect: int
    others: tuple[int, ...] = ()
    equal: tuple[int, ...] = ()
    unknown: tuple[int, ...] = ()


def locate(trace: Trace, verdicts: Verdicts) -> Finding | None:
    """None where nothing differs."""
    order = {position: number for number, position in enumerate(trace.order)}
    crossed = {point.position: point for point in reversed(verdicts.crossed)}
    parted = {k for k in trace.order if verdicts.state(k) is State.DIFFERS} | set(crossed)
    first = next((k for k in trace.order if k in parted and not _above(trace, k, parted)), None)
    if first is None:
        return None
    if first in crossed:
        return _misused(trace, verdicts, crossed[first])
    between = _between(trace, verdicts, first)
    early = [k for k in between if not _above(trace, k, between)]
    suspect = min(early, key=lambda k: order[k], default=first)
    parents = sorted(trace.parents[suspect], key=lambda k: order[k])
    return Finding(
        trace.label(first),
        verdicts[first],
        first,
        place_of(trace, suspect),
        suspect,
        tuple(sorted(between - {suspect}, key=lambda k: order[k])),
        tuple(k for k in parents if verdicts.state(k) is State.EQUAL),
        tuple(k for k in parents if verdicts.state(k) is not State.EQUAL),
    )


def place_of(trace: Trace, position: int) -> Place:
    """Where the value at a position is made."""
    label, origin, maker = trace.label(position), trace.origin(position), trace.makers.get(position)
    if maker is not None:
        return Place(label, maker.path, maker.method, maker.op, origin)
    return Place(label, origin.path if origin is not None else "", "", "", origin)


def _misused(trace: Trace, verdicts: Verdicts, point: Point) -> Finding:
    """The call that takes the wrong value, or the method that hands it on: the one that called
    the last call vouched for."""
    position, probe = point.position, point.probe
    if point.what == TAKEN:
        place = Place(f"what {probe} takes in", probe.caller, "", "", probe.origin)
    else:
        inner = _last_vouched(trace, verdicts, position, probe)
        if inner is None:
            place = place_of(trace, position)
        else:
            outer = _next_method(trace, position, inner)
            place = Place(f"{outer} hands on {inner}", outer.path, outer.method, "", inner.origin)
    verb = "takes in" if point.what == TAKEN else "gives"
    return Finding(
        f"what {probe} {verb}", point.verdict, position, place, position, equal=(position,)
    )


def _holding(trace: Trace, position: int) -> list[Probe]:
    """The calls that gave the value at a position, inner ones first."""
    return [p for p in trace.graph.probes if p.values == (position,)]


def _last_vouched(trace: Trace, verdicts: Verdicts, position: int, end: Probe) -> Probe | None:
    found = None
    for probe in _holding(trace, position):
        if probe is end:
            break
        found = probe if probe in verdicts.vouched else found
    return found


def _next_method(trace: Trace, position: int, inner: Probe) -> Probe:
    holding = _holding(trace, position)
    after = holding[holding.index(inner) + 1 :]
    return next(p for p in after if not p.op)


def _between(trace: Trace, verdicts: Verdicts, position: int) -> set[int]:
    """The values that `position` was made from, back to equal ones, that depend on the inputs."""
    found: set[int] = set()
    stack = [position]
    while stack:
        for parent in trace.parents[stack.pop()]:
            unseen = verdicts.state(parent) is State.UNSEEN and parent in trace.on_inputs
            if unseen and parent not in found:
                found.add(parent)
                stack.append(parent)
    return found


def _above(trace: Trace, position: int, wanted: Iterable[int]) -> bool:
    """Whether `position` was made from one of `wanted`."""
    wanted = set(wanted)
    seen: set[int] = set()
    stack = [position]
    while stack:
        for parent in trace.parents[stack.pop()]:
            if parent in wanted:
                return True
            if parent not in seen:
                seen.add(parent)
                stack.append(parent)
    return False
