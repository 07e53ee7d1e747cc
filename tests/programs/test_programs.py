"""Whole programs, checked, lowered, compiled and run on every target, against the interpreter.

The programs stand beside this file, one module a topic. See `agree` for how they are run: with
several values for their generics, with and without their optional weights, called several times.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.targets import ALL, missing, require

from programs.agree import Case, assert_close, assert_same_bits, cases, checked, compiled_values

PROGRAMS = sorted(Path(__file__).parent.glob("*.linnet"))
RUNS = [*((target, "equivalent") for target in ALL), ("scalar", "exact"), ("avx2", "exact")]


@functools.cache
def cases_of(path: Path) -> list[Case]:
    draw = np.random.default_rng(int.from_bytes(path.stem.encode()[:6], "big"))
    return cases(checked(path.read_text("utf-8"), path.name), path.stem, draw)


@functools.cache
def values(path: Path, target: str, policy: str) -> list[list[Any]]:
    return compiled_values(cases_of(path), target, policy)


@pytest.mark.parametrize(("target", "policy"), RUNS)
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_compiled_programs_agree_with_the_interpreter(path: Path, target: str, policy: str) -> None:
    require(target)
    assert_close(cases_of(path), values(path, target, policy), target, policy)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_all_targets_give_the_same_bits(path: Path) -> None:
    for policy in ("equivalent", "exact"):
        runnable = [target for target, its in RUNS if its == policy and missing(target) is None]
        first, *others = [values(path, target, policy) for target in runnable]
        for target, other in zip(runnable[1:], others, strict=True):
            run = f"{target} and {runnable[0]}"
            assert_same_bits(cases_of(path), other, first, run, policy)
