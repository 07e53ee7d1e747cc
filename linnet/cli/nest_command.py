"""`linnet nest`: the models of the zoo."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from typing import TYPE_CHECKING

import click

from linnet.cli.options import HELP, common, json_option
from linnet.cli.terminal import Console, counted, table

if TYPE_CHECKING:
    from linnet.cli.review import Finding
    from linnet.nest.card import Card


@click.group(context_settings=HELP, short_help="List, show and check the models of the zoo.")
@common
def nest() -> None:
    """List, show and check the models of the zoo."""


@nest.command("list", context_settings=HELP)
@json_option
@common
@click.pass_obj
def list_models(console: Console, as_json: bool) -> None:
    """List the models, and where the weights of each are."""
    from linnet.cli.subject import readable_cards
    from linnet.nest import registry

    cards = readable_cards()
    if as_json:
        console.line(json.dumps([_described(card) for card in cards], indent=2, ensure_ascii=False))
    else:
        for line in table([(c.name, weights_place(c), c.about.title) for c in cards]):
            console.line(line)
    for name in registry.names():
        if all(card.folder.name != name for card in cards):
            console.warning(f"the card of {name} is malformed: `linnet nest check {name}`")


@nest.command("show", context_settings=HELP)
@click.argument("name")
@json_option
@common
@click.pass_obj
def show(console: Console, name: str, as_json: bool) -> None:
    """Show the card of NAME."""
    from linnet.cli.subject import find_model

    card = find_model(name)
    if as_json:
        console.line(json.dumps(_described(card), indent=2, ensure_ascii=False))
    else:
        console.line(str(card))


@nest.command("check", context_settings=HELP)
@click.argument("names", metavar="[NAME...]", nargs=-1)
@click.option("--strict", is_flag=True, help="Let what was not checked count as failed.")
@click.option("--download", is_flag=True, help="Fetch weights that are not on this machine.")
@json_option
@common
@click.pass_obj
def check(
    console: Console, names: tuple[str, ...], strict: bool, download: bool, as_json: bool
) -> None:
    """Review entries of the zoo: card, source, bindings, weights, samples; all without NAME.

    Each line says ok, failed, or not checked and why. Exits 1 if anything failed, or a NAME is
    none.
    """
    from linnet.cli.review import review
    from linnet.cli.subject import find_model
    from linnet.errors import CardError
    from linnet.nest import registry

    for name in names:
        with contextlib.suppress(CardError):  # a finding of its own
            find_model(name)
    findings: list[Finding] = []
    for name in names or registry.names():
        for finding in review(name, console, download=download):
            findings.append(finding)
            if not as_json:
                _show_finding(console, finding)
    if as_json:
        rows = [dataclasses.asdict(finding) for finding in findings]
        console.line(json.dumps(rows, indent=2, ensure_ascii=False))
    failed = sum(f.verdict == "failed" for f in findings)
    missed = sum(f.verdict == "not checked" for f in findings)
    console.note(
        f"{counted(len(findings), 'check')}: {len(findings) - failed - missed} ok, "
        f"{failed} failed, {missed} not checked"
    )
    if failed or (strict and missed):
        raise click.exceptions.Exit(1)


def _show_finding(console: Console, finding: Finding) -> None:
    first, *rest = finding.detail.splitlines() or [""]
    verdict = finding.verdict + (":" if first else "")
    console.line(f"{finding.model}  {finding.check:<8}  {verdict} {first}".rstrip())
    for line in rest:
        console.line(f"    {line}")


@nest.command("samples", context_settings=HELP)
@click.argument("names", metavar="[NAME...]", nargs=-1)
@click.option(
    "--update", is_flag=True, help="Run them, and store what the models write and what agrees."
)
@json_option
@common
@click.pass_obj
def samples(console: Console, names: tuple[str, ...], update: bool, as_json: bool) -> None:
    """Show the stored samples of entries: what they wrote, and what another stack wrote."""
    from linnet.cli.samples import load_samples
    from linnet.cli.subject import find_model
    from linnet.nest import registry

    cards = [find_model(name) for name in names or registry.names()]
    if update:
        for card in cards:
            _update(console, card)
    found = {card.name: load_samples(card.folder) for card in cards}
    if as_json:
        document = {name: [dataclasses.asdict(s) for s in of] for name, of in found.items()}
        console.line(json.dumps(document, indent=2, ensure_ascii=False))
        return
    for name, of in found.items():
        if not of:
            console.note(f"{name} has no samples")
        for sample in of:
            console.line(f"{name}  prompt     {sample.prompt!r}")
            console.line(f"{name}  output     {sample.output!r}")
            console.line(
                f"{name}  agreement  {sample.agreeing_prefix} of "
                f"{counted(sample.tokens, 'token')} with {sample.reference_stack}"
            )


def _update(console: Console, card: Card) -> None:
    from linnet import nest as zoo
    from linnet.cli.progress import watched
    from linnet.cli.samples import load_samples, store_samples, updated

    stored = load_samples(card.folder)
    if not stored:
        return
    with watched(console, f"loading {card.name}"), zoo.load(card.file) as model:
        file = store_samples(card.folder, [updated(sample, model) for sample in stored])
    console.note(f"wrote {file}")


def weights_place(card: Card) -> str:
    """`included`, `downloaded`, or what stands in the way."""
    from linnet.cli.subject import has_own_weights
    from linnet.errors import CheckpointError
    from linnet.nest.resolve import resolve

    if has_own_weights(card):
        return "included"
    if card.weights.repo is None:
        return "needs a checkpoint"
    try:
        resolve(card, offline=True)
    except CheckpointError:
        return "to download"
    return "downloaded"


def _described(card: Card) -> dict[str, object]:
    return {
        "name": card.name,
        "title": card.about.title,
        "summary": card.about.summary,
        "license": card.about.license,
        "family": card.about.family,
        "tags": list(card.about.tags),
        "source": str(card.source.path),
        "entry": card.source.entry,
        "generics": dict(card.generics),
        "repo": card.weights.repo,
        "revision": card.weights.revision,
        "weights": weights_place(card),
    }
