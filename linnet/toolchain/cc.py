"""Find a C compiler and run it.

In go C text, options and the place of the result; out come a shared library, an object file or
an executable. Every run has a time limit, its own process group, which is killed as a whole when
the limit is over or the user interrupts, and a private folder for its temporary files. A run is
judged by its exit status alone: some compilers warn on success.

What a compiler is (kind, version, architecture) is remembered in the cache under its path, size
and time stamp, so that a later start need not run it; if it has vanished by then, the last one
known still gives the cache keys, and only compiling fails. Which target to compile for is not
decided here.

    LINNET_CC           the compiler, with arguments if need be
    CC                  the same, by the usual name
    LINNET_CC_TIMEOUT   seconds that one run may take, 120 by default
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import math
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from linnet.errors import ToolchainError, UsageError
from linnet.targets.detect import host_machine, normal_machine, target_rule
from linnet.toolchain.cache import Cache, default_cache

BASE_FLAGS: tuple[str, ...] = (
    "-std=gnu11",
    "-O3",
    "-ffp-contract=off",  # a fused multiply-add is written where it is meant
    "-fno-math-errno",  # square roots become one instruction; no result changes
    "-fno-trapping-math",
    "-fwrapv",  # integers wrap, as the language says; without it their overflow is undefined
    "-fno-strict-aliasing",  # one arena holds buffers of several element types, in turn
    "-fPIC",
    "-fvisibility=hidden",
    "-pthread",
)

_DEFAULT_TIMEOUT = 120.0
_PROBE_TIMEOUT = 20.0
_WAYS_OUT = "install gcc or clang with your system's package manager, or: pip install ziglang"

# Any of these lets the compiler change results, or the processor's mode for the whole process.
_REFUSED_FLAGS = frozenset(
    (
        "-ffast-math",
        "-Ofast",
        "-funsafe-math-optimizations",
        "-fassociative-math",
        "-freciprocal-math",
        "-ffinite-math-only",
        "-fno-signed-zeros",
        "-fcx-limited-range",
        "-fsingle-precision-constant",
        "-ffp-contract=fast",
        "-ffp-contract=on",
        "-ffp-model=fast",
        "-ffp-model=aggressive",
        "-mrecip",
    )
)


@dataclass(frozen=True)
class Compiler:
    """A C compiler, ready to run, or the memory of one.

    command: the words that start it; the first is an absolute path.
    kind: `gcc`, `clang` or `zig`.
    version: what it calls itself, for people.
    machine: the architecture it compiles for, for example `x86_64`.
    origin: where it was found, for example `$CC` or `gcc`.
    identity: for cache keys; differs between any two compilers, costs no run of them.
    environment: variables it needs, beside those of this process.
    problem: why it cannot run now, or None. Compiling raises ToolchainError with this text.
    """

    command: tuple[str, ...]
    kind: str
    version: str
    machine: str
    origin: str
    identity: str
    environment: tuple[tuple[str, str], ...] = ()
    problem: str | None = None

    @property
    def is_cross(self) -> bool:
        """Whether its programs need another machine, or an emulator."""
        return self.machine != host_machine()

    def shown(self) -> str:
        """Return the command as one would type it."""
        return shlex.join(self.command)


# -- finding ---------------------------------------------------------------------------------


def find_compiler(cache: Cache | None = None) -> Compiler:
    """Return the compiler for this machine: $LINNET_CC, $CC, cc, gcc, clang, pip's ziglang.

    The two variables are a decision: if one is set and does not work, nothing else is tried. If
    no compiler can be used but one was known before, that one is returned with `problem` set.
    Raises ToolchainError, listing what was tried, if there never was one.
    """
    cache = cache or default_cache()
    tried: list[str] = []
    for origin, find in _native_candidates():
        found = _examine(origin, find, host_machine(), cache, tried)
        if found is not None:
            cache.write_record("compiler-last", _to_record(found))
            return found
    problem = "no C compiler can be used; tried " + "; ".join(tried)
    last = _from_record(cache.read_record("compiler-last"))
    if last is not None and last.machine == host_machine():
        return dataclasses.replace(last, problem=problem)
    raise ToolchainError(problem, help=_ways_out())


def cross_compiler(machine: str, cache: Cache | None = None) -> Compiler:
    """Return a compiler for `machine` (`aarch64`, `x86_64`): the native one where that fits,
    `<machine>-linux-gnu-gcc`, or pip's ziglang. Raises ToolchainError if there is none.
    """
    machine = normal_machine(machine)
    cache = cache or default_cache()
    if machine == host_machine():
        return find_compiler(cache)
    name = f"{machine}-linux-gnu-gcc"
    candidates: list[tuple[str, Callable[[], tuple[str, ...]]]] = [
        (name, partial(_on_path, name)),
        # musl: its programs link statically, so that an emulator needs no system of that machine
        ("pip's ziglang", lambda: (*_ziglang(), "-target", f"{machine}-linux-musl")),
    ]
    tried: list[str] = []
    for origin, find in candidates:
        found = _examine(origin, find, machine, cache, tried)
        if found is not None:
            return found
    raise ToolchainError(
        f"no C compiler for {machine} can be used; tried " + "; ".join(tried),
        help=f"install the package that holds `{name}`, or: pip install ziglang",
    )


def emulator(machine: str) -> tuple[str, ...] | None:
    """Return the words to put before a program for `machine`: none at all on that machine,
    user-mode emulation elsewhere. None if there is no emulator.
    """
    machine = normal_machine(machine)
    if machine == host_machine():
        return ()
    for name in (f"qemu-{machine}", f"qemu-{machine}-static"):
        path = _which(name)
        if path is not None:
            return (os.path.abspath(path),)
    return None


class _NotFoundError(Exception):
    """A candidate does not exist; the text says why."""


def _native_candidates() -> Iterator[tuple[str, Callable[[], tuple[str, ...]]]]:
    for variable in ("LINNET_CC", "CC"):
        value = os.environ.get(variable, "").strip()
        if value:
            yield f"${variable}", partial(_from_variable, value)
            return
    for name in ("cc", "gcc", "clang"):
        yield name, partial(_on_path, name)
    yield "pip's ziglang", _ziglang


def _which(name: str) -> str | None:
    """The program of that name, or at that path; None if there is none that may be run. As
    `shutil.which`, which brings libraries for compression with it."""
    folders = ("",) if os.path.dirname(name) else os.get_exec_path()
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def _on_path(name: str) -> tuple[str, ...]:
    path = _which(name)
    if path is None:
        raise _NotFoundError("not found")
    return (os.path.abspath(path),)


def _from_variable(value: str) -> tuple[str, ...]:
    """Split what a variable holds into words. An unquoted path with spaces is understood too."""
    with contextlib.suppress(_NotFoundError):
        return _on_path(value)
    words = value.split(" ")
    for end in range(len(words) - 1, 0, -1):
        program = " ".join(words[:end])
        if os.path.isabs(program) and _which(program) is not None:
            return (program, *" ".join(words[end:]).split())
    try:
        first, *rest = shlex.split(value)
    except ValueError as error:
        raise _NotFoundError(f"`{value}` cannot be split into words: {error}") from None
    path = _which(first)
    if path is None:
        raise _NotFoundError(f"`{first}` not found")
    return (os.path.abspath(path), *rest)


def _ziglang() -> tuple[str, ...]:
    import importlib.util

    spec = importlib.util.find_spec("ziglang")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        program = os.path.join(folder, "zig")
        if os.access(program, os.X_OK):
            return (program, "cc")
    raise _NotFoundError("not installed")


def _ways_out() -> str:
    for variable in ("LINNET_CC", "CC"):
        if os.environ.get(variable, "").strip():
            return f"correct or unset {variable}; if there is no other compiler, {_WAYS_OUT}"
    return f"{_WAYS_OUT}; or name one in LINNET_CC"


def _examine(
    origin: str,
    find: Callable[[], tuple[str, ...]],
    machine: str,
    cache: Cache,
    tried: list[str],
) -> Compiler | None:
    """Return the candidate if it works and compiles for `machine`; else add to `tried` why not."""
    try:
        command = find()
        compiler = _identify(origin, command, cache)
    except _NotFoundError as problem:
        tried.append(f"{origin} ({problem})")
        return None
    except ToolchainError as error:
        tried.append(f"{origin} ({error.message})")
        return None
    if compiler.machine != machine:
        tried.append(f"{origin} (`{compiler.shown()}` compiles for {compiler.machine})")
        return None
    return compiler


def _identify(origin: str, command: tuple[str, ...], cache: Cache) -> Compiler:
    """Say what the compiler is: from the cache if it is the file seen before, else by asking."""
    fingerprint = _fingerprint(command)
    record = f"compiler-{fingerprint[:32]}"
    known = _from_record(cache.read_record(record))
    if known is not None and known.command == command:
        return dataclasses.replace(known, origin=origin, environment=_environment(command, cache))
    bare = Compiler(command, "", "", "", origin, "", _environment(command, cache))
    macros = predefined_macros(bare)
    if "__FAST_MATH__" in macros:
        raise ToolchainError(f"`{bare.shown()}` turns on -ffast-math, which changes results")
    kind = "gcc" if "__clang__" not in macros else "clang"
    if command[1:2] == ("cc",) and Path(command[0]).name.startswith("zig"):
        kind = "zig"
    version = f"{kind} {macros.get('__VERSION__', '').strip(chr(34))}".strip()
    machine = _machine_of(macros)
    compiler = dataclasses.replace(
        bare,
        kind=kind,
        version=version,
        machine=machine,
        identity=f"{version}, {machine}, {fingerprint[:16]}",
    )
    cache.write_record(record, _to_record(compiler))
    return compiler


def _machine_of(macros: Mapping[str, str]) -> str:
    for machine in ("x86_64", "aarch64"):
        if f"__{machine}__" in macros:
            return machine
    return "another architecture" if "__riscv" not in macros else f"riscv{macros['__riscv_xlen']}"


def _fingerprint(command: tuple[str, ...]) -> str:
    """Return a digest of the command and of the files it names: real path, size, time stamp."""
    digest = hashlib.sha256()
    for position, word in enumerate(command):
        digest.update(os.fsencode(word) + b"\0")
        # Besides the program itself: `ccache gcc` names another, `@file` holds options.
        path = word.removeprefix("@") if position else word
        with contextlib.suppress(OSError, ValueError):
            real = os.path.realpath(_which(path) or path)
            status = os.stat(real)
            facts = f"{status.st_size} {status.st_mtime_ns}"
            digest.update(os.fsencode(real) + b"\0" + facts.encode() + b"\0")
    return digest.hexdigest()


def _environment(command: tuple[str, ...], cache: Cache) -> tuple[tuple[str, str], ...]:
    """Keep zig's own cache (66 MB) beside ours, not in the working folder or in $HOME."""
    if Path(command[0]).name != "zig":
        return ()
    import tempfile

    place = Path(tempfile.gettempdir()) / f"linnet-zig-{os.getuid()}"
    with contextlib.suppress(OSError):
        place = cache.folder("zig")
    variables = ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR")
    return tuple((name, str(place)) for name in variables if name not in os.environ)


