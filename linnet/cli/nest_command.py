"""`linnet nest`: the models of the zoo."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linnet.cli.options import HELP, common, json_option, usage
from linnet.cli.terminal import Console, counted, table

if TYPE_CHECKING:
    from linnet.cli.review import Finding
    from linnet.nest.card import Card
    from linnet.nest.road.propose import Proposal


@click.group(context_settings=HELP, short_help="List, show, check and add models of the zoo.")
@common
def nest() -> None:
    """List, show, check and add models of the zoo."""


@nest.command("list", context_settings=HELP)
@json_option
@common
@click.pass_obj
def list_models(console: Console, as_json: bool) -> None:
    """List the models, and where the weights of each are."""
    from linnet.nest import registry

    cards = registry.readable()
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
@click.option(
    "--strict",
    is_flag=True,
    help="Fail where samples were not run and the entry does not say why.",
)
@click.option("--download", is_flag=True, help="Fetch weights that are not on this machine.")
@click.option("--checkpoint", metavar="DIR", help="Look at the checkpoint in this folder.")
@json_option
@common
@click.pass_obj
def check(
    console: Console,
    names: tuple[str, ...],
    strict: bool,
    download: bool,
    checkpoint: str | None,
    as_json: bool,
) -> None:
    """Review entries of the zoo: card, source, bindings, weights, samples; all without NAME.

    Each line says pass, fail, or not run and why. Exits 1 if anything failed, or a NAME is none.
    """
    from linnet.cli.review import review
    from linnet.cli.subject import find_model
    from linnet.errors import CardError
    from linnet.nest import registry

    if checkpoint is not None and len(names) != 1:
        raise click.UsageError("--checkpoint goes with one NAME")
    for name in names:
        with contextlib.suppress(CardError):  # a finding of its own
            find_model(name)
    findings: list[Finding] = []
    for name in names or registry.names():
        for finding in review(name, console, download=download, checkpoint=checkpoint):
            findings.append(finding)
            if not as_json:
                _show_finding(console, finding)
    if as_json:
        rows = [dataclasses.asdict(finding) for finding in findings]
        console.line(json.dumps(rows, indent=2, ensure_ascii=False))
    failed = sum(f.verdict == "fail" for f in findings)
    missed = sum(f.verdict == "not run" for f in findings)
    console.note(
        f"{counted(len(findings), 'check')}: {len(findings) - failed - missed} passed, "
        f"{failed} failed, {missed} not run"
    )
    silent = [f.model for f in findings if strict and not f.stated]
    for model in silent:
        console.error(
            f"{model}: samples were not run, and the entry does not say why",
            'add [samples] not_run = "the reason" to its card, or samples and weights',
        )
    if failed or silent:
        raise click.exceptions.Exit(1)


def _show_finding(console: Console, finding: Finding) -> None:
    first, *rest = finding.detail.splitlines() or [""]
    words = {"pass": "pass", "fail": "fail", "not run": "not run, because"}
    mark = ":" if first and finding.verdict != "not run" else ""
    verdict = f"{words[finding.verdict]}{mark}"
    console.line(f"{finding.model}  {finding.check:<8}  {verdict} {first}".rstrip())
    for line in rest:
        console.line(f"    {line}")


@nest.command("new", context_settings=HELP)
@click.argument("name")
@click.option(
    "--from",
    "checkpoint",
    required=True,
    metavar="DIR",
    help="The folder of a checkpoint: config.json and safetensors.",
)
@click.option("--into", metavar="FOLDER", help="Write this folder; nest/NAME or NAME unless given.")
@common
@click.pass_obj
def new(console: Console, name: str, checkpoint: str, into: str | None) -> None:
    """Begin an entry NAME from a checkpoint: a folder that already checks.

    Card, source, bindings and README are written from config.json and from the names and shapes
    of the tensors. Nothing that exists is written over.
    """
    from linnet.nest.road.begin import begin

    begun = begin(
        name, Path(checkpoint).expanduser(), None if into is None else Path(into).expanduser()
    )
    for file in begun.files:
        console.line(str(begun.folder / file))
    for note in begun.notes:
        console.warning(note)
    console.note(f"next: `linnet nest check {begun.folder} --checkpoint {checkpoint}`")


@nest.command("bind", context_settings=HELP)
@click.argument("name")
@click.option(
    "--checkpoint", metavar="DIR", help="The folder of a checkpoint; the entry's own unless given."
)
@click.option("--write", is_flag=True, help="Write the proposal to the entry's bindings.json.")
@click.option("--fresh", is_flag=True, help="Forget the pairs that bindings.json has.")
@json_option
@common
@click.pass_obj
def bind(
    console: Console,
    name: str,
    checkpoint: str | None,
    write: bool,
    fresh: bool,
    as_json: bool,
) -> None:
    """Propose bindings for NAME: which tensor of a checkpoint each parameter takes.

    Decides by names and shapes, keeps the pairs of bindings.json that fit, and explains what it
    cannot decide. `{i}` stands for the positions of an array. Exits 1 if a parameter that must
    have a tensor has none.
    """
    from linnet.cli.subject import find_model
    from linnet.nest.road.binding import proposal_for, write_bindings

    card = find_model(name)
    found = proposal_for(card, checkpoint, fresh=fresh)
    if as_json:
        document = dataclasses.asdict(found) | {"bindings": found.bindings}
        console.line(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        _show_proposal(console, found)
    if write:
        console.note(f"wrote {write_bindings(card, found)}")
    if not found.complete:
        raise click.exceptions.Exit(1)


def _show_proposal(console: Console, found: Proposal) -> None:
    width = max((len(pair.path) for pair in found.pairs), default=0)
    second = max((len(pair.tensor) for pair in found.pairs), default=0)
    for pair in found.pairs:
        row = f"{pair.path:<{width}}  {pair.tensor:<{second}}  {list(pair.shape)}"
        console.line(f"{row}  {pair.why}")
    for item in found.open:
        kind = "absent, and may be" if item.optional else "open"
        console.line(f"{item.path}  {list(item.shape)}  {kind}: {item.why}")
        for candidate, why in item.candidates:
            console.line(f"    perhaps {candidate}: {why}")
    for tensor, shape in found.left:
        console.line(f"left over: {tensor}  {list(shape)}")
    missing = sum(not item.optional for item in found.open)
    console.note(
        f"{counted(len(found.pairs), 'pair')}, {missing} open, {len(found.left)} left over"
    )


@nest.command("reference", context_settings=HELP)
@click.argument("name")
@click.option(
    "--checkpoint", metavar="DIR", help="The folder of a checkpoint; the entry's own unless given."
)
@click.option(
    "--input",
    "inputs",
    metavar="TEXT|FILE",
    multiple=True,
    help="A prompt, a text or an image to add as a sample. May be repeated.",
)
@click.option(
    "--tokens", type=click.IntRange(1), default=64, show_default=True, help="Of a new text."
)
@click.option(
    "--python",
    metavar="PATH",
    envvar="LINNET_BENCH_PYTHON",
    show_envvar=True,
    help="The Python that has torch and transformers.",
)
@common
@click.pass_obj
def reference(
    console: Console,
    name: str,
    checkpoint: str | None,
    inputs: tuple[str, ...],
    tokens: int,
    python: str | None,
) -> None:
    """Compute what transformers makes of the samples of NAME, and store it.

    The stored samples are computed anew, and one is added for each --input: a prompt, a text or
    an image, by the task that the card names. samples.json is written.
    """
    import sys

    from linnet import nest as zoo
    from linnet.cli.progress import watched
    from linnet.cli.subject import find_model
    from linnet.nest.resolve import resolve
    from linnet.nest.road.reference import compute
    from linnet.nest.road.samples import store_samples

    card = find_model(name)
    with (
        watched(console, f"loading {card.name}"),
        zoo.load(card.file, checkpoint=checkpoint, offline=True) as model,
    ):
        weights = resolve(card, checkpoint, offline=True).weights
        folder = weights if weights.is_dir() else weights.parent
        found = compute(card, model, folder, inputs, tokens=tokens, python=python or sys.executable)
        wrong = [
            (sample, problem)
            for sample in found
            if not sample.cannot_run(model) and (problem := sample.verdict(model))
        ]
    console.note(f"wrote {store_samples(card.folder, found)}")
    for sample, problem in wrong:
        console.warning(f"{sample.title}: {problem}")
    for sample in found:
        for word, text in sample.lines():
            console.line(f"{word:<9}  {text}")


@nest.command("diagram", context_settings=HELP)
@click.argument("name")
@click.option("--entry", metavar="NAME", help="The entry to draw; the card's unless given.")
@click.option("-o", "--output", metavar="FILE", help="Write this file and not stdout.")
@common
@click.pass_obj
def diagram(console: Console, name: str, entry: str | None, output: str | None) -> None:
    """Draw an entry of NAME as SVG: its blocks, parameters, and the values between them."""
    from linnet.cli.subject import find_model
    from linnet.nest.road.drawn import Drawings

    drawings = Drawings(find_model(name))
    with usage():
        text = drawings.of(entry)
    if output is None:
        console.out(text)
        return
    Path(output).expanduser().write_text(text, encoding="utf-8")
    console.note(f"wrote {output}")


@nest.command("index", context_settings=HELP)
@click.argument("names", metavar="[NAME...]", nargs=-1)
@click.option(
    "-o",
    "--output",
    metavar="FOLDER",
    default="zoo",
    show_default=True,
    help="The folder to write, made if it is not there.",
)
@common
@click.pass_obj
def index(console: Console, names: tuple[str, ...], output: str) -> None:
    """Write the zoo as pages to browse: one of all entries, and one of each. All without NAME.

    The pages need no network and no server. Files of the same names are written over.
    """
    from linnet.cli.subject import find_model
    from linnet.nest import registry
    from linnet.nest.road.pages import write_pages

    cards = [find_model(name) for name in names or registry.names()]
    folder = Path(output).expanduser()
    with console.progress("writing pages"):
        written = write_pages(cards, folder)
    console.note(f"wrote {counted(len(written), 'page')}: {folder / 'index.html'}")


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
    from linnet.cli.subject import find_model
    from linnet.nest import registry
    from linnet.nest.road.samples import as_object, load_samples

    cards = [find_model(name) for name in names or registry.names()]
    if update:
        for card in cards:
            _update(console, card)
    found = {card.name: load_samples(card.folder) for card in cards}
    if as_json:
        document = {name: [as_object(s) for s in of] for name, of in found.items()}
        console.line(json.dumps(document, indent=2, ensure_ascii=False))
        return
    for name, of in found.items():
        if not of:
            console.note(f"{name} has no samples")
        for sample in of:
            for word, text in sample.lines():
                console.line(f"{name}  {word:<9}  {text}")


def _update(console: Console, card: Card) -> None:
    from linnet import nest as zoo
    from linnet.cli.progress import watched
    from linnet.nest.road.samples import load_samples, store_samples, updated

    stored = load_samples(card.folder)
    if not stored:
        return
    with watched(console, f"loading {card.name}"), zoo.load(card.file) as model:
        file = store_samples(card.folder, [updated(sample, model) for sample in stored])
    console.note(f"wrote {file}")


def weights_place(card: Card) -> str:
    """`included`, `downloaded`, or what stands in the way."""
    from linnet.errors import CheckpointError
    from linnet.nest.resolve import resolve

    if card.has_own_weights:
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
