"""Finds the known name a mistyped one probably meant, for "did you mean" in messages."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The name of `known` closest to `name`, or None when none is near."""
    import difflib

    folded = {candidate.casefold(): candidate for candidate in known}
    found = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    return folded[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message: a question about the nearest name, else a list of all, else ''."""
    known = list(known)
    close = nearest(name, known)
    if close is not None:
        return f"; did you mean {close!r}?"
    return f" (known: {', '.join(known)})" if known else ""
