"""Runs the stages in order; the only module that knows them all.

    source file ─► check ─► lower ─► plan ─► emit ─► compile ─► load ─► bind

`generate` stops at C text. `build` gives a compiled unit from the cache, or makes it. `bind`
turns that into a `Program`. A build that is in the cache imports no stage of the compiler.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from linnet import resources
from linnet.artifact import Artifact, Parameter
from linnet.errors import SourceError, UsageError

if TYPE_CHECKING:
    from linnet.check import CheckResult
    from linnet.check.typed import BlockDecl
    from linnet.check.typed import Program as TypedProgram
    from linnet.ir.node import Graph, Manifest
    from linnet.plan.types import UnitPlan
    from linnet.runtime.bind import Binding
    from linnet.runtime.machine import Machine
    from linnet.runtime.program import Program
    from linnet.runtime.source import WeightSource
    from linnet.toolchain.cache import Entry as CacheEntry
    from linnet.toolchain.cc import Compiler

POLICIES = ("equivalent", "exact", "fast")
"""Numerics policies. `fast` may use lower precision where a kernel offers it; no kernel does
so far, so it gives the results of `equivalent`."""

Constant = int | float | bool | str

VERSION = "0.1.0"


@dataclass(frozen=True)
class Request:
    """What is to be compiled. `entries` empty: all of them. `absent`: optional parameters the
    checkpoint does not have. `stored`: parameters declared f32 that it holds in bf16 or f16.
    `bind`: values for generics of the entries (`S=8`). `probes`: what the calls inside an entry
    give becomes further results of it (see `ir.node.Probe`). `constants`: values for public
    constants of the source file; an enum's by the name of the variant."""

    source: Path
    root: str | None = None
    generics: Mapping[str, int | str] = field(default_factory=dict)
    entries: tuple[str, ...] = ()
    target: str = "native"
    numerics: str = "equivalent"
    absent: frozenset[str] = frozenset()
    stored: Mapping[str, str] = field(default_factory=dict)
    bind: Mapping[str, int] = field(default_factory=dict)
    name: str | None = None
    probes: bool = False
    constants: Mapping[str, Constant] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.numerics not in POLICIES:
            raise UsageError(
                f"unknown numerics policy {self.numerics!r}; there are {', '.join(POLICIES)}"
            )

    @property
    def title(self) -> str:
        return self.name or self.source.stem


@dataclass(frozen=True)
class Built:
    """A compiled unit: what it says about itself, and where it lies in the cache."""

    artifact: Artifact
    entry: CacheEntry
    runner: tuple[str, ...] = ()  # words before an emulated program


UNIT_LIBRARY, UNIT_PROGRAM = "unit.so", "unit"


# --- front end -----------------------------------------------------------------------------


def check(source: Path, constants: Mapping[str, Constant] | None = None) -> CheckResult:
    """Parse and check a file, with other values for `constants`. Raises SourceError carrying the
    diagnostics if there are errors, ConstantError for a constant that cannot have its value."""
    from linnet.check import check_file

    if not source.is_file():
        raise UsageError(f"no such file: {source}")
    result = check_file(source, constants=constants)
    if result.program is None:
        raise SourceError(_rendered(result), tuple(result.problems))
    return result


def _rendered(result: CheckResult) -> str:
    from linnet.diag.render import render

    return "\n".join(render(d) for d in result.problems if d.is_error)


def root_block(program: TypedProgram, name: str | None) -> BlockDecl:
    """The root block: the one named, or the only one with entries."""
    from linnet.check import root_of

    return root_of(program, name)


def manifest(request: Request, most: int | None = None) -> tuple[Parameter, ...]:
    """The parameters a checkpoint must or may hold, with their sizes. Remembered in the cache,
    so that a warm start need not run the front end. Raises ShapeError when there would be more
    members than `most`: sizes from a damaged file may ask for more than there is time for."""
    from linnet.toolchain.cache import default_cache

    cache = default_cache()
    name = _front_record(request)
    record = cache.read_record(name)
    if record is not None and _files_unchanged(record.get("files")):
        stored, members = record.get("manifest"), record.get("members")
        # When there are too many, it is for the front end to say so, as at the first time.
        few = isinstance(members, int) and (most is None or members <= most)
        if isinstance(stored, list) and few:
            return tuple(_parameter(item) for item in stored)
    result = check(request.source, request.constants)
    assert result.program is not None
    whole = _manifest(request, result.program, most)
    found = parameters(whole)
    cache.write_record(
        name,
        {
            "files": {str(path): _file_digest(path) for path in source_files(result)},
            "manifest": [dataclasses.asdict(p) for p in found],
            "members": len(whole.entries),
        },
    )
    return found


