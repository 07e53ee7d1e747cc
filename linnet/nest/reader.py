"""Reads the document of a card along the schema, and builds the `Card`.

In goes the text of a nest.toml and what TOML makes of it; out comes a `Card`, or one `CardError`
with every problem by table, key and line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from linnet.errors import CardError
from linnet.nest.card import (
    About,
    Card,
    Condition,
    ConfigSource,
    ConstantSource,
    Expectation,
    Image,
    Links,
    Source,
    Text,
    TiedSource,
    Weights,
)
from linnet.nest.formula import Formula, parse_formula
from linnet.nest.keypath import parse_keypath
from linnet.nest.nearest import did_you_mean
from linnet.nest.schema import NEEDED_BY_TASK, REQUIRED_TABLES, SCHEMA, Key


def read(file: Path, text: str, data: dict[str, Any]) -> Card:
    """The card in `data`, which TOML made of `text`, which stands in `file`."""
    return _Reader(file, text).card(data)


class _Reader:
    """Checks the parsed document against the schema and builds the Card."""

    def __init__(self, file: Path, text: str) -> None:
        self.file = file
        self.lines = text.splitlines()
        self.problems: list[tuple[int, str]] = []

    def card(self, data: dict[str, Any]) -> Card:
        for name in REQUIRED_TABLES:
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
        if name not in SCHEMA:
            siblings = [n.rpartition(".")[2] for n in SCHEMA if n.rpartition(".")[0] == parent]
            what = f"unknown table [{name}]" if isinstance(value, dict) else f"unknown key {name}"
            self._problem(what + did_you_mean(last, siblings), parent, last)
            return
        if not isinstance(value, dict):
            self._problem(f"{name} must be a table", parent, last)
            return
        keys = SCHEMA[name]
        for key, item in value.items():
            full = f"{name}.{key}"
            if full in SCHEMA:
                self._table(full, item)
            elif "*" in keys:
                self._value(keys["*"], name, key, item)
            elif key in keys:
                self._value(keys[key], name, key, item)
            else:
                nested = [n.rpartition(".")[2] for n in SCHEMA if n.startswith(f"{name}.")]
                hint = did_you_mean(key, [*keys, *nested])
                self._problem(f"unknown key {full}{hint}", name, key)
        for key, rule in keys.items():
            if rule.required and key not in value:
                self._problem(f"{name}.{key} is missing", name)

    def _value(self, rule: Key, table: str, key: str, value: Any) -> None:
        misnamed = rule.name(key) if rule.name else None
        if misnamed:
            self._problem(f"the key {key!r} of [{table}] {misnamed}", table, key)
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
        task = data["model"].get("task")
        needed = NEEDED_BY_TASK.get(task)
        if needed is not None and needed not in data:
            self._problem(f"model.task = {_shown(task)} needs a table [{needed}]", "model", "task")
        for tensor in data.get("config", {}).get("tied", {}):
            tied = weights.get("tied", {})
            if tensor not in tied:
                hint = did_you_mean(tensor, tied)
                what = f"config.tied: [weights.tied] does not have {tensor!r}{hint}"
                self._problem(what, "config.tied", tensor)
        known = [*data.get("generics", {}), *data.get("config", {}).get("generics", {})]
        for table, key, name in _named_generics(data):
            if name not in known:
                hint = did_you_mean(name, known)
                what = f"{table}.{key} names no generic of the card: {name}{hint}"
                self._problem(what, table, key)

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
            expect={k: _build_expectation(k, v) for k, v in config.get("expect", {}).items()},
            config_generics={k: _build_source(v) for k, v in config.get("generics", {}).items()},
            constants=dict(data.get("constants", {})),
            config_constants={
                k: _build_constant(v) for k, v in config.get("constants", {}).items()
            },
            config_tied={k: _build_tied(v) for k, v in config.get("tied", {}).items()},
            config_present={
                k: v if isinstance(v, bool) else parse_keypath(v)
                for k, v in config.get("present", {}).items()
            },
            text=Text(**_tuples(data["text"])) if "text" in data else None,
            image=_build_image(data["image"]) if "image" in data else None,
            samples_not_run=data.get("samples", {}).get("not_run"),
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


def _named_generics(data: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Table, key and name wherever a table names a generic."""
    for table, keys in {"text": ("vocabulary",), "image": ("size", "channels")}.items():
        yield from ((table, key, data[table][key]) for key in keys if key in data.get(table, {}))
    yield from (("text", "context", name) for name in data.get("text", {}).get("context", []))


def _build_expectation(key: str, value: Any) -> Expectation:
    path = parse_keypath(key)
    if not isinstance(value, dict):
        return Expectation(path, values=tuple(value) if isinstance(value, list) else (value,))
    return Expectation(
        path,
        values=tuple(value.get("any_of", ())),
        equals=_build_formula(value, "equals"),
        null=bool(value.get("null", False)),
        when=_build_when(value.get("when", {})),
        needs=value.get("needs"),
    )


def _build_when(table: dict[str, Any]) -> tuple[Condition, ...]:
    return tuple(
        Condition(parse_keypath(k), tuple(v) if isinstance(v, list) else (v,))
        for k, v in table.items()
    )


def _build_formula(table: dict[str, Any], key: str) -> Formula | None:
    return parse_formula(str(table[key])) if key in table else None


def _build_source(value: Any) -> ConfigSource:
    table: dict[str, Any] = {"key": value} if isinstance(value, str) else value
    return ConfigSource(
        parse_keypath(table["key"]),
        _build_formula(table, "default"),
        _build_formula(table, "of"),
        table.get("most"),
        bool(table.get("count")),
    )


def _build_constant(value: Any) -> ConstantSource:
    table: dict[str, Any] = {"key": value} if isinstance(value, str) else dict(value)
    key, when = parse_keypath(table.pop("key")), _build_when(table.pop("when", {}))
    return ConstantSource(key, when=when, **table)


def _build_tied(value: Any) -> TiedSource:
    table: dict[str, Any] = {"key": value} if isinstance(value, str) else value
    return TiedSource(parse_keypath(table["key"]), table.get("default"))


def _build_image(table: dict[str, Any]) -> Image:
    labels = parse_keypath(table.get("labels", "id2label"))
    return Image(**{**_tuples(table), "labels": labels})


def _shown(value: Any) -> str:
    """A TOML value as the author wrote it, near enough."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."
