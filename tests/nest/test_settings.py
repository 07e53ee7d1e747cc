"""Values of generics and constants from nested config.json files, and what is refused of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from linnet.errors import ConfigError, UsageError
from linnet.nest.card import Card, load_card
from linnet.nest.config import Config, load_config
from linnet.nest.keypath import Found, parse_keypath
from linnet.nest.settings import Settings, resolve_settings

FILE = Path("/some/config.json")

CARD = """
[model]
name = "tiny"
title = "Tiny"
summary = "A model for tests."
license = "MIT"

[links]
huggingface = "https://huggingface.co/owner/tiny"

[source]
path = "tiny.linnet"

[generics]
H = 64
Heads = 4

[constants]
EPSILON = 1e-12
LIMIT = 7

[config.expect]
hidden_act = { any_of = ["silu", "swish"], needs = "another activation" }
layer_types = ["full", "none"]
"rope_scaling.factor" = { any_of = [], null = true }
window = { any_of = [], null = true, when = { use_window = [true, "absent"] }, needs = "masks" }
"deep.inner | inner" = { equals = "4 * H", when = { "deep.on" = true } }

[config.generics]
HeadDim = { key = "head_dim", default = "H / Heads", most = 32 }
Rotary = { key = "rope.share | share", of = "HeadDim", default = "HeadDim" }
Classes = { key = "names | classes", count = true, default = 2 }