def _front_record(request: Request) -> str:
    """The name under which the cache keeps what the front end found."""
    from linnet.toolchain.cache import make_key

    key = make_key(
        version=_own_digest(),
        source=str(request.source.resolve()),
        root=request.root,
        generics=repr(sorted(request.generics.items())),
        constants=repr(sorted(request.constants.items())),
    )
    return f"front-{key[:32]}"


def _parameter(item: dict[str, object]) -> Parameter:
    dims = item["dims"]
    assert isinstance(dims, list)
    return Parameter(
        str(item["path"]),
        str(item["dtype"]),
        tuple(dims),
        bool(item["optional"]),
        str(item["group"]),
    )


def _manifest(request: Request, program: TypedProgram, most: int | None = None) -> Manifest:
    from linnet.lower import manifest as lower_manifest

    return lower_manifest(program, root_block(program, request.root), request.generics, most)


def parameters(found: Manifest) -> tuple[Parameter, ...]:
    """The params and buffers of a manifest as the artifact keeps them."""
    return tuple(
        Parameter(e.path, e.type.dtype, tuple(d.value for d in e.type.dims), e.optional, e.group)
        for e in found.weights
    )


def source_files(result: CheckResult) -> list[Path]:
    """Every file that a checked program was read from."""
    return sorted({Path(s.path).resolve() for s in result.sources.values() if s.path})


def lower(request: Request, program: TypedProgram) -> list[Graph]:
    """The graphs of the requested entries; `program` was checked with the request's constants."""
    from linnet.lower import lower_entry

    assert program.given == dict(request.constants)
    root = root_block(program, request.root)
    known = [entry.name for entry in root.entries]
    wanted = request.entries or tuple(known)
    for name in wanted:
        if name not in known:
            raise UsageError(f"`{root.name}` has no entry `{name}`; it has {', '.join(known)}")
    sizes = {name: {g.name for g in root.functions[name].generics} for name in wanted}
    for size in request.bind:
        if not any(size in own for own in sizes.values()):
            have = ", ".join(sorted(set().union(*sizes.values()))) or "none"
            raise UsageError(f"no entry has a generic `{size}`; there are {have}")
    return [
        lower_entry(
            program,
            root,
            name,
            request.generics,
            request.absent,
            _own(request, own),
            probes=request.probes,
        )
        for name, own in sizes.items()
    ]


def _own(request: Request, names: Set[str]) -> dict[str, int]:
    """The bound sizes that an entry with these generics has; entries may differ in theirs."""
    return {name: value for name, value in request.bind.items() if name in names}


# --- back end ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Generated:
    """C text with its description. `plan` is what both were made from."""

    artifact: Artifact
    c: str
    plan: UnitPlan


def generate(request: Request) -> Generated:
    """Everything up to the C text; needs no compiler unless the target is `native`."""
    from linnet.emit.describe import describe
    from linnet.emit.unit import emit_unit
    from linnet.plan.build import plan_unit
    from linnet.plan.explain import explain
    from linnet.targets.target import load_target

    result = check(request.source, request.constants)
    assert result.program is not None
    graphs = lower(request, result.program)
    found = _manifest(request, result.program)
    plan = plan_unit(request.title, graphs, request.numerics, request.stored)
    target = load_target(resolve_target(request.target))
    artifact = describe(
        plan,
        graphs,
        target=target.name,
        numerics=request.numerics,
        generics=bound_generics(request, result.program),
        constants=request.constants,
        manifest=parameters(found),
        explain=explain(plan, target.name, request.numerics),
    )
    return Generated(artifact, emit_unit(plan, target), plan)


