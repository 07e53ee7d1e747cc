"""Drawing a token: the compiled search for it against a sort of all tokens, id for id."""

from __future__ import annotations

import ctypes
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnet.errors import ToolchainError
from linnet.nest import drawing
from linnet.nest.drawing import Drawer, Filters, compiled, reference, weights_of
from linnet.toolchain.native import host_targets

SIZE = 50257
TARGETS = [target for target in ("scalar", "avx2", "avx512", "neon") if target in host_targets()]
_RNG = np.random.default_rng(0)
_NORMAL = _RNG.standard_normal(SIZE)
LOGITS = {
    "usual": _NORMAL * 3,
    "flat": np.zeros(SIZE),
    "nearly flat": _NORMAL * 0.1,
    "peaked": _NORMAL * 8,
    "even": _RNG.random(SIZE),
    "ties at every edge": np.round(_NORMAL, 1),
    "half tied": np.where(_RNG.random(SIZE) < 0.5, 0.0, _NORMAL),
    "one far ahead": np.r_[_NORMAL[1:] * 1e-4, 10.0],
    "masked": np.where(_RNG.random(SIZE) < 0.9, -np.inf, _NORMAL),
    "ever closer": -(2.0 ** -(np.arange(SIZE) % 100.0)),
    "huge": _NORMAL * 1e38,
    "tiny": _NORMAL * 1e-42,
    "both zeros": np.where(_NORMAL > 0, 0.0, -0.0),
    "long": np.resize(_NORMAL, 300_001),
}
PARAMETERS = [
    (1.0, 0, 1.0, 0.0),
    (0.8, 40, 1.0, 0.0),
    (1.0, 0, 0.9, 0.0),
    (2.0, 0, 0.99, 0.0),
    (0.9, 50, 0.95, 0.0),
    (2.0, 40_000, 0.99, 0.0),
    (1.0, 0, 1.0, 0.05),
    (2.0, 20_000, 0.99, 1e-3),
    (1e-6, 0, 1.0, 0.0),
    (1e300, 0, 0.5, 0.0),
    (1.0, 1, 0.0, 0.9),
]
POINTS = [0.0, 0.1, 0.5, 0.77, 0.999, 1.0 - 2.0**-53]


@pytest.fixture(scope="module", params=TARGETS)
def library(request: pytest.FixtureRequest) -> ctypes.CDLL:
    return compiled(request.param)


@pytest.mark.parametrize("name", LOGITS)
def test_it_finds_what_a_sort_finds(library: ctypes.CDLL, name: str) -> None:
    with np.errstate(over="ignore"):
        logits = LOGITS[name].astype(np.float32)
    logits[np.isposinf(logits)] = 0.0
    top = float(logits.max())
    for parameters in PARAMETERS:
        filters = Filters.of(*parameters)
        drawer = Drawer(filters, library)
        for point in POINTS:
            expected = reference(filters, logits, top, point)
            assert drawer.draw(logits, top, point) == expected, (parameters, point)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.floats(-30, 30, width=16), min_size=1, max_size=400),
    st.floats(0.01, 10),
    st.integers(0, 300),
    st.floats(0, 1),
    st.floats(0, 0.99),
    st.floats(0, 1, exclude_max=True),
)
def test_small_vocabularies_and_all_parameters(
    values: list[float], heat: float, top_k: int, top_p: float, min_p: float, point: float
) -> None:
    logits = np.array(values, np.float32)
    filters = Filters.of(heat, top_k, top_p, min_p)
    top = float(logits.max())
    found = Drawer(filters).draw(logits, top, point)
    assert found == reference(filters, logits, top, point)


def test_the_reference_keeps_what_the_rule_says() -> None:
    """Against fractions worked out in Python, with no sums of f32 in them."""
    logits = np.round(_NORMAL[:500], 2).astype(np.float32)
    order = sorted(range(500), key=lambda i: (-float(logits[i]), i))
    p = [math.exp(float(logits[i]) - float(logits[order[0]])) for i in order]
    kept = p[:300]  # top-k
    goal, running, count = 0.8 * sum(kept), 0.0, 0
    while running < goal:  # top-p
        running += kept[count]
        count += 1
    point = 0.6 * sum(kept[:count])
    at = next(k for k in range(count) if sum(kept[: k + 1]) > point)
    filters = Filters.of(1.0, 300, 0.8, 0.0)
    assert reference(filters, logits, float(logits.max()), 0.6) == order[at]


def test_weights_are_exponentials() -> None:
    x = np.linspace(-27, 0, 10_001).astype(np.float32)
    assert weights_of(x) == pytest.approx(2.0**40 * np.exp(x.astype(np.float64)), rel=3e-7, abs=1)
    assert weights_of(np.array([-np.inf, -40, 0], np.float32)).tolist() == [0, 0, 2**40]


def test_without_a_compiler_the_ids_are_the_same(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    logits = LOGITS["usual"].astype(np.float32)
    filters, top = Filters.of(1.0, 0, 0.9, 0.0), float(logits.max())
    expected = [Drawer(filters).draw(logits, top, point) for point in POINTS]

    def none() -> ctypes.CDLL:
        raise ToolchainError("no compiler")

    monkeypatch.setattr(drawing, "compiled", none)
    drawing._library.cache_clear()
    try:
        assert [Drawer(filters).draw(logits, top, point) for point in POINTS] == expected
        assert "no compiler" in caplog.text
    finally:
        drawing._library.cache_clear()