[config.constants]
EPSILON = { key = "norm.eps | eps", default = 1e-6 }
PARALLEL = { key = "parallel", default = true }
ROPE = { key = "rope.type | type", default = "none", values = { none = "Plain", llama3 = "Llama" } }
SLOPE = { key = "rope.slope | slope", when = { "rope.kind" = "steep" } }
POWER = { key = "power", default = 2, values = { 2 = "Square", true = "Odd" } }
"""


@pytest.fixture
def card(tmp_path: Path) -> Card:
    file = tmp_path / "nest.toml"
    file.write_text(CARD, encoding="utf-8")
    return load_card(file)


def settings(card: Card, values: dict[str, Any], **constants: Any) -> Settings:
    return resolve_settings(card, Config(values, FILE), {}, constants)


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        ({"names": {"0": "cat", "1": "dog", "2": "tree"}}, 3),
        ({"names": ["cat"], "classes": 5}, 1),
        ({"names": {}}, 0),
        ({"names": None, "classes": 5}, 5),
        ({}, 2),
    ],
)
def test_an_object_counts_by_its_length_where_the_card_says_so(
    card: Card, values: dict[str, Any], classes: int
) -> None:
    assert settings(card, values).generics["Classes"] == classes


def test_only_an_object_or_a_list_counts_by_its_length(card: Card) -> None:
    assert 'names = "cat", expected an integer' in refusal(card, {"names": "cat"})
    assert "head_dim = [8, 8], expected an integer" in refusal(card, {"head_dim": [8, 8]})


def refusal(card: Card, values: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as caught:
        settings(card, values)
    assert str(FILE) in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ({"a": {"b": 3}, "c": 4}, Found("a.b", 3, True)),
        ({"a": {"b": None}, "c": 4}, Found("c", 4, True)),
        ({"a": None, "c": 4}, Found("c", 4, True)),
        ({"a": {"b": None}}, Found("a.b", None, True)),
        ({"a": {"b": False}, "c": 4}, Found("a.b", False, True)),
        ({"a": [3]}, Found("a.b | c", None, False)),
        ({"a.b": 3}, Found("a.b | c", None, False)),
    ],
)
def test_the_first_alternative_that_is_there_counts(values: Any, found: Found) -> None:
    assert parse_keypath("a.b | c").look_up(values) == found


@pytest.mark.parametrize("text", ["", "a.", "a | ", ".a", "a. b"])
def test_what_is_no_path(text: str) -> None:
    with pytest.raises(ValueError, match="empty part"):
        parse_keypath(text)


def test_nothing_in_the_config_gives_the_defaults(card: Card) -> None:
    got = settings(card, {})
    assert got.generics == {"H": 64, "Heads": 4, "HeadDim": 16, "Rotary": 16, "Classes": 2}
    assert got.constants == {
        "EPSILON": 1e-6, "LIMIT": 7, "PARALLEL": True, "ROPE": "Plain", "POWER": "Square"
    }  # fmt: skip


def test_nested_keys_and_shares(card: Card) -> None:
    got = settings(
        card,
        {"rope": {"share": 0.4, "type": "llama3"}, "type": "none", "norm": None, "eps": 1}
        | {"head_dim": 21, "parallel": False, "power": True},
    )
    assert (got.generics["HeadDim"], got.generics["Rotary"]) == (21, 8)  # int(8.4)
    assert got.constants["ROPE"] == "Llama"
    assert (got.constants["EPSILON"], got.constants["PARALLEL"]) == (1, False)
    assert got.constants["POWER"] == "Odd"


@pytest.mark.parametrize(("held", "taken"), [(31, 31), (32, 32), (33, 32), (131072, 32)])
def test_a_generic_of_which_no_more_is_taken(card: Card, held: int, taken: int) -> None:
    assert settings(card, {"head_dim": held}).generics["HeadDim"] == taken
    got = resolve_settings(card, Config({"head_dim": held}, FILE), {"HeadDim": 33})
    assert got.generics["HeadDim"] == 33  # the caller may


def test_the_call_wins_over_the_config_over_the_card(card: Card) -> None:
    import numpy as np

    given = {"EPSILON": np.float32(0.5), "ROPE": "Other", "LIMIT": np.int8(3), "FLAG": np.bool_(1)}
    got = settings(card, {"eps": 0.25, "type": "unheard of"}, **given)
    chosen = {name: got.constants[name] for name in given}
    assert chosen == {"EPSILON": 0.5, "ROPE": "Other", "LIMIT": 3, "FLAG": True}
    assert {type(value) for value in chosen.values()} == {float, str, int, bool}
    assert got.origins["EPSILON"] == (UsageError, "the call")
    assert got.origins["PARALLEL"] == (ConfigError, f"`parallel` of {FILE}")
    with pytest.raises(UsageError, match="FLAG = "):
        settings(card, {}, FLAG=[1])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"hidden_act": "gelu"}, '"gelu", expected "silu" or "swish"; this would need another act'),
        ({"layer_types": ["full", "sliding"]}, '["full", "sliding"], expected "full" or "none"'),
        ({"rope_scaling": {"factor": 2.0}}, "rope_scaling.factor = 2.0, expected none"),
        ({"window": 8}, "window = 8, expected none; this would need masks"),
        (
            {"window": 8, "use_window": True},
            "window = 8 with use_window = true, expected none",
        ),
        ({"inner": 5, "deep": {"on": True}}, "inner = 5 with deep.on = true, expected 4 * H = 256"),
        ({"rope": {"type": "yarn"}}, 'rope.type = "yarn", expected "none" or "llama3"'),
        ({"rope": {"type": ["none"]}}, 'rope.type = ["none"], expected'),
        ({"power": 3}, 'power = 3, expected "2" or "true"'),
        ({"norm": {"eps": "1e-5"}}, 'norm.eps = "1e-5", expected a number, true or false'),
        ({"eps": 1e39}, "eps = 1e+39, expected a finite number within f32"),
        ({"eps": 10**400}, "expected a finite number within f32"),
        ({"share": 1.5}, "share = 1.5, expected a share, a number from 0 to 1"),
        ({"share": True}, "share = true, expected a share"),
    ],
)
def test_refusals(card: Card, values: dict[str, Any], message: str) -> None:
    assert message in refusal(card, values)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_are_none(card: Card, tmp_path: Path, number: str) -> None:
    file = tmp_path / "config.json"
    file.write_text(f'{{"eps": {number}}}', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"eps = .*expected a finite number within f32"):
        resolve_settings(card, load_config(file))


@pytest.mark.parametrize(
    "values",
    [
        {"window": 8, "use_window": False},
        {"window": None},
        {"inner": 5},
        {"inner": 5, "deep": {"on": False}},
        {"inner": 5, "deep": {"on": True, "inner": 256.0}},
        {"rope_scaling": None},
        {"rope_scaling": {"factor": None}},
        {"layer_types": ["full"] * 3},
        {"hidden_act": "swish"},
    ],
)
def test_what_passes(card: Card, values: dict[str, Any]) -> None:
    settings(card, values)


def test_a_constant_without_default_must_be_in_the_config(card: Card, tmp_path: Path) -> None:
    file = tmp_path / "nest.toml"
    file.write_text(CARD.replace('{ key = "parallel", default = true }', '"parallel"'))
    strict = load_card(file)
    assert "parallel is not there, expected a value (it is PARALLEL)" in refusal(strict, {})
    assert "parallel = null, expected a value" in refusal(strict, {"parallel": None})
    assert settings(strict, {}, PARALLEL=False).constants["PARALLEL"] is False
    assert "PARALLEL" not in resolve_settings(strict, Config({})).constants


STEEP = {"rope": {"kind": "steep"}}


def test_a_constant_is_asked_for_only_where_it_counts(card: Card) -> None:
    assert "SLOPE" not in settings(card, {"slope": 2.0}).constants
    assert settings(card, {**STEEP, "slope": 2.0}).constants["SLOPE"] == 2.0
    with pytest.raises(ConfigError, match=r"rope.slope \| slope is not there.*SLOPE"):
        settings(card, STEEP)


@pytest.mark.parametrize("value", ["llama3", 3, True, ["llama3"], []])
def test_what_stands_where_an_object_should_is_not_passed_over(card: Card, value: Any) -> None:
    with pytest.raises(ConfigError, match=r"rope = .*, expected an object"):
        settings(card, {"rope": value, "type": "none"})
    assert settings(card, {"rope": None, "type": "none"}).constants["ROPE"] == "Plain"


def test_a_list_of_nothing_holds_no_value(card: Card) -> None:
    with pytest.raises(ConfigError, match=r"hidden_act = \[\], expected"):
        settings(card, {"hidden_act": []})