def bound_generics(request: Request, program: TypedProgram) -> dict[str, int | str]:
    """The root's generics with their defaults filled in."""
    from linnet.lower import bound_generics as lower_generics

    return lower_generics(root_block(program, request.root), request.generics)


def resolve_target(name: str) -> str:
    """`native` as the best target of this machine; others must exist."""
    from linnet.toolchain.native import native_target

    if name == "native":
        return native_target()
    from linnet.targets.target import target_names

    if name not in target_names():
        known = ", ".join(("native", *target_names()))
        raise UsageError(f"unknown target {name!r}; there are {known}")
    return name


def build(request: Request) -> Built:
    """The compiled unit, from the cache if it is there. Raises SourceError, UsageError,
    ToolchainError or CacheError."""
    from linnet.toolchain.cache import default_cache
    from linnet.toolchain.cc import compile_executable, compile_shared, target_flags

    cache = default_cache()
    request = dataclasses.replace(request, target=resolve_target(request.target))
    compiler, runner = _toolchain(request.target)
    flags = target_flags(request.target, compiler)
    files = _front_digests(request)

    def make(folder: Path) -> None:
        import logging

        said = "compiling %s for %s, this first time only"
        logging.getLogger(__name__).info(said, request.title, request.target)
        generated = generate(request)
        (folder / "unit.c").write_text(generated.c, encoding="utf-8")
        if runner:
            from linnet.emit.remote import remote_program

            program = remote_program(generated.c, generated.artifact)
            compile_executable(compiler, program, flags, folder / UNIT_PROGRAM)
        else:
            compile_shared(compiler, generated.c, flags, folder / UNIT_LIBRARY)
        (folder / "artifact.json").write_text(generated.artifact.to_json(), encoding="utf-8")

    key = _unit_key(request, files, compiler.identity, flags)
    entry = cache.get_or_build(key, make)
    artifact = Artifact.from_json(entry.path("artifact.json").read_text(encoding="utf-8"))
    return Built(artifact, entry, runner)


def _toolchain(target: str) -> tuple[Compiler, tuple[str, ...]]:
    """The compiler for a target, and the words that start its programs when this machine can
    only emulate them (none when it runs them itself)."""
    from linnet.targets.detect import host_machine, target_rule
    from linnet.toolchain.cc import cross_compiler, emulator, find_compiler
    from linnet.toolchain.native import host_targets

    machine = target_rule(target).machine
    if machine in (None, host_machine()):
        compiler = find_compiler()
        if target in host_targets(compiler):
            return compiler, ()
    elif runner := emulator(machine):
        return cross_compiler(machine), runner
    raise UsageError(
        f"this machine can neither run nor emulate code for the target `{target}`",
        help="choose another target, or install user-mode emulation (qemu-user); "
        "`linnet compile --emit c` needs neither",
    )


def _front_digests(request: Request) -> tuple[str, ...]:
    """Digests of every file of the source; learnt by `manifest`, which also proves it checks."""
    from linnet.toolchain.cache import default_cache

    manifest(request)
    record = default_cache().read_record(_front_record(request))
    if record is not None and isinstance(files := record.get("files"), dict):
        return tuple(f"{path}:{digest}" for path, digest in sorted(files.items()))
    result = check(request.source, request.constants)  # the cache keeps nothing: read again
    return tuple(f"{path}:{_file_digest(path)}" for path in source_files(result))


def _unit_key(request: Request, files: tuple[str, ...], compiler: str, flags: Iterable[str]) -> str:
    from linnet.toolchain.cache import make_key

    return make_key(
        version=_own_digest(),
        files=files,
        name=request.title,
        root=request.root,
        generics=repr(sorted(request.generics.items())),
        constants=repr(sorted(request.constants.items())),
        entries=request.entries,
        target=request.target,
        numerics=request.numerics,
        absent=tuple(sorted(request.absent)),
        stored=repr(sorted(request.stored.items())),
        bind=repr(sorted(request.bind.items())),
        probes=request.probes,
        compiler=compiler,
        flags=tuple(flags),
    )


