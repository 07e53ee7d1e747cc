"""Programs on sizes that nobody chose for the kernels, against numpy in float64.

Through the whole compiler, for every target of this machine: odd and prime widths, large ones too,
heads of 71, 80, 96 and 128, grouped heads, one row and many. The bounds are those of the cards.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import linnet
from linnet.bench.sizes import ATTENTION, PRODUCT
from linnet.toolchain.native import host_targets

TARGETS = [target for target in ("scalar", "avx2", "avx512", "neon") if target in host_targets()]
PRODUCTS = [(1, 1), (2, 3), (7, 17), (31, 1021), (769, 2053), (1021, 67), (2053, 1021), (3071, 5)]
MIXES = [  # H, Hk, K, D
    (3, 3, 1, 80), (2, 2, 131, 128), (6, 2, 67, 80), (4, 1, 257, 128), (5, 5, 211, 71),
    (8, 4, 97, 96), (3, 1, 64, 1), (2, 1, 1021, 17),
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("sizes")
    (made / "product.linnet").write_text(PRODUCT, encoding="utf-8")
    (made / "mix.linnet").write_text(ATTENTION, encoding="utf-8")
    return made


@pytest.mark.parametrize(("inner", "outer"), PRODUCTS)
def test_products(folder: Path, inner: int, outer: int) -> None:
    draws = np.random.default_rng(inner)
    weight, bias = (
        draws.standard_normal(shape, dtype=np.float32) for shape in ((outer, inner), (outer,))
    )
    x = draws.standard_normal((13, inner), dtype=np.float32)
    want = x.astype(np.float64) @ weight.T.astype(np.float64) + bias
    scale = np.abs(x).astype(np.float64) @ np.abs(weight).T.astype(np.float64) + np.abs(bias)
    found = {}
    for target in TARGETS:
        unit = linnet.compile(
            folder / "product.linnet", generics={"In": inner, "Out": outer}, target=target
        )
        with unit.bind({"weight": weight, "bias": bias}, threads=2) as program:
            got = found[target] = program.some_rows(x)
            assert np.all(np.abs(got - want) <= (inner * 6e-8 + 1.2e-7) * scale)
            assert np.array_equal(program.one(x[5:6]), got[5:6])
            assert np.array_equal(program.some_rows(x[3:11]), got[3:11])
    assert all(np.array_equal(got, found["scalar"]) for got in found.values())


@pytest.mark.parametrize(("heads", "key_heads", "keys", "size"), MIXES)
def test_attention(folder: Path, heads: int, key_heads: int, keys: int, size: int) -> None:
    draws = np.random.default_rng(keys)
    queries = min(keys, 29)
    q, k, v = (
        draws.standard_normal(shape, dtype=np.float32)
        for shape in ((1, heads, queries, size), *[(1, key_heads, keys, size)] * 2)
    )
    wide = [np.repeat(a.astype(np.float64), heads // key_heads, axis=1) for a in (k, v)]
    scores = np.einsum("bhqd,bhkd->bhqk", q.astype(np.float64), wide[0]) * np.float32(0.1)
    seen = np.arange(keys) <= np.arange(queries)[:, None] + keys - queries
    weights = np.exp(np.where(seen, scores, -np.inf))
    weights /= weights.sum(axis=-1, keepdims=True)
    want = np.einsum("bhqk,bhkd->bhqd", weights, wide[1])
    found = {}
    generics = {"H": heads, "Hk": key_heads, "K": keys, "D": size}
    for target in TARGETS:
        unit = linnet.compile(folder / "mix.linnet", generics=generics, target=target)
        with unit.bind({}, threads=2) as program:
            got = found[target] = program.some_rows(q, k, v)
            allowed = ((keys + size) * 6e-7 + 1e-6) * np.abs(v).max()
            assert np.abs(got - want).max() <= allowed
            alone = program.some_rows(np.ascontiguousarray(q[:, :, -1:]), k, v)
            assert np.array_equal(alone, got[:, :, -1:])
    assert all(np.array_equal(got, found["scalar"]) for got in found.values())