_RECORDED = ("kind", "version", "machine", "origin", "identity")


def _to_record(compiler: Compiler) -> dict[str, object]:
    facts: dict[str, object] = {name: getattr(compiler, name) for name in _RECORDED}
    return {**facts, "command": list(compiler.command)}


def _from_record(record: Mapping[str, object] | None) -> Compiler | None:
    if record is None:
        return None
    command = record.get("command")
    facts = {name: record.get(name) for name in _RECORDED}
    if not isinstance(command, list) or not all(isinstance(v, str) for v in facts.values()):
        return None
    kind, version, machine, origin, identity = (str(value) for value in facts.values())
    return Compiler(tuple(map(str, command)), kind, version, machine, origin, identity)


def require_usable(compiler: Compiler) -> None:
    """Raise ToolchainError if the compiler is only remembered and cannot run now."""
    if compiler.problem is not None:
        raise ToolchainError(compiler.problem, help=_ways_out())


# -- asking ----------------------------------------------------------------------------------


def predefined_macros(compiler: Compiler, flags: Iterable[str] = ()) -> dict[str, str]:
    """Return the macros that the compiler predefines under `flags`, name to value.

    Raises ToolchainError if the compiler cannot be run or prints no macros.
    """
    from linnet.toolchain.running import TimedOutError, ending, last_words, run, scratch_folder

    words = (*compiler.command, *flags, "-dM", "-E", "-x", "c", "-")
    limit = min(_PROBE_TIMEOUT, timeout_seconds())
    with scratch_folder() as folder:
        try:
            status, output = run(words, folder, dict(compiler.environment), limit)
        except TimedOutError:
            raise ToolchainError(
                f"`{shlex.join(words)}` did not finish within {limit:g} seconds"
            ) from None
        text = output.read_text(encoding="utf-8", errors="replace")
    if status != 0:
        raise ToolchainError(f"`{shlex.join(words)}` {ending(status)}{last_words(text)}")
    lines = (line.split(" ", 2) for line in text.splitlines() if line.startswith("#define "))
    macros = {line[1]: line[2] if len(line) > 2 else "" for line in lines}
    if "__VERSION__" not in macros:
        raise ToolchainError(f"`{compiler.shown()}` does not behave like a C compiler")
    return macros


