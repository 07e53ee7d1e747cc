"""Weights on their way into the order that the code wants, while Python does something else.

In: an artifact, the machine that runs it, a source of weights. `Layout` begins to pack at once,
on a thread, so that numpy is imported meanwhile; whoever makes one must `finish` or `stop` it.
Not here: weights that stay where they are (`program` places them).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence

from linnet.artifact import Artifact, Weight
from linnet.runtime import moments
from linnet.runtime.bind import Binding
from linnet.runtime.machine import Machine, PackOrder
from linnet.runtime.memory import Stored
from linnet.runtime.source import WeightSource

DENSE = "dense"
"""The layout of a weight that is used as the manifest has it."""

PACKING, PACKED = "packing begins", "packed"
"""Moments of the thread that packs, beside those of the one that loads."""

_BATCH = 1 << 30
"""Bytes packed between two looks at whether to stop."""


class Layout:
    """The packed weights of a program. Begins at once."""

    def __init__(
        self, artifact: Artifact, machine: Machine, source: WeightSource, binding: Binding
    ) -> None:
        self._machine = machine
        self._source = source
        self._packed = [w for w in artifact.weights if w.layout != DENSE]
        self._names = [binding.names[w.path] for w in self._packed]
        self._stored = [source.stored(name) for name in self._names]
        self._addresses: list[int] = []
        self._failed: BaseException | None = None
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="linnet-packing", daemon=True)
        self._thread.start()

    def finish(self) -> list[int]:
        """Wait; the addresses of the packed weights, in the order of the artifact. Raises what
        packing raised."""
        try:
            self._thread.join()
        except BaseException:
            self.stop()
            raise
        if self._failed is not None:
            raise self._failed
        return self._addresses

    def stop(self) -> None:
        """End it early, and wait until nothing is written any more."""
        self._stopped = True
        self._thread.join()

    def _run(self) -> None:
        moments.passed(PACKING)
        try:
            for batch in self._batches():
                if self._stopped:
                    return
                orders = [_order(self._packed[k], self._stored[k]) for k in batch]
                self._addresses += self._machine.pack(orders)
                moments.passed(PACKED)
                for k in batch:
                    self._source.release(self._names[k])
        except BaseException as error:
            self._failed = error

    def _batches(self) -> Iterator[Sequence[int]]:
        """The positions of the packed weights, some gigabytes together."""
        batch: list[int] = []
        size = 0
        for k, weight in enumerate(self._packed):
            batch.append(k)
            size += weight.size
            if size >= _BATCH:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch


def _order(weight: Weight, stored: Stored) -> PackOrder:
    """How to pack a weight, which may be a part of a tensor."""
    skipped = weight.offset * (stored.size // math.prod(weight.dims)) if weight.offset else 0
    part = Stored(stored.address + skipped, stored.size - skipped, stored.owner, stored.is_file)
    return PackOrder(weight.layout, part, weight.args, weight.size)
