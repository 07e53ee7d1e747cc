"""`samples.json` of a zoo entry: read it, and hold the model against it.

Each sample is a prompt, the greedy text our stack wrote for it, and the text of another stack
with the number of leading tokens that agree. Running one says whether both still hold.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linnet.errors import CardError
from linnet.nest.nearest import did_you_mean

if TYPE_CHECKING:
    from linnet.nest.model import Model

SAMPLES_FILE = "samples.json"
_TYPES: dict[str, type] = {
    "kind": str,
    "prompt": str,
    "chat": bool,
    "output": str,
    "reference": str,
    "reference_stack": str,
    "tokens": int,
    "agreeing_prefix": int,
}


@dataclass(frozen=True)
class Sample:
    """One sample; the fields are the keys of the file."""

    kind: str
    prompt: str
    chat: bool
    output: str
    reference: str
    reference_stack: str
    tokens: int
    agreeing_prefix: int


@dataclass(frozen=True)
class Outcome:
    """What came of running a sample. `agreeing` counts the leading tokens of `text` that are
    in the reference."""

    text: str
    tokens: int
    agreeing: int


def load_samples(folder: Path) -> tuple[Sample, ...]:
    """The samples of the entry in `folder`; none if there is no file.

    Raises CardError with every problem of the file."""
    file = folder / SAMPLES_FILE
    try:
        data = json.loads(file.read_bytes())
    except FileNotFoundError:
        return ()
    except (ValueError, RecursionError) as error:
        raise CardError(f"{file} is not valid JSON: {error}") from error
    if not isinstance(data, list):
        raise CardError(f"{file} must hold a JSON list of samples")
    problems = [f"{n}: {wrong}" for n, item in enumerate(data, 1) for wrong in _problems(item)]
    if problems:
        raise CardError(f"{file} is malformed:" + "".join(f"\n  sample {p}" for p in problems))
    return tuple(Sample(**item) for item in data)


def _problems(item: Any) -> list[str]:
    if not isinstance(item, dict):
        return ["must be an object"]
    found = [f"has an unknown key {k!r}{did_you_mean(k, _TYPES)}" for k in item if k not in _TYPES]
    for key, kind in _TYPES.items():
        if key not in item:
            found.append(f"lacks {key!r}")
        elif type(item[key]) is not kind:
            found.append(f"has {key} = {item[key]!r}, which must be of type {kind.__name__}")
        elif kind is int and item[key] < 0:
            found.append(f"has {key} = {item[key]}, which must not be negative")
    return found


def cannot_run(sample: Sample, model: Model) -> str | None:
    """Why a sample cannot be run, or None."""
    if sample.kind != "text":
        return f"samples of kind {sample.kind!r} cannot be run yet"
    if sample.chat:
        return "it needs a chat template, and the model has none"
    return None if model.tokenizer is not None else "the checkpoint has no tokenizer"


def run(sample: Sample, model: Model) -> Outcome:
    """Write the sample's text again, greedily."""
    done = model.generate(sample.prompt, max_new_tokens=sample.tokens)
    return Outcome(
        done.text, len(done.token_ids), agreeing_tokens(model, done.token_ids, sample.reference)
    )


def agreeing_tokens(model: Model, ids: Sequence[int], reference: str) -> int:
    """How many of the leading `ids` spell the beginning of `reference`, byte by byte. An
    end-of-text token agrees where the reference ends."""
    tokenizer = model.tokenizer
    assert tokenizer is not None
    rest = reference.encode("utf-8")
    for count, token in enumerate(ids):
        spelled = tokenizer.token_bytes(token)
        if not rest.startswith(spelled) or not spelled:
            return count + (not rest and count == len(ids) - 1)
        rest = rest[len(spelled) :]
    return len(ids)


def updated(sample: Sample, model: Model) -> Sample:
    """The sample with what the model writes now, or as it is where it cannot be run."""
    if cannot_run(sample, model) is not None:
        return sample
    outcome = run(sample, model)
    return dataclasses.replace(
        sample, output=outcome.text, tokens=outcome.tokens, agreeing_prefix=outcome.agreeing
    )


def store_samples(folder: Path, samples: Sequence[Sample]) -> Path:
    """Write the samples of the entry in `folder`; returns the file."""
    file = folder / SAMPLES_FILE
    rows = [dataclasses.asdict(sample) for sample in samples]
    file.write_text(json.dumps(rows, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return file


def verdict(sample: Sample, outcome: Outcome) -> str | None:
    """What is wrong with an outcome, or None."""
    if outcome.text != sample.output:
        at = _first_difference(outcome.text, sample.output)
        return (
            f"the text differs from the stored one at character {at}: "
            f"{outcome.text[at : at + 24]!r} in place of {sample.output[at : at + 24]!r}"
        )
    if outcome.agreeing < sample.agreeing_prefix:
        return (
            f"{outcome.agreeing} leading tokens agree with {sample.reference_stack}, "
            f"and {sample.agreeing_prefix} did"
        )
    return None


def _first_difference(one: str, other: str) -> int:
    for at, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return at
    return min(len(one), len(other))
