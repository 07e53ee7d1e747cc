"""Kernels and support functions, compiled for every instruction set and run side by side."""

from __future__ import annotations

import pytest

from parity import harness


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "isa: needs an instruction set that may be missing here")


@pytest.fixture(params=[pytest.param(isa, marks=pytest.mark.isa) for isa in harness.ISAS])
def isa(request: pytest.FixtureRequest) -> str:
    """An instruction set that can run here, natively or under emulation; else a skip."""
    reason = harness.why_not(request.param)
    if reason is not None:
        pytest.skip(f"isa {request.param}: {reason}")
    return str(request.param)
