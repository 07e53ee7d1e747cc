"""Trials of the kernels that write into caches."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from parity.harness import Case, Kernel, Operand
from parity.trial import Trial, normal

CACHE = Operand("cache", "float", 4, "in place")
VALUE = Operand("value", "float", 4, "strided")
AT = Operand("at", "int32_t", 0, "scalar")
WRITE_AT = Kernel("cache/write_at", ("B", "H", "S", "D"), (CACHE, VALUE, AT))
WRITE_ROWS = Kernel(
    "cache/write_rows", ("B", "H", "S", "D"), (CACHE, VALUE, Operand("at", "int32_t", 1))
)
WRITE_SPAN = Kernel("cache/write_span", ("B", "H", "S", "N", "D"), (CACHE, VALUE, AT))
SLOTS = Operand("slots", "int32_t", 1)
WRITE_SLOTS = Kernel("cache/write_slots", ("B", "H", "S", "M", "N", "D"), (CACHE, VALUE, SLOTS, AT))
SLOT = Operand("slot", "int32_t", 0, "scalar")
WRITE_SLOT = Kernel("cache/write_slot", ("B", "H", "S", "N", "D"), (CACHE, VALUE, SLOT, AT))
KERNELS = (WRITE_AT, WRITE_ROWS, WRITE_SPAN, WRITE_SLOTS, WRITE_SLOT)


def cache_trial(
    kernel: Kernel, n: int, rows: list[int], ats: list[int], extra: list[np.ndarray]
) -> Trial:
    """Vector [i, h, j] of the value goes to cache[rows[i], h, ats[i] + j], where that exists."""
    b, h, s, d = 3, 2, 7, 5
    cache = normal(b, h, s, d)
    # Values lie as [M, N, H, D].
    value = normal(len(rows), n, h, d)
    want = cache.copy()
    for i, (row, at) in enumerate(zip(rows, ats, strict=True)):
        for j in range(n):
            if 0 <= row < b and 0 <= at + j < s:
                want[row, :, at + j] = value[i, j]
    sizes = {"B": b, "H": h, "S": s, "M": len(rows), "N": n, "D": d}
    numbers = [sizes[g] for g in kernel.generics] + [n * h * d, d, h * d]
    numbers += [rows[0]] * (kernel is WRITE_SLOT) + [ats[0]] * (
        kernel.operands[-1].form == "scalar"
    )

    def check(arrays: list[np.ndarray]) -> None:
        assert np.array_equal(arrays[0], want), (kernel.symbol, rows, ats)

    return Trial(Case(kernel, numbers, [cache, value, *extra]), check)


def cache_trials() -> Iterator[Trial]:
    far = 2**31 - 1
    for at in (0, 3, 6, 7, -1, far, -far - 1):
        yield cache_trial(WRITE_AT, 1, [0, 1, 2], [at] * 3, [])
        for n in (1, 3, 9):
            yield cache_trial(WRITE_SPAN, n, [0, 1, 2], [at] * 3, [])
            for rows in ([2, 0], [1, 1], [3, -1]):
                slots = np.array(rows, np.int32)
                yield cache_trial(WRITE_SLOTS, n, rows, [at] * 2, [slots])
                yield cache_trial(WRITE_SLOT, n, rows[:1], [at], [])
    for ats in ([0, 3, 6], [7, -1, 2], [far, -far - 1, 1]):
        yield cache_trial(WRITE_ROWS, 1, [0, 1, 2], ats, [np.array(ats, np.int32)])
