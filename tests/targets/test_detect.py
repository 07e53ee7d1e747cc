"""Targets from macros and kernel flags; threads from affinity and container quotas."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from linnet.targets import detect
from linnet.targets.detect import (
    cpu_identity,
    kernel_cpu_flags,
    supported_targets,
    target_rule,
    usable_threads,
)

AVX2 = {"__AVX2__", "__FMA__", "__F16C__"}
AVX512 = AVX2 | {"__AVX512F__", "__AVX512VL__", "__AVX512DQ__", "__AVX512BW__"}
AVX2_FLAGS = frozenset({"avx2", "fma", "f16c"})
AVX512_FLAGS = AVX2_FLAGS | {"avx512f", "avx512vl", "avx512dq", "avx512bw"}


@pytest.mark.parametrize(
    ("macros", "flags", "machine", "targets"),
    [
        (AVX512, AVX512_FLAGS, "x86_64", ("avx512", "avx2", "scalar")),
        (AVX512, None, "x86_64", ("avx512", "avx2", "scalar")),
        # the kernel, or the virtual machine, has switched off the wide registers
        (AVX512, AVX2_FLAGS, "x86_64", ("avx2", "scalar")),
        # the compiler is too old to know what the processor can do
        (AVX2, AVX512_FLAGS, "x86_64", ("avx2", "scalar")),
        (AVX512 - {"__AVX512BW__"}, AVX512_FLAGS, "x86_64", ("avx2", "scalar")),
        (AVX2 - {"__FMA__"}, AVX2_FLAGS, "x86_64", ("scalar",)),
        (set(), frozenset({"sse2"}), "x86_64", ("scalar",)),
        ({"__aarch64__", "__ARM_NEON"}, frozenset({"fp", "asimd"}), "aarch64", ("neon", "scalar")),
        ({"__aarch64__", "__ARM_NEON"}, None, "aarch64", ("neon", "scalar")),
        ({"__aarch64__"}, None, "aarch64", ("scalar",)),
        (AVX512, AVX512_FLAGS, "riscv64", ("scalar",)),
    ],
)
def test_a_target_needs_the_compiler_and_the_kernel(
    macros: set[str], flags: frozenset[str] | None, machine: str, targets: tuple[str, ...]
) -> None:
    assert supported_targets(macros, flags, machine) == targets


def test_every_target_has_a_rule() -> None:
    assert set(detect.TARGET_NAMES) == {"neon", "avx512", "avx2", "scalar"}
    for name in detect.TARGET_NAMES:
        assert target_rule(name).name == name
    with pytest.raises(KeyError):
        target_rule("quantum")


@pytest.mark.parametrize("key", ["flags", "Features"])
def test_the_flag_list_of_the_first_processor_is_read(tmp_path: Path, key: str) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(f"processor\t: 0\n{key}\t\t: fma avx2\n\nprocessor\t: 1\n{key}\t: other\n")
    assert kernel_cpu_flags(cpuinfo) == {"fma", "avx2"}
    assert kernel_cpu_flags(tmp_path / "absent") is None


def test_the_identity_follows_the_features(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = set()
    for flags in (AVX2_FLAGS, AVX512_FLAGS, None):
        monkeypatch.setattr(detect, "kernel_cpu_flags", lambda flags=flags: flags)
        seen |= {cpu_identity(), cpu_identity()}
    assert len(seen) == 3


def machine(root: Path, cgroup: str, files: dict[str, str]) -> Path:
    """Lay out the files of a control group under `root`."""
    for name, text in {"proc/self/cgroup": cgroup, **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


V2, V1 = "sys/fs/cgroup/", "sys/fs/cgroup/cpu,cpuacct/"
V1_LINES = "4:memory:/box\n2:cpu,cpuacct:/box\n"


@pytest.mark.parametrize(
    ("cgroup", "files", "threads"),
    [
        ("0::/\n", {V2 + "cpu.max": "max 100000\n"}, 16),
        ("0::/\n", {V2 + "cpu.max": "150000 100000\n"}, 1),
        ("0::/\n", {V2 + "cpu.max": "400000 100000\n"}, 4),
        ("0::/\n", {V2 + "cpu.max": "50000 100000\n"}, 1),
        # the group's own limit is wide, the one above it is narrow
        ("0::/a/b\n", {V2 + "a/b/cpu.max": "800000 100000", V2 + "a/cpu.max": "300000 100000"}, 3),
        # inside a container the path is the host's: the mount itself is the group
        ("0::/docker/0123\n", {V2 + "cpu.max": "200000 100000"}, 2),
        (V1_LINES, {V1 + "box/cpu.cfs_quota_us": "-1", V1 + "box/cpu.cfs_period_us": "100000"}, 16),
        (V1_LINES, {V1 + "cpu.cfs_quota_us": "250000", V1 + "cpu.cfs_period_us": "100000"}, 2),
        ("1:cpu:/\n", {"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "700000",
                       "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"}, 7),
        # nothing that can be understood is no limit
        ("0::/\n", {V2 + "cpu.max": "garbage"}, 16),
        ("0::/\n", {V2 + "cpu.max": "100000 0"}, 16),
        ("nonsense\n", {}, 16),
    ],
)  # fmt: skip
def test_threads_follow_the_container_quota(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cgroup: str,
    files: dict[str, str],
    threads: int,
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(16)), raising=False)
    assert usable_threads(machine(tmp_path, cgroup, files)) == threads


def test_threads_follow_the_affinity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = machine(tmp_path, "0::/\n", {V2 + "cpu.max": "800000 100000"})
    for cpus in ({3}, {0, 5}):
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid, cpus=cpus: cpus, raising=False)
        assert usable_threads(wide) == len(cpus)
        assert usable_threads(tmp_path / "no such system") == len(cpus)


def test_threads_here_are_at_least_one() -> None:
    assert 1 <= usable_threads() <= (os.cpu_count() or 1)
