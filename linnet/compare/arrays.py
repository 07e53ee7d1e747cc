"""How far two arrays are from each other, and whether they may be compared at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

TOLERANCE = {"bf16": 2e-2, "f16": 4e-3}
"""By the dtype of what is compared, where it is coarser than `DEFAULT`."""
DEFAULT = 1e-4


@dataclass(frozen=True)
class Difference:
    """`absolute` and `relative` are maxima over all elements; `index` is where the relative one
    is reached, `ours` and `theirs` are the values there. Relative is to the element and the root
    mean square of theirs together, so that elements near 0 do not decide."""

    absolute: float
    relative: float
    index: tuple[int, ...]
    ours: float
    theirs: float


def tolerance(dtype: str, asked: float | None) -> float:
    """The relative difference up to which values of `dtype` count as equal."""
    return asked if asked is not None else max(DEFAULT, TOLERANCE.get(dtype, 0.0))


def difference(ours: Any, theirs: Any) -> Difference:
    """Compare element by element, in row-major order; both have as many."""
    import numpy as np

    mine = np.asarray(ours, np.float64)
    other = np.asarray(theirs, np.float64).reshape(mine.shape)
    if not mine.size:
        return Difference(0.0, 0.0, (), 0.0, 0.0)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        off = np.abs(mine - other)
        same = (mine == other) | (np.isnan(mine) & np.isnan(other))
        off = np.where(same, 0.0, np.where(np.isnan(off), np.inf, off))
        finite = other[np.isfinite(other)]
        usual = float(np.sqrt(np.mean(finite**2))) if finite.size else 0.0
        parts = off / (np.abs(np.where(np.isfinite(other), other, 0.0)) + usual)
        parts = np.where(off == 0, 0.0, parts)
    worst = int(np.argmax(parts))
    index = tuple(int(i) for i in np.unravel_index(worst, mine.shape))
    return Difference(
        float(off.max()), float(parts.max()), index, float(mine[index]), float(other[index])
    )


def same_axes(ours: tuple[int, ...], theirs: tuple[int, ...]) -> bool:
    """Whether two shapes certainly mean the same: equal but for axes of 1, or but for leading
    axes that one of them keeps as one."""
    mine, other = ([n for n in shape if n != 1] for shape in (ours, theirs))
    if mine == other:
        return True
    short, long = sorted((mine, other), key=len)
    return len(short) == 2 < len(long) and _size(long[:-1]) == short[0] and long[-1] == short[1]


def _size(axes: list[int]) -> int:
    size = 1
    for axis in axes:
        size *= axis
    return size
