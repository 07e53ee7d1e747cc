"""What a trial of a kernel is: a case, and what must hold of its arrays afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from parity.harness import Case, Kernel

Check = Callable[[list[np.ndarray]], None]
rng = np.random.default_rng(7)


@dataclass(frozen=True)
class Trial:
    """A case and what must hold of the arrays afterwards (they come in parameter order)."""

    case: Case
    check: Check


def bound(kernel: Kernel, **generics: int) -> float:
    """The card's error bound for these sizes."""
    text = kernel.card["bound"]["equivalent"]  # type: ignore[index]
    return float(eval(text, {"__builtins__": {}}, generics))


def near(kernel: Kernel, want: np.ndarray, scale: np.ndarray | float, **generics: int) -> Check:
    """The last array is within the card's bound times `scale` of `want`; NaN where it is NaN."""
    limit = bound(kernel, **generics) * scale + 1e-44

    def check(arrays: list[np.ndarray]) -> None:
        got = arrays[-1].astype(np.float64).reshape(want.shape)
        with np.errstate(invalid="ignore"):
            ok = (np.abs(got - want) <= limit) | (got == want) | (np.isnan(got) & np.isnan(want))
            excess = np.where(ok, 0, np.abs(got - want) / limit)
        assert ok.all(), f"{kernel.symbol} {generics}: {np.nanmax(excess)} times the bound"

    return check


def normal(*shape: int, scale: float = 1.0) -> np.ndarray:
    return (rng.standard_normal(shape) * scale).astype(np.float32)


def empty(*shape: int) -> np.ndarray:
    """A result array; what a kernel leaves unwritten shows as NaN."""
    return np.full(shape, np.nan, np.float32)