def _files_unchanged(files: object) -> bool:
    if not isinstance(files, dict) or not files:
        return False
    try:
        return all(_file_digest(Path(path)) == digest for path, digest in files.items())
    except OSError:
        return False


def _file_digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@functools.cache
def _own_digest() -> str:
    """Changes whenever this installation does: the version, and each file's name, size and time."""
    digest = hashlib.sha256(VERSION.encode())
    for folder in (Path(__file__).parent, resources.folder("codegen"), resources.folder("stdlib")):
        for fact in _file_facts(str(folder), "", leave=("cli", "nest", "bench", "_data")):
            digest.update(fact.encode())
    return digest.hexdigest()


_OWN_SUFFIXES = (".py", ".lark", ".j2", ".c", ".h", ".toml", ".linnet")


def _file_facts(folder: str, within: str, leave: Collection[str] = ()) -> Iterator[str]:
    """The name, size and time of each file that has a say in what is compiled, in a fixed order;
    without the folders `leave`. Done at each start, and several times as fast as by `Path`."""
    with os.scandir(folder) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        name = f"{within}/{entry.name}"
        if entry.name.endswith(_OWN_SUFFIXES):
            stat = entry.stat()
            yield f"{name} {stat.st_size} {stat.st_mtime_ns}\n"
        elif entry.name not in leave and entry.is_dir():
            yield from _file_facts(entry.path, name)


# --- running -------------------------------------------------------------------------------


def load(
    request: Request,
    source: WeightSource,
    names: Mapping[str, str],
    *,
    where: str,
    threads: int | None = None,
    strict: bool = False,
    spare: Set[str] = frozenset(),
) -> Program:
    """Compile (or find) the unit for what `source` holds, and bind it. `names` maps parameter
    paths to tensor names; `where` names the source in messages; `spare` are optional parameters
    to leave out even where it has them."""
    from linnet.runtime import moments
    from linnet.runtime.bind import bind
    from linnet.runtime.layout import Layout

    workers = checked_threads(threads)
    found = manifest(request)
    binding = bind(found, source.tensors, names, where, spare)
    halves = stored_halves(found, binding, source)
    built = build(dataclasses.replace(request, absent=binding.absent, stored=halves))
    moments.passed("compiled code, found and checked")
    place = machine(built, workers)
    moments.passed("library and threads")
    try:
        layout = Layout(built.artifact, place, source, binding)
        try:
            # Brings numpy in, which takes about as long as the packing that goes on meanwhile.
            from linnet.runtime.program import Program

            moments.passed("numpy")
            return Program(built.artifact, place, source, binding, strict=strict, layout=layout)
        except BaseException:
            layout.stop()
            raise
    except BaseException:
        place.close()
        raise


def stored_halves(
    found: Iterable[Parameter], binding: Binding, source: WeightSource
) -> dict[str, str]:
    """The parameters declared f32 that a source holds in a half float, with its dtype."""
    halves = {}
    for parameter in found:
        if parameter.dtype == "f32" and parameter.path not in binding.absent:
            dtype = source.tensors[binding.names[parameter.path]].dtype
            if dtype in ("bf16", "f16"):
                halves[parameter.path] = dtype
    return halves


def machine(built: Built, threads: int | None = None) -> Machine:
    """The place where a unit runs: this process, or an emulated one.

    More threads than CPUs could only wait for each other, and results do not depend on their
    number, so there are never more."""
    from linnet.runtime.machine import LocalMachine
    from linnet.targets.detect import allowed_cpus, usable_threads
    from linnet.toolchain.load import load_entry

    count = min(threads or usable_threads(), allowed_cpus())
    if not built.runner:
        return LocalMachine(load_entry(built.entry, UNIT_LIBRARY), count)
    from linnet.runtime.emulated import EmulatedMachine

    command = (*built.runner, str(built.entry.path(UNIT_PROGRAM)))
    entries = [entry.symbol for entry in built.artifact.entries]
    return EmulatedMachine(command, entries, built.artifact.packs, count)


def checked_threads(threads: int | None) -> int | None:
    """A thread count from a caller. Raises UsageError unless it is None or at least 1."""
    if threads is None:
        return None
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise UsageError(f"threads must be a number from 1 on, not {threads!r}")
    return threads