def target_flags(target: str, compiler: Compiler) -> tuple[str, ...]:
    """Return the options that make `compiler` emit the instructions of `target`.

    Raises ToolchainError if it compiles for another architecture.
    """
    rule = target_rule(target)
    if rule.machine not in (None, compiler.machine):
        raise ToolchainError(
            f"`{compiler.shown()}` compiles for {compiler.machine}, "
            f"and the target `{target}` needs {rule.machine}"
        )
    return rule.zig_cflags if compiler.kind == "zig" else rule.cflags


def timeout_seconds() -> float:
    """Return the time limit of one compiler run. Raises UsageError if it is set to nonsense."""
    text = os.environ.get("LINNET_CC_TIMEOUT", "").strip()
    if not text:
        return _DEFAULT_TIMEOUT
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not (math.isfinite(seconds) and seconds > 0):
        raise UsageError(
            f"LINNET_CC_TIMEOUT is `{text}`, which is not a number of seconds above 0",
            help="set it to a number such as 120, or unset it",
        )
    return seconds


# -- compiling -------------------------------------------------------------------------------


def compile_shared(
    compiler: Compiler, source: str, flags: Iterable[str], out: Path, *, keep: Path | None = None
) -> None:
    """Compile C text to the shared library `out`, which appears whole or not at all.

    flags: beside `BASE_FLAGS`, usually `target_flags(...)`.
    keep: folder for the C file of a failed run; the system's temporary folder by default.
    Raises ToolchainError if there is no compiler, if it fails or takes too long; its message
    holds the last lines of the compiler and the path of the kept C file.
    """
    # A name that nothing defines fails here, not when the library is loaded.
    whole = ("-Wl,-z,defs",) if sys.platform.startswith("linux") else ()
    _compile(compiler, source, flags, out, ("-shared", *whole), ("-lm",), keep)


