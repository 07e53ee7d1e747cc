"""`linnet compile`: C text, an object file or a library from a model's source.

C goes to stdout, or with `-o` to a file as the rest does. Without any of this the unit is
compiled into the cache, where the next start finds it.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from linnet.cli.options import HELP, assignments, common, generics_options, target_options
from linnet.cli.terminal import Console

if TYPE_CHECKING:
    from linnet.driver import Request

SUFFIXES = {".c": "c", ".o": "obj", ".so": "so"}


@click.command(context_settings=HELP, short_help="Compile a model to C or to a library.")
@click.argument("model", metavar="MODEL_OR_FILE")
@generics_options
@click.option("--checkpoint", metavar="DIR", help="Take the generics from its config.json.")
@target_options
@click.option("--emit", type=click.Choice(["c", "obj", "so"]), help="What to make.")
@click.option(
    "-o",
    "--output",
    "out",
    metavar="FILE",
    help="Where to write it; - is stdout. The ending tells what to make.",
)
@common
@click.pass_obj
def compile(
    console: Console,
    model: str,
    entries: tuple[str, ...],
    bind: tuple[tuple[str, int], ...],
    generics: tuple[tuple[str, int | str], ...],
    constants: tuple[tuple[str, Any], ...],
    root: str | None,
    checkpoint: str | None,
    target: str,
    numerics: str,
    emit: str | None,
    out: str | None,
) -> None:
    """Compile MODEL_OR_FILE: a name of the zoo, a folder with a card, a checkpoint, or a
    .linnet file.

    With --emit c and no -o the C text is printed. With neither, the library is made in the
    cache, and its path there is printed.
    """
    from linnet.cli.subject import find

    kind = _kind(emit, out)
    subject = find(model)
    request = dataclasses.replace(
        subject.request(
            assignments(generics, "--generic"),
            constants=assignments(constants, "--constant"),
            root=root,
            checkpoint=checkpoint,
        ),
        entries=entries,
        bind=assignments(bind, "--bind"),
        target=target,
        numerics=numerics,
    )
    if kind is None:
        _into_cache(console, request)
    elif kind == "c":
        _write_c(console, request, out)
    else:
        suffix = next(suffix for suffix, name in SUFFIXES.items() if name == kind)
        _write_binary(console, request, kind, Path(out or subject.name + suffix))


def _kind(emit: str | None, out: str | None) -> str | None:
    """What to make; None is a library in the cache."""
    if emit is None and out is not None:
        emit = "c" if out == "-" else SUFFIXES.get(Path(out).suffix)
        if emit is None:
            raise click.UsageError(f"-o {out}: the name must end in .c, .o or .so, or give --emit")
    if out == "-" and emit != "c":
        raise click.UsageError("only C can be written to stdout")
    return emit


def _write_c(console: Console, request: Request, out: str | None) -> None:
    from linnet import driver

    text = driver.generate(request).c
    if out is None or out == "-":
        console.out(text)
        return
    Path(out).write_text(text, encoding="utf-8")
    console.note(f"wrote {out}")


def _write_binary(console: Console, request: Request, kind: str, out: Path) -> None:
    from linnet import driver
    from linnet.cli.progress import watched
    from linnet.targets.detect import host_machine, target_rule
    from linnet.toolchain.cc import (
        compile_object,
        compile_shared,
        cross_compiler,
        target_flags,
    )

    with watched(console, f"compiling {request.title}"):
        generated = driver.generate(request)
        target = generated.artifact.target
        compiler = cross_compiler(target_rule(target).machine or host_machine())
        make = compile_object if kind == "obj" else compile_shared
        make(compiler, generated.c, target_flags(target, compiler), out.absolute())
    console.note(f"wrote {out}")


def _into_cache(console: Console, request: Request) -> None:
    from linnet import driver
    from linnet.cli.progress import watched

    with watched(console, f"compiling {request.title}"):
        built = driver.build(request)
    console.line(str(built.entry.path(driver.UNIT_LIBRARY)))
    console.note("this is in the cache; -o FILE.so writes a library of your own")
