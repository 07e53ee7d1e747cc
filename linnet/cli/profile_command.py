"""`linnet profile`: where the time of one entry goes, step by step against the limits."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from linnet.cli.options import (
    HELP,
    Assignment,
    assignments,
    common,
    constants_option,
    json_option,
    option,
    target_options,
    threads_option,
    usage,
)
from linnet.cli.terminal import Console
from linnet.errors import UsageError

if TYPE_CHECKING:
    from linnet.driver import Request


@click.command(context_settings=HELP, short_help="Time the steps of an entry.")
@click.argument("model")
@option("--checkpoint", metavar="DIR", help="Take the weights of this folder.")
@click.option("--entry", default="decode", show_default=True, help="The entry to time.")
@click.option(
    "--tokens", type=int, default=32, show_default=True, help="Length of a prompt, where one is."
)
@click.option("--rows", type=int, default=1, show_default=True, help="Texts computed together.")
@click.option(
    "--position", type=int, default=16, show_default=True, help="Where the first token stands."
)
@threads_option
@click.option("--calls", type=int, default=20, show_default=True, help="Medians of so many calls.")
@click.option("--each", is_flag=True, help="Every step on a line of its own, in running order.")
@click.option("--loops", is_flag=True, help="Count what is in the inner loops instead.")
@click.option(
    "--start", "is_start", is_flag=True, help="Time a start instead, up to the first token."
)
@click.option(
    "--cpu",
    "cpus",
    metavar="NAME,...",
    help="With --loops: processors whose models llvm-mca is asked about.",
)
@click.option(
    "--generic",
    "generics",
    type=Assignment(words=True),
    multiple=True,
    help="With --loops: give a generic of the root block a value. May be repeated.",
)
@constants_option
@target_options
@json_option
@common
@click.pass_obj
def profile(
    console: Console,
    model: str,
    checkpoint: str | None,
    entry: str,
    tokens: int,
    rows: int,
    position: int,
    threads: int | None,
    calls: int,
    each: bool,
    loops: bool,
    is_start: bool,
    cpus: str | None,
    generics: tuple[tuple[str, int | str], ...],
    constants: tuple[tuple[str, Any], ...],
    target: str,
    numerics: str,
    as_json: bool,
) -> None:
    """Time the steps of an entry of MODEL, each against what the machine allows it.

    A step must read its weights (and the part of the state it looks at) and do its operations;
    the limits for both are measured in the same run. Steps that are alike in all layers make one
    line. The time of a step holds the barrier after it.

    With --loops nothing is run: the innermost loops of the generated code are listed with what
    they hold, for any target a compiler is there for. MODEL may be a bare .linnet file then.

    With --start new processes are timed, from their beginning to the first token: what is
    imported, read, checked and packed, and how much memory that takes.
    """
    from linnet.bench import profile as module
    from linnet.cli.subject import find, place_of

    subject = find(model)
    if loops:
        chosen = subject.request(
            assignments(generics, "--generic"), constants=assignments(constants, "--constant")
        )
        for line in _loops(chosen, target, numerics, cpus):
            console.line(line)
        return
    if generics or constants:
        option = "--generic" if generics else "--constant"
        raise click.UsageError(f"{option} goes with --loops: a model has its values from its card")
    card = subject.card
    if card is None:
        raise UsageError(
            f"{model} has no card, and a profile needs one for the sizes and the weights",
            help=f"`linnet explain {model}` shows the steps and what they must read and compute, "
            f"`linnet profile {model} --loops` the inner loops; a folder with a card, or a name of "
            "the zoo, can be timed",
        )
    checkpoint = place_of(card, checkpoint)
    if is_start:
        _show_start(console, card.file, checkpoint, threads, as_json)
        return
    with usage():
        request = module.Request(
            card.file,
            checkpoint=checkpoint,
            entry=entry,
            tokens=tokens,
            rows=rows,
            position=position,
            threads=threads,
            calls=calls,
            target=target,
            numerics=numerics,
        )
    with console.progress("preparing"):
        found = module.profile(request, console.show_status)
    if as_json:
        console.line(json.dumps(module.document(found), indent=2, ensure_ascii=False))
        return
    for line in module.text(found, each=each):
        console.line(line)


def _show_start(
    console: Console, model: Path, checkpoint: str | None, threads: int | None, as_json: bool
) -> None:
    from linnet.bench import start as module

    request = module.Request(model, checkpoint=checkpoint, threads=threads)
    with console.progress("preparing"):
        found = module.start(request, console.show_status)
    if as_json:
        console.line(json.dumps(module.document(found), indent=2, ensure_ascii=False))
        return
    for line in module.text(found):
        console.line(line)


def _loops(request: Request, target: str, numerics: str, cpus: str | None) -> list[str]:
    """The inner loops of a source's code for a target."""
    from linnet import driver
    from linnet.bench import loops
    from linnet.targets.target import load_target

    known = driver.resolve_target(target)
    generated = driver.generate(dataclasses.replace(request, target=known, numerics=numerics))
    names = None if cpus is None else tuple(name for name in cpus.split(",") if name)
    return loops.report(generated.c, known, load_target(known).f32.lanes, names)
