"""What an example of a diagnostic consists of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Example:
    """`wrong` and `right` are whole files; `advice` says in a sentence or two what repairs it.

    `beside` are the other files of the same package by path, wrong and right; the file itself is
    then `src/lib.linnet`."""

    wrong: str
    right: str
    advice: str
    beside: Mapping[str, tuple[str, str]] = field(default_factory=dict)


def programs(wrong: str, right: str, advice: str) -> Example:
    """An example of one file, of which only what follows its `module` line is given."""
    return Example(f"module pond\n\n{wrong}", f"module pond\n\n{right}", advice)
