"""Profiles: every step has its time, and code without clocks is as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from linnet import driver
from linnet.bench import profile as module
from linnet.bench.profile import Line, Profile, Request, document, profile, text
from linnet.bench.subject import Subject
from linnet.emit.unit import emit_unit
from linnet.errors import ShapeError, UsageError
from linnet.plan.cost import Call, Cost, Limits
from linnet.targets.target import load_target
from tests.bench.conftest import EMBEDDED


@pytest.fixture(autouse=True)
def limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine's limits are another test's subject."""
    monkeypatch.setattr(module, "machine_limits", lambda threads: Limits(threads, 1e10, 1e11))


@pytest.mark.parametrize("entry", ["decode", "prefill", "decode_rows", "prefill_slots", "forward"])
def test_every_step_of_every_entry_is_timed(entry: str) -> None:
    request = Request(EMBEDDED, entry=entry, tokens=8, rows=2, threads=1, calls=3)
    found = profile(request)
    assert all(line.seconds >= 0 for line in found.lines)
    assert sum(line.seconds for line in found.lines) == pytest.approx(found.total, rel=0.5)
    products = [line for line in found.lines if line.cost.operations > 1e5]
    assert len(products) >= 4 * 4  # four matrices in each of four layers
    assert found.total > 0


@pytest.mark.parametrize("entry", ["forward", "embed"])
def test_entries_of_another_task(entry: str) -> None:
    folder = Path(__file__).parents[1] / "data" / "families" / "bert-1"
    found = profile(Request(str(folder), entry=entry, tokens=8, rows=3, threads=1, calls=3))
    assert found.call.sizes == {"B": 3, "S": 8}
    assert found.total > 0


def test_layers_become_one_line() -> None:
    found = profile(Request(EMBEDDED, threads=1, calls=2))
    grouped = {(line.where, line.what): line for line in found.grouped()}
    folded = [line for (where, _), line in grouped.items() if where == "blocks.{i}.mlp.c_fc"]
    assert [line.count for line in folded] == [4]
    assert sum(line.count for line in grouped.values()) == len(found.lines)
    assert sum(line.cost.read for line in grouped.values()) == pytest.approx(
        sum(line.cost.read for line in found.lines)
    )


def test_the_report_has_shares_and_limits() -> None:
    lines = (
        Line("blocks.0.fc", "linear_4", 1, 2e-6, Cost(1e4, 1e3)),  # 1 us at 10 GB/s
        Line("blocks.1.fc", "linear_4", 1, 2e-6, Cost(1e4, 1e3)),
        Line("blocks.0", "loop x", 1, 1e-6, Cost()),
        Line("blocks.1", "loop x_1", 1, 5e-6, Cost()),
    )
    found = Profile("m", "decode", Call({}, 3), Limits(1, 1e10, 1e11), lines, 1e-5, True)
    shown = [line.split() for line in text(found)]
    assert ["blocks.{i}", "loop", "x", "2", "6.0", "60.0%"] in shown
    assert ["blocks.{i}.fc", "linear_4", "2", "4.0", "40.0%", "0.02", "0.50"] in shown
    assert "random weights of the right shapes" in text(found)
    assert document(found)["steps"][0]["share_of_limit"] == pytest.approx(0.5)


def test_without_clocks_the_code_has_none() -> None:
    generated = driver.generate(Subject.find(EMBEDDED).opened().request)
    target = load_target(generated.artifact.target)
    assert generated.c == emit_unit(generated.plan, target)
    assert "stamp" not in generated.c
    timed = emit_unit(generated.plan, target, stamps=True)
    assert timed.count("  ln_stamp(w, ") == sum(
        len(entry.steps) + 1 for entry in generated.plan.entries
    )


def test_what_cannot_be_profiled_is_refused() -> None:
    with pytest.raises(UsageError, match="no entry"):
        profile(Request(EMBEDDED, entry="decod"))
    with pytest.raises(ShapeError, match="S <= Max"):
        profile(Request(EMBEDDED, entry="prefill", tokens=5000, calls=1))
    with pytest.raises(UsageError, match="calls must be at least 1"):
        Request(EMBEDDED, calls=0)
    with pytest.raises(UsageError, match="position must not be negative"):
        Request(EMBEDDED, position=-1)
