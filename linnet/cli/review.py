"""The review of a zoo entry, as `linnet nest check` runs it.

In goes an entry's name; out comes a finding for each thing that is to hold. What cannot be
looked at is a finding of its own with the reason: nothing is left out in silence. Each step
takes what the steps before it learnt, and says so when they learnt nothing.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from linnet import driver
from linnet.artifact import Parameter
from linnet.cli.subject import find_model
from linnet.cli.terminal import Console, counted
from linnet.errors import CheckpointError, LinnetError, SourceError
from linnet.nest.card import Card
from linnet.nest.config import Config, load_config
from linnet.nest.resolve import Checkpoint
from linnet.nest.settings import Settings, resolve_settings

if TYPE_CHECKING:
    from linnet.nest.road.samples import Sample

Verdict = Literal["pass", "fail", "not run"]

UNUSED_SHOWN = 3
"""How many of the tensors that nothing reads are named."""


@dataclass(frozen=True)
class Finding:
    """What came of one check. `detail` says what was found, or completes "not run, because".
    `stated` is false for samples that were not run without the entry saying why."""

    model: str
    check: str
    verdict: Verdict
    detail: str
    stated: bool = True


class NotRun(Exception):
    """Raised by a check that cannot be made; the text completes "not run, because ..."."""

    def __init__(self, reason: str, *, stated: bool = True) -> None:
        super().__init__(reason)
        self.stated = stated


@dataclass
class _Known:
    """What the steps have learnt about one entry. `checkpoint` was asked for; `files` is the one
    that was found, `no_files` why there is none."""

    name: str
    download: bool
    checkpoint: str | None
    card: Card | None = None
    request: driver.Request | None = None
    manifest: tuple[Parameter, ...] | None = None
    files: Checkpoint | None = None
    no_files: str | None = None
    settings: Settings | None = None
    bound: bool = False

    def need_card(self) -> Card:
        if self.card is None:
            raise NotRun("the card is malformed")
        return self.card

    def need_manifest(self) -> tuple[driver.Request, tuple[Parameter, ...]]:
        if self.request is None or self.manifest is None:
            raise NotRun("the source does not check")
        return self.request, self.manifest

    def need_files(self) -> Checkpoint:
        """The checkpoint that the entry is held against."""
        from linnet.nest.resolve import resolve

        card = self.need_card()
        if self.files is None and self.no_files is None:
            try:
                self.files = resolve(card, self.checkpoint, offline=not self.download)
            except CheckpointError as error:
                if self.download or self.checkpoint is not None:
                    raise
                hint = "--download fetches them, " if card.weights.repo else ""
                first = error.message.splitlines()[0]
                self.no_files = f"{first} ({hint}--checkpoint takes others)"
        if self.files is None:
            raise NotRun(self.no_files or "the weights are not on this machine")
        return self.files


def review(
    name: str, console: Console, *, download: bool = False, checkpoint: str | None = None
) -> Iterator[Finding]:
    """The findings about one entry, as they are made. `download` fetches missing weights;
    `checkpoint` is looked at in place of the published ones."""
    known = _Known(name, download, checkpoint)
    for check, step in _STEPS.items():
        with console.progress(f"{name}: {check}"):
            finding = _made(known, check, step)
        yield finding


def _made(known: _Known, check: str, step: Callable[[_Known], str]) -> Finding:
    try:
        return Finding(known.name, check, "pass", step(known))
    except NotRun as reason:
        return Finding(known.name, check, "not run", str(reason), reason.stated)
    except SourceError as error:
        listed = "".join(f"\n{d.code}: {d.message}" for d in error.diagnostics)
        return Finding(known.name, check, "fail", listed.lstrip("\n") or error.message)
    except LinnetError as error:
        return Finding(known.name, check, "fail", str(error))
    except OSError as error:
        return Finding(known.name, check, "fail", f"{error.filename}: {error.strerror}")


def _fail(what: str, problems: Iterable[str]) -> None:
    """Raise LinnetError if there are problems with `what`."""
    found = list(problems)
    if found:
        raise LinnetError(f"{what}:" + "".join(f"\n  {problem}" for problem in found))


# The checks, in order. Each returns what it found, or raises.


def _card(known: _Known) -> str:
    known.card = find_model(known.name, offline=not known.download)
    if known.checkpoint is None and known.card.checkpoint is not None:
        known.checkpoint = str(known.card.checkpoint)
    return known.card.about.title


def _readme(known: _Known) -> str:
    from linnet.nest.road.papers import readme_problems

    file = known.need_card().folder / "README.md"
    _fail(str(file), readme_problems(file))
    return file.name


def _source(known: _Known) -> str:
    from linnet.nest.request import request_for

    card = known.need_card()
    result = driver.check(card.source.path)
    # The card's own sizes: whether config.json agrees with them is a question of its own.
    known.request = request_for(card, resolve_settings(card, Config({})))
    known.manifest = driver.manifest(known.request)
    warnings = len(tuple(result.problems))
    found = f"{card.source.path.name}, {counted(len(known.manifest), 'parameter')}"
    return found + (f", {counted(warnings, 'warning')}" if warnings else "")


def _format(known: _Known) -> str:
    from linnet.fmt import format_source
    from linnet.modules.load import read_source

    source = read_source(known.need_card().source.path)
    if format_source(source) != source.text:
        raise LinnetError(
            f"{source.name} is not in the style of the house",
            help=f"`linnet fmt {source.name}` puts it there",
        )
    return "as `linnet fmt` writes it"


def _entry(known: _Known) -> str:
    """The card's entry for the card's sizes, down to C."""
    card = known.need_card()
    request, _ = known.need_manifest()
    if card.source.entry is None:
        raise NotRun("the card names no entry")
    unit = driver.generate(
        dataclasses.replace(request, entries=(card.source.entry,), bind=card.check, target="scalar")
    )
    sizes = ", ".join(f"{name} = {value}" for name, value in card.check.items())
    return f"{card.source.entry}({sizes}), {counted(unit.c.count(chr(10)), 'line')} of C"


def _task(known: _Known) -> str:
    from linnet.nest.road.entries import problems
    from linnet.nest.tasks import TASKS

    card = known.need_card()
    known.need_manifest()
    if card.about.task is None:
        raise NotRun("the card names no task")
    program = driver.check(card.source.path).program
    assert program is not None
    root = driver.root_block(program, card.source.root)
    _fail(f"{card.about.task} takes other entries than there are", problems(root, card.about.task))
    return f"{card.about.task}: {', '.join(TASKS[card.about.task].entries)}"


def _bindings(known: _Known) -> str:
    from linnet.nest.bindings import load_bindings

    card = known.need_card()
    _, manifest = known.need_manifest()
    if card.weights.bindings is None:
        return "none: the parameters have the names of the tensors"
    bindings = load_bindings(card.weights.bindings)
    names = bindings.expand([p.path for p in manifest])
    exact = [key for key in bindings.pairs if key in names]
    spare = [
        f"{key!r}: every parameter it speaks of has a pair of its own"
        for key in bindings.pairs
        if key not in exact and not _speaks(key, names, exact)
    ]
    _fail(f"{card.weights.bindings} holds spare pairs", spare)
    return f"{len(names)} of {counted(len(manifest), 'parameter')}"


def _speaks(pattern: str, names: Iterable[str], exact: Iterable[str]) -> bool:
    """Whether a pattern stands for a parameter that no pair names in full. Without arrays it
    stands for none, and may."""
    parts = (re.escape(part) for part in re.split(r"\{\w+\}", pattern))
    matcher = re.compile(r"\d+".join(parts))
    matches = [name for name in names if matcher.fullmatch(name)]
    return not matches or any(name not in set(exact) for name in matches)


def _config(known: _Known) -> str:
    """What config.json says, against what the card expects and reads."""
    from linnet.nest.road.draft import unmentioned

    card = known.need_card()
    file = known.need_files().config
    if file is None:
        raise NotRun("the checkpoint has no config.json")
    config = load_config(file)
    known.settings = resolve_settings(card, config)
    read = len(card.config_generics) + len(card.config_constants)
    found = f"{counted(len(card.expect), 'key')} as expected, {read} read"
    others = unmentioned(card, config)
    return found + (f"; not mentioned: {', '.join(others)}" if others else "")


def _weights(known: _Known) -> str:
    """Every tensor's name, dtype and shape for the sizes of config.json; no value is read."""
    from linnet.nest.bindings import load_bindings, tensor_names
    from linnet.nest.request import request_for
    from linnet.runtime.bind import bind
    from linnet.runtime.checkpoint import open_checkpoint

    card, files = known.need_card(), known.need_files()
    known.need_manifest()
    if files.config is not None and known.settings is None:
        raise NotRun("config.json does not fit")
    settings = known.settings or resolve_settings(card, Config({}))
    manifest = driver.manifest(request_for(card, settings))
    with open_checkpoint(files.weights) as weights:
        bindings = None if card.weights.bindings is None else load_bindings(card.weights.bindings)
        paths = [parameter.path for parameter in manifest]
        names = tensor_names(bindings, paths, weights.names, card.weights.prefixes)
        binding = bind(manifest, weights.tensors, names, str(files.weights))
    known.bound = True
    unused = f", {_unused(binding.ignored)}" if binding.ignored else ""
    return f"{counted(len(binding.names), 'tensor')} from {files.origin}{unused}"


