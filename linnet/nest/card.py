"""The card of a model: `nest.toml`, read into plain data and checked in one pass.

In goes the path of a `nest.toml`; out comes a `Card`, or one `CardError` that lists every
problem by table, key and line (`nest.schema` says what may stand where, `nest.reader` reads).
`bindings.json` is read by `nest.bindings`, `config.json` by `nest.config`: neither is opened
here, and nothing looks at weights.

All that the product knows about a model family stands here. A full card:

    [model]
    name = "finch"                         # the folder's name, the name users load
    title = "Finch"
    summary = "One sentence for people."
    license = "MIT"
    family = "finch"                       # optional
    tags = ["text"]                        # optional
    task = "text-generation"               # optional; or "embedding", "image-classification"

    [links]
    huggingface = "https://..."            # github, arxiv, homepage: optional

    [source]
    path = "finch.linnet"                  # relative to the card; "../other/it.linnet" is fine
    root = "Finch"                         # the root block; optional if the file has just one
    entry = "forward"                      # what `model(tokens)` runs

    [generics]                             # sizes of the published checkpoint
    H = 768
    T = "f32"                              # a dtype by name

    [constants]                            # `pub const`s of the root block's module: numbers,
    EPSILON = 1e-12                        # booleans, variants of an enum by name

    [check]                                # sizes of `entry` for the compile check
    B = 1

    [weights]
    repo = "owner/name"                    # optional; with it a full commit hash:
    revision = "607a..."
    files = ["model.safetensors"]          # in order; the default is this one
    bindings = "bindings.json"             # optional; may lead to another entry's file
    prefixes = ["", "transformer."]        # put before every bound tensor name; the first that fits
    widen = true                           # f16 and bf16 files are converted exactly to T
    unused = ["h.{i}.attn.bias"]           # in layers, beside what is bound; others are refused

    [weights.sha256]                       # optional; read by `linnet nest check`
    "model.safetensors" = "64 hex digits"

    [weights.tied]                         # optional; tensors that must equal a parameter's
    "lm_head.weight" = "wte"               # if the file has them; the source uses the parameter

    [config.expect]                        # config.json values the source relies on
    model_type = "finch"                   # this value; a missing key passes, null does not
    activation_function = ["gelu_new", "gelu_pytorch_tanh"]      # one of these
    n_inner = { equals = "4 * H", null = true }                  # from generics; null passes too
    hidden_act = { any_of = ["silu"], needs = "another activation" }
    sliding_window = { any_of = [], null = true, when = { use_sliding_window = [true, "absent"] } }

    [config.generics]                      # generics whose value config.json gives
    H = "n_embd"                           # absent from a config.json that is there: refused
    MaxSeq = { key = "n_ctx", default = "MaxPositions" }         # absent or null: the default
    Cache = { key = "n_ctx", most = 4096 }                       # this, but no more than that
    Classes = { key = "id2label", count = true, default = 2 }    # of an object: its length
    Rotary = { key = "rotary_pct", of = "H / Heads", default = "H / Heads" }     # a share of this

    [config.constants]                     # constants whose value config.json gives
    EPSILON = "rms_norm_eps"
    BASE = { key = "rope_parameters.rope_theta | rope_theta", default = 10000.0 }
    ROPE = { key = "rope_scaling.type", default = "none", values = { none = "Plain" } }

    [config.tied]                          # whether config.json says that tensors of [weights.tied]
    "lm_head.weight" = { key = "tie_word_embeddings", default = false }      # are tied; else always

    [samples]                              # optional
    not_run = "the weights are not public" # why `linnet nest check` may go without running them

    [config.present]                       # whether config.json says that optional parameters are
    "layers.{i}.attention.q.bias" = "attention_bias"       # there; null or absent: the tensors do;
    "layers.{i}.norm.bias" = true          # or that they always are, or never

    [text]                                 # present on models that read or write text
    vocabulary = "Vocab"                   # the generic that counts token ids
    context = ["MaxPositions", "MaxSeq"]   # generics; the smallest is the longest text
    end_of_text = "<|endoftext|>"          # this token's text, special in prompts
    end_of_text_id = 50256                 # its id, where the checkpoint names none

    [image]                                # present on models that look at pictures
    size = "Size"                          # the generic that counts the pixels of a side
    channels = "Channels"                  # the generic that counts their colours
    resample = "bilinear"                  # how a picture is brought to that size
    scale = 0.00392156862745098            # what a colour from 0 to 255 is multiplied by
    mean = [0.5, 0.5, 0.5]                 # then this is taken away, a number a channel,
    std = [0.5, 0.5, 0.5]                  # and the rest divided by this
    labels = "id2label"                    # config path of the classes' names

Wherever a key of config.json stands, a config path may: dots lead into nested objects (in a key of
`[config.expect]` they need quotes around it), ` | ` joins alternatives, of which the first that is
there and not null counts. Where config.json holds a list, an expectation is held to each item.
`when` limits an expectation, or the question for a constant, to configs in which other keys hold
one of the given values; "absent" stands for a key that is missing or null. `values` says what the
constant is for each value of config.json (a `default` is such a value too); others are refused.
`needs` ends a refusal: what it would take.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linnet.errors import CardError
from linnet.nest.formula import Formula
from linnet.nest.keypath import KeyPath

CARD_FILE = "nest.toml"

DTYPES: tuple[str, ...] = ("bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
DTYPES += ("f16", "bf16", "f32", "f64")

RESAMPLINGS: tuple[str, ...] = ("nearest", "bilinear", "bicubic", "box", "hamming", "lanczos")
ABSENT = "absent"
"""In `when`: the key is missing or null."""

Generic = int | str
"""A dimension, or a dtype by name."""

Constant = int | float | bool | str
"""A number, a truth value, or a variant of an enum by name."""


@dataclass(frozen=True)
class About:
    """`[model]`: what people read."""

    name: str
    title: str
    summary: str
    license: str
    family: str | None = None
    tags: tuple[str, ...] = ()
    task: str | None = None


@dataclass(frozen=True)
class Links:
    huggingface: str
    github: str | None = None
    arxiv: str | None = None
    homepage: str | None = None


@dataclass(frozen=True)
class Source:
    path: Path
    root: str | None = None
    entry: str | None = None


@dataclass(frozen=True)
class Weights:
    """`[weights]`. `bindings` is an absolute path or None."""

    repo: str | None = None
    revision: str | None = None
    files: tuple[str, ...] = ("model.safetensors",)
    bindings: Path | None = None
    prefixes: tuple[str, ...] = ("",)
    widen: bool = False
    unused: tuple[str, ...] = ()
    sha256: Mapping[str, str] | None = None
    tied: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Condition:
    """Part of a `when`: `key` holds one of `values`, among them perhaps ABSENT."""

    key: KeyPath
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Expectation:
    """What a key of config.json must hold: one of `values`, or what `equals` comes to; null if
    `null` says so. Holds only where all conditions of `when` do."""

    key: KeyPath
    values: tuple[Any, ...] = ()
    equals: Formula | None = None
    null: bool = False
    when: tuple[Condition, ...] = ()
    needs: str | None = None


@dataclass(frozen=True)
class ConfigSource:
    """The key of config.json that gives a generic its value, and what stands in for it. With
    `of` the key holds a share of what that comes to; of more than `most`, that is taken;
    with `count` an object or a list counts by its length."""

    key: KeyPath
    default: Formula | None = None
    of: Formula | None = None
    most: int | None = None
    count: bool = False


@dataclass(frozen=True)
class ConstantSource:
    """The key of config.json that gives a constant its value. `default` is a value as the key
    might hold it; `values`, if there, says what each value of the key (as text) stands for.
    It is asked for only where all conditions of `when` hold."""

    key: KeyPath
    default: Constant | None = None
    values: Mapping[str, Constant] | None = None
    when: tuple[Condition, ...] = ()
    needs: str | None = None


@dataclass(frozen=True)
class TiedSource:
    """The key of config.json that says whether a tensor is another parameter's; `default` counts
    where it does not."""

    key: KeyPath
    default: bool | None = None


@dataclass(frozen=True)
class Text:
    """`[text]`: facts about tokens and about the longest text."""

    vocabulary: str | None = None
    context: tuple[str, ...] = ()
    end_of_text: str | None = None
    end_of_text_id: int | None = None


@dataclass(frozen=True)
class Image:
    """`[image]`: how a picture becomes numbers. `size` and `channels` name generics."""

    size: str
    channels: str
    resample: str
    scale: float
    mean: tuple[float, ...]
    std: tuple[float, ...]
    labels: KeyPath


@dataclass(frozen=True)
class Card:
    """A whole card. `file` is the nest.toml it came from. `checkpoint` is the folder or file for
    which it was chosen, if it was (`nest.families`); in a card for a repository that was,
    `weights.files` is empty: they are as the repository has them."""

    file: Path
    about: About
    links: Links
    source: Source
    generics: Mapping[str, Generic]
    check: Mapping[str, int]
    weights: Weights
    expect: Mapping[str, Expectation]
    config_generics: Mapping[str, ConfigSource]
    constants: Mapping[str, Constant]
    config_constants: Mapping[str, ConstantSource]
    config_tied: Mapping[str, TiedSource]
    config_present: Mapping[str, KeyPath | bool]
    text: Text | None
    image: Image | None
    samples_not_run: str | None = None
    checkpoint: Path | None = None

    @property
    def name(self) -> str:
        return self.about.name

    @property
    def folder(self) -> Path:
        return self.file.parent

    @property
    def has_own_weights(self) -> bool:
        """Whether the weights lie in the entry's own folder, and are those that are meant."""
        names = self.weights.files
        there = bool(names) and all((self.folder / name).is_file() for name in names)
        return there and self.checkpoint is None

    @property
    def known_generics(self) -> tuple[str, ...]:
        """Every generic the card speaks of, in its order."""
        return tuple(dict.fromkeys([*self.generics, *self.config_generics]))

    def __str__(self) -> str:
        """A short description for people, a line a fact."""
        rows = [
            ("title", self.about.title),
            ("summary", self.about.summary),
            ("license", self.about.license),
            ("family", self.about.family),
            ("tags", ", ".join(self.about.tags)),
            ("task", self.about.task),
            # Without weights from there, that page is about a relative and not about this.
            ("link" if self.weights.repo else "see also", self.links.huggingface),
            ("source", str(self.source.path)),
            ("entry", self.source.entry),
            ("generics", _listed(self.generics)),
            ("constants", _listed(self.constants)),
            ("weights", self._weights_line()),
        ]
        body = "\n".join(f"  {key:<9} {value}" for key, value in rows if value)
        return f"{self.name}\n{body}"

    def _weights_line(self) -> str:
        if self.checkpoint is not None:
            return f"at {self.checkpoint}"
        if self.has_own_weights:
            return f"in {self.folder}"
        if self.weights.repo is None:
            return "none published: give a checkpoint"
        return f"{self.weights.repo} at {self.weights.revision}"


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items())


def load_card(path: Path) -> Card:
    """Read and check the card at `path`, a nest.toml or the folder that holds one.

    Raises CardError with every problem found, each with its table, key and line.
    """
    import tomllib

    from linnet.nest.reader import read

    file = (path / CARD_FILE if path.is_dir() else path).absolute()
    try:
        text = file.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise CardError(f"{file} is not UTF-8 text: byte {error.start}") from error
    except OSError as error:
        raise CardError(f"cannot read the card {file}: {error.strerror}") from error
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CardError(f"{file} is not valid TOML: {error}") from error
    except RecursionError as error:
        raise CardError(f"{file} is nested too deeply") from error
    return read(file, text, data)
