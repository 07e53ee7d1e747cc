"""Finding and running C compilers, good ones and bad ones."""

from __future__ import annotations

import ctypes
import os
import shlex
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from linnet.errors import ToolchainError, UsageError
from linnet.targets.detect import host_machine
from linnet.toolchain import cc
from linnet.toolchain.cache import Cache
from linnet.toolchain.cc import (
    Compiler,
    compile_executable,
    compile_object,
    compile_shared,
    cross_compiler,
    emulator,
    find_compiler,
    target_flags,
)

EXPORT = '__attribute__((visibility("default")))'
ANSWER = f"{EXPORT} int answer(void) {{ return 42; }}"
ODD_NAME = "my models ü 模型"


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LINNET_CC", "CC", "LINNET_CC_TIMEOUT"):
        monkeypatch.delenv(name, raising=False)


def script(path: Path, body: str) -> Path:
    """Write an executable shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + body)
    path.chmod(0o755)
    return path


def no_compiler_anywhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir(exist_ok=True)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)


def answer_of(library: Path) -> int:
    return int(ctypes.CDLL(str(library)).answer())


def real_gcc() -> str:
    path = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    assert path is not None, "these tests need a C compiler"
    return path


# -- finding ---------------------------------------------------------------------------------


def test_the_found_compiler_builds_a_library(cache: Cache, tmp_path: Path) -> None:
    compiler = find_compiler(cache)
    assert compiler.machine == host_machine()
    assert compiler.kind in ("gcc", "clang", "zig")
    out = tmp_path / ODD_NAME / "unit.so"
    out.parent.mkdir()
    compile_shared(compiler, ANSWER, (), out)
    assert answer_of(out) == 42
    assert list(out.parent.iterdir()) == [out]


def test_variables_go_before_the_usual_names(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = script(tmp_path / "mine", f'exec {real_gcc()} "$@"\n')
    yours = script(tmp_path / "yours", f'exec {real_gcc()} "$@"\n')
    monkeypatch.setenv("CC", str(yours))
    assert find_compiler(cache).command == (str(yours),)
    monkeypatch.setenv("LINNET_CC", str(mine))
    found = find_compiler(cache)
    assert (found.command, found.origin) == ((str(mine),), "$LINNET_CC")


@pytest.mark.parametrize("spelling", ["{}", "{} -DVALUE=42 -pipe", "'{}' '-DVALUE=42' -pipe"])
def test_cc_may_hold_arguments_spaces_and_any_alphabet(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spelling: str
) -> None:
    path = script(tmp_path / ODD_NAME / "my cc", f'exec {real_gcc()} -DVALUE=42 "$@"\n')
    monkeypatch.setenv("CC", spelling.format(path))
    compiler = find_compiler(cache)
    assert compiler.command[0] == str(path)
    assert len(compiler.command) == (1 if spelling == "{}" else 3)
    compile_shared(compiler, f"{EXPORT} int answer(void) {{ return VALUE; }}", (), tmp_path / "u")
    assert answer_of(tmp_path / "u") == 42


def test_everything_works_where_only_ascii_is_known(tmp_path: Path) -> None:
    folder = tmp_path / ODD_NAME
    compiler = script(folder / "cc", f'exec {real_gcc()} "$@"\n')
    program = f"""
        from linnet.toolchain import cache, cc, load
        entry = cache.default_cache().get_or_build("k", lambda folder: cc.compile_shared(
            cc.find_compiler(), {ANSWER!r}, (), folder / "unit.so"))
        print(load.load_entry(entry).answer())
    """
    variables = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    variables |= {"LINNET_CACHE": str(folder / "cache"), "CC": str(compiler)}
    variables |= {"PYTHONPATH": str(Path(cc.__file__).parents[2])}
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(
        command, env={**os.environ, **variables}, cwd=folder, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("42\n", "")


def test_no_compiler_lists_what_was_tried_and_the_ways_out(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_compiler_anywhere(monkeypatch, tmp_path)
    with pytest.raises(ToolchainError) as caught:
        find_compiler(cache)
    text = str(caught.value)
    for word in ("cc (", "gcc (", "clang (", "ziglang (", "pip install ziglang", "LINNET_CC"):
        assert word in text


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("does-not-exist", "`does-not-exist` not found"),
        ("false", "exit status 1"),
        ("true", "does not behave like a C compiler"),
        ("gcc 'unclosed", "cannot be split"),
        ("gcc -ffast-math", "-ffast-math, which changes results"),
    ],
)
def test_a_chosen_compiler_that_does_not_work_is_not_replaced_in_silence(
    cache: Cache, monkeypatch: pytest.MonkeyPatch, value: str, reason: str
) -> None:
    monkeypatch.setenv("CC", value)
    with pytest.raises(ToolchainError) as caught:
        find_compiler(cache)
    text = str(caught.value)
    assert reason in text
    assert "$CC" in text
    assert "unset CC" in text


def test_a_chosen_compiler_for_another_machine_is_refused(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = "aarch64" if host_machine() == "x86_64" else "x86_64"
    name = f"{other}-linux-gnu-gcc"
    if shutil.which(name) is None:
        pytest.skip(f"needs {name}")
    monkeypatch.setenv("CC", name)
    with pytest.raises(ToolchainError, match=f"compiles for {other}"):
        find_compiler(cache)


def test_a_file_that_cannot_be_started_is_reported(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = script(tmp_path / "cc", "")
    broken.write_bytes(b"\x7fELF but not really")
    monkeypatch.setenv("CC", str(broken))
    with pytest.raises(ToolchainError, match="cannot be started"):
        find_compiler(cache)


def test_a_known_compiler_is_not_run_again(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = find_compiler(cache)
    monkeypatch.setattr(cc, "predefined_macros", None)
    assert find_compiler(cache) == first


def test_a_replaced_compiler_has_another_identity(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = script(tmp_path / "mine", f'exec {real_gcc()} "$@"\n')
    monkeypatch.setenv("CC", str(mine))
    before = find_compiler(cache).identity
    script(mine, f'exec {real_gcc()}  "$@"\n')
    assert find_compiler(cache).identity != before
    monkeypatch.setenv("CC", f"{mine} -pipe")
    assert find_compiler(cache).identity != before


def test_a_compiler_that_vanished_still_gives_keys_but_does_not_compile(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = find_compiler(cache)
    no_compiler_anywhere(monkeypatch, tmp_path)
    remembered = find_compiler(Cache(tmp_path / "cache"))
    assert remembered.identity == known.identity
    with pytest.raises(ToolchainError, match="no C compiler can be used; tried cc"):
        compile_shared(remembered, ANSWER, (), tmp_path / "unit.so")


# -- compiling -------------------------------------------------------------------------------


def test_objects_and_programs(cache: Cache, tmp_path: Path) -> None:
    compiler = find_compiler(cache)
    compile_object(compiler, ANSWER, (), tmp_path / "unit.o")
    assert (tmp_path / "unit.o").read_bytes()[:4] in (b"\x7fELF", b"\xcf\xfa\xed\xfe")
    source = "#include <math.h>\nint main(int n, char **v) { return (int)fmaf(n, 41, n); }"
    compile_executable(compiler, source, (), tmp_path / "program")
    assert subprocess.run([tmp_path / "program"]).returncode == 42


def test_multiply_and_add_round_twice(cache: Cache, tmp_path: Path) -> None:
    """x*x - 1 with x = 1 + 2^-12 is 2^-11 exactly in two roundings, more when fused."""
    compiler = find_compiler(cache)
    source = f"{EXPORT} float f(float a, float b, float c) {{ return a * b + c; }}"
    for target in ("scalar", "avx2" if host_machine() == "x86_64" else "neon"):
        out = tmp_path / f"{target}.so"
        compile_shared(compiler, source, target_flags(target, compiler), out)
        f = ctypes.CDLL(str(out)).f
        f.argtypes, f.restype = [ctypes.c_float] * 3, ctypes.c_float
        x = 1 + 2.0**-12
        assert f(x, x, -1.0) == 2.0**-11


def test_programs_for_aarch64_run_under_emulation(cache: Cache, tmp_path: Path) -> None:
    runner = emulator("aarch64")
    if runner is None or (
        host_machine() != "aarch64" and not shutil.which("aarch64-linux-gnu-gcc")
    ):
        pytest.skip("needs aarch64-linux-gnu-gcc and qemu-aarch64")
    compiler = cross_compiler("arm64", cache)
    assert compiler.machine == "aarch64"
    source = """
        #include <arm_neon.h>
        int main(void) {
          const float32x4_t two = vdupq_n_f32(2.0f);
          return (int)vgetq_lane_f32(vfmaq_f32(two, two, vdupq_n_f32(20.0f)), 3);
        }
    """
    compile_executable(compiler, source, target_flags("neon", compiler), tmp_path / "program")
    assert subprocess.run([*runner, tmp_path / "program"]).returncode == 42


def test_no_cross_compiler_names_the_missing_program(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = "aarch64" if host_machine() == "x86_64" else "x86_64"
    no_compiler_anywhere(monkeypatch, tmp_path)
    with pytest.raises(ToolchainError, match=f"{other}-linux-gnu-gcc"):
        cross_compiler(other, cache)
    assert emulator(other) is None


def test_a_target_of_another_machine_is_refused() -> None:
    compiler = Compiler(("/bin/cc",), "gcc", "gcc 12", "x86_64", "cc", "id")
    with pytest.raises(ToolchainError, match=r"`neon` needs aarch64"):
        target_flags("neon", compiler)
    assert "-mavx512f" in target_flags("avx512", compiler)
    assert target_flags("scalar", compiler) == ()
    arm = Compiler(("/bin/zig", "cc"), "zig", "zig", "aarch64", "zig", "id")
    assert target_flags("neon", arm) == ("-mcpu=generic",)


def test_a_compiler_that_warns_and_succeeds_is_fine(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noisy = script(tmp_path / "cc", f'echo "warning: noisy" >&2\nexec {real_gcc()} "$@"\n')
    monkeypatch.setenv("CC", str(noisy))
    compile_shared(find_compiler(cache), ANSWER, (), tmp_path / "unit.so")
    assert answer_of(tmp_path / "unit.so") == 42


def test_a_failure_shows_the_last_lines_and_keeps_the_c_file(cache: Cache, tmp_path: Path) -> None:
    source = "int f(void) { return undeclared_name; }"
    out = tmp_path / "there" / "unit.so"
    out.parent.mkdir()
    with pytest.raises(ToolchainError) as caught:
        compile_shared(find_compiler(cache), source, (), out, keep=tmp_path / "kept")
    assert "undeclared_name" in caught.value.message
    assert "exit status 1" in caught.value.message
    (kept,) = (tmp_path / "kept").iterdir()
    assert str(kept) in caught.value.message
    assert kept.read_text() == source
    assert list(out.parent.iterdir()) == []


def test_a_flood_of_output_is_cut_to_its_end(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flood = script(
        tmp_path / "cc",
        f'case "$*" in *-dM*) exec {real_gcc()} "$@";; esac\n'
        "head -c 50000000 /dev/zero | tr '\\0' x\necho\nseq 1000\nexit 3\n",
    )
    monkeypatch.setenv("CC", str(flood))
    with pytest.raises(ToolchainError, match="exit status 3") as caught:
        compile_shared(find_compiler(cache), ANSWER, (), tmp_path / "unit.so", keep=tmp_path)
    assert "  1000\n" in caught.value.message
    assert "  980\n" not in caught.value.message


def test_success_without_a_file_is_a_failure(tmp_path: Path) -> None:
    compiler = Compiler((shutil.which("true") or "/bin/true",), "gcc", "", host_machine(), "", "")
    with pytest.raises(ToolchainError, match="wrote no file"):
        compile_shared(compiler, ANSWER, (), tmp_path / "unit.so", keep=tmp_path)


@pytest.mark.parametrize("flag", ["-ffast-math", "-Ofast", "-ffp-contract=fast", "-mrecip=all"])
def test_options_that_change_results_are_refused(tmp_path: Path, flag: str) -> None:
    compiler = Compiler(("/bin/cc",), "gcc", "", host_machine(), "", "")
    with pytest.raises(UsageError, match=flag):
        compile_shared(compiler, ANSWER, ("-mavx2", flag), tmp_path / "unit.so")


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "soon"])
def test_a_senseless_time_limit_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("LINNET_CC_TIMEOUT", text)
    with pytest.raises(UsageError, match=f"LINNET_CC_TIMEOUT is `{text}`"):
        cc.timeout_seconds()


# -- hanging and interrupting ----------------------------------------------------------------


def hanging_compiler(folder: Path) -> Path:
    """A compiler that answers questions, then starts a child and waits for it for ever."""
    pids = shlex.quote(str(folder / "pids"))
    return script(
        folder / "hanging-cc",
        f'case "$*" in *-dM*) exec {real_gcc()} "$@";; esac\n'
        f"sleep 1000 &\necho $$ $! > {pids}.new\nmv {pids}.new {pids}\nwait\n",
    )


def still_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def wait_until_gone(pids: list[int]) -> None:
    for _ in range(200):
        if not any(map(still_running, pids)):
            return
        time.sleep(0.02)
    raise AssertionError("the compiler or its child still runs")


def test_a_hang_ends_after_the_stated_time_with_all_its_processes(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", str(hanging_compiler(tmp_path)))
    compiler = find_compiler(cache)
    monkeypatch.setenv("LINNET_CC_TIMEOUT", "0.5")
    with pytest.raises(ToolchainError, match=r"within 0.5 seconds") as caught:
        compile_shared(compiler, ANSWER, (), tmp_path / "unit.so", keep=tmp_path / "kept")
    assert "LINNET_CC_TIMEOUT" in str(caught.value)
    wait_until_gone([int(word) for word in (tmp_path / "pids").read_text().split()])


def test_a_compiler_that_hangs_when_asked_what_it_is(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", str(script(tmp_path / "cc", "exec sleep 1000\n")))
    monkeypatch.setenv("LINNET_CC_TIMEOUT", "0.3")
    with pytest.raises(ToolchainError, match=r"did not finish within 0.3 seconds"):
        find_compiler(cache)


def test_an_interrupt_ends_the_compiler_and_leaves_nothing(tmp_path: Path) -> None:
    program = f"""
        from linnet.toolchain import cache, cc
        def build(folder):
            cc.compile_shared(cc.find_compiler(), {ANSWER!r}, (), folder / "unit.so")
        try:
            cache.default_cache().get_or_build("k", build)
        except KeyboardInterrupt:
            print("interrupted")
    """
    variables = {"CC": str(hanging_compiler(tmp_path)), "LINNET_CACHE": str(tmp_path / "cache")}
    variables |= {"PYTHONPATH": str(Path(cc.__file__).parents[2])}
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    for _ in range(500):
        if (tmp_path / "pids").exists():
            break
        time.sleep(0.02)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=20) == (b"interrupted\n", b"")
    assert time.monotonic() - start < 1.0
    wait_until_gone([int(word) for word in (tmp_path / "pids").read_text().split()])
    left = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert {path.parent.name for path in left} == {"records"}


def test_programs_are_found_as_the_standard_library_finds_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path / "b" / "tool", "")
    (tmp_path / "a" / "tool").mkdir(parents=True)  # a folder of that name comes first
    (tmp_path / "a" / "notes").write_text("not to be run")
    script(tmp_path / "here", "")
    monkeypatch.setenv("PATH", f"{tmp_path / 'a'}:{tmp_path / 'b'}::{tmp_path / 'gone'}")
    monkeypatch.chdir(tmp_path)
    for name in ("tool", "notes", "here", "./here", "./gone", str(tmp_path / "b" / "tool"), "x"):
        assert cc._which(name) == shutil.which(name), name
