"""What may stand in a card: its tables, their keys, and what each value must be.

A check takes a value as TOML gave it and returns what is wrong with it as the end of a sentence
("must be true or false"), or None. `nest.reader` walks a document along `SCHEMA`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from linnet.nest.card import DTYPES, RESAMPLINGS
from linnet.nest.formula import parse_formula
from linnet.nest.json_values import is_number
from linnet.nest.keypath import parse_keypath
from linnet.nest.nearest import did_you_mean
from linnet.nest.tasks import TASKS

Check = Callable[[Any], str | None]


@dataclass(frozen=True)
class Key:
    """`check` is for the value; `name`, of a key that is free, for the key itself."""

    check: Check
    required: bool = False
    name: Check | None = None


def _string(value: Any) -> str | None:
    return None if isinstance(value, str) and value else "must be a string that is not empty"


def _one_of(*words: str) -> Check:
    def check(value: Any) -> str | None:
        if isinstance(value, str) and value in words:
            return None
        hint = did_you_mean(value, words) if isinstance(value, str) else ""
        return f"must be one of {', '.join(words)}" + (hint if "did you mean" in hint else "")

    return check


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


def _number(value: Any) -> str | None:
    return None if is_number(value) else "must be a finite number"


def _numbers(value: Any) -> str | None:
    good = isinstance(value, list) and value and all(is_number(item) for item in value)
    return None if good else "must be a list of finite numbers, one for each channel"


def _divisors(value: Any) -> str | None:
    return _numbers(value) or ("must not divide by 0" if 0 in value else None)


def _generic(value: Any) -> str | None:
    if isinstance(value, str):
        return None if value in DTYPES else f"must be one of the dtypes {', '.join(DTYPES)}"
    return _count(value) and "must be an integer that is not negative, or a dtype's name"


def _constant(value: Any) -> str | None:
    if isinstance(value, bool) or is_number(value):
        return None
    return _string(value) and "must be a finite number, true or false, or the name of a variant"


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


def _path(value: Any) -> str | None:
    """A config path."""
    wrong = _string(value)
    if wrong:
        return wrong
    try:
        parse_keypath(value)
    except ValueError as error:
        return f"is no path into config.json: {error}"
    return None


def _plain(value: Any) -> str | None:
    good = isinstance(value, str | int | float | bool)
    return None if good else "must be a string, a number or a boolean"


def _plains(value: Any) -> str | None:
    """The values an expectation lists; none at all is fine where null is allowed."""
    good = isinstance(value, list) and all(_plain(item) is None for item in value)
    return None if good else "must list strings, numbers or booleans"


def _some_plains(value: Any) -> str | None:
    return _plains(value) or (None if value else "must list strings, numbers or booleans, some")


def _table(value: dict[str, Any], keys: dict[str, Key]) -> str | None:
    """What is wrong with an inline table."""
    for key, item in value.items():
        if key not in keys:
            return f"has an unknown key {key!r}" + did_you_mean(key, keys)
        wrong = keys[key].check(item)
        if wrong:
            return f"has a `{key}` that {wrong}"
    lost = next((key for key, rule in keys.items() if rule.required and key not in value), None)
    return f"needs a `{lost}`" if lost else None


def _when(value: Any) -> str | None:
    if not isinstance(value, dict) or not value:
        return "must be a table of keys of config.json with the values they hold"
    for key, item in value.items():
        wrong = _path(key)
        if wrong:
            return f"has a key {key!r} that {wrong}"
        wrong = _some_plains(item) if isinstance(item, list) else _plain(item)
        if wrong:
            return f"has for {key!r} what {wrong}"
    return None


_EXPECTATION = {
    "equals": Key(_formula),
    "any_of": Key(_plains),
    "null": Key(_flag),
    "when": Key(_when),
    "needs": Key(_string),
}


def _expectation(value: Any) -> str | None:
    if isinstance(value, list):
        return _plains(value) or (None if value else "must list at least one value")
    if not isinstance(value, dict):
        return _plain(value) and (
            "must be a value, a list of values, or a table with `equals` or `any_of`, and `null`"
        )
    wrong = _table(value, _EXPECTATION)
    if wrong:
        nested = not value.keys() & _EXPECTATION.keys()
        return wrong + ("; a path with dots is written in quotes" if nested else "")
    if ("equals" in value) == ("any_of" in value):
        return "needs exactly one of `equals` and `any_of`"
    if value.get("any_of") == [] and not value.get("null"):
        return "allows no value at all: an empty `any_of` goes with `null = true`"
    return None


_CONFIG_SOURCE = {
    "key": Key(_path, required=True),
    "default": Key(_formula),
    "of": Key(_formula),
    "most": Key(_count),
    "count": Key(_flag),
}


def _config_source(value: Any) -> str | None:
    if isinstance(value, str):
        return _path(value)
    if not isinstance(value, dict):
        return "must be a key of config.json, or a table with `key` and `default`"
    return _table(value, _CONFIG_SOURCE)


def _constant_values(value: Any) -> str | None:
    if not isinstance(value, dict) or not value:
        return "must be a table: what the constant is for each value of config.json"
    wrong = ((key, _constant(item)) for key, item in value.items())
    return next((f"has for {key!r} what {what}" for key, what in wrong if what), None)


_TIED_SOURCE = {"key": Key(_path, required=True), "default": Key(_flag)}


def _tied_source(value: Any) -> str | None:
    if isinstance(value, str):
        return _path(value)
    if not isinstance(value, dict):
        return "must be a key of config.json, or a table with `key` and `default`"
    return _table(value, _TIED_SOURCE)


def _presence(value: Any) -> str | None:
    if isinstance(value, bool) or (isinstance(value, str) and not _path(value)):
        return None
    return "must be a key of config.json, or true or false"


_CONSTANT_SOURCE = {
    "key": Key(_path, required=True),
    "default": Key(_constant),
    "values": Key(_constant_values),
    "when": Key(_when),
    "needs": Key(_string),
}


def _constant_source(value: Any) -> str | None:
    if isinstance(value, str):
        return _path(value)
    if not isinstance(value, dict):
        return "must be a key of config.json, or a table with `key`, `default` and `values`"
    wrong = _table(value, _CONSTANT_SOURCE)
    if wrong or "values" not in value or "default" not in value:
        return wrong
    if spelled(value["default"]) in value["values"]:
        return None
    return "has a `default` that `values` does not have: it is a value as config.json holds it"


def spelled(value: Any) -> str:
    """A value of config.json as a key of `values`: true, 3, or the string itself."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


