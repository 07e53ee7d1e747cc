"""From verdicts to a place: the first value that parts from theirs, and the op to look at.

A value that differs may only hand on what another did wrong, and between two values that could be
compared may lie some that could not. So the search goes back from the first difference, through
values nobody vouches for, until it meets ones that are equal; the earliest of what lies between
is the place to look at first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from linnet.compare.trace import Trace
from linnet.compare.verdicts import UNSEEN, State, Verdict

StateOf = Callable[[int], State]


@dataclass(frozen=True)
class Finding:
    """Positions in the trace. `differs` is the first value beyond tolerance; `suspect` is the one
    to look at, itself or one that it was made from; `others` are further values between that have
    no equal in theirs; `equal` came in right, `unknown` came in unchecked."""

    differs: int
    suspect: int
    others: tuple[int, ...]
    equal: tuple[int, ...]
    unknown: tuple[int, ...]


def locate(trace: Trace, verdicts: Mapping[int, Verdict]) -> Finding | None:
    """None where nothing differs."""
    place = {k: n for n, k in enumerate(trace.order)}

    def state(position: int) -> State:
        return verdicts.get(position, UNSEEN).state

    first = _first(trace, state)
    if first is None:
        return None
    between = _between(trace, state, first)
    early = [k for k in between if not _above(trace, k, between)]
    suspect = min(early, key=lambda k: place[k], default=first)
    parents = sorted(trace.parents[suspect], key=lambda k: place[k])
    return Finding(
        first,
        suspect,
        tuple(sorted(between - {suspect}, key=lambda k: place[k])),
        tuple(k for k in parents if state(k) is State.EQUAL),
        tuple(k for k in parents if state(k) is not State.EQUAL),
    )


def _first(trace: Trace, state: StateOf) -> int | None:
    """The first differing value in running order that was made from none that differs."""
    differing = [k for k in trace.order if state(k) is State.DIFFERS]
    for position in differing:
        if not _above(trace, position, set(differing) - {position}, state):
            return position
    return None


def _between(trace: Trace, state: StateOf, position: int) -> set[int]:
    """The values that `position` was made from, back to equal ones, that depend on the inputs."""
    found: set[int] = set()
    stack = [position]
    while stack:
        for parent in trace.parents[stack.pop()]:
            unseen = state(parent) is State.UNSEEN and parent in trace.on_inputs
            if unseen and parent not in found:
                found.add(parent)
                stack.append(parent)
    return found


def _above(trace: Trace, position: int, wanted: set[int], state: StateOf | None = None) -> bool:
    """Whether `position` was made from one of `wanted`; equal values end the search."""
    seen: set[int] = set()
    stack = [position]
    while stack:
        for parent in trace.parents[stack.pop()]:
            if parent in wanted:
                return True
            if parent not in seen:
                seen.add(parent)
                if state is None or state(parent) is not State.EQUAL:
                    stack.append(parent)
    return False
