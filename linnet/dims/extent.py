"""The size of a sliced axis.

In: the compile-time bounds of `x[start:stop:step]` and the size of the axis. Out: the size of the
result axis. Whether the bounds are legal (not negative) is the caller's question to `prove`.
"""

from __future__ import annotations

from linnet.dims.expr import ZERO, Dim, as_dim
from linnet.dims.facts import Facts
from linnet.dims.prove import is_nonnegative


def slice_extent(
    size: Dim,
    facts: Facts,
    start: Dim | int = 0,
    stop: Dim | int | None = None,
    step: int = 1,
) -> Dim:
    """`(min(stop, size) - start + step - 1) / step`, or at least 0 if its sign is not known.

    `stop` None means the end of the axis. Raises ValueError for a step below 1.
    """
    if step < 1:
        raise ValueError("the step of a slice is at least 1")
    end = size if stop is None else facts.normalise(as_dim(stop).minimum(size))
    count = facts.normalise((end - start + (step - 1)).floordiv(step))
    return count if is_nonnegative(count, facts) else count.maximum(ZERO)
