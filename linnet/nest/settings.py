"""A card and a config.json: is it the model the source describes, and with which values?

In goes a card and a config.json; out come the values of generics and constants, or one
`ConfigError` that lists every contradiction by key, value and expected value. A key that gives a
generic or a constant its value must be there if the file is; other keys that are absent pass, and
keys the card does not mention are ignored, except the mark of quantized weights. No weight is read
here, and no source: whether it has a constant of that name and type, the compiler says.
"""

from __future__ import annotations

import numbers
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from linnet.errors import CardError, ConfigError, LinnetError, UsageError
from linnet.nest.card import (
    ABSENT,
    DTYPES,
    Card,
    Condition,
    Constant,
    ConstantSource,
    Expectation,
    Generic,
)
from linnet.nest.config import Config
from linnet.nest.formula import Formula
from linnet.nest.json_values import is_number, is_size, shown
from linnet.nest.keypath import Found
from linnet.nest.nearest import did_you_mean
from linnet.nest.schema import spelled

LARGEST_SIZE = 2**31 - 1
LARGEST_F32 = 3.4028234663852886e38
QUANTIZED = "quantization_config"


Origin = tuple[type[LinnetError], str]
"""Where a constant got its value, and which error it is when the source cannot take it."""


@dataclass(frozen=True)
class Settings:
    """What a program is compiled for: the values of generics, and of the constants that are not
    left as the source has them, each with its origin."""

    generics: Mapping[str, Generic]
    constants: Mapping[str, Constant] = field(default_factory=dict)
    origins: Mapping[str, Origin] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    """For the generics that a config.json settled: what in it did."""
    file: Path | None = None
    """That config.json."""


def resolve_settings(
    card: Card,
    config: Config,
    generics: Mapping[str, Generic] | None = None,
    constants: Mapping[str, Constant] | None = None,
    known: Collection[str] | None = None,
) -> Settings:
    """Check `config` against `card` and return the values of generics and constants.

    The value of each is the first there is of: the caller's `generics` and `constants`, the
    config's key, without a config.json the card's `[generics]` and `[constants]`, and the default
    the card gives for that key. A constant for which there is none keeps its value in the
    source. `known` are the generics of the program's root block, to check the names in `generics`;
    without it the card's are taken. Names and types of constants are the compiler's to check.

    Raises ConfigError with all contradictions, UsageError for a generic of an unknown name
    or of the wrong kind, or a constant that is no value.
    """
    problems: list[str] = []
    given = _generics_of(card, generics or {}, known)
    sizes = _from_config(card, config, given, problems)
    settled = _constants(card, config, constants or {}, problems)
    _check_expected(card, config, sizes, problems)
    _check_plain(card, config, problems)
    problems += _obstacles(card, config)
    if problems:
        raise _misfit(card, config, problems)
    origins = _origins(card, config, settled, constants or {})
    return Settings(sizes, settled, origins, _reasons(card, config, given), config.file)


def _misfit(card: Card, config: Config, problems: list[str]) -> ConfigError:
    """The refusal, with the entry that would fit if it is another family's checkpoint."""
    from linnet.nest import families, registry

    where = config.file if config.file is not None else "the configuration"
    listed = "".join(f"\n  {problem}" for problem in problems)
    kind, known = config.values.get(families.MODEL_TYPE), families.model_types(card)
    other = None
    if known and kind not in known:
        other = families.entry_that_fits(config, registry.readable())
    choose = f"`{other}` is the entry for" if other else "choose the entry that belongs to"
    return ConfigError(
        f"{where} does not fit {card.name}:{listed}",
        help=f"{card.name} computes only what its card describes; {choose} this checkpoint",
    )


def _reasons(card: Card, config: Config, given: Collection[str]) -> dict[str, str]:
    """Where generics have their values from, those that config.json settles."""
    result: dict[str, str] = {}
    if config.file is None:
        return result
    for name in card.config_generics.keys() - given:
        source = card.config_generics[name]
        found = source.key.look_up(config.values)
        if found.value is not None:
            share = f", a share of {source.of.text}" if source.of else ""
            result[name] = f"{found.key} = {shown(found.value)}{share}"
        elif source.default is not None:
            result[name] = f"{found.key} is not given: {source.default.text}"
    return result


