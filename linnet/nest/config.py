"""`config.json` of a checkpoint against the card: is it the model the source describes?

In goes a card and a config.json; out come the values of the generics, or one `ConfigError`
that lists every contradiction by key, value and expected value. A key that gives a generic its
value must be there if the file is; other keys that are absent pass, and keys the card does not
mention are ignored, except the mark of quantized weights. No weight is read here.
"""

from __future__ import annotations

import json
import numbers
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linnet.errors import ConfigError, UsageError
from linnet.nest.card import DTYPES, Card, Expectation, Generic
from linnet.nest.formula import Formula
from linnet.nest.nearest import did_you_mean

LARGEST_SIZE = 2**31 - 1
QUANTIZED = "quantization_config"


@dataclass(frozen=True)
class Config:
    """A config.json as it stands. `file` is None for a checkpoint that has none."""

    values: Mapping[str, Any]
    file: Path | None = None


def load_config(file: Path) -> Config:
    """Read a config.json. Raises ConfigError when it is no JSON object."""
    try:
        data = json.loads(file.read_bytes())
    except OSError as error:
        raise ConfigError(f"cannot read {file}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file} is not valid JSON: {error}") from error
    if not isinstance(data, dict):
        raise ConfigError(f"{file} must hold one JSON object, not {_shown(data)[:60]}")
    return Config(data, file)


def resolve_generics(
    card: Card,
    config: Config,
    overrides: Mapping[str, Generic] | None = None,
    known: Collection[str] | None = None,
) -> dict[str, Generic]:
    """Check `config` against `card` and return the values of the generics.

    The value of a generic is the first there is of: `overrides`, the config's key, the default
    the card gives for that key, and without a config.json the card's `[generics]`. `known` are
    the generics of the program's root block, to check the names in `overrides`; without it the
    card's are taken.

    Raises ConfigError with all contradictions, UsageError for an override of an unknown name
    or of the wrong kind.
    """
    problems: list[str] = []
    generics = _from_config(card, config, _overrides(card, overrides or {}, known), problems)
    _check_expected(card, config, generics, problems)
    _check_plain(card, config, problems)
    if problems:
        where = config.file if config.file is not None else "the configuration"
        listed = "".join(f"\n  {problem}" for problem in problems)
        raise ConfigError(
            f"{where} does not fit {card.name}:{listed}",
            help=f"{card.name} computes only what its card describes; "
            "choose the entry that belongs to this checkpoint",
        )
    return generics


def end_of_text_ids(
    card: Card, config: Config, generation: Config | None, vocabulary: int | None = None
) -> tuple[int, ...]:
    """The ids that end a text: generation_config.json's, else config.json's, else the card's.

    Raises ConfigError when a file gives something else than an id or a list of ids, or an id
    beyond `vocabulary`. The card's own id is let through: files of cut-down models repeat it,
    and it merely never comes.
    """
    usual = None if card.text is None else card.text.end_of_text_id
    given = [_ids_of(s, vocabulary, usual) for s in (generation, config) if s is not None]
    return next((ids for ids in given if ids is not None), () if usual is None else (usual,))


def _ids_of(source: Config, vocabulary: int | None, usual: int | None) -> tuple[int, ...] | None:
    """What one file says about the end of a text; None if nothing."""
    value = source.values.get("eos_token_id")
    if value is None:
        return None
    ids = value if isinstance(value, list) else [value]
    title = f"{source.file}: eos_token_id = {_shown(value)}"
    if not all(_is_size(item) for item in ids):
        raise ConfigError(f"{title} must be an id or a list of ids")
    if vocabulary is not None and any(i >= vocabulary and i != usual for i in ids):
        raise ConfigError(f"{title} is out of range: this model has {vocabulary} ids")
    return tuple(ids)


