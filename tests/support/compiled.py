"""Run a lowered graph through the whole back end, for comparison with the interpreter."""

from __future__ import annotations

import ctypes
import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from linnet.artifact import Artifact, Parameter
from linnet.emit.describe import describe
from linnet.emit.remote import remote_program
from linnet.emit.unit import emit_unit
from linnet.ir.node import Graph, Named, toposort
from linnet.ir.ops import Op
from linnet.plan.build import plan_unit
from linnet.runtime.bind import bind
from linnet.runtime.emulated import EmulatedMachine
from linnet.runtime.machine import LocalMachine, Machine
from linnet.runtime.program import Arrays, Program
from linnet.targets.target import load_target
from linnet.toolchain.cc import (
    compile_executable,
    compile_shared,
    cross_compiler,
    emulator,
    find_compiler,
    target_flags,
)

_FOLDER = Path(tempfile.mkdtemp(prefix="linnet-tests-"))


def generate(
    graphs: Sequence[Graph], target: str, policy: str = "equivalent"
) -> tuple[Artifact, str]:
    """C text and artifact of a unit made of graphs; the manifest is read off their leaves."""
    unit = plan_unit("unit", list(graphs), policy)
    leaves = {
        node.attrs.name: node
        for graph in graphs
        for node in toposort(graph.outputs())
        if node.op is Op.PARAM and isinstance(node.attrs, Named)
    }
    manifest = tuple(
        Parameter(path, n.type.dtype, tuple(d.value for d in n.type.dims), False, "")
        for path, n in leaves.items()
    )
    artifact = describe(
        unit, graphs, target=target, numerics=policy, generics={}, manifest=manifest, explain=""
    )
    return artifact, emit_unit(unit, load_target(target))


def compiled(
    graphs: Sequence[Graph],
    params: Mapping[str, Any],
    target: str,
    *,
    policy: str = "equivalent",
    threads: int = 2,
    flags: tuple[str, ...] = (),
) -> Program:
    """A program of `graphs` over `params` (by path), on this machine or emulated. `flags` are
    more for the compiler, such as `-O0` where there is much to compile and little to run."""
    artifact, c = generate(graphs, target, policy)
    source = Arrays(params, frozenset(p.path for p in artifact.manifest if p.dtype == "bf16"))
    binding = bind(artifact.manifest, source.tensors, {}, "the test")
    return Program(artifact, _machine(artifact, c, target, threads, flags), source, binding)


def _machine(
    artifact: Artifact, c: str, target: str, threads: int, flags: tuple[str, ...]
) -> Machine:
    name = hashlib.sha256(" ".join((target, *flags, c)).encode()).hexdigest()[:24]
    if target == "neon" and emulator("aarch64") != ():
        compiler = cross_compiler("aarch64")
        program = _FOLDER / name
        text = remote_program(c, artifact)
        if not program.exists():
            compile_executable(compiler, text, (*target_flags(target, compiler), *flags), program)
        runner = emulator("aarch64")
        assert runner is not None
        entries = [entry.symbol for entry in artifact.entries]
        return EmulatedMachine((*runner, str(program)), entries, artifact.packs, threads)
    compiler = find_compiler()
    library = _FOLDER / f"{name}.so"
    if not library.exists():
        compile_shared(compiler, c, (*target_flags(target, compiler), *flags), library)
    return LocalMachine(ctypes.CDLL(str(library)), threads)
