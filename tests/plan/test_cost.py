"""Bytes and operations of a call, against counts made by hand from the sizes of GPT-2."""

from __future__ import annotations

import pytest

from linnet import driver
from linnet.bench.subject import Subject
from linnet.plan import cost
from linnet.plan.cost import Call
from linnet.plan.types import EntryPlan

EMBEDDED = "gpt2-tales"

# gpt2-tales: 4 layers of width 160 with 5 heads, 1857 ids, 256 positions.
LAYERS, WIDTH, IDS = 4, 160, 1857
MATRICES = LAYERS * 12 * WIDTH * WIDTH + IDS * WIDTH  # the table is the output head too
VECTORS = LAYERS * 13 * WIDTH + 2 * WIDTH  # biases and norms
CACHED = 2 * LAYERS * WIDTH  # floats a position


@pytest.fixture(scope="module")
def plans() -> dict[str, EntryPlan]:
    plan = driver.generate(Subject.find(EMBEDDED).opened().request).plan
    return {entry.graph.name: entry for entry in plan.entries}


@pytest.mark.parametrize("position", [0, 100])
def test_decode_reads_all_weights_once_and_the_filled_cache(
    plans: dict[str, EntryPlan], position: int
) -> None:
    found = cost.total(plans["decode"], Call({}, position))
    rows = 2 * WIDTH  # of the two tables of embeddings
    by_hand = 4 * (MATRICES + VECTORS + rows + CACHED * (position + 1))
    assert found.read == pytest.approx(by_hand, rel=0.01)


def test_prefill_multiplies_every_weight_with_every_token_but_the_head_once(
    plans: dict[str, EntryPlan],
) -> None:
    tokens = 128
    found = cost.total(plans["prefill"], Call({"S": tokens}))
    layers = 2 * tokens * LAYERS * 12 * WIDTH * WIDTH
    attention = 4 * LAYERS * WIDTH * tokens * (tokens + 1) / 2  # each token sees those before it
    by_hand = layers + attention + 2 * IDS * WIDTH
    assert by_hand < found.operations < 1.02 * by_hand  # norms and activations are small


def test_steps_that_only_move_have_no_operations(plans: dict[str, EntryPlan]) -> None:
    parts = [cost.step_cost(step, Call({}, 5)) for step in plans["decode"].steps]
    assert any(part.operations == 0 for part in parts)
    assert sum(part.operations for part in parts) == pytest.approx(
        cost.total(plans["decode"], Call({}, 5)).operations
    )


def test_reading_a_row_of_a_table_is_not_reading_the_table(plans: dict[str, EntryPlan]) -> None:
    first = plans["decode"].steps[0:3]
    read = sum(cost.step_cost(step, Call({}, 5)).read for step in first)
    assert 0 < read <= 3 * 4 * WIDTH
