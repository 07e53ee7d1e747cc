"""`linnet profile`: where the time of one entry goes, step by step against the limits."""

from __future__ import annotations

import json

import click

from linnet.cli.options import HELP, common, json_option, option, usage
from linnet.cli.terminal import Console


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
@option("-t", "--threads", type=int, help="Threads to compute with.")
@click.option("--calls", type=int, default=20, show_default=True, help="Medians of so many calls.")
@click.option("--each", is_flag=True, help="Every step on a line of its own, in running order.")
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
    as_json: bool,
) -> None:
    """Time the steps of an entry of MODEL, each against what the machine allows it.

    A step must read its weights (and the part of the state it looks at) and do its operations;
    the limits for both are measured in the same run. Steps that are alike in all layers make one
    line. The time of a step holds the barrier after it.
    """
    from linnet.bench import profile as module
    from linnet.cli.subject import find_model

    card = find_model(model)
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
        )
    with console.progress("preparing"):
        found = module.profile(request, console.show_status)
    if as_json:
        console.line(json.dumps(module.document(found), indent=2, ensure_ascii=False))
        return
    for line in module.text(found, each=each):
        console.line(line)