def _unused(names: tuple[str, ...]) -> str:
    """`3 tensors unused: h.{i}.mask, head.bias`: a name that stands here by mistake is one that
    bindings.json lacks."""
    from linnet.nest.bindings import kind_of

    kinds = list(dict.fromkeys(kind_of(name) for name in names))
    more = f" and {len(kinds) - UNUSED_SHOWN} more" if len(kinds) > UNUSED_SHOWN else ""
    listed = ", ".join(kinds[:UNUSED_SHOWN])
    return f"{counted(len(names), 'tensor')} unused: {listed}{more}"


def _digests(known: _Known) -> str:
    from linnet.toolchain.cache import file_digest

    card = known.need_card()
    wanted = card.weights.sha256
    if not wanted:
        raise NotRun("the card gives none")
    if known.checkpoint is not None:
        raise NotRun("they are those of the published weights")
    files = known.need_files()
    folder = files.weights if files.weights.is_dir() else files.weights.parent
    for name, digest in wanted.items():
        found = file_digest(folder / name)
        if found != digest:
            raise LinnetError(f"{folder / name} has the sha256 {found}, the card says {digest}")
    return counted(len(wanted), "file")


def _samples(known: _Known) -> str:
    from linnet.nest.road.samples import load_samples

    card = known.need_card()
    stated = card.samples_not_run is not None
    samples = load_samples(card.folder)
    if not samples:
        why = card.samples_not_run or f"{card.folder / 'samples.json'} holds none"
        raise NotRun(why, stated=stated)
    try:
        known.need_files()
    except NotRun as reason:
        raise NotRun(card.samples_not_run or str(reason), stated=stated) from None
    if not known.bound:
        raise NotRun("the weights do not fit")
    return _run_samples(card, samples, known.checkpoint)