def _origins(
    card: Card, config: Config, settled: Collection[str], given: Collection[str]
) -> dict[str, Origin]:
    result: dict[str, Origin] = {}
    for name in settled:
        source = card.config_constants.get(name)
        if name in given:
            result[name] = (UsageError, "the call")
        elif source is not None and config.file is not None:
            result[name] = (ConfigError, f"`{source.key.text}` of {config.file}")
        else:
            result[name] = (CardError, str(card.file))
    return result


def _from_config(
    card: Card, config: Config, overrides: Mapping[str, Generic], problems: list[str]
) -> dict[str, Generic]:
    result: dict[str, Generic] = dict(card.generics)
    waiting: dict[str, _Pending] = {}
    for name, source in card.config_generics.items():
        if name in overrides:
            continue
        found = source.key.look_up(config.values)
        if source.count and isinstance(found.value, dict | list):
            found = replace(found, value=len(found.value))
        if found.value is not None and source.of is not None:
            wrong = _share_problem(found.value)
            if not wrong:
                waiting[name] = _Pending(source.of, found.value)
        elif found.value is not None:
            wrong = _size_problem(found.value)
            if not wrong:
                value = found.value
                result[name] = value if source.most is None else min(value, source.most)
        elif config.file is None and name in card.generics:
            continue
        elif source.default is not None:
            wrong = None
            waiting[name] = _Pending(source.default)
        else:
            expected = "a share, a number from 0 to 1" if source.of else "an integer"
            wrong = _absent_problem(found, config, f"{expected} (it is {name})")
        if wrong:
            problems.append(wrong if found.value is None else _contradiction(found, wrong))
    result.update(overrides)
    _apply_pending(waiting, result, problems)
    return result


def _absent_problem(found: Found, config: Config, expected: str) -> str | None:
    """What is said of a key that has to be there; nothing where there is no config.json."""
    if found.there:
        return f"{found.key} = null, expected {expected}"
    return f"{found.key} is not there, expected {expected}" if config.file is not None else None


def _contradiction(found: Found, expected: str) -> str:
    return f"{found.key} = {shown(found.value)}, expected {expected}"


@dataclass(frozen=True)
class _Pending:
    """A generic to be worked out: what `formula` comes to, or that `share` of it, cut off to a
    whole number as float arithmetic gives it."""

    formula: Formula
    share: float | None = None

    def value(self, generics: Mapping[str, Generic]) -> int:
        whole = self.formula.value(generics)
        return whole if self.share is None else int(whole * self.share)


def _constants(
    card: Card, config: Config, given: Mapping[str, Constant], problems: list[str]
) -> dict[str, Constant]:
    """The constants that do not keep their value in the source."""
    result: dict[str, Constant] = dict(card.constants)
    for name, source in card.config_constants.items():
        if name in given or (config.file is None and name in card.constants):
            continue
        if not all(_holds(one, config) for one in source.when):
            continue
        found = source.key.look_up(config.values)
        value = source.default if found.value is None else found.value
        if value is None:
            wrong = _absent_problem(found, config, f"a value (it is {name})")
        else:
            found = replace(found, value=value)
            wrong = _constant_problem(found, source)
            if wrong is None:
                result[name] = value if source.values is None else source.values[spelled(value)]
        if wrong:
            problems.append(wrong)
    return result | {name: plain_constant(name, value) for name, value in given.items()}


def _constant_problem(found: Found, source: ConstantSource) -> str | None:
    value = found.value
    if source.values is not None:
        if not isinstance(value, dict | list) and spelled(value) in source.values:
            return None
        known = " or ".join(shown(key) for key in source.values)
        return _contradiction(found, known) + _needs(source.needs)
    if isinstance(value, bool):
        return None
    if not isinstance(value, int | float):
        return _contradiction(found, "a number, true or false") + _needs(source.needs)
    return None if _fits_f32(value) else _contradiction(found, "a finite number within f32")


