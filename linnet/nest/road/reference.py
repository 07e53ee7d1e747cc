"""`linnet nest reference`: what another implementation makes of an entry's samples.

In go a card, a checkpoint and perhaps new inputs; out come samples, the stored ones with their
references computed anew and one more for each new input. transformers computes, in a process of
its own and under whichever Python has it; our stack only reads text and writes it.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linnet.errors import LinnetError, UsageError
from linnet.nest.card import Card
from linnet.nest.generate import prompt_ids
from linnet.nest.road.samples import (
    EmbeddingSample,
    ImageSample,
    Sample,
    TextSample,
    load_samples,
    updated,
)
from linnet.nest.text import text_after

if TYPE_CHECKING:
    from linnet.nest.model import Model

WORKER = Path(__file__).with_name("reference_worker.py")
TOKENS = 64
"""Tokens of a new sample of text."""

TOP = 5
"""Classes of a new sample of an image."""

Ask = Callable[..., dict[str, Any]]


def compute(
    card: Card,
    model: Model,
    folder: Path,
    inputs: Sequence[str] = (),
    *,
    tokens: int = TOKENS,
    python: str = sys.executable,
) -> tuple[Sample, ...]:
    """The samples of `card` with references by transformers, and with what `model` makes of them
    now. `folder` is the checkpoint that `model` was loaded from. `inputs` are new prompts, texts
    or image files, by the card's task; an image is copied into the entry's folder.

    Raises UsageError for a card without a task and without anything to do, LinnetError where
    transformers is not installed or fails.
    """
    task = card.about.task
    if task is None:
        raise UsageError(
            f"the card of {card.name} names no task",
            help='add task = "text-generation", "embedding" or "image-classification" to [model]',
        )
    stored = load_samples(card.folder)
    fresh = _fresh(task, card, inputs, tokens)
    known = {sample.title for sample in stored}
    samples = [*stored, *(sample for sample in fresh if sample.title not in known)]
    if not samples:
        raise UsageError(
            f"{card.name} has no samples yet", help="give inputs: --input TEXT (or a file)"
        )

    def ask(**details: Any) -> dict[str, Any]:
        return _asked(python, {"task": task, "checkpoint": str(folder), **details})

    find: dict[str, Callable[[Card, Model, Sequence[Any], Ask], list[Sample]]] = {
        "text-generation": _texts,
        "embedding": _vectors,
        "image-classification": _images,
    }
    found = find[task](card, model, samples, ask)
    return tuple(updated(sample, model) for sample in found)


def _fresh(task: str, card: Card, inputs: Sequence[str], tokens: int) -> list[Sample]:
    """New samples, still without references."""
    if task == "text-generation":
        return [TextSample("text", text, False, "", "", "", tokens, 0) for text in inputs]
    if task == "embedding":
        return [EmbeddingSample("embedding", text, (), "") for text in inputs]
    return [ImageSample(task, _copied(Path(file), card), (), "") for file in inputs]


def _copied(file: Path, card: Card) -> str:
    """The name of an image once it lies in the entry's folder."""
    if not file.is_file():
        raise UsageError(f"there is no image {file}")
    target = card.folder / file.name
    if not target.exists():
        shutil.copyfile(file, target)
    elif target.read_bytes() != file.read_bytes():
        raise UsageError(f"{target} is another image of that name")
    return file.name


def _texts(card: Card, model: Model, samples: Sequence[Any], ask: Ask) -> list[Sample]:
    able = [s for s in samples if s.kind == "text" and not s.chat]
    setup = model._text("write text")
    prompts = [prompt_ids(setup, sample.prompt) for sample in able]
    answer = ask(prompts=prompts, counts=[sample.tokens for sample in able])
    done = {}
    tokenizer = setup.need_tokenizer("a reference")
    for sample, prompt, ids in zip(able, prompts, answer["ids"], strict=True):
        text = text_after(tokenizer, ids, prompt, silent=answer["ends"])
        stack = answer["stack"]
        changes = {"reference": text, "reference_stack": stack, "tokens": len(ids)}
        done[sample.title] = dataclasses.replace(sample, **changes)
    return [done.get(sample.title, sample) for sample in samples]


def _vectors(card: Card, model: Model, samples: Sequence[Any], ask: Ask) -> list[Sample]:
    able = [s for s in samples if s.kind == "embedding"]
    answer = ask(texts=[sample.text for sample in able])
    done = {
        s.title: dataclasses.replace(s, reference=tuple(v), reference_stack=answer["stack"])
        for s, v in zip(able, answer["vectors"], strict=True)
    }
    return [done.get(sample.title, sample) for sample in samples]


def _images(card: Card, model: Model, samples: Sequence[Any], ask: Ask) -> list[Sample]:
    able = [s for s in samples if s.kind == "image-classification"]
    files = [str(card.folder / sample.image) for sample in able]
    answer = ask(images=files, top=max([TOP, *(len(s.reference) for s in able)]))
    done = {}
    for sample, classes in zip(able, answer["classes"], strict=True):
        pairs = tuple((label, score) for label, score in classes)
        stack = answer["stack"]
        done[sample.title] = dataclasses.replace(sample, reference=pairs, reference_stack=stack)
    return [done.get(sample.title, sample) for sample in samples]


def _asked(python: str, request: dict[str, Any]) -> dict[str, Any]:
    """The worker's answer. Raises LinnetError where there is none."""
    try:
        # -P: the folder of the worker holds modules of ours that must not hide others.
        done = subprocess.run(
            [python, "-P", str(WORKER)],
            input=json.dumps(request),
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        raise UsageError(f"python = {python!r} cannot be run: {error.strerror}") from error
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        last = (done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"])[-1]
        raise LinnetError(f"{python} could not compute references: {last}") from None
    if "missing" in answer:
        raise LinnetError(
            f"references are computed by transformers, which {python} does not have: "
            f"{answer['missing']}",
            help="install it there (`pip install torch transformers`), or name another Python "
            "that has it: --python PATH",
        )
    if "error" in answer:
        raise LinnetError(f"transformers could not compute references: {answer['error']}")
    return answer
