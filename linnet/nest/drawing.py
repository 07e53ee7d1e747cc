"""Drawing one token from logits: which are kept, and which of them a random number falls on.

In go logits [Vocab] in f32 and a number from 0 to 1; out comes an id. The tokens stand in order,
likeliest first and the lower id first among equals. Each has a weight, exp of its logit's distance
from the best one over the temperature, as a whole number of 2^-40ths of the best one's: sums
of weights are exact then, whoever makes them and in whatever order. Kept are the first `top_k`; of
these the fewest that have the share `top_p` of their weight; of these the ones not less likely than
`min_p` of the best. The token is the first at which the running sum exceeds the number's share.

`reference` is that, word for word. `codegen/rt/sample.c` gives the same ids without sorting a
vocabulary; it is compiled once and kept in the cache. Where it cannot be compiled the reference
runs in its place, some fifty times slower.
"""

from __future__ import annotations

import ctypes
import functools
import logging
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.errors import CacheError, ToolchainError

SOURCE, LIBRARY = "rt/sample.c", "sample.so"
LOWEST = np.float32(-40.0)
"""The least exponent: its weight is 0."""

_LOG = logging.getLogger(__name__)
_F32 = np.float32
_COEFFICIENTS = (1.38888889e-3, 8.33333333e-3, 4.16666667e-2, 1.66666667e-1, 0.5, 1.0, 1.0)


@dataclass(frozen=True)
class Filters:
    """What is kept. `inverse` is that of the temperature; `most` how many tokens, 0 for all;
    `share` the part of their weight; `lowest` the least exponent."""

    inverse: float
    most: int
    share: float
    lowest: float

    @staticmethod
    def of(temperature: float, top_k: int, top_p: float, min_p: float) -> Filters:
        """The filters by the names of parameters; `temperature` is above 0."""
        with np.errstate(over="ignore"):
            inverse = float(_F32(1.0) / _F32(temperature))
            lowest = float(_F32(math.log(min_p))) if min_p > 0.0 else -math.inf
        return Filters(inverse, top_k, top_p, lowest)


class Drawer:
    """Draws with the same filters again and again. One drawer serves one text; `library` is what
    `compiled` gives, by default for the best target."""

    def __init__(self, filters: Filters, library: Any = None) -> None:
        self._filters = filters
        self._library = library or _library()
        self._memory: NDArray[np.uint8] | None = None

    def draw(self, logits: NDArray[np.float32], top: float, point: float) -> int:
        """The token that `point` (0 to 1) falls on. `top` is the largest logit, a finite number;
        no logit is NaN."""
        if self._library is None:
            return reference(self._filters, logits, top, point)
        logits = np.ascontiguousarray(logits)
        size, filters = logits.size, self._filters
        needed = self._library.linnet_sample_bytes(size)
        if self._memory is None or self._memory.size < needed:
            self._memory = np.zeros(needed, np.uint8)
        return int(
            self._library.linnet_sample(
                logits.ctypes.data,
                size,
                top,
                filters.inverse,
                filters.most or size,
                filters.share,
                filters.lowest,
                point,
                self._memory.ctypes.data,
            )
        )


def reference(filters: Filters, logits: NDArray[np.float32], top: float, point: float) -> int:
    """What `Drawer.draw` gives, by sorting all tokens."""
    inverse = _F32(filters.inverse)
    with np.errstate(over="ignore", invalid="ignore"):
        distances = _F32(top) - logits
        exponents = -distances * inverse
    weights = weights_of(np.where(distances <= _F32(3.0e38), exponents, LOWEST))
    order = np.argsort(distances, kind="stable")
    sums = np.cumsum(weights[order])
    kept = int(sums[min(filters.most or logits.size, logits.size) - 1])
    if filters.share < 1.0:
        least = min(max(1, math.ceil(filters.share * float(kept))), kept)
        kept = int(sums[np.searchsorted(sums, least)])
    if filters.lowest > LOWEST:
        kept = min(kept, int(weights[exponents >= _F32(filters.lowest)].sum()))
    goal = 1 + min(int(point * float(kept)), kept - 1)
    return int(order[np.searchsorted(sums, goal)])


def weights_of(exponents: NDArray[np.float32]) -> NDArray[np.int64]:
    """2^40 e^x as whole numbers, for x of at most 0. Each operation rounds to f32 on its own, so
    that every machine gives the same bits."""
    x = np.maximum(exponents, LOWEST)
    whole = (x * _F32(1.44269504) + _F32(12582912.0)) - _F32(12582912.0)
    r = (x - whole * _F32(0.693359375)) - whole * _F32(-2.12194440e-4)
    p = np.full_like(r, _F32(1.98412698e-4))
    for coefficient in _COEFFICIENTS:
        p = p * r + _F32(coefficient)
    scale = ((whole.astype(np.int32) + 167) << 23).view(np.float32)
    weights: NDArray[np.int64] = np.rint(p * scale).astype(np.int64)
    return weights


@functools.cache
def _library() -> Any:
    """The compiled functions, or None where there can be none."""
    try:
        return compiled()
    except (ToolchainError, CacheError) as error:
        _LOG.warning("drawing tokens without compiled code, which is slow: %s", error)
        return None


def compiled(target: str | None = None) -> ctypes.CDLL:
    """The library for a target of this machine, by default the best, from the cache or compiled
    now. Raises ToolchainError or CacheError."""
    from linnet.resources import folder
    from linnet.toolchain.cache import default_cache, make_key
    from linnet.toolchain.cc import compile_shared, find_compiler, target_flags
    from linnet.toolchain.load import load_entry
    from linnet.toolchain.native import native_target

    compiler = find_compiler()
    flags = target_flags(target or native_target(compiler), compiler)
    text = (folder("codegen") / SOURCE).read_text(encoding="utf-8")

    def make(place: Path) -> None:
        compile_shared(compiler, text, flags, place / LIBRARY)

    key = make_key(sample=text, compiler=compiler.identity, flags=tuple(flags))
    return _declared(load_entry(default_cache().get_or_build(key, make), LIBRARY))


def _declared(library: ctypes.CDLL) -> ctypes.CDLL:
    floats, integers = ctypes.c_float, ctypes.c_int64
    library.linnet_sample_bytes.argtypes = [integers]
    library.linnet_sample_bytes.restype = integers
    library.linnet_sample.argtypes = [
        *(ctypes.c_void_p, integers, floats, floats, integers, ctypes.c_double, floats),
        *(ctypes.c_double, ctypes.c_void_p),
    ]
    library.linnet_sample.restype = integers
    return library
