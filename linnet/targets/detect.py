"""Which targets a machine can run, told from data that others fetched.

In go the predefined macros of a C compiler under `-march=native`, the kernel's list of CPU
features, the affinity mask and the cgroup files. Out come target names, best first, a short
text that identifies the CPU in cache keys, and the number of threads worth starting. Nothing
here runs a compiler or keeps a cache: `linnet.toolchain.native` does both and asks this module
to judge. How a target spells its instructions is not known here either.

A new target needs one line in `_TARGETS`.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class TargetRule:
    """What a machine must have to run one target, and how a compiler is told to use it.

    machine: architecture as `host_machine()` names it, or None for any.
    macros: predefined macros that the compiler must have under `-march=native`.
    cpu_flags: words that the kernel's own list must hold; a virtual machine or an old kernel
        may switch off what the compiler believes in.
    cflags: compiler options; `zig_cflags` the same for zig, which names Arm CPUs its own way.
    """

    name: str
    machine: str | None
    macros: frozenset[str]
    cpu_flags: frozenset[str]
    cflags: tuple[str, ...]
    zig_cflags: tuple[str, ...]


def _rule(
    name: str, machine: str | None, macros: str, cpu_flags: str, cflags: str, zig_cflags: str = ""
) -> TargetRule:
    return TargetRule(
        name,
        machine,
        frozenset(f"__{m}__" if not m.startswith("__") else m for m in macros.split()),
        frozenset(cpu_flags.split()),
        tuple(cflags.split()),
        tuple((zig_cflags or cflags).split()),
    )


# Best first: the first one that a machine supports is its native target.
_TARGETS: tuple[TargetRule, ...] = (
    _rule(
        "avx512",
        "x86_64",
        "AVX512F AVX512VL AVX512DQ AVX512BW AVX2 FMA F16C",
        "avx512f avx512vl avx512dq avx512bw avx2 fma f16c",
        "-mavx512f -mavx512vl -mavx512dq -mavx512bw -mavx2 -mfma -mf16c",
    ),
    _rule("avx2", "x86_64", "AVX2 FMA F16C", "avx2 fma f16c", "-mavx2 -mfma -mf16c"),
    _rule(
        "neon",
        "aarch64",
        "aarch64 __ARM_NEON",
        "asimd",
        "-march=armv8-a -mtune=cortex-a76",
        "-mcpu=generic",
    ),
    _rule("scalar", None, "", "", ""),
)

TARGET_NAMES: tuple[str, ...] = tuple(rule.name for rule in _TARGETS)


def target_rule(name: str) -> TargetRule:
    """Return the rule of target `name`. Raises KeyError for a name not in `TARGET_NAMES`."""
    for rule in _TARGETS:
        if rule.name == name:
            return rule
    raise KeyError(name)


def normal_machine(name: str) -> str:
    """Return the one spelling this project uses for an architecture (`x86_64`, `aarch64`, …)."""
    lowered = name.lower()
    return {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64"}.get(lowered, lowered)


def host_machine() -> str:
    """Return the architecture of this machine, for example `x86_64` or `aarch64`."""
    return normal_machine(os.uname().machine)


def supported_targets(
    macros: Iterable[str], kernel_flags: frozenset[str] | None, machine: str | None = None
) -> tuple[str, ...]:
    """Return the targets that can run, best first; `scalar` is always the last of them.

    macros: names of the compiler's predefined macros under `-march=native`.
    kernel_flags: see `kernel_cpu_flags`; None when the system has no such list, and then the
        compiler's word is enough.
    machine: architecture, this machine's by default.
    """
    defined = frozenset(macros)
    machine = machine or host_machine()
    return tuple(
        rule.name
        for rule in _TARGETS
        if rule.machine in (None, machine)
        and rule.macros <= defined
        and (kernel_flags is None or rule.cpu_flags <= kernel_flags)
    )


def kernel_cpu_flags(cpuinfo: Path = Path("/proc/cpuinfo")) -> frozenset[str] | None:
    """Return the CPU features that the kernel reports and permits, or None where it tells none."""
    try:
        text = cpuinfo.read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("flags", "Features"):
            return frozenset(value.split())
    return None


def cpu_identity() -> str:
    """Return a short text that changes when the usable CPU features change; for cache keys."""
    flags = kernel_cpu_flags()
    # Without a list of features the processor's name is the best there is.
    facts = sorted(flags) if flags is not None else _names()
    digest = hashlib.sha256(" ".join(facts).encode()).hexdigest()[:12]
    return f"{sys.platform}-{host_machine()}-{digest}"


def _names() -> list[str]:
    import platform

    return [platform.processor(), platform.release()]


def usable_threads(root: Path = Path("/")) -> int:
    """Return how many threads can run at once here: affinity and container quota, at least 1.

    A quota of 1.5 CPUs gives 1: the second thread would stand still half of the time, and the
    first would wait for it. `root` is where `/proc` and `/sys` are looked up.
    """
    threads = allowed_cpus()
    for quota in _cgroup_quotas(root):
        threads = min(threads, int(quota))
    return max(threads, 1)


def allowed_cpus() -> int:
    """Return how many CPUs this process may run on, at least 1."""
    if hasattr(os, "sched_getaffinity"):
        return max(len(os.sched_getaffinity(0)), 1)
    return os.cpu_count() or 1


def _cgroup_quotas(root: Path) -> Iterator[float]:
    """Yield the CPU quota of this process's control group and of each group above it."""
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    mount = root / "sys/fs/cgroup"
    for line in lines.splitlines():
        _, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if controllers == "":
            for base in (mount, mount / "unified"):
                yield from _quotas_upwards(base, group, _quota_v2)
        elif "cpu" in controllers.split(","):
            for base in (mount / controllers, mount / "cpu"):
                yield from _quotas_upwards(base, group, _quota_v1)


def _quotas_upwards(
    base: Path, group: str, read: Callable[[Path], float | None]
) -> Iterator[float]:
    # Inside a container the group's path may be the host's, absent here; walking up ends at the
    # mount itself, which is then the container's own group.
    parts = [part for part in group.split("/") if part not in ("", "..")]
    for depth in range(len(parts), -1, -1):
        quota = read(base.joinpath(*parts[:depth]))
        if quota is not None:
            yield quota


def _quota_v2(group: Path) -> float | None:
    words = _words(group / "cpu.max")
    return _ratio(words[0], words[1]) if len(words) == 2 else None


def _quota_v1(group: Path) -> float | None:
    quota, period = _words(group / "cpu.cfs_quota_us"), _words(group / "cpu.cfs_period_us")
    return _ratio(quota[0], period[0]) if quota and period else None


def _words(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii", errors="replace").split()
    except OSError:
        return []


def _ratio(quota: str, period: str) -> float | None:
    """Return quota / period; None for no limit, which is `max` in version 2 and -1 in 1."""
    if not (quota.isdigit() and period.isdigit()) or int(period) == 0:
        return None
    return int(quota) / int(period)
