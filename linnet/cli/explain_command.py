"""`linnet explain`: a diagnostic code in words, or the plan by which a model runs."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from linnet.cli.options import (
    HELP,
    Assignment,
    assignments,
    checkpoint_options,
    common,
    generics_options,
    json_option,
    option,
    target_options,
    usage,
)
from linnet.cli.terminal import Console
from linnet.errors import UsageError

if TYPE_CHECKING:
    from linnet.driver import Request
    from linnet.plan.account import Machine

_CODE = re.compile(r"[EWew]?\d{1,6}|[A-Za-z]\d{4}")


@dataclass(frozen=True)
class _Asked:
    """How a plan is to be shown: for which call, with limits, every step, as JSON."""

    sizes: Mapping[str, int]
    position: int | None
    limits: bool
    each: bool
    as_json: bool
    threads: int | None

    @property
    def is_usual(self) -> bool:
        """Whether it is what the artifact holds anyway."""
        own = self.sizes or self.limits or self.each or self.as_json
        return not own and self.position is None


@click.command(context_settings=HELP, short_help="Explain a plan, or a diagnostic code.")
@click.argument("what", metavar="MODEL_OR_FILE|CODE")
@generics_options
@click.option(
    "--size",
    "sizes",
    type=Assignment(words=False),
    multiple=True,
    help="Work out costs for this size of a call; nothing is fixed. May be repeated.",
)
@click.option(
    "--position",
    type=click.IntRange(min=0),
    help="Where the first token of the call stands, for entries that are told; 16 if not given.",
)
@click.option(
    "--limits", is_flag=True, help="Measure this machine, and give the least time of each step."
)
@click.option("--each", is_flag=True, help="Every step on a line of its own, in running order.")
@checkpoint_options
@target_options
@option("-t", "--threads", type=int, help="With --limits or --checkpoint: threads to run with.")
@json_option
@common
@click.pass_obj
def explain(
    console: Console,
    what: str,
    entries: tuple[str, ...],
    bind: tuple[tuple[str, int], ...],
    generics: tuple[tuple[str, int | str], ...],
    constants: tuple[tuple[str, Any], ...],
    root: str | None,
    sizes: tuple[tuple[str, int], ...],
    position: int | None,
    limits: bool,
    each: bool,
    checkpoint: str | Path | None,
    offline: bool,
    target: str,
    numerics: str,
    threads: int | None,
    as_json: bool,
) -> None:
    """Explain a diagnostic CODE such as E2203, or how MODEL_OR_FILE runs.

    The plan says for each op what runs it and why, how its operands lie in memory, how many bytes
    it must read and how much it computes, and, with --limits, how long that takes at least on this
    machine and what decides: reading or computing. Costs are those of one call, which --size and
    --position describe. With --checkpoint the plan is the one for those weights.
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
    values = assignments(constants, "--constant")
    asked = _Asked(assignments(sizes, "--size"), position, limits, each, as_json, threads)
    if subject.card is not None and not (entries or bind or root):
        checkpoint = checkpoint or subject.card.checkpoint
    if checkpoint is None:
        request = dataclasses.replace(
            subject.request(given, constants=values, root=root),
            entries=entries,
            bind=assignments(bind, "--bind"),
            target=target,
            numerics=numerics,
        )
        _show(console, request, asked)
        return
    if subject.card is None or entries or bind or root:
        raise click.UsageError(
            "--checkpoint explains a whole model: it takes no --entry, --bind or --root, "
            "and a file with a card"
        )
    if not asked.is_usual:
        request = _for_checkpoint(subject.card.file, checkpoint, given, values)
        _show(console, dataclasses.replace(request, target=target, numerics=numerics), asked)
        return
    _explain_loaded(
        console,
        subject.card.file,
        checkpoint=checkpoint,
        generics=given,
        constants=values,
        target=target,
        numerics=numerics,
        threads=threads,
        offline=offline,
    )


def _show(console: Console, request: Request, asked: _Asked) -> None:
    from linnet import driver
    from linnet.plan.account import account
    from linnet.plan.explain import document, text

    target = driver.resolve_target(request.target)
    if asked.limits:
        _refuse_foreign(target)
    plan = driver.generate(request).plan
    with usage():
        _check_sizes(asked.sizes, {size for entry in plan.entries for size in entry.graph.sizes})
        found = account(plan, target, request.numerics, asked.sizes, asked.position)
    machine = _machine(console, asked.threads) if asked.limits else None
    if asked.as_json:
        console.line(json.dumps(document(found, machine), indent=2, ensure_ascii=False))
    else:
        console.out(text(found, machine, each=asked.each))


def _check_sizes(given: Mapping[str, int], known: set[str]) -> None:
    for name in given:
        if name not in known:
            have = ", ".join(sorted(known)) or "none"
            raise UsageError(f"no entry has a size `{name}`; there are {have}")


def _refuse_foreign(target: str) -> None:
    from linnet.toolchain.native import host_targets

    if target not in host_targets():
        raise UsageError(
            f"this machine does not run {target} itself, so its limits say nothing about it",
            help="without --limits there are operations a byte to go by",
        )


def _machine(console: Console, threads: int | None) -> Machine:
    """This machine's limits, measured now."""
    from linnet.bench.client import machine_limits
    from linnet.plan.account import Machine
    from linnet.targets.detect import usable_threads

    with console.progress("measuring the machine"):
        one, count = machine_limits(1), threads or usable_threads()
        return Machine(one, one if count == 1 else machine_limits(count))


def _for_checkpoint(
    card: Any, checkpoint: str | Path, given: Mapping[str, Any], constants: Mapping[str, Any]
) -> Request:
    """What is compiled for the weights of a checkpoint."""
    from linnet.bench.subject import Subject

    subject = Subject.find(card, checkpoint)
    settings = dataclasses.replace(
        subject.settings,
        generics={**subject.generics, **given},
        constants={**subject.settings.constants, **constants},
    )
    return dataclasses.replace(subject, settings=settings).opened().request


def _explain_loaded(console: Console, card: Any, **options: Any) -> None:
    from linnet import nest
    from linnet.cli.progress import watched

    with watched(console, "loading"):
        model = nest.load(card, **options)
    with model:
        console.out(model.explain())


def code_page(number: str) -> str:
    """What a diagnostic code means, with a wrong and a repaired program. Raises UsageError with the
    nearest for an unknown one."""
    from linnet.diag.codes import CODES
    from linnet.diag.page import page
    from linnet.nest.nearest import did_you_mean

    if number.isdigit():
        number = next((letter + number for letter in "EW" if letter + number in CODES), number)
    if number not in CODES:
        hint = did_you_mean(number, CODES)
        raise UsageError(f"there is no diagnostic {number}{hint if '?' in hint else ''}")
    return page(number)
