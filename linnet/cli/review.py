"""The review of a zoo entry, as `linnet nest check` runs it.

In goes an entry's name; out comes a finding for each thing that is to hold. What cannot be
looked at is a finding of its own with the reason: nothing is left out in silence. Each step
takes what the steps before it learnt, and says so when they learnt nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from linnet import driver
from linnet.artifact import Parameter
from linnet.cli.samples import cannot_run, load_samples, run, verdict
from linnet.cli.subject import find_model
from linnet.cli.terminal import Console, counted
from linnet.errors import CheckpointError, LinnetError, SourceError
from linnet.nest.card import Card
from linnet.nest.resolve import Checkpoint

Verdict = Literal["ok", "failed", "not checked"]


@dataclass(frozen=True)
class Finding:
    """What came of one check. `detail` says what was found, or why it was not checked."""

    model: str
    check: str
    verdict: Verdict
    detail: str


class NotChecked(Exception):
    """Raised by a check that cannot be made; the text completes "not checked: ..."."""


@dataclass
class _Known:
    """What the steps have learnt about one entry."""

    name: str
    download: bool
    card: Card | None = None
    request: driver.Request | None = None
    manifest: tuple[Parameter, ...] | None = None
    files: Checkpoint | None = None
    bound: bool = False

    def need_card(self) -> Card:
        if self.card is None:
            raise NotChecked("the card is malformed")
        return self.card

    def need_manifest(self) -> tuple[driver.Request, tuple[Parameter, ...]]:
        if self.request is None or self.manifest is None:
            raise NotChecked("the source does not check")
        return self.request, self.manifest

    def need_files(self) -> Checkpoint:
        if self.files is None:
            raise NotChecked("the weights are not on this machine")
        return self.files


def review(name: str, console: Console, *, download: bool = False) -> Iterator[Finding]:
    """The findings about one entry, as they are made. `download` fetches missing weights."""
    known = _Known(name, download)
    for check, step in _STEPS.items():
        with console.progress(f"{name}: {check}"):
            finding = _made(known, check, step)
        yield finding


def _made(known: _Known, check: str, step: Callable[[_Known], str]) -> Finding:
    try:
        return Finding(known.name, check, "ok", step(known))
    except NotChecked as reason:
        return Finding(known.name, check, "not checked", str(reason))
    except SourceError as error:
        listed = "".join(f"\n{d.code}: {d.message}" for d in error.diagnostics)
        return Finding(known.name, check, "failed", listed.lstrip("\n") or error.message)
    except LinnetError as error:
        return Finding(known.name, check, "failed", str(error))
    except OSError as error:
        return Finding(known.name, check, "failed", f"{error.filename}: {error.strerror}")


# The checks, in order. Each returns what it found, or raises.


def _card(known: _Known) -> str:
    known.card = find_model(known.name)
    return known.card.about.title


def _readme(known: _Known) -> str:
    file = known.need_card().folder / "README.md"
    if not file.is_file() or not file.read_text(encoding="utf-8").strip():
        raise LinnetError(f"{file} is missing or empty")
    return file.name


def _source(known: _Known) -> str:
    from linnet.nest.config import Config
    from linnet.nest.request import request_for
    from linnet.nest.settings import resolve_settings

    card = known.need_card()
    result = driver.check(card.source.path)
    # The card's own sizes: whether config.json agrees with them is a question of its own.
    known.request = request_for(card, resolve_settings(card, Config({})))
    known.manifest = driver.manifest(known.request)
    warnings = len(tuple(result.problems))
    found = f"{card.source.path.name}, {counted(len(known.manifest), 'parameter')}"
    return found + (f", {counted(warnings, 'warning')}" if warnings else "")


def _entry(known: _Known) -> str:
    """The card's entry for the card's sizes, down to C."""
    card = known.need_card()
    request, _ = known.need_manifest()
    if card.source.entry is None:
        raise NotChecked("the card names no entry")
    unit = driver.generate(
        dataclasses.replace(request, entries=(card.source.entry,), bind=card.check, target="scalar")
    )
    sizes = ", ".join(f"{name} = {value}" for name, value in card.check.items())
    return f"{card.source.entry}({sizes}), {counted(unit.c.count(chr(10)), 'line')} of C"


def _bindings(known: _Known) -> str:
    from linnet.nest.bindings import load_bindings

    card = known.need_card()
    _, manifest = known.need_manifest()
    if card.weights.bindings is None:
        return "none: the parameters have the names of the tensors"
    names = load_bindings(card.weights.bindings).expand([p.path for p in manifest])
    return f"{len(names)} of {counted(len(manifest), 'parameter')}"


def _weights(known: _Known) -> str:
    """The checkpoint's config and every tensor's name, dtype and shape; no value is read."""
    from linnet.nest.bindings import load_bindings, tensor_names
    from linnet.nest.resolve import resolve
    from linnet.runtime.bind import bind
    from linnet.runtime.checkpoint import open_checkpoint

    card = known.need_card()
    try:
        known.files = resolve(card, offline=not known.download)
    except CheckpointError as error:
        if known.download:
            raise
        raise NotChecked(f"{error.message.splitlines()[0]} (--download fetches them)") from None
    _, manifest = known.need_manifest()
    with open_checkpoint(known.files.weights) as weights:
        bindings = None if card.weights.bindings is None else load_bindings(card.weights.bindings)
        paths = [parameter.path for parameter in manifest]
        names = tensor_names(bindings, paths, weights.names, card.weights.prefixes)
        binding = bind(manifest, weights.tensors, names, str(known.files.weights))
    known.bound = True
    unused = f", {counted(len(binding.ignored), 'tensor')} unused" if binding.ignored else ""
    return f"{counted(len(binding.names), 'tensor')} from {known.files.origin}{unused}"


def _config(known: _Known) -> str:
    from linnet.nest.config import load_config
    from linnet.nest.settings import resolve_settings

    card = known.need_card()
    file = known.need_files().config
    if file is None:
        raise NotChecked("the checkpoint has no config.json")
    resolve_settings(card, load_config(file))
    return f"{counted(len(card.expect), 'value')} as expected"


def _digests(known: _Known) -> str:
    from linnet.toolchain.cache import file_digest

    card, files = known.need_card(), known.need_files()
    wanted = card.weights.sha256
    if not wanted:
        raise NotChecked("the card gives none")
    folder = files.weights if files.weights.is_dir() else files.weights.parent
    for name, digest in wanted.items():
        found = file_digest(folder / name)
        if found != digest:
            raise LinnetError(f"{folder / name} has the sha256 {found}, the card says {digest}")
    return counted(len(wanted), "file")


def _samples(known: _Known) -> str:
    from linnet import nest

    card = known.need_card()
    samples = load_samples(card.folder)
    if not samples:
        raise NotChecked(f"{card.folder / 'samples.json'} holds none")
    known.need_files()
    if not known.bound:
        raise NotChecked("the weights do not fit")
    wrong, skipped = [], []
    with nest.load(card.file, offline=True) as model:
        for number, sample in enumerate(samples, 1):
            reason = cannot_run(sample, model)
            if reason is not None:
                skipped.append(f"sample {number}: {reason}")
            elif problem := verdict(sample, run(sample, model)):
                wrong.append(f"sample {number}, {sample.prompt!r}: {problem}")
    if wrong:
        raise LinnetError("\n".join(wrong))
    if skipped:
        raise NotChecked("; ".join(skipped))
    agreeing = sum(sample.agreeing_prefix for sample in samples)
    return f"{len(samples)} as stored, {agreeing} tokens agreeing with other stacks"


_STEPS: dict[str, Callable[[_Known], str]] = {
    "card": _card,
    "readme": _readme,
    "source": _source,
    "entry": _entry,
    "bindings": _bindings,
    "weights": _weights,
    "config": _config,
    "digests": _digests,
    "samples": _samples,
}
