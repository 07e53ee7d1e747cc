"""The card of a model: `nest.toml`, read into plain data and checked in one pass.

In goes the path of a `nest.toml`; out comes a `Card`, or one `CardError` that lists every
problem by table, key and line. `bindings.json` is read by `nest.bindings`, `config.json` by
`nest.config`: this module does not open them, and it does not look at weights.

All that the product knows about a model family stands here. A full card:

    [model]
    name = "gpt2"                          # the folder's name, the name users load
    title = "GPT-2"
    summary = "One sentence for people."
    license = "MIT"
    family = "gpt2"                        # optional
    tags = ["text"]                        # optional

    [links]
    huggingface = "https://..."            # github, arxiv, homepage: optional

    [source]
    path = "gpt2.linnet"                   # relative to the card; "../other/it.linnet" is fine
    root = "GPT2"                          # the root block; optional if the file has just one
    entry = "forward"                      # what `model(tokens)` runs

    [generics]                             # sizes of the published checkpoint
    H = 768
    T = "f32"                              # a dtype by name

    [check]                                # sizes of `entry` for the compile check
    B = 1

    [weights]
    repo = "owner/name"                    # optional; with it a full commit hash:
    revision = "607a..."
    files = ["model.safetensors"]          # in order; the default is this one
    bindings = "bindings.json"             # optional; may lead to another entry's file
    prefixes = ["", "transformer."]        # put before every bound tensor name; the first that fits
    widen = true                           # f16 and bf16 files are converted exactly to T

    [weights.sha256]                       # optional; read by `linnet nest check`
    "model.safetensors" = "64 hex digits"

    [weights.tied]                         # optional; tensors that must equal a parameter's
    "lm_head.weight" = "wte"               # if the file has them; the source uses the parameter

    [config.expect]                        # config.json values the source relies on
    model_type = "gpt2"                    # this value; a missing key passes, null does not
    activation_function = ["gelu_new", "gelu_pytorch_tanh"]      # one of these
    n_inner = { equals = "4 * H", null = true }                  # from generics; null passes too

    [config.generics]                      # generics whose value config.json gives
    H = "n_embd"                           # absent from a config.json that is there: refused
    MaxSeq = { key = "n_ctx", default = "MaxPositions" }         # absent or null: the default

    [text]                                 # present on models that write text
    vocabulary = "Vocab"                   # the generic that counts token ids
    context = ["MaxPositions", "MaxSeq"]   # generics; the smallest is the longest text
    end_of_text = "<|endoftext|>"          # this token's text, special in prompts
    end_of_text_id = 50256                 # its id, where the checkpoint names none
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linnet.errors import CardError
from linnet.nest.formula import Formula, parse_formula
from linnet.nest.nearest import did_you_mean

CARD_FILE = "nest.toml"

DTYPES: tuple[str, ...] = ("bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
DTYPES += ("f16", "bf16", "f32", "f64")

Generic = int | str
"""A dimension, or a dtype by name."""


@dataclass(frozen=True)
class About:
    """`[model]`: what people read."""

    name: str
    title: str
    summary: str
    license: str
    family: str | None = None
    tags: tuple[str, ...] = ()


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
    sha256: Mapping[str, str] | None = None
    tied: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Expectation:
    """What a key of config.json must hold: one of `values`, or what `equals` comes to."""

    values: tuple[Any, ...] = ()
    equals: Formula | None = None
    null: bool = False


@dataclass(frozen=True)
class ConfigSource:
    """The key of config.json that gives a generic its value, and what stands in for it."""

    key: str
    default: Formula | None = None


@dataclass(frozen=True)
class Text:
    """`[text]`: facts that generation needs."""

    vocabulary: str | None = None
    context: tuple[str, ...] = ()
    end_of_text: str | None = None
    end_of_text_id: int | None = None


@dataclass(frozen=True)
class Card:
    """A whole card. `file` is the nest.toml it came from."""

    file: Path
    about: About
    links: Links
    source: Source
    generics: Mapping[str, Generic]
    check: Mapping[str, int]
    weights: Weights
    expect: Mapping[str, Expectation]
    config_generics: Mapping[str, ConfigSource]
    text: Text | None

    @property
    def name(self) -> str:
        return self.about.name

    @property
    def folder(self) -> Path:
        return self.file.parent

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
            # Without weights from there, that page is about a relative and not about this.
            ("link" if self.weights.repo else "see also", self.links.huggingface),
            ("source", str(self.source.path)),
            ("entry", self.source.entry),
            ("generics", ", ".join(f"{k} = {v}" for k, v in self.generics.items())),
            ("weights", self._weights_line()),
        ]
        body = "\n".join(f"  {key:<9} {value}" for key, value in rows if value)
        return f"{self.name}\n{body}"

    def _weights_line(self) -> str:
        if all((self.folder / name).is_file() for name in self.weights.files):
            return f"in {self.folder}"
        if self.weights.repo is None:
            return "none published: give a checkpoint"
        return f"{self.weights.repo} at {self.weights.revision}"


def load_card(path: Path) -> Card:
    """Read and check the card at `path`, a nest.toml or the folder that holds one.

    Raises CardError with every problem found, each with its table, key and line.
    """
    import tomllib

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
    return _Reader(file, text).card(data)


# The schema: table -> key -> (check of the value, required). A table whose keys are free has
# the one key "*".

_Check = Callable[[Any], str | None]


def _string(value: Any) -> str | None:
    return None if isinstance(value, str) and value else "must be a string that is not empty"


def _strings(value: Any) -> str | None:
    good = isinstance(value, list) and all(isinstance(item, str) for item in value)
    return None if good else "must be a list of strings"


def _file_names(value: Any) -> str | None:
    if _strings(value) is not None or not value or "" in value:
        return "must be a list of file names, at least one"
    loose = [n for n in value if n.startswith(("/", "\\")) or ".." in re.split(r"[/\\]", n)]
    return f"names a file outside of its folder: {loose[0]!r}" if loose else None


def _flag(value: Any) -> str | None:
    return None if isinstance(value, bool) else "must be true or false"


def _count(value: Any) -> str | None:
    good = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return None if good else "must be an integer that is not negative"


def _generic(value: Any) -> str | None:
    if isinstance(value, str):
        return None if value in DTYPES else f"must be one of the dtypes {', '.join(DTYPES)}"
    return _count(value) and "must be an integer that is not negative, or a dtype's name"


def _revision(value: Any) -> str | None:
    good = isinstance(value, str) and re.fullmatch(r"[0-9a-f]{40}", value)
    return None if good else "must be a full commit hash: 40 hexadecimal digits"


def _repo(value: Any) -> str | None:
    good = isinstance(value, str) and re.fullmatch(r"[\w.-]+/[\w.-]+", value)
    return None if good else 'must be a repository as "owner/name"'


def _digest(value: Any) -> str | None:
    good = isinstance(value, str) and re.fullmatch(r"[0-9a-f]{64}", value)
    return None if good else "must be 64 hexadecimal digits"


def _formula(value: Any) -> str | None:
    if isinstance(value, str):
        try:
            parse_formula(value)
        except ValueError as error:
            return f"is no formula over generics: {error}"
        return None
    return _count(value) and "must be an integer or a formula over generics such as '4 * H'"


def _plain(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)


def _expectation(value: Any) -> str | None:
    if _plain(value):
        return None
    if isinstance(value, list):
        good = value and all(_plain(item) for item in value)
        return None if good else "must list strings, numbers or booleans, at least one"
    if isinstance(value, dict):
        return _expectation_table(value)
    return "must be a value, a list of values, or a table with `equals` or `any_of`, and `null`"


def _expectation_table(value: dict[str, Any]) -> str | None:
    for key in value:
        if key not in ("equals", "any_of", "null"):
            return f"has an unknown key {key!r}" + did_you_mean(key, ("equals", "any_of", "null"))
    if ("equals" in value) == ("any_of" in value):
        return "needs exactly one of `equals` and `any_of`"
    if "any_of" in value:
        wrong = None if isinstance(value["any_of"], list) else "must be a list"
        wrong = wrong or _expectation(value["any_of"])
        return wrong and f"has an `any_of` that {wrong}"
    wrong = _formula(value["equals"])
    if wrong:
        return f"has an `equals` that {wrong}"
    wrong = _flag(value.get("null", False))
    return wrong and f"has a `null` that {wrong}"


def _config_source(value: Any) -> str | None:
    if isinstance(value, str):
        return _string(value)
    if not isinstance(value, dict):
        return "must be a key of config.json, or a table with `key` and `default`"
    for key in value:
        if key not in ("key", "default"):
            return f"has an unknown key {key!r}" + did_you_mean(key, ("key", "default"))
    wrong = _string(value.get("key"))
    if wrong:
        return f"has a `key` that {wrong}"
    wrong = _formula(value["default"]) if "default" in value else None
    return wrong and f"has a `default` that {wrong}"


@dataclass(frozen=True)
class _Key:
    check: _Check
    required: bool = False


_SCHEMA: dict[str, dict[str, _Key]] = {
    "model": {
        "name": _Key(_string, required=True),
        "title": _Key(_string, required=True),
        "summary": _Key(_string, required=True),
        "license": _Key(_string, required=True),
        "family": _Key(_string),
        "tags": _Key(_strings),
    },
    "links": {
        "huggingface": _Key(_string, required=True),
        "github": _Key(_string),
        "arxiv": _Key(_string),
        "homepage": _Key(_string),
    },
    "source": {
        "path": _Key(_string, required=True),
        "root": _Key(_string),
        "entry": _Key(_string),
    },
    "generics": {"*": _Key(_generic)},
    "check": {"*": _Key(_count)},
    "weights": {
        "repo": _Key(_repo),
        "revision": _Key(_revision),
        "files": _Key(_file_names),
        "bindings": _Key(_string),
        "prefixes": _Key(_strings),
        "widen": _Key(_flag),
    },
    "weights.sha256": {"*": _Key(_digest)},
    "weights.tied": {"*": _Key(_string)},
    "config": {},
    "config.expect": {"*": _Key(_expectation)},
    "config.generics": {"*": _Key(_config_source)},
    "text": {
        "vocabulary": _Key(_string),
        "context": _Key(_strings),
        "end_of_text": _Key(_string),
        "end_of_text_id": _Key(_count),
    },
}
_REQUIRED_TABLES = ("model", "links", "source")


class _Reader:
    """Checks the parsed document against the schema and builds the Card."""

    def __init__(self, file: Path, text: str) -> None:
        self.file = file
        self.lines = text.splitlines()
        self.problems: list[tuple[int, str]] = []

    def card(self, data: dict[str, Any]) -> Card:
        for name in _REQUIRED_TABLES:
            if name not in data:
                self._problem(f"the table [{name}] is missing")
        for name, value in data.items():
            self._table(name, value)
        self._cross_checks(data)
        if self.problems:
            listed = "".join(
                f"\n  {self.file.name}:{line}: {what}" if line else f"\n  {what}"
                for line, what in sorted(self.problems)
            )
            raise CardError(f"{self.file} is not a valid card:{listed}")
        return self._build(data)

    def _problem(self, what: str, table: str = "", key: str = "") -> None:
        self.problems.append((self._line(table, key), what))

    def _line(self, table: str, key: str) -> int:
        """The line of `table.key` counted from 1, as far as plain layout tells; else 0.
        tomllib keeps no positions, and a card written by hand has one key a line."""
        here, found = "", 0
        full = f"{table}.{key}" if table else key
        for number, line in enumerate(self.lines, start=1):
            head = re.match(r"\s*\[{1,2}\s*([^\[\]]+?)\s*\]", line)
            if head:
                here = re.sub(r"[\"'\s]", "", head.group(1))
                if here == full:
                    return number
                if here == table:
                    found = number
            elif here == table and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*[=.]", line):
                return number
        return found

    def _table(self, name: str, value: Any) -> None:
        parent, _, last = name.rpartition(".")
        if name not in _SCHEMA:
            siblings = [n.rpartition(".")[2] for n in _SCHEMA if n.rpartition(".")[0] == parent]
            what = f"unknown table [{name}]" if isinstance(value, dict) else f"unknown key {name}"
            self._problem(what + did_you_mean(last, siblings), parent, last)
            return
        if not isinstance(value, dict):
            self._problem(f"{name} must be a table", parent, last)
            return
        keys = _SCHEMA[name]
        for key, item in value.items():
            full = f"{name}.{key}"
            if full in _SCHEMA:
                self._table(full, item)
            elif "*" in keys:
                self._value(keys["*"], name, key, item)
            elif key in keys:
                self._value(keys[key], name, key, item)
            else:
                nested = [n.rpartition(".")[2] for n in _SCHEMA if n.startswith(f"{name}.")]
                hint = did_you_mean(key, [*keys, *nested])
                self._problem(f"unknown key {full}{hint}", name, key)
        for key, rule in keys.items():
            if rule.required and key not in value:
                self._problem(f"{name}.{key} is missing", name)

    def _value(self, rule: _Key, table: str, key: str, value: Any) -> None:
        wrong = rule.check(value)
        if wrong:
            self._problem(f"{table}.{key} = {_shown(value)} {wrong}", table, key)

    def _cross_checks(self, data: dict[str, Any]) -> None:
        """Facts that concern two tables. Skipped while the tables themselves are wrong."""
        if self.problems:
            return
        weights = data.get("weights", {})
        if "repo" in weights and "revision" not in weights:
            self._problem("weights.repo needs weights.revision beside it", "weights", "repo")
        if "revision" in weights and "repo" not in weights:
            self._problem("weights.revision needs weights.repo beside it", "weights", "revision")
        known = [*data.get("generics", {}), *data.get("config", {}).get("generics", {})]
        text = data.get("text", {})
        named = [("vocabulary", text["vocabulary"])] if "vocabulary" in text else []
        named += [("context", name) for name in text.get("context", [])]
        for key, name in named:
            if name not in known:
                hint = did_you_mean(name, known)
                self._problem(f"text.{key} names no generic of the card: {name}{hint}", "text", key)

    def _build(self, data: dict[str, Any]) -> Card:
        source = dict(data["source"])
        config = data.get("config", {})
        return Card(
            file=self.file,
            about=About(**_tuples(data["model"])),
            links=Links(**data["links"]),
            source=Source(path=self._beside(source.pop("path")), **source),
            generics=dict(data.get("generics", {})),
            check=dict(data.get("check", {})),
            weights=self._weights(dict(data.get("weights", {}))),
            expect={k: _build_expectation(v) for k, v in config.get("expect", {}).items()},
            config_generics={k: _build_source(v) for k, v in config.get("generics", {}).items()},
            text=Text(**_tuples(data["text"])) if "text" in data else None,
        )

    def _weights(self, table: dict[str, Any]) -> Weights:
        if "bindings" in table:
            table["bindings"] = self._beside(table["bindings"])
        return Weights(**_tuples(table))

    def _beside(self, relative: str) -> Path:
        """`relative` to the card, with `..` taken out, so that messages stay readable."""
        import os

        return Path(os.path.normpath(self.file.parent / relative))


def _tuples(table: dict[str, Any]) -> dict[str, Any]:
    return {k: tuple(v) if isinstance(v, list) else v for k, v in table.items()}


def _build_expectation(value: Any) -> Expectation:
    if not isinstance(value, dict):
        return Expectation(values=tuple(value) if isinstance(value, list) else (value,))
    null = bool(value.get("null", False))
    if "any_of" in value:
        return Expectation(values=tuple(value["any_of"]), null=null)
    return Expectation(equals=parse_formula(str(value["equals"])), null=null)


def _build_source(value: Any) -> ConfigSource:
    if isinstance(value, str):
        return ConfigSource(value)
    default = parse_formula(str(value["default"])) if "default" in value else None
    return ConfigSource(value["key"], default)


def _shown(value: Any) -> str:
    """A TOML value as the author wrote it, near enough."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."
