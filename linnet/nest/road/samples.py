"""`samples.json` of an entry: what there is to hold a model against.

The file is a list of objects. Each has a `kind`, what goes in, what another implementation made
of it (`reference`, by `reference_stack`), and in the end whether ours agrees:

    {"kind": "text", "prompt": "Once", "chat": false, "output": " upon", "reference": " upon",
     "reference_stack": "transformers 5.24.0, f32", "tokens": 2, "agreeing_prefix": 2}

        Greedy continuation of a prompt by `tokens` tokens. `output` is what our stack wrote;
        `agreeing_prefix` counts the leading tokens of it that are in `reference`.

    {"kind": "embedding", "text": "a text", "reference": [0.03, ...], "reference_stack": "..."}

        The vector of a text; ours must be within 1e-5 of it in every element.

    {"kind": "image-classification", "image": "cat.png", "reference": [["cat", 0.98], ...],
     "reference_stack": "..."}

        The likeliest classes of an image that lies in the entry's folder, with their scores;
        ours must be the same in the same order, the scores within 1e-3.

`load_samples` reads and checks the file; `Sample.verdict` says what is wrong with a model.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from linnet.errors import CardError
from linnet.nest.json_values import is_number
from linnet.nest.nearest import did_you_mean

if TYPE_CHECKING:
    from linnet.nest.model import Model

SAMPLES_FILE = "samples.json"
VECTOR_TOLERANCE = 1e-5
SCORE_TOLERANCE = 1e-3


class Sample(Protocol):
    """What all kinds have in common."""

    @property
    def kind(self) -> str: ...
    @property
    def reference_stack(self) -> str: ...
    @property
    def title(self) -> str:
        """What goes in, for messages."""

    def cannot_run(self, model: Model) -> str | None:
        """Why a model cannot be held against it, or None."""

    def verdict(self, model: Model) -> str | None:
        """Run it: what is wrong with what the model makes of it, or None."""

    def updated(self, model: Model) -> Sample:
        """The sample with what the model makes of it now."""

    def lines(self) -> list[tuple[str, str]]:
        """What people see of it: a word and a text a line."""


@dataclass(frozen=True)
class TextSample:
    """The fields are the keys of the file, as with all kinds."""

    kind: str
    prompt: str
    chat: bool
    output: str
    reference: str
    reference_stack: str
    tokens: int
    agreeing_prefix: int

    @property
    def title(self) -> str:
        return repr(self.prompt)

    def cannot_run(self, model: Model) -> str | None:
        if self.chat:
            return "it needs a chat template, and the model has none"
        return None if model.tokenizer is not None else "the checkpoint has no tokenizer"

    def verdict(self, model: Model) -> str | None:
        text, _, agreeing = self._run(model)
        if text != self.output:
            at = _first_difference(text, self.output)
            return (
                f"the text differs from the stored one at character {at}: "
                f"{text[at : at + 24]!r} in place of {self.output[at : at + 24]!r}"
            )
        if agreeing < self.agreeing_prefix:
            return (
                f"{agreeing} leading tokens agree with {self.reference_stack}, "
                f"and {self.agreeing_prefix} did"
            )
        return None

    def updated(self, model: Model) -> TextSample:
        text, tokens, agreeing = self._run(model)
        return dataclasses.replace(self, output=text, tokens=tokens, agreeing_prefix=agreeing)

    def lines(self) -> list[tuple[str, str]]:
        noun = "token" if self.tokens == 1 else "tokens"
        agreeing = f"{self.agreeing_prefix} of {self.tokens} {noun} with {self.reference_stack}"
        return [
            ("prompt", repr(self.prompt)),
            ("output", repr(self.output)),
            ("agreement", agreeing),
        ]

    def _run(self, model: Model) -> tuple[str, int, int]:
        """Write the text again, greedily: the text, its tokens, and how many of them agree."""
        done = model.generate(self.prompt, max_new_tokens=self.tokens)
        prompt = model.tokenize(self.prompt)
        agreeing = agreeing_tokens(model, prompt, done.token_ids, self.reference)
        return done.text, len(done.token_ids), agreeing


@dataclass(frozen=True)
class EmbeddingSample:
    kind: str
    text: str
    reference: tuple[float, ...]
    reference_stack: str

    @property
    def title(self) -> str:
        return repr(self.text)

    def cannot_run(self, model: Model) -> str | None:
        return None if model.tokenizer is not None else "the checkpoint has no tokenizer"

    def verdict(self, model: Model) -> str | None:
        vector = model.embed(self.text)
        if len(vector) != len(self.reference):
            return f"the vector has {len(vector)} elements, and {len(self.reference)} are stored"
        worst = max(abs(float(a) - b) for a, b in zip(vector, self.reference, strict=True))
        if worst <= VECTOR_TOLERANCE:
            return None
        return f"the vector is {worst:.2e} away from that of {self.reference_stack}"

    def updated(self, model: Model) -> EmbeddingSample:
        return self

    def lines(self) -> list[tuple[str, str]]:
        start = ", ".join(f"{x:.4f}" for x in self.reference[:4])
        vector = f"{len(self.reference)} numbers, {start}, … by {self.reference_stack}"
        return [("text", repr(self.text)), ("vector", vector)]


@dataclass(frozen=True)
class ImageSample:
    kind: str
    image: str
    reference: tuple[tuple[str, float], ...]
    reference_stack: str

    @property
    def title(self) -> str:
        return self.image

    def cannot_run(self, model: Model) -> str | None:
        file = model.card.folder / self.image
        return None if file.is_file() else f"{file} is not there"

    def verdict(self, model: Model) -> str | None:
        count = len(self.reference)
        guesses = model.classify(str(model.card.folder / self.image), top=count)
        for (label, score), guess in zip(self.reference, guesses, strict=False):
            if label != guess[0] or abs(score - guess[1]) > SCORE_TOLERANCE:
                return (
                    f"{guess[0]!r} with {guess[1]:.4f} in place of {label!r} with {score:.4f} "
                    f"by {self.reference_stack}"
                )
        return None

    def updated(self, model: Model) -> ImageSample:
        return self

    def lines(self) -> list[tuple[str, str]]:
        classes = ", ".join(f"{label} {score:.4f}" for label, score in self.reference)
        return [("image", self.image), ("classes", f"{classes} by {self.reference_stack}")]


_Check = Callable[[Any], str | None]


def _of(kind: type) -> _Check:
    def check(value: Any) -> str | None:
        return None if type(value) is kind else f"must be of type {kind.__name__}"

    return check


def _count(value: Any) -> str | None:
    wrong = _of(int)(value)
    return wrong or (None if value >= 0 else "must not be negative")


def _vector(value: Any) -> str | None:
    good = isinstance(value, list) and value and all(map(is_number, value))
    return None if good else "must be a list of numbers"


def _classes(value: Any) -> str | None:
    def is_pair(item: Any) -> bool:
        pair = isinstance(item, list) and len(item) == 2
        return pair and isinstance(item[0], str) and is_number(item[1])

    good = isinstance(value, list) and value and all(map(is_pair, value))
    return None if good else "must be a list of pairs [label, score]"


def _image(value: Any) -> str | None:
    good = isinstance(value, str) and value and not {"/", "\\"} & set(value)
    return None if good else "must be the name of a file in the entry's folder"


_STACK = {"kind": _of(str), "reference_stack": _of(str)}
KINDS: dict[str, tuple[Callable[..., Sample], dict[str, _Check]]] = {
    "text": (
        TextSample,
        {
            **_STACK,
            "prompt": _of(str),
            "chat": _of(bool),
            "output": _of(str),
            "reference": _of(str),
            "tokens": _count,
            "agreeing_prefix": _count,
        },
    ),
    "embedding": (EmbeddingSample, {**_STACK, "text": _of(str), "reference": _vector}),
    "image-classification": (ImageSample, {**_STACK, "image": _image, "reference": _classes}),
}
"""What a sample of each kind becomes, and the check of each of its keys."""


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
    return tuple(sample_from(item) for item in data)


def sample_from(item: dict[str, Any]) -> Sample:
    """A sample from an object of the file that has no problems."""
    make, _ = KINDS[item["kind"]]
    return make(**{key: _tuples(value) for key, value in item.items()})


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _problems(item: Any) -> list[str]:
    if not isinstance(item, dict):
        return ["must be an object"]
    kind = item.get("kind")
    if kind not in KINDS:
        if kind is None:
            return ["lacks 'kind'"]
        return [f"has an unknown kind {kind!r}{did_you_mean(str(kind), KINDS)}"]
    _, keys = KINDS[kind]
    found = [f"has an unknown key {k!r}{did_you_mean(k, keys)}" for k in item if k not in keys]
    for key, check in keys.items():
        if key not in item:
            found.append(f"lacks {key!r}")
        elif wrong := check(item[key]):
            shown = json.dumps(item[key], ensure_ascii=False)
            found.append(f"has {key} = {shown[:60]}, which {wrong}")
    return found


def store_samples(folder: Path, samples: Sequence[Sample]) -> Path:
    """Write the samples of the entry in `folder`; returns the file."""
    file = folder / SAMPLES_FILE
    rows = ",\n".join(_written(as_object(sample)) for sample in samples)
    file.write_text(f"[\n{rows}\n]\n" if samples else "[]\n", encoding="utf-8")
    return file


def as_object(sample: Sample) -> dict[str, Any]:
    """The sample as an object of the file."""
    assert dataclasses.is_dataclass(sample)
    assert not isinstance(sample, type)
    return dataclasses.asdict(sample)


def _written(item: dict[str, Any]) -> str:
    """An object with a line for each key: vectors stay on one."""
    rows = [f'    "{key}": {json.dumps(value, ensure_ascii=False)}' for key, value in item.items()]
    return "  {\n" + ",\n".join(rows) + "\n  }"


def updated(sample: Sample, model: Model) -> Sample:
    """The sample with what the model makes of it now, or as it is where it cannot be run."""
    return sample if sample.cannot_run(model) is not None else sample.updated(model)


def agreeing_tokens(model: Model, prompt: Sequence[int], ids: Sequence[int], reference: str) -> int:
    """How many of the leading `ids`, behind those of `prompt`, spell the beginning of
    `reference`, byte by byte. An end-of-text token agrees where the reference ends."""
    tokenizer = model.tokenizer
    assert tokenizer is not None
    rest = reference.encode("utf-8")
    for count, spelled in enumerate(tokenizer.spelled(ids, prompt)):
        if not rest.startswith(spelled) or not spelled:
            return count + (not rest and count == len(ids) - 1)
        rest = rest[len(spelled) :]
    return len(ids)


def _first_difference(one: str, other: str) -> int:
    for at, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return at
    return min(len(one), len(other))
