"""Runs a comparison: ours with probes, theirs with hooks (or the interpreter), then verdicts."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from linnet.bench import weights as random_weights
from linnet.bench.client import Client, WorkerError
from linnet.bench.subject import Opened, Subject
from linnet.compare import inputs as inputs_of
from linnet.compare import modules, trace
from linnet.compare.locate import Finding, locate
from linnet.compare.recording import Recording
from linnet.compare.trace import Trace
from linnet.compare.verdicts import Verdicts, against_recording, against_trace
from linnet.compare.worker import digest
from linnet.errors import LinnetError, UsageError
from linnet.nest.card import Card
from linnet.nest.tasks import CLASSIFICATION, EMBEDDING, GENERATION, TASKS

Say = Callable[[str], None]

TRANSFORMERS, INTERPRETER = "transformers", "interpreter"
STACKS = (TRANSFORMERS, INTERPRETER)
WORKER = "linnet.compare.worker"
CLASSES = {
    GENERATION.name: "AutoModelForCausalLM",
    EMBEDDING.name: "AutoModel",
    CLASSIFICATION.name: "AutoModelForImageClassification",
}
"""The class by which transformers opens a checkpoint for a task."""


@dataclass(frozen=True)
class Request:
    """What to compare. `tokens` None: made up from `seed`, or those of `prompt`. `entry` None:
    the card's, or its task's. `pythons`: interpreters to look for the other stack in, before
    this one. `tolerance` None: by dtype."""

    model: str | Path
    stack: str = TRANSFORMERS
    checkpoint: str | None = None
    entry: str | None = None
    tokens: tuple[int, ...] | None = None
    prompt: str | None = None
    pythons: tuple[str, ...] = ()
    tolerance: float | None = None
    target: str = "native"
    numerics: str = "equivalent"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.stack not in STACKS:
            raise UsageError(f"there is no stack {self.stack!r}; there are {', '.join(STACKS)}")
        if self.tokens is not None and self.prompt is not None:
            raise UsageError("give tokens or a prompt, not both")
        if self.tokens is not None and not self.tokens:
            raise UsageError("give at least one token")
        if self.tolerance is not None and not 0 <= self.tolerance < 1:
            raise UsageError(f"tolerance must lie between 0 and 1, not {self.tolerance}")


@dataclass(frozen=True)
class Result:
    """`modules` are the candidates of each block path; `finding` is None where all agree."""

    model: str
    stack: str
    weights: str
    tokens: tuple[int, ...]
    trace: Trace
    verdicts: Verdicts
    modules: Mapping[str, tuple[str, ...]]
    finding: Finding | None


def compare(request: Request, say: Say = lambda text: None) -> Result:
    """Run both sides and judge. Raises LinnetError for what is wrong with the model, the
    checkpoint or the other stack."""
    subject = Subject.find(request.model, request.checkpoint)
    with _files(subject, request, say) as subject:
        opened = subject.opened()
        asked = trace.probed(
            opened, entry_of(subject.card, request), request.target, request.numerics
        )
        graph = trace.lowered(asked)
        tokens = _tokens(subject, request) if _takes_tokens(graph) else ()
        given = inputs_of.make(graph, tokens, request.seed)
        python = _python(request.pythons) if request.stack == TRANSFORMERS else ""
        say("running the compiled code")
        ours = trace.compiled(opened, asked, graph, given.ours)
        matched: Mapping[str, tuple[str, ...]] = {}
        if request.stack == INTERPRETER:
            say("interpreting")
            theirs = trace.interpreted(opened, graph, given.ours)
            title, verdicts = "the interpreter", against_trace(ours, theirs, request.tolerance)
        else:
            say("running transformers")
            recording, matched = record(subject, opened, ours, given.theirs, python)
            title = recording.title
            verdicts = against_recording(ours, recording, matched, request.tolerance)
        weights = "random weights" if subject.is_random else _place(subject)
    found = locate(ours, verdicts)
    name = subject.card.name
    return Result(name, title, weights, tuple(tokens), ours, verdicts, matched, found)


@contextmanager
def _files(subject: Subject, request: Request, say: Say) -> Iterator[Subject]:
    """The subject with files: its own, or random ones for as long as the block runs."""
    if subject.files is not None:
        yield subject
        return
    with tempfile.TemporaryDirectory(prefix="linnet-compare-") as folder:
        say("writing random weights")
        random_weights.write_checkpoint(subject, Path(folder), request.seed)
        yield replace(Subject.find(subject.card.file, folder), is_random=True)


def _place(subject: Subject) -> str:
    assert subject.files is not None
    return str(subject.files.weights)


def entry_of(card: Card, request: Request) -> str:
    """The entry to run. Raises UsageError where nothing names one."""
    task = TASKS.get(card.about.task or "")
    name = request.entry or card.source.entry or (next(iter(task.entries)) if task else None)
    if name is None:
        raise UsageError(
            f"the card of {card.name} names no entry to call", help="name one: --entry NAME"
        )
    return name


def _takes_tokens(graph: Any) -> bool:
    return any(node.attrs.name in ("tokens", "token") for node in graph.inputs)


def _tokens(subject: Subject, request: Request) -> Sequence[int]:
    if request.prompt is not None:
        found = _encoded(subject, request.prompt)
        if not found:
            raise UsageError("the prompt has no token")
    else:
        found = list(request.tokens or inputs_of.tokens_for(subject.vocabulary, request.seed))
    unknown = [token for token in found if not 0 <= token < subject.vocabulary]
    if unknown:
        raise UsageError(f"{unknown[0]} is no token id: there are {subject.vocabulary}")
    return found


def _encoded(subject: Subject, prompt: str) -> list[int]:
    from linnet.nest.text import check_text, find_tokenizer

    check_text(prompt, "the prompt")
    card, files = subject.card, subject.files
    end = card.text.end_of_text if card.text is not None else None
    tokenizer = find_tokenizer(files.tokenizer, end) if files is not None else None
    if tokenizer is None:
        raise UsageError(
            f"there is no tokenizer for {card.name} here", help="give token ids: --tokens 1,2,3"
        )
    return tokenizer.encode(prompt)


def record(
    subject: Subject,
    opened: Opened,
    ours: Trace,
    inputs: Mapping[str, Any],
    python: str,
) -> tuple[Recording, dict[str, tuple[str, ...]]]:
    """What transformers computes from the same checkpoint and inputs, and which of its modules
    are our blocks. Raises LinnetError where it cannot."""
    import numpy as np

    assert subject.files is not None
    weights = subject.files.weights
    folder = weights if weights.is_dir() else weights.parent
    sizes = sorted({array.size for array in ours.arrays})
    with tempfile.TemporaryDirectory(prefix="linnet-compare-") as place:
        file = Path(place) / "inputs.npz"
        np.savez(file, **inputs)
        try:
            with Client(python, module=WORKER) as client:
                client.ask(
                    "record",
                    checkpoint=str(folder.resolve()),
                    kind=_class(subject.card),
                    inputs=str(file),
                    sizes=sizes,
                    folder=place,
                )
                found = Recording.load(Path(place))
                return found, matched(opened, found, client)
        except WorkerError as error:
            raise LinnetError(f"transformers cannot run this checkpoint: {error}") from error


def matched(
    opened: Opened, recording: Recording, client: Client | None
) -> dict[str, tuple[str, ...]]:
    """The candidate modules of each of our blocks; without a client by names alone."""
    names = dict(opened.binding.names)

    def ours_of(paths: list[str]) -> dict[str, str]:
        if client is None:
            return {}
        return {path: digest(trace.weight(opened, path, widen=True)) for path in paths}

    def theirs_of(wanted: list[str]) -> Mapping[str, str]:
        if client is None:
            return {}
        found: dict[str, str] = client.ask("digests", names=wanted)["digests"]
        return found

    pairs = modules.parameters(names, recording.parameters, ours_of, theirs_of)
    return modules.blocks(names, pairs, recording.parameters)


def _python(pythons: Sequence[str]) -> str:
    """The first interpreter that has transformers. Raises UsageError where none has."""
    reasons = []
    for python in (*pythons, sys.executable):
        try:
            with Client(python, module=WORKER) as client:
                client.ask("check")
            return python
        except WorkerError as error:
            reasons.append(f"{python}: {error}")
    raise UsageError(
        "transformers is not installed here: " + "; ".join(reasons),
        help="name an interpreter that has torch and transformers: --python PATH",
    )


def _class(card: Card) -> str:
    task = card.about.task or (GENERATION.name if card.text is not None else None)
    if task not in CLASSES:
        raise UsageError(
            f"the card of {card.name} names no task, and it tells how transformers opens the model",
            help="give `task` under [model] in nest.toml",
        )
    return CLASSES[task]