def compile_object(
    compiler: Compiler, source: str, flags: Iterable[str], out: Path, *, keep: Path | None = None
) -> None:
    """Compile C text to the object file `out`; otherwise as `compile_shared`."""
    _compile(compiler, source, flags, out, ("-c",), (), keep)


def compile_executable(
    compiler: Compiler, source: str, flags: Iterable[str], out: Path, *, keep: Path | None = None
) -> None:
    """Compile C text with a `main` to the program `out`; otherwise as `compile_shared`.

    For another machine the program is linked statically: an emulator needs nothing else then.
    """
    static = ("-static",) if compiler.is_cross else ()
    _compile(compiler, source, flags, out, static, ("-lm",), keep)


def _compile(
    compiler: Compiler,
    source: str,
    flags: Iterable[str],
    out: Path,
    before: tuple[str, ...],
    after: tuple[str, ...],
    keep: Path | None,
) -> None:
    from linnet.toolchain.running import (
        TimedOutError,
        ending,
        last_words,
        run,
        scratch_folder,
        tail,
    )

    require_usable(compiler)
    flags = tuple(flags)
    _refuse_unsafe(flags)
    limit = timeout_seconds()
    # Work beside the result, so that the last step is a rename, under plain relative names, so
    # that neither spaces nor alphabets in paths matter, nor do paths get into the result.
    with scratch_folder(out.parent) as folder:
        (folder / "unit.c").write_text(source, encoding="utf-8")
        words = (
            *compiler.command,
            *BASE_FLAGS,
            *(("-fno-sanitize=undefined",) if compiler.kind == "zig" else ()),
            *flags,
            *before,
            "-o",
            "result",
            "unit.c",
            *after,
        )
        try:
            status, output = run(words, folder, dict(compiler.environment), limit)
            if status == 0 and (folder / "result").is_file():
                os.replace(folder / "result", out)
                return
            how = ending(status) if status else "reported success but wrote no file"
            said = last_words(tail(output))
        except TimedOutError:
            how = f"did not finish within {limit:g} seconds and was stopped"
            said = ""
        where = _keep(source, keep)
    raise ToolchainError(
        f"the C compiler `{compiler.shown()}` {how}{said}\nthe C file is kept: {where}",
        help="set LINNET_CC to another compiler, or LINNET_CC_TIMEOUT to more seconds"
        if not said
        else None,
    )


def _refuse_unsafe(flags: Iterable[str]) -> None:
    for flag in flags:
        if flag in _REFUSED_FLAGS or flag.startswith("-mrecip="):
            raise UsageError(
                f"the compiler option `{flag}` changes results and is never used",
                help=f"remove `{flag}` from the options",
            )


def _keep(source: str, folder: Path | None) -> Path | str:
    """Write the C text of a failed run to a file named after its content; return the path."""
    import tempfile

    try:
        if folder is None:
            folder = Path(tempfile.gettempdir())
        folder.mkdir(parents=True, exist_ok=True)
        data = source.encode("utf-8")
        kept = folder / f"linnet-failed-{hashlib.sha256(data).hexdigest()[:16]}.c"
        handle, temporary = tempfile.mkstemp(prefix=".linnet-", suffix=".c", dir=folder)
        with open(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, kept)
    except OSError as error:
        return f"nowhere ({error.strerror})"
    return kept
