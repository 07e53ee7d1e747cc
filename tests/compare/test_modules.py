"""Blocks are matched with modules by their weights: names first, contents where names fail."""

from __future__ import annotations

import numpy as np
import pytest

from linnet.compare import modules
from linnet.compare.arrays import difference, same_axes


def nothing(names: object) -> dict[str, str]:
    return {}


def test_names_match_under_the_prefix_that_fits_most() -> None:
    ours = {
        "table": "wood.table.weight",
        "layers.0.a.w": "wood.l.0.first.weight",
        "layers.1.a.w": "wood.l.1.first.weight",
        "top.w": "top.weight",
    }
    theirs = ["net.wood.table.weight", "net.wood.l.0.first.weight", "net.wood.l.1.first.weight"]
    found = modules.parameters(ours, [*theirs, "net.top.weight"], nothing, nothing)
    assert found == {path: f"net.{name}" for path, name in ours.items()}
    bare = [name.removeprefix("net.wood.") for name in theirs]
    found = modules.parameters(ours, bare, nothing, nothing)
    assert found == {path: ours[path].removeprefix("wood.") for path in list(ours)[:3]}


def test_renamed_parameters_are_known_by_their_contents() -> None:
    ours = {"a.w": "old.a.w", "b.w": "old.b.w", "c.w": "old.c.w", "d.w": "d.w"}
    texts = {"a.w": "1", "b.w": "2", "c.w": "2", "new.x": "1", "new.y": "2", "new.z": "7"}

    def of(names: list[str]) -> dict[str, str]:
        return {name: texts[name] for name in names}

    found = modules.parameters(ours, ["new.x", "new.y", "new.z", "d.w"], of, of)
    assert found == {"a.w": "new.x", "d.w": "d.w"}, "two alike are nobody's"


def test_a_block_is_the_module_with_its_parameters_and_no_others() -> None:
    matched = {
        "layers.0.attn.q.w": "h.0.attention.query.weight",
        "layers.0.attn.k.w": "h.0.attention.key.weight",
        "layers.0.mlp.up.w": "h.0.inner.dense.weight",
        "layers.0.mlp.norm.w": "h.0.output.norm.weight",
        "layers.0.mlp.down.w": "h.0.output.dense.weight",
        "only.w": "wrap.inside.weight",
        "outer.inner.w": "shell.core.weight",
    }
    found = modules.blocks(matched, matched, matched.values())
    assert found["layers.0"] == ("h.0",)
    assert found["layers.0.attn"] == ("h.0.attention",)
    assert found["layers.0.attn.q"] == ("h.0.attention.query",)
    assert found["layers.0.mlp.down"] == ("h.0.output.dense",)
    assert "layers.0.mlp" not in found, "theirs has its parts in two modules"
    assert found["only"] == ("wrap", "wrap.inside"), "which of them is meant cannot be told"
    assert (found["outer"], found["outer.inner"]) == (("shell",), ("shell.core",))


def test_a_block_with_a_parameter_that_theirs_lacks_is_unmatched() -> None:
    matched = {"a.w": "x.weight", "b.w": "y.weight"}
    found = modules.blocks(["a.w", "a.extra", "b.w"], matched, ["x.weight", "y.weight"])
    assert "a" not in found
    assert found["b"] == ("y",)
    assert "b" not in modules.blocks(["b.w"], matched, ["y.weight", "y.bias"])


def test_differences_by_hand() -> None:
    theirs = np.array([[3.0, 4.0], [0.0, 5.0]], np.float32)
    ours = np.array([[3.0, 4.5], [0.1, 5.0]], np.float32)
    found = difference(ours, theirs)
    usual = np.sqrt((9 + 16 + 25) / 4)
    assert found.absolute == 0.5
    assert found.index == (0, 1)
    assert found.relative == pytest.approx(0.5 / (4 + usual))
    assert (found.ours, found.theirs) == (4.5, 4.0)
    infinite = np.array([-np.inf, 1.0, np.nan])
    assert difference(infinite, infinite).relative == 0
    assert difference(np.array([0.0, 1.0, np.nan]), infinite).absolute == np.inf
    assert difference(np.zeros((2, 0)), np.zeros((0, 2))).relative == 0


@pytest.mark.parametrize(
    ("ours", "theirs", "same"),
    [
        ((1, 4, 8), (4, 8), True),
        ((2, 4, 8), (8, 8), True),
        ((2, 4, 8), (2, 4, 8), True),
        ((2, 4, 8), (4, 2, 8), False),
        ((1, 4, 4, 8), (1, 4, 32), False),
        ((6,), (2, 3), False),
    ],
)
def test_axes_that_certainly_mean_the_same(
    ours: tuple[int, ...], theirs: tuple[int, ...], same: bool
) -> None:
    assert same_axes(ours, theirs) is same
