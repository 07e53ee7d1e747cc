"""`linnet bench`: how fast a model is here, against the machine's limits and other engines."""

from __future__ import annotations

import json
from pathlib import Path

import click

from linnet.cli.options import HELP, common, json_option, option, usage
from linnet.cli.terminal import Console
from linnet.errors import LinnetError, UsageError


def _numbers(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, ...]:
    """`1,2`; without it, one thread and what this process may use."""
    from linnet.targets.detect import usable_threads

    if value is None:
        return tuple(sorted({1, usable_threads()}))
    try:
        return tuple(dict.fromkeys(int(part) for part in value.split(",")))
    except ValueError:
        raise click.BadParameter(f"{value!r} must be numbers, such as 1,2") from None


def _engines(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """Names separated by commas or given one by one; `all` is every one."""
    from linnet.bench.results import OURS
    from linnet.bench.worker import ENGINES

    names = [name.strip() for part in value for name in part.split(",") if name.strip()]
    others = [name for name in ENGINES if name != OURS]
    for name in names:
        if name not in (*others, "all"):
            raise click.BadParameter(f"{name!r} is no engine; there are all, {', '.join(others)}")
    return tuple(others) if "all" in names else tuple(dict.fromkeys(names))


@click.command(context_settings=HELP, short_help="Measure a model and the machine.")
@click.argument("model")
@option("--checkpoint", metavar="DIR", help="Take the weights of this folder.")
@option("-t", "--threads", metavar="N,...", callback=_numbers, help="Numbers of threads.")
@click.option("--rounds", type=int, help="How often everything takes its turn; 5 if not given.")
@click.option("--quick", is_flag=True, help="Few and short tasks, one round.")
@click.option(
    "--compare",
    metavar="ENGINE,...",
    multiple=True,
    callback=_engines,
    help="Measure these engines too, in turn; `all` is every one known.",
)
@click.option(
    "--python",
    "pythons",
    metavar="PATH",
    multiple=True,
    envvar="LINNET_BENCH_PYTHON",
    show_envvar=True,
    help="Look for engines in this interpreter first. May be repeated.",
)
@click.option(
    "--task", "tasks", metavar="KEY", multiple=True, help="Do only this task. May be repeated."
)
@click.option(
    "--precision",
    type=click.Choice(["f32", "bf16"]),
    default="f32",
    show_default=True,
    help="What other engines compute in.",
)
@click.option("--seed", type=int, default=0, help="Of prompts, and of weights that are made.")
@click.option("--plot", metavar="FILE.svg", help="Draw a roofline.")
@click.option("--update", is_flag=True, help="Write the figures to the card's bench.json.")
@json_option
@common
@click.pass_obj
def bench(
    console: Console,
    model: str,
    checkpoint: str | None,
    threads: tuple[int, ...],
    rounds: int | None,
    quick: bool,
    compare: tuple[str, ...],
    pythons: tuple[str, ...],
    tasks: tuple[str, ...],
    precision: str,
    seed: int,
    plot: str | None,
    update: bool,
    as_json: bool,
) -> None:
    """Measure MODEL: first token, decoding, batches, loading, compiling and memory.

    The machine's two limits (read bandwidth and multiply-adds) are measured in the same rounds,
    and each figure is shown with the share of the limit that it reaches. Weights that are not on
    this machine are replaced by random ones of the same shapes, and the report says so.
    """
    from linnet.bench import report
    from linnet.bench.measure import Request
    from linnet.bench.measure import bench as run
    from linnet.cli.subject import find_model, place_of

    card = find_model(model)
    with usage():
        request = Request(
            card.file,
            checkpoint=place_of(card, checkpoint),
            threads=threads,
            rounds=rounds if rounds is not None else 1 if quick else 5,
            quick=quick,
            compare=compare,
            pythons=pythons,
            tasks=tasks,
            precision=precision,
            seed=seed,
        )
        _check(plot, update, quick or bool(tasks))
    with console.progress("measuring"):
        result = run(request, console.show_status)
    if as_json:
        console.line(json.dumps(report.document(result), indent=2, ensure_ascii=False))
    else:
        for line in report.text(result):
            console.line(line)
    if plot is not None:
        from linnet.bench.plot import roofline

        _write(console, Path(plot), roofline(result))
    if update:
        from linnet.bench import record

        console.note(f"wrote {record.update(result, card.folder)}")


def _check(plot: str | None, update: bool, partial: bool) -> None:
    if plot is not None and Path(plot).suffix != ".svg":
        raise UsageError(f"--plot {plot}: the file must end with .svg")
    if update and partial:
        raise UsageError("--update takes the figures of a whole run, not of --quick or --task")


def _write(console: Console, file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise LinnetError(f"cannot write {file}: {error.strerror}") from error
    console.note(f"wrote {file}")
