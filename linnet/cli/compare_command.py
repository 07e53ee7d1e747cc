"""`linnet compare`: where a model and another stack part, op by op."""

from __future__ import annotations

import json

import click

from linnet.cli.options import HELP, Text, common, json_option, option, target_options, usage
from linnet.cli.terminal import Console


def _ids(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    """`1,2,3`."""
    if value is None:
        return None
    try:
        return tuple(int(part) for part in value.split(","))
    except ValueError:
        raise click.BadParameter(f"{value!r} must be token ids, such as 1,2,3") from None


@click.command(context_settings=HELP, short_help="Find where a model and another stack part.")
@click.argument("model")
@click.option(
    "--with",
    "stack",
    metavar="STACK",
    default="transformers",
    show_default=True,
    help="transformers, or interpreter: the definition itself, op by op.",
)
@option("--checkpoint", metavar="DIR", help="Take the weights of this folder.")
@click.option("--entry", metavar="NAME", help="Run this entry in place of the card's.")
@click.option("--tokens", metavar="ID,...", callback=_ids, help="Run these tokens.")
@click.option("--prompt", type=Text(), help="Run the tokens of this text.")
@click.option(
    "--tolerance",
    type=float,
    metavar="NUMBER",
    help="Relative difference that counts as none; 1e-4 for f32 if not given.",
)
@click.option(
    "--python",
    "pythons",
    metavar="PATH",
    multiple=True,
    envvar="LINNET_BENCH_PYTHON",
    show_envvar=True,
    help="Look for the other stack in this interpreter first. May be repeated.",
)
@click.option("--seed", type=int, default=0, help="Of inputs and weights that are made up.")
@click.option("--all", "everything", is_flag=True, help="Show all values after a difference too.")
@target_options
@json_option
@common
@click.pass_context
def compare(
    context: click.Context,
    model: str,
    stack: str,
    checkpoint: str | None,
    entry: str | None,
    tokens: tuple[int, ...] | None,
    prompt: str | None,
    tolerance: float | None,
    pythons: tuple[str, ...],
    seed: int,
    everything: bool,
    target: str,
    numerics: str,
    as_json: bool,
) -> None:
    """Run MODEL and another stack on the same input and compare them, value by value.

    Blocks are matched with the other stack's modules by their weights. What a block takes in and
    gives is held against its module; the values of single ops are looked for among those that
    the module computed. Where the two part, the op to look at is named with its place in the
    source, and what came into it. Exits with 1 where they do.
    """
    from linnet.cli.subject import find_model, place_of
    from linnet.compare import report
    from linnet.compare.run import Request
    from linnet.compare.run import compare as run

    console: Console = context.obj
    card = find_model(model)
    with usage():
        request = Request(
            card.file,
            stack=stack,
            checkpoint=place_of(card, checkpoint),
            entry=entry,
            tokens=tokens,
            prompt=prompt,
            tolerance=tolerance,
            pythons=pythons,
            target=target,
            numerics=numerics,
            seed=seed,
        )
    with console.progress("compiling with probes"):
        result = run(request, console.show_status)
    if as_json:
        console.line(json.dumps(report.document(result), indent=2, ensure_ascii=False))
    else:
        for line in report.text(result, everything=everything):
            console.line(line)
    if result.finding is not None:
        context.exit(1)
