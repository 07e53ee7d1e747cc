"""The two limits: programs for every target, and figures that a machine can have."""

from __future__ import annotations

import re

import pytest

from linnet.bench import limits
from linnet.plan.cost import Limits
from linnet.targets.detect import TARGET_NAMES
from linnet.targets.target import load_target


@pytest.mark.parametrize("name", TARGET_NAMES)
def test_every_target_has_its_program(name: str) -> None:
    text = limits.source(load_target(name))
    for streams in limits.STREAMS:
        assert f"linnet_read_{streams}(" in text
    chains = re.findall(r"^    s\d+ = .*half.*half", text, re.MULTILINE)
    assert len(chains) >= limits.FEW_CHAINS


def test_the_figures_are_those_of_a_machine() -> None:
    found = limits.measure(1, buffer=2**24, steps=100_000)
    assert found.threads == 1
    assert 1e8 < found.bandwidth < 1e13
    assert 1e8 < found.peak < 1e13


def test_the_least_time_is_that_of_the_slower_part() -> None:
    machine = Limits(1, bandwidth=10.0, peak=100.0)
    assert machine.seconds(read=20.0, operations=50.0) == 2.0
    assert machine.seconds(read=1.0, operations=50.0) == 0.5
