"""`linnet nest diagram`: what is drawn is what the source says, and boxes do not overlap."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Any

import pytest

from linnet import driver
from linnet.errors import UsageError
from linnet.nest import registry
from linnet.nest.card import Card
from linnet.nest.config import Config
from linnet.nest.request import request_for
from linnet.nest.road.diagram import _Placed
from linnet.nest.road.drawn import Drawings
from linnet.nest.road.flow import Box, Step, flow, members
from linnet.nest.settings import resolve_settings

CARDS = registry.readable()


def entries(card: Card) -> Iterator[tuple[Any, str, dict[str, Any]]]:
    request = request_for(card, resolve_settings(card, Config({})))
    program = driver.check(card.source.path).program
    assert program is not None
    root = driver.root_block(program, card.source.root)
    for entry in root.entries:
        yield root, entry.name, dict(request.constants)


def boxes(box: Box) -> Iterator[Box]:
    yield box
    for step in box.steps:
        if step.inner is not None:
            yield from boxes(step.inner)


def told(box: Box) -> list[Any]:
    """A box as plain data: title, then each step with what it takes."""

    def name(step: Step) -> str:
        own = [*box.ports, *box.steps]
        return f"{own.index(step)}:{step.title}"

    return [
        [s.title, [name(i) for i in s.inputs], [c.name for c in s.chips], s.shape]
        + ([told(s.inner)] if s.inner else [])
        for s in box.steps
    ]


def test_the_steps_of_a_layer_are_those_of_the_source() -> None:
    root, _, constants = next(e for e in entries(registry.find("gpt2")) if e[1] == "forward")
    box, used = flow(root, "forward", constants)
    wide = "[B, S, H]"
    assert [row[:4] for row in told(box)] == [
        ["embedding", ["0:tokens"], ["wte"], wide],
        ["+", ["1:embedding"], ["wpe"], wide],
        ["blocks", ["2:+"], [], wide],
        ["ln_f", ["3:blocks"], [], wide],
        ["linear", ["4:ln_f"], ["wte"], "[B, S, Vocab]"],
    ]
    layer = box.steps[2].inner
    assert layer is not None
    assert (layer.title, layer.note, layer.times) == ("blocks", "Layer.forward", "Layers")
    # Both sums take the normalised branch and what came in: port 0, and the sum before.
    assert [row[:4] for row in told(layer)] == [
        ["ln_1", ["0:x"], [], wide],
        ["attn", ["1:ln_1"], [], wide],
        ["+", ["0:x", "2:attn"], [], wide],
        ["ln_2", ["3:+"], [], wide],
        ["mlp", ["4:ln_2"], [], wide],
        ["+", ["3:+", "5:mlp"], [], wide],
    ]
    up = layer.steps[4].inner and layer.steps[4].inner.steps[0].inner
    assert up is not None
    assert [(c.name, c.shape) for c in up.steps[0].chips] == [
        ("weight", "[H, Inner]"),
        ("bias", "[Inner]"),
    ]
    assert set(members(root)) - used == {"blocks.{i}.attn.cache_k", "blocks.{i}.attn.cache_v"}


def test_states_are_used_and_written() -> None:
    root, _, constants = next(e for e in entries(registry.find("gpt2")) if e[1] == "decode_rows")
    box, used = flow(root, "decode_rows", constants)
    assert set(members(root)) == used
    chips = [c for b in boxes(box) for s in b.steps for c in s.chips if c.kind == "state"]
    assert [(c.name, c.written) for c in chips] == [("cache_k", True), ("cache_v", True)]


@pytest.mark.parametrize("card", CARDS, ids=lambda card: str(card.name))
def test_every_entry_is_drawn_without_overlaps(card: Card) -> None:
    drawings = Drawings(card)
    for root, name, constants in entries(card):
        box, _ = flow(root, name, constants)
        for one in boxes(box):
            known = {*one.ports, *one.steps}
            assert all(i in known for s in one.steps for i in s.inputs), (name, one.title)
            assert set(one.results) <= known, (name, one.title)
        placed = _Placed(box, 0, {})
        assert list(_overlaps(placed)) == [], name
        document = ET.fromstring(drawings.of(name))
        assert document.tag == "{http://www.w3.org/2000/svg}svg"
        texts = {"".join(e.itertext()) for e in document.iter()}
        for one in boxes(box):
            for step in one.steps:
                assert step.title in texts or step.inner is not None, step.title


def _overlaps(placed: _Placed) -> Iterator[str]:
    items = list(placed.items.values())
    for at, one in enumerate(items):
        inside = one.x >= 0 and one.x + one.width <= placed.width
        if not inside or (one.step.kind != "input" and one.y + one.height > placed.height):
            yield f"{one.step.title} leaves {placed.box.title}"
        for other in items[at + 1 :]:
            apart = (
                one.x + one.width <= other.x
                or other.x + other.width <= one.x
                or one.y + one.height <= other.y
                or other.y + other.height <= one.y
            )
            if not apart:
                yield f"{one.step.title} and {other.step.title} in {placed.box.title}"
        if one.inner is not None:
            yield from _overlaps(one.inner)


def test_an_unknown_entry_is_an_error() -> None:
    with pytest.raises(UsageError, match="did you mean 'forward'"):
        Drawings(registry.find("gpt2")).of("forwards")
