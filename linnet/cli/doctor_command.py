"""`linnet doctor`: what this installation and this machine offer.

Each line is a fact or a lack; nothing that is missing stops it. Exits 1 if models cannot be
compiled here.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import click

from linnet.cli.options import HELP, common, json_option
from linnet.cli.terminal import Console, table
from linnet.errors import LinnetError

LIBRARIES = ("numpy", "safetensors", "tokenizers", "huggingface_hub", "lark", "jinja2", "click")


@click.command(context_settings=HELP, short_help="Say what this machine offers.")
@json_option
@common
@click.pass_obj
def doctor(console: Console, as_json: bool) -> None:
    """Say what this installation and this machine offer: versions, compiler, targets, threads,
    cache, models."""
    facts: dict[str, str] = {}
    sound = True
    for name, ask in QUESTIONS.items():
        try:
            facts[name] = ask()
        except LinnetError as error:
            facts[name] = f"none: {error}"
            sound = False
    if as_json:
        console.line(json.dumps({"sound": sound, **facts}, indent=2, ensure_ascii=False))
    else:
        for line in _lines(facts):
            console.line(line)
    if not sound:
        raise click.exceptions.Exit(1)


def _lines(facts: dict[str, str]) -> list[str]:
    rows = []
    for name, text in facts.items():
        first, *rest = text.splitlines() or [""]
        rows.append((name, first))
        rows += [("", line) for line in rest]
    return table(rows)


def versions() -> str:
    """One line: version, Python, target, compiler."""
    from linnet.driver import VERSION
    from linnet.toolchain.cc import find_compiler
    from linnet.toolchain.native import native_target

    try:
        compiler = find_compiler()
        machine = f"target {native_target(compiler)}, {compiler.version}"
    except LinnetError:
        machine = "no C compiler"
    return f"linnet {VERSION} (Python {platform.python_version()}, {machine})"


def _linnet() -> str:
    from linnet.driver import VERSION

    return f"{VERSION} in {Path(__file__).resolve().parents[1]}"


def _python() -> str:
    return f"{platform.python_version()} at {sys.executable or 'an unknown place'}"


def _libraries() -> str:
    return ", ".join(f"{name} {_library(name)}" for name in LIBRARIES)


def _library(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "is missing"


def _compiler() -> str:
    from linnet.toolchain.cc import find_compiler, require_usable

    compiler = find_compiler()
    require_usable(compiler)
    return f"{compiler.version}: {compiler.shown()}, found as {compiler.origin}"


def _native() -> str:
    from linnet.toolchain.native import native_target

    return native_target()


def _targets() -> str:
    """Every target, and how it would run here."""
    from linnet.targets.detect import TARGET_NAMES, host_machine, target_rule
    from linnet.toolchain.cc import emulator
    from linnet.toolchain.native import host_targets

    here = host_targets()
    words = []
    for name in TARGET_NAMES:
        machine = target_rule(name).machine
        if name in here:
            words.append(f"{name} runs here")
        elif machine not in (None, host_machine()) and emulator(machine or ""):
            words.append(f"{name} emulated{_cross_problem(machine or '')}")
        else:
            words.append(f"{name} does not")
    return ", ".join(words)


def _cross_problem(machine: str) -> str:
    from linnet.toolchain.cc import cross_compiler

    try:
        cross_compiler(machine)
    except LinnetError:
        return f" (but no compiler for {machine})"
    return ""


def _threads() -> str:
    from linnet.targets.detect import usable_threads

    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    count = usable_threads()
    why = "affinity" if count == allowed else "container quota"
    return f"{count} by {why} ({os.cpu_count()} CPUs, {allowed} allowed)"


def _cache() -> str:
    from linnet.toolchain.cache import VARIABLE, default_cache

    root = default_cache().root
    if root is None:
        return f"no folder of this user's own: a temporary one each time; set {VARIABLE}"
    problem = _cannot_write(root)
    return (
        f"{root}, writable"
        if problem is None
        else (f"{root} cannot be written ({problem}): compiled again each time; set {VARIABLE}")
    )


def _cannot_write(folder: Path) -> str | None:
    """Why no file can be made in `folder`, or in the nearest folder above that exists."""
    while not os.path.lexists(folder) and folder != folder.parent:
        folder = folder.parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            return None
    except OSError as error:
        return error.strerror or str(error)


def _models() -> str:
    from linnet.cli.nest_command import weights_place
    from linnet.nest import registry

    return ", ".join(f"{card.name} ({weights_place(card)})" for card in registry.readable())


QUESTIONS: dict[str, Callable[[], str]] = {
    "linnet": _linnet,
    "python": _python,
    "libraries": _libraries,
    "machine": lambda: f"{platform.system()} {platform.machine()}",
    "compiler": _compiler,
    "native target": _native,
    "targets": _targets,
    "threads": _threads,
    "cache": _cache,
    "models": _models,
}
