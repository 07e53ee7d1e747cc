"""Packing at load: the panels hold the source's values exactly, whatever its order and dtype."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from linnet.emit.env import prelude
from linnet.targets.target import load_target
from parity.harness import compile_shared, linnet_library

KINDS = {"f32": 0, "f16": 1, "bf16": 2}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = prelude(load_target("scalar"), "", ["linnet_pack_panels", "linnet_pack_panels_16"])
    return compile_shared(source, tmp_path_factory.mktemp("pack") / "pack.so")


def as_dtype(values: np.ndarray, kind: str) -> np.ndarray:
    match kind:
        case "f16":
            return values.astype(np.float16).view(np.uint16)
        case "bf16":
            return (values.view(np.uint32) >> 16).astype(np.uint16)
    return values


def widened(stored: np.ndarray, kind: str) -> np.ndarray:
    match kind:
        case "f16":
            return stored.view(np.float16).astype(np.float32)
        case "bf16":
            return (stored.astype(np.uint32) << 16).view(np.float32)
    return stored


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (64, 16), (65, 17), (130, 5), (3, 70)])
def test_panels_hold_the_matrix_in_both_orders(
    library: Path, kind: str, rows: int, columns: int
) -> None:
    rng = np.random.default_rng(3)
    stored = as_dtype(rng.standard_normal((rows, columns)).astype(np.float32), kind)
    want = np.zeros((-(-rows // 64) * 64, columns), np.float32)
    want[:rows] = widened(stored, kind)
    want = want.reshape(-1, 64, columns).transpose(0, 2, 1)
    for source, strides in (
        (stored, (columns, 1)),
        (np.ascontiguousarray(stored.T), (1, rows)),
    ):
        packed = np.full(want.shape, np.nan, np.float32)
        linnet_library(library).pack(source, packed, KINDS[kind], (rows, columns, *strides))
        assert np.array_equal(packed, want)


def test_an_unaligned_source_is_read_right(library: Path) -> None:
    raw = np.arange(64 * 3, dtype=np.float32).tobytes()
    shifted = np.frombuffer(b"x" + raw, np.uint8)[1:]
    packed = np.empty((1, 3, 64), np.float32)
    linnet_library(library).pack(shifted, packed, KINDS["f32"], (64, 3, 3, 1))
    assert np.array_equal(packed[0].T.ravel(), np.arange(64 * 3, dtype=np.float32))
