"""Packing on a thread: in order, in batches, with its errors where somebody waits for it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pytest

from linnet.artifact import Artifact, Weight
from linnet.runtime import layout as module
from linnet.runtime.bind import Binding
from linnet.runtime.layout import Layout
from linnet.runtime.machine import Machine, PackOrder
from linnet.runtime.program import Arrays


class Recorder:
    """A machine that keeps the orders, may wait before each batch, and may fail at one."""

    def __init__(self, fail_at: str = "") -> None:
        self.batches: list[list[str]] = []
        self.orders: list[PackOrder] = []
        self.fail_at = fail_at
        self.go = threading.Event()
        self.go.set()
        self.entered = threading.Event()

    def pack(self, orders: Sequence[PackOrder]) -> list[int]:
        self.entered.set()
        self.go.wait()
        names = [order.function for order in orders]
        if self.fail_at in names:
            raise MemoryError(f"no room for {self.fail_at}")
        self.batches.append(names)
        self.orders += orders
        return [1000 + len(self.orders) - len(orders) + k for k in range(len(orders))]


def weight(layout: str, *, offset: int = 0, size: int = 400) -> Weight:
    return Weight("w", "f32", (10, 10), layout, size, (10, 10, 10, 1), offset)


def begun(machine: Recorder, *weights: Weight) -> Layout:
    artifact = Artifact("a", "scalar", "exact", (), (), weights, (), ())
    source = Arrays({"t": np.arange(100, dtype=np.float32).reshape(10, 10)})
    return Layout(artifact, cast(Machine, machine), source, Binding({"w": "t"}, frozenset(), ()))


def test_addresses_come_in_the_order_of_the_artifact() -> None:
    machine = Recorder()
    found = begun(machine, weight("a"), weight("dense"), weight("b", offset=30), weight("c"))
    assert found.finish() == [1000, 1001, 1002]
    whole, part, _ = machine.orders
    assert (part.source.address - whole.source.address, part.source.size) == (120, 280)


def test_large_weights_come_in_batches_and_the_rest_can_be_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_BATCH", 800)
    machine = Recorder()
    assert len(begun(machine, *(weight(name) for name in "abcde")).finish()) == 5
    assert machine.batches == [["a", "b"], ["c", "d"], ["e"]]

    stopped = Recorder()
    stopped.go.clear()
    layout = begun(stopped, *(weight(name) for name in "abcde"))
    assert stopped.entered.wait(10)
    threading.Timer(0.05, stopped.go.set).start()
    layout.stop()  # waits for what is being written
    assert stopped.batches == [["a", "b"]]


def test_what_packing_raises_comes_to_whoever_waits() -> None:
    layout = begun(Recorder(fail_at="b"), weight("a"), weight("b"))
    for _ in range(2):
        with pytest.raises(MemoryError, match="no room for b"):
            layout.finish()


def test_an_interrupt_while_waiting_ends_the_packing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BATCH", 1)
    machine = Recorder()
    machine.go.clear()
    layout = begun(machine, weight("a"), weight("b"))
    thread: Any = layout._thread
    join, waits = thread.join, iter([KeyboardInterrupt()])

    def interrupted() -> None:
        for error in waits:
            machine.go.set()
            raise error
        join()

    monkeypatch.setattr(thread, "join", interrupted)
    with pytest.raises(KeyboardInterrupt):
        layout.finish()
    assert not thread.is_alive()
