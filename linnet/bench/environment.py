"""The machine and the software that a measurement ran on, as data for reports."""

from __future__ import annotations

import os
import platform
from typing import Any


def described() -> dict[str, Any]:
    """Versions and the machine. Raises ToolchainError if there is no compiler."""
    import numpy

    from linnet.driver import VERSION
    from linnet.toolchain.cc import find_compiler
    from linnet.toolchain.native import native_target

    compiler = find_compiler()
    return {
        "versions": {
            "linnet": VERSION,
            "python": platform.python_version(),
            "numpy": numpy.__version__,
            "compiler": compiler.version,
            "system": f"{platform.system()} {platform.release()}",
        },
        "target": native_target(compiler),
        "machine": machine(),
        "gpu": None,
        "driver": None,
    }


def machine() -> str:
    """The processor, and how many of its CPUs this process may use."""
    from linnet.targets.detect import usable_threads

    return f"{processor()}, {usable_threads()} CPUs"


def processor() -> str:
    """The name of the processor, as well as the system tells."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [
                line.partition(":")[2].strip() for line in file if line.startswith("model name")
            ]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine() or os.name
