"""The files of a new entry as text: card, source, bindings, README and the empty ones.

In go the `Facts` that `begin` gathered; out comes a text for each file. Whatever is a guess says
so, and whatever needs a decision stands as a comment at the place where it will be needed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from linnet.errors import SourceError
from linnet.nest.road.sizes import flat
from linnet.nest.road.tensors import listed

if TYPE_CHECKING:
    from linnet.nest.card import Card
    from linnet.nest.config import Config
    from linnet.nest.road.begin import Facts

ARCHITECTURES = (
    ("CausalLM", "text-generation"),
    ("LMHead", "text-generation"),
    ("ImageClassification", "image-classification"),
)
"""What a name under `architectures` says about a task."""

SILENT = (
    r"_name_or_path|architectures|transformers_version|torch_dtype|dtype|use_cache|.*_token_id|"
    r"id2label\..*|label2id\..*|id2label|label2id|.*dropout.*|.*_drop|.*initializer.*|init_std|"
    r"layerdrop|output_attentions|output_hidden_states|return_dict|gradient_checkpointing|"
    r"task_specific_params.*|summary_.*|problem_type|pruned_heads.*|chunk_size_feed_forward"
)
"""Keys that say nothing about what a loaded model computes: training, bookkeeping, words."""


def files(facts: Facts) -> dict[str, str]:
    """The text of each file by name."""
    source = f"{facts.name.replace('-', '_').replace('.', '_')}.linnet"
    return {
        "nest.toml": _card(facts, source),
        source: _source(facts, source),
        "bindings.json": json.dumps(facts.skeleton.bindings, indent=2, ensure_ascii=False) + "\n",
        "samples.json": "[]\n",
        "bench.json": "{}\n",
        "README.md": _readme(facts, source),
    }


# --- the card ------------------------------------------------------------------------------


def _card(facts: Facts, source: str) -> str:
    return "\n".join(_card_lines(facts, source)) + "\n"


def _card_lines(facts: Facts, source: str) -> Iterator[str]:
    task = _task(facts)
    yield f"# The card of {facts.name}. What was guessed or is still missing is marked with `?`."
    yield ""
    yield "[model]"
    yield f"name = {_text(facts.name)}"
    yield f"title = {_text(facts.title)}"
    yield 'summary = "One sentence about the model."                     # ?'
    yield 'license = "unknown"                                          # ? that of the weights'
    yield f"family = {_text(str(facts.config.get('model_type') or facts.name))}"
    yield "tags = []"
    yield "# What the model is for: this is what gives generate, embed or classify, and says which"
    yield "# entries the source must have. Turn it on when they are there."
    yield f'# task = "{task or "text-generation"}"'
    yield ""
    yield "[links]"
    yield 'huggingface = "https://huggingface.co/owner/name"            # ? where it was published'
    yield ""
    yield "[source]"
    yield f"path = {_text(source)}"
    yield f"root = {_text(facts.skeleton.root)}"
    yield 'entry = "forward"'
    yield from _generics(facts)
    yield ""
    yield "# Sizes of the entry's own generics, for the check that it compiles."
    yield "[check]"
    yield from (f"{name} = {value}" for name, value in facts.skeleton.check.items())
    yield from _weights(facts)
    yield from _config(facts)
    if task == "text-generation":
        yield from _text_table(facts)


def _generics(facts: Facts) -> Iterator[str]:
    yield ""
    yield "# The sizes of the published checkpoint."
    yield "[generics]"
    rows = [(f"{s.name} = {s.value}", s.key or "counted") for s in facts.sizes]
    width = max((len(row) for row, _ in rows), default=0)
    yield from (f"{row:<{width}}  # ? {origin}" for row, origin in rows)
    yield 'T = "f32"'


def _weights(facts: Facts) -> Iterator[str]:
    yield ""
    yield "[weights]"
    yield "# Where the weights are published, and the full commit hash that this card speaks of:"
    yield '# repo = "owner/name"'
    yield '# revision = "0123456789abcdef0123456789abcdef01234567"'
    if facts.weight_files != ("model.safetensors",):
        names = ", ".join(_text(name) for name in facts.weight_files)
        yield f"files = [{names}]"
    yield 'bindings = "bindings.json"'
    yield "# f16 and bf16 files are converted exactly to T."
    yield "widen = true"
    if facts.tied:
        yield ""
        yield "# These hold the same values; the parameter stands for both."
        yield "[weights.tied]"
        parameters = {tensor: path for path, tensor in facts.skeleton.bindings.items()}
        for name, twin in facts.tied.items():
            yield f"{_text(name)} = {_text(parameters.get(twin, twin))}"


def _config(facts: Facts) -> Iterator[str]:
    if not facts.config:
        return
    speaking = {k: v for k, v in facts.rest.items() if not re.fullmatch(SILENT, k)}
    silent = [k for k in facts.rest if k not in speaking]
    yield ""
    yield "# What the source relies on. Each key of config.json that changes what is computed is"
    yield "# either expected (then another value is refused by name) or read, as a generic or a"
    yield "# constant. Decide about each line, and remove those that change nothing."
    yield "[config.expect]"
    for key in sorted(speaking, key=lambda k: k != "model_type"):
        mark = "" if key == "model_type" else "# "
        line = f"{mark}{_key(key)} = {_value(speaking[key])}"
        yield line
    if silent:
        yield "# Taken to change nothing: " + ("\n# ".join(_wrapped(silent)))
    given = [size for size in facts.sizes if size.key]
    if given:
        yield ""
        yield "[config.generics]"
    for size in given:
        key = _text(size.key or "")
        more = [f"default = {_text(size.default)}"] if size.default else []
        more += ["count = true"] if size.counted else []
        table = f"{{ key = {', '.join([key, *more])} }}"
        yield f"{size.name} = {table if more else key}"


def _wrapped(words: list[str]) -> list[str]:
    lines: list[str] = []
    line = ""
    for word in words:
        room = 68 if not lines else 94
        if line and len(line) + len(word) + 2 > room:
            lines.append(line.rstrip())
            line = ""
        line += f"{word}, "
    return [*lines, line.rstrip(", ")]


def _text_table(facts: Facts) -> Iterator[str]:
    names = {size.name for size in facts.sizes}
    yield ""
    yield "[text]"
    if "Vocab" in names:
        yield 'vocabulary = "Vocab"'
    if "MaxPositions" in names:
        yield 'context = ["MaxPositions"]                                   # ?'
    end = facts.config.get("eos_token_id")
    if isinstance(end, int) and not isinstance(end, bool) and end >= 0:
        yield f"end_of_text_id = {end}"


def _task(facts: Facts) -> str | None:
    names = facts.config.get("architectures")
    for name in names if isinstance(names, list) else ():
        for word, task in ARCHITECTURES:
            if word in str(name):
                return task
    return None


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _value(value: Any) -> str:
    """A value as an expectation would have it."""
    if value is None:
        return "{ any_of = [], null = true }"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 70 else text[:67] + "..."


def unmentioned(card: Card, config: Config) -> list[str]:
    """The keys of a config.json that say something about what is computed, as far as names tell,
    and that the card neither expects nor reads."""
    paths = [item.key for item in card.expect.values()]
    paths += [item.key for item in card.config_generics.values()]
    paths += [item.key for item in card.config_constants.values()]
    paths += [condition.key for item in card.expect.values() for condition in item.when]
    known = {part.strip() for path in paths for part in path.text.split("|")}
    return sorted(
        key
        for key, _ in flat(config.values)
        if not re.fullmatch(SILENT, key) and not any(_touch(key, path) for path in known)
    )


def _touch(one: str, other: str) -> bool:
    """Whether one path leads to the other or to something in it."""
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")


# --- the source ----------------------------------------------------------------------------


def _source(facts: Facts, name: str) -> str:
    from linnet.diag import Source
    from linnet.fmt import format_source

    body = facts.skeleton.source
    lines = [
        f"/// {facts.title}: what it is, and what of it is not obvious.",
        "///",
        "/// Begun from the names and shapes of a checkpoint. Each block declares the parameters",
        "/// of one module; what the modules compute is still to be written.",
        f"module {name.removesuffix('.linnet')}",
        "",
    ]
    if "embedding(" in body:
        lines += ["use std.nn.embedding::{embedding}", ""]
    lines += ["// The tensors of the checkpoint:", "//"]
    lines += [f"//     {line}" for line in listed(facts.kinds)]
    notes = list(facts.notes())
    if notes:
        lines += ["//", "// Look at these first:", "//", *(f"//     {note}" for note in notes)]
    text = "\n".join([*lines, "", body])
    try:
        return format_source(Source(name, text))
    except SourceError as error:  # a fault of ours: the text is made above
        raise AssertionError(f"{error}\n{text}") from error


# --- the README ----------------------------------------------------------------------------


def _readme(facts: Facts, source: str) -> str:
    return f"""# {facts.title}

What the model is, who published it and when, in two or three sentences.

## Use

How to load it, and what to give it. With a checkpoint of your own:

```python
from linnet import nest

model = nest.load("{facts.name}", checkpoint="path/to/folder")
```

## Source

The root block is `{facts.skeleton.root}`. What its entries take and give, and what of the
architecture is not obvious.

## Files and where they come from

| file | origin |
| --- | --- |
| `{source}`, `nest.toml`, `bindings.json` | written for this project |
| weights | not here: repository and revision |
| `samples.json`, `bench.json` | empty until made from those weights |

Licence of the model and of every file that was taken from elsewhere: to be filled in.

## Limits

What the model was trained on, what it should not be used for, which checkpoints of the family
are refused and why.
"""