SCHEMA: dict[str, dict[str, Key]] = {
    "model": {
        "name": Key(_string, required=True),
        "title": Key(_string, required=True),
        "summary": Key(_string, required=True),
        "license": Key(_string, required=True),
        "family": Key(_string),
        "tags": Key(_strings),
        "task": Key(_one_of(*TASKS)),
    },
    "links": {
        "huggingface": Key(_string, required=True),
        "github": Key(_string),
        "arxiv": Key(_string),
        "homepage": Key(_string),
    },
    "source": {
        "path": Key(_string, required=True),
        "root": Key(_string),
        "entry": Key(_string),
    },
    "generics": {"*": Key(_generic)},
    "constants": {"*": Key(_constant)},
    "check": {"*": Key(_count)},
    "weights": {
        "repo": Key(_repo),
        "revision": Key(_revision),
        "files": Key(_file_names),
        "bindings": Key(_string),
        "prefixes": Key(_strings),
        "widen": Key(_flag),
        "unused": Key(_strings),
    },
    "weights.sha256": {"*": Key(_digest)},
    "weights.tied": {"*": Key(_string)},
    "config": {},
    "config.expect": {"*": Key(_expectation, name=_path)},
    "config.generics": {"*": Key(_config_source)},
    "config.constants": {"*": Key(_constant_source)},
    "config.tied": {"*": Key(_tied_source)},
    "config.present": {"*": Key(_presence)},
    "samples": {"not_run": Key(_string)},
    "text": {
        "vocabulary": Key(_string),
        "context": Key(_strings),
        "end_of_text": Key(_string),
        "end_of_text_id": Key(_count),
    },
    "image": {
        "size": Key(_string, required=True),
        "channels": Key(_string, required=True),
        "resample": Key(_one_of(*RESAMPLINGS), required=True),
        "scale": Key(_number, required=True),
        "mean": Key(_numbers, required=True),
        "std": Key(_divisors, required=True),
        "labels": Key(_path),
    },
}
"""Table -> key -> what it must be. A table whose keys are free has the one key "*"."""

REQUIRED_TABLES = ("model", "links", "source")

NEEDED_BY_TASK = {"text-generation": "text", "embedding": "text", "image-classification": "image"}
"""The table without which a task cannot be done."""
