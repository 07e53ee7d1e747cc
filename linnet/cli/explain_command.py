"""`linnet explain`: a diagnostic code in words, or the plan by which a model runs."""

from __future__ import annotations

import dataclasses
import re
import textwrap
from typing import Any

import click

from linnet.cli.options import (
    HELP,
    assignments,
    checkpoint_options,
    common,
    generics_options,
    option,
    target_options,
    usage,
)
from linnet.cli.terminal import Console
from linnet.errors import UsageError

_CODE = re.compile(r"[A-Za-z]\d{4}")


@click.command(context_settings=HELP, short_help="Explain a plan, or a diagnostic code.")
@click.argument("what", metavar="MODEL_OR_FILE|CODE")
@generics_options
@checkpoint_options
@target_options
@option("-t", "--threads", type=int, help="With --checkpoint: threads to run with.")
@common
@click.pass_obj
def explain(
    console: Console,
    what: str,
    entries: tuple[str, ...],
    bind: tuple[tuple[str, int], ...],
    generics: tuple[tuple[str, int | str], ...],
    root: str | None,
    checkpoint: str | None,
    offline: bool,
    target: str,
    numerics: str,
    threads: int | None,
) -> None:
    """Explain a diagnostic CODE such as E2203, or how MODEL_OR_FILE runs.

    The plan says for each step which kernel runs it and why, what is repacked, and what memory
    it takes. With --checkpoint the model is loaded too, and what it takes from the checkpoint is
    said as well.
    """
    if _CODE.fullmatch(what):
        console.out(code_page(what.upper()))
        return
    from linnet import driver
    from linnet.cli.subject import find

    with usage():
        driver.checked_threads(threads)
    subject = find(what)
    given = assignments(generics, "--generic")
    if checkpoint is None:
        request = dataclasses.replace(
            subject.request(given, root=root),
            entries=entries,
            bind=assignments(bind, "--bind"),
            target=target,
            numerics=numerics,
        )
        console.out(driver.generate(request).artifact.explain)
        return
    if subject.card is None or entries or bind or root:
        raise click.UsageError(
            "--checkpoint explains a whole model: it takes no --entry, --bind or --root, "
            "and a file with a card"
        )
    _explain_loaded(
        console,
        subject.card.file,
        checkpoint=checkpoint,
        generics=given,
        target=target,
        numerics=numerics,
        threads=threads,
        offline=offline,
    )


def _explain_loaded(console: Console, card: Any, **options: Any) -> None:
    from linnet import nest
    from linnet.cli.progress import watched

    with watched(console, "loading"):
        model = nest.load(card, **options)
    with model:
        console.out(model.explain())


def code_page(number: str) -> str:
    """What a diagnostic code means, with a wrong and a repaired program where there are some.
    Raises UsageError with the nearest for an unknown one."""
    from linnet.diag.codes import CODES
    from linnet.diag.examples import EXAMPLES
    from linnet.nest.nearest import did_you_mean

    code = CODES.get(number)
    if code is None:
        hint = did_you_mean(number, CODES)
        raise UsageError(f"there is no diagnostic {number}{hint if '?' in hint else ''}")
    parts = [f"{code.severity}[{code.number}]: {code.title}", textwrap.fill(code.explanation, 88)]
    example = EXAMPLES.get(number)
    if example is not None:
        parts += ["Wrong:", textwrap.indent(example.wrong.rstrip(), "    ")]
        parts += ["Repaired:", textwrap.indent(example.right.rstrip(), "    ")]
        parts += [textwrap.fill(example.advice, 88, break_on_hyphens=False)]
    return "\n\n".join(parts) + "\n"