def _run_samples(card: Card, samples: Iterable[Sample], checkpoint: str | None) -> str:
    from linnet import nest

    wrong, skipped, kinds = [], [], []
    with nest.load(card.file, checkpoint=checkpoint, offline=True) as model:
        for number, sample in enumerate(samples, 1):
            kinds.append(sample.kind)
            reason = sample.cannot_run(model)
            if reason is not None:
                skipped.append(f"sample {number}: {reason}")
            elif problem := sample.verdict(model):
                wrong.append(f"sample {number}, {sample.title}: {problem}")
    if wrong:
        raise LinnetError("\n".join(wrong))
    if skipped:
        stated = card.samples_not_run is not None
        raise NotRun(card.samples_not_run or "; ".join(skipped), stated=stated)
    return ", ".join(f"{kinds.count(kind)} of {kind}" for kind in dict.fromkeys(kinds))


def _bench(known: _Known) -> str:
    from linnet.nest.road.papers import bench_problems

    file = known.need_card().folder / "bench.json"
    _fail(str(file), bench_problems(file))
    return file.name


_STEPS: dict[str, Callable[[_Known], str]] = {
    "card": _card,
    "readme": _readme,
    "source": _source,
    "format": _format,
    "entry": _entry,
    "task": _task,
    "bindings": _bindings,
    "config": _config,
    "weights": _weights,
    "digests": _digests,
    "samples": _samples,
    "bench": _bench,
}
