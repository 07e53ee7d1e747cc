"""Random programs give what the interpreter gives. More of them, from other seeds:

    LINNET_FUZZ=1000:1100 pytest tests/fuzz

takes each number from 1000 to 1099 as the seed of a module. A failure names the block; `author`
writes the same module again from the same seed.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from programs.agree import Case, assert_agreement, case_of, checked
from support.targets import ALL, missing

from fuzz.author import module

PROGRAMS = 40
"""Blocks in a module, which are one C file."""


def seeds() -> range:
    start, _, stop = os.environ.get("LINNET_FUZZ", "1:4").partition(":")
    return range(int(start), int(stop or int(start) + 1))


def cases_of(seed: int) -> list[Case]:
    """One case for each block, with a small `N`."""
    draw = np.random.default_rng(seed)
    program = checked(module(seed, PROGRAMS), f"seed_{seed}.linnet")
    found = []
    for number, root in enumerate(program.roots()):
        generics: dict[str, int | str] = {"N": int(draw.integers(0, 5))}
        case = case_of(program, root, generics, frozenset(), f"p{number}", draw)
        if case is not None:
            found.append(case)
    return found


@pytest.mark.parametrize("seed", seeds())
def test_random_programs_agree_with_the_interpreter(seed: int) -> None:
    found = cases_of(seed)
    assert len(found) > PROGRAMS // 2
    # Much is compiled here and little run. The target with the widest registers is optimised:
    # there the C compiler does the most with our loops.
    native = next(target for target in ALL if missing(target) is None)
    assert_agreement(found, [("scalar", "equivalent")], flags=("-O0",))
    if seed % 3 == 1:
        assert_agreement(found, [(native, "equivalent")])
