"""Which target suits this machine, asked once and then remembered."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from linnet.errors import ToolchainError
from linnet.targets.detect import host_machine
from linnet.toolchain import native
from linnet.toolchain.cache import Cache
from linnet.toolchain.cc import Compiler, compile_shared, find_compiler, target_flags
from linnet.toolchain.native import host_targets, native_target


def test_every_target_of_this_machine_compiles(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    compiler = find_compiler(cache)
    targets = host_targets(compiler, cache)
    assert targets[0] == native_target(compiler, cache)
    assert targets[-1] == "scalar"
    if host_machine() == "aarch64":
        assert targets[0] == "neon"
    for target in targets:
        flags = target_flags(target, compiler)
        compile_shared(compiler, "int f(int x) { return x; }", flags, tmp_path / target)


def test_a_warm_start_asks_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(tmp_path)
    compiler = find_compiler(cache)
    first = native_target(compiler, cache)
    monkeypatch.setattr(native, "predefined_macros", None)
    gone = dataclasses.replace(compiler, problem="it has gone")
    assert native_target(gone, Cache(tmp_path)) == first
    with pytest.raises(ToolchainError, match="it has gone"):
        native_target(gone, Cache(tmp_path / "cold"))


def test_a_damaged_answer_is_asked_for_again(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    compiler = find_compiler(cache)
    first = host_targets(compiler, cache)
    (record,) = (tmp_path / "records").glob("targets-*.json")
    for text in ('{"targets": ["quantum"]}', '{"targets": []}', '{"targets": 3}', "{"):
        record.write_text(text)
        assert host_targets(compiler, cache) == first


def test_a_compiler_that_does_not_know_the_option_gives_its_default(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def macros(compiler: Compiler, flags: tuple[str, ...] = ()) -> dict[str, str]:
        if flags:
            raise ToolchainError("unknown option -march=native")
        return {"__x86_64__": "1"}

    monkeypatch.setattr(native, "predefined_macros", macros)
    compiler = Compiler(("/bin/cc",), "clang", "", "x86_64", "cc", "old clang")
    assert native_target(compiler, Cache(tmp_path)) == "scalar"
