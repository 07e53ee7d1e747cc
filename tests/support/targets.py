"""Which targets a test can run here. NEON runs under emulation where the machine is no Arm."""

from __future__ import annotations

import functools
import os

import pytest

from linnet.errors import LinnetError
from linnet.toolchain.cc import cross_compiler, emulator
from linnet.toolchain.native import host_targets

ALL = ("avx512", "avx2", "scalar", "neon")


@functools.cache
def missing(target: str) -> str | None:
    """Why `target` cannot run here, or None."""
    if target in host_targets():
        return None
    if target != "neon":
        return f"this machine does not run {target}"
    if emulator("aarch64") is None:
        return "no user-mode emulation of aarch64 (qemu-user)"
    try:
        cross_compiler("aarch64")
    except LinnetError as error:
        return str(error)
    return None


def require(target: str) -> None:
    """Skip the test when the target cannot run; fail where CI promised NEON."""
    reason = missing(target)
    if reason is None:
        return
    if target == "neon" and os.environ.get("LINNET_REQUIRE_NEON"):
        pytest.fail(f"NEON must run here: {reason}")
    pytest.skip(reason)
