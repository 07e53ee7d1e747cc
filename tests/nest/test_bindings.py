"""Binding files: patterns written out, and names that do not fit refused together."""

from __future__ import annotations

from pathlib import Path

import pytest

from linnet.errors import CardError
from linnet.nest.bindings import load_bindings, tensor_names

PATHS = [f"blocks.{i}.{leaf}" for i in range(12) for leaf in ("w", "b")] + ["norm.w", "top"]


def bindings(tmp_path: Path, text: str) -> dict[str, str]:
    file = tmp_path / "bindings.json"
    file.write_text(text, encoding="utf-8")
    return load_bindings(file).expand(PATHS)


def test_patterns_are_written_out(tmp_path: Path) -> None:
    got = bindings(tmp_path, '{"blocks.{i}.w": "h.{i}.weight.{i}", "top": "wte"}')
    assert got == {f"blocks.{i}.w": f"h.{i}.weight.{i}" for i in range(12)} | {"top": "wte"}


def test_a_written_out_key_wins_over_a_pattern(tmp_path: Path) -> None:
    got = bindings(tmp_path, '{"blocks.3.w": "odd", "blocks.{i}.w": "h.{i}.w"}')
    assert got["blocks.3.w"] == "odd"
    assert got["blocks.11.w"] == "h.11.w"


def test_two_paths_may_share_a_tensor(tmp_path: Path) -> None:
    assert bindings(tmp_path, '{"top": "t", "norm.w": "t"}') == {"top": "t", "norm.w": "t"}


def test_patterns_have_no_place_where_all_arrays_are_empty(tmp_path: Path) -> None:
    file = tmp_path / "bindings.json"
    file.write_text('{"blocks.{i}.w": "h.{i}.w", "top": "t"}', encoding="utf-8")
    assert load_bindings(file).expand(["top"]) == {"top": "t"}
    assert load_bindings(file).kinds() == {"h.{i}.w"}


def test_older_names_stand_behind_the_usual_one(tmp_path: Path) -> None:
    file = tmp_path / "bindings.json"
    text = (
        '{"blocks.{i}.w": ["h.{i}.w", "h.{i}.g", "g.{i}"], "blocks.3.w": "odd", "top": ["t", "u"]}'
    )
    file.write_text(text, encoding="utf-8")
    found = load_bindings(file)
    paths = ["blocks.0.w", "blocks.1.w", "blocks.2.w", "blocks.3.w", "top", "norm.w"]
    there = ["m.h.0.w", "m.h.0.g", "m.g.1", "m.h.2.g", "m.u", "m.norm.w"]
    assert list(tensor_names(found, paths, there, ["", "m."]).values()) == [
        *("m.h.0.w", "m.g.1", "m.h.2.g", "m.odd", "m.u", "m.norm.w"),
    ]
    # Where none is there, the usual name is what is missed.
    assert tensor_names(found, paths, [])["top"] == "t"
    assert found.kinds() == {"h.{i}.w", "h.{i}.g", "g.{i}"}


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ('{"tops": "t", "block.{i}.w": "x"}', ["'tops'", "'block.{i}.w'", "'blocks.{i}.w'"]),
        ('{"blocks.12.w": "x"}', ["blocks.12.w"]),
        ('{"blocks.{i}.w": "a.{i}", "blocks.{j}.w": "b.{j}"}', ["another pattern"]),
        ('{"blocks.{i}.w": "h.{j}"}', ["{j}"]),
        ('{"top": "a{"}', ["bracket"]),
        (
            '{"top": ["a", "b}"], "norm.w": [], "blocks.0.w": ["a", 3]}',
            ["b}", "norm.w", "blocks.0"],
        ),
        ('{"top": 3, "norm.w": ""}', ["'top'", "'norm.w'"]),
        ('{"top": "a", "top": "b"}', ["twice"]),
        ("[]", ["one JSON object"]),
        ("{", ["flat JSON"]),
        ('{"a":' * 100000, ["flat JSON"]),
    ],
)
def test_mistakes(tmp_path: Path, text: str, messages: list[str]) -> None:
    with pytest.raises(CardError) as caught:
        bindings(tmp_path, text)
    for message in ("bindings.json", *messages):
        assert message in str(caught.value)


def test_names_get_the_prefix_that_fits(tmp_path: Path) -> None:
    file = tmp_path / "bindings.json"
    file.write_text('{"top": "wte"}', encoding="utf-8")
    bare = {"top": "wte", "norm.w": "norm.w"}
    prefixed = {path: f"model.{name}" for path, name in bare.items()}
    for available, expected in (
        (["wte", "norm.w", "lm_head"], bare),
        (["model.wte", "model.norm.w", "wte"], prefixed),
        (["model.wte", "masks"], prefixed),
        ([], bare),
    ):
        got = tensor_names(load_bindings(file), bare, available, ["", "model."])
        assert got == expected
    assert tensor_names(None, ["a"], ["a"]) == {"a": "a"}