def _fits_f32(value: int | float) -> bool:
    return -LARGEST_F32 <= value <= LARGEST_F32  # false for what is no number


def plain_constant(name: str, value: object) -> Constant:
    """A caller's constant as a plain Python value. Raises UsageError for what is none."""
    if isinstance(value, bool | str):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    if getattr(value, "dtype", None) == "bool":  # numpy's
        return bool(value)
    raise UsageError(
        f"constants: {name} = {value!r} must be a number, true or false, or the name of a variant"
    )


def _apply_pending(
    pending: Mapping[str, _Pending], result: dict[str, Generic], problems: list[str]
) -> None:
    """Work generics out in the order in which they need each other."""
    waiting = dict(pending)
    while waiting:
        ready = [n for n, p in waiting.items() if not waiting.keys() & set(p.formula.names)]
        if not ready:
            names = ", ".join(waiting)
            problems.append(f"the card's defaults refer to each other: {names}")
            return
        for name in ready:
            one = waiting.pop(name)
            try:
                result[name] = one.value(result)
            except ValueError as error:
                problems.append(f"{name} = {one.formula.text} cannot be computed: {error}")


def _check_expected(
    card: Card, config: Config, generics: Mapping[str, Generic], problems: list[str]
) -> None:
    for expectation in card.expect.values():
        found = expectation.key.look_up(config.values)
        if not found.there or not all(_holds(one, config) for one in expectation.when):
            continue
        wrong = _mismatch(found.value, expectation, generics)
        if wrong:
            said = [one.key.look_up(config.values) for one in expectation.when]
            with_ = " and ".join(f"{f.key} = {shown(f.value)}" for f in said if f.there)
            is_now = f"{found.key} = {shown(found.value)}" + (with_ and f" with {with_}")
            problems.append(f"{is_now}, expected {wrong}" + _needs(expectation.needs))


def _needs(needs: str | None) -> str:
    return f"; this would need {needs}" if needs else ""


def _holds(condition: Condition, config: Config) -> bool:
    value = condition.key.look_up(config.values).value
    if value is None:
        return ABSENT in condition.values
    return any(_same(value, one) for one in condition.values)


def _obstacles(card: Card, config: Config) -> list[str]:
    """What stands where an object with the card's keys should: a value is never passed over
    because it has the wrong form."""
    paths = [source.key for source in card.config_generics.values()]
    paths += [source.key for source in card.config_constants.values()]
    paths += [source.key for source in card.config_tied.values()]
    paths += [expectation.key for expectation in card.expect.values()]
    paths += [rule for rule in card.config_present.values() if not isinstance(rule, bool)]
    found = [path.obstacle(config.values) for path in paths]
    return [*dict.fromkeys(_contradiction(one, "an object") for one in found if one)]


def _check_plain(card: Card, config: Config, problems: list[str]) -> None:
    """Weights of a quantized checkpoint are codes; to read them as numbers would be nonsense."""
    if config.values.get(QUANTIZED) is not None and QUANTIZED not in card.expect:
        found = Found(QUANTIZED, config.values[QUANTIZED], True)
        problems.append(_contradiction(found, "none: quantized weights cannot be read"))


def _mismatch(value: Any, expected: Expectation, generics: Mapping[str, Generic]) -> str | None:
    if value is None and expected.null:
        return None
    if expected.equals is None:
        items = value if isinstance(value, list) and value else [value]
        if all(any(_same(item, allowed) for allowed in expected.values) for item in items):
            return None
        return " or ".join(shown(item) for item in expected.values) or "none"
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


def _size_problem(value: Any) -> str | None:
    if not is_size(value):
        return "an integer that is not negative"
    return None if value <= LARGEST_SIZE else f"at most {LARGEST_SIZE}"


def _share_problem(value: Any) -> str | None:
    return None if is_number(value) and 0 <= value <= 1 else "a share, a number from 0 to 1"


def _generics_of(
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