def _from_config(
    card: Card, config: Config, overrides: Mapping[str, Generic], problems: list[str]
) -> dict[str, Generic]:
    result: dict[str, Generic] = dict(card.generics)
    defaults: dict[str, Formula] = {}
    for name, source in card.config_generics.items():
        value = config.values.get(source.key)
        if value is not None:
            wrong = _size_problem(value)
            if wrong:
                problems.append(f"{source.key} = {_shown(value)}, expected {wrong}")
            else:
                result[name] = value
        elif source.default is not None:
            defaults[name] = source.default
        elif source.key in config.values:
            problems.append(f"{source.key} = null, expected an integer (it is {name})")
        elif config.file is not None and name not in overrides:
            problems.append(f"{source.key} is not there, expected an integer (it is {name})")
    result.update(overrides)
    _apply_defaults({n: f for n, f in defaults.items() if n not in overrides}, result, problems)
    return result


def _apply_defaults(
    defaults: Mapping[str, Formula], result: dict[str, Generic], problems: list[str]
) -> None:
    """Work the defaults out in the order in which they need each other."""
    waiting = dict(defaults)
    while waiting:
        ready = [n for n, f in waiting.items() if not waiting.keys() & set(f.names)]
        if not ready:
            names = ", ".join(waiting)
            problems.append(f"the card's defaults refer to each other: {names}")
            return
        for name in ready:
            formula = waiting.pop(name)
            try:
                result[name] = formula.value(result)
            except ValueError as error:
                problems.append(f"{name} = {formula.text} cannot be computed: {error}")


def _check_expected(
    card: Card, config: Config, generics: Mapping[str, Generic], problems: list[str]
) -> None:
    for key, expectation in card.expect.items():
        if key not in config.values:
            continue
        wrong = _mismatch(config.values[key], expectation, generics)
        if wrong:
            problems.append(f"{key} = {_shown(config.values[key])}, expected {wrong}")


def _check_plain(card: Card, config: Config, problems: list[str]) -> None:
    """Weights of a quantized checkpoint are codes; to read them as numbers would be nonsense."""
    if config.values.get(QUANTIZED) is not None and QUANTIZED not in card.expect:
        shown = _shown(config.values[QUANTIZED])
        problems.append(f"{QUANTIZED} = {shown}, expected none: quantized weights cannot be read")


def _mismatch(value: Any, expected: Expectation, generics: Mapping[str, Generic]) -> str | None:
    if value is None and expected.null:
        return None
    if expected.equals is None:
        if any(_same(value, allowed) for allowed in expected.values):
            return None
        return " or ".join(_shown(item) for item in expected.values)
    try:
        wanted = expected.equals.value(generics)
    except ValueError as error:
        return f"{expected.equals.text} ({error})"
    if _same(value, wanted):
        return None
    return (
        str(wanted) if expected.equals.text == str(wanted) else f"{expected.equals.text} = {wanted}"
    )


def _same(value: Any, wanted: Any) -> bool:
    """Equal as JSON means it: true is not 1, but 1.0 is 1."""
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    return bool(value == wanted)


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _size_problem(value: Any) -> str | None:
    if not _is_size(value):
        return "an integer that is not negative"
    return None if value <= LARGEST_SIZE else f"at most {LARGEST_SIZE}"


def _overrides(
    card: Card, overrides: Mapping[str, Generic], known: Collection[str] | None
) -> dict[str, Generic]:
    """The caller's generics, checked, as plain Python numbers and strings."""
    names = list(card.known_generics if known is None else known)
    result: dict[str, Generic] = {}
    for name, value in overrides.items():
        if name not in names:
            hint = did_you_mean(str(name), names)
            raise UsageError(f"generics: {card.name} has no generic {name!r}{hint}")
        if isinstance(value, str):
            if value not in DTYPES:
                hint = did_you_mean(value, DTYPES)
                raise UsageError(f"generics: {name} = {value!r} is no dtype{hint}")
            result[name] = value
            continue
        whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
        if not whole or not 0 <= value <= LARGEST_SIZE:
            raise UsageError(
                f"generics: {name} = {value!r} must be an integer from 0 to {LARGEST_SIZE}"
            )
        result[name] = int(value)
    return result


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:77] + "..."
