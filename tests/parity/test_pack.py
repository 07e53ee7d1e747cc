"""Packing at load: the panels hold the source's values exactly, whatever its order."""

from __future__ import annotations

import ctypes
import mmap
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from linnet.emit.env import prelude
from linnet.runtime.memory import address_of
from linnet.targets.target import load_target
from parity.harness import PackJob, compile_shared, linnet_library

FUNCTIONS = {"linnet_pack_panels": np.uint32, "linnet_pack_panels_16": np.uint16}
WINDOW_ROWS = 8500  # of 1000 columns: a little more than one window of pack.h


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = prelude(load_target("scalar"), "", list(FUNCTIONS))
    return compile_shared(source, tmp_path_factory.mktemp("pack") / "pack.so")


def panels(matrix: np.ndarray) -> np.ndarray:
    """[rows, columns] as [panels, columns, 64], rows that are missing as zeros."""
    rows, columns = matrix.shape
    whole = np.zeros((-(-rows // 64) * 64, columns), matrix.dtype)
    whole[:rows] = matrix
    return whole.reshape(-1, 64, columns).transpose(0, 2, 1)


def job_for(address: int, matrix: np.ndarray, packed: np.ndarray, is_file: bool = False) -> PackJob:
    """To pack `matrix`, a view whose first element is at `address`, into `packed`."""
    steps = (step // matrix.itemsize for step in matrix.strides)
    args = (ctypes.c_int64 * 4)(*matrix.shape, *steps)
    return PackJob(address, packed.ctypes.data, args, is_file)


def some(shape: tuple[int, ...], dtype: npt.DTypeLike) -> np.ndarray:
    return np.random.default_rng(3).integers(1, 2**16, shape).astype(dtype)


def rubbish(matrix: np.ndarray) -> np.ndarray:
    """Room for the panels of a matrix."""
    rows, columns = matrix.shape
    return np.full((-(-rows // 64), columns, 64), 77, matrix.dtype)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_panels_hold_matrices_of_any_order_and_size(library: Path, function: str) -> None:
    dtype = FUNCTIONS[function]
    matrices = []
    for rows, columns in [(1, 1), (64, 16), (65, 17), (130, 5), (3, 70), (WINDOW_ROWS, 1000)]:
        whole = some((rows, columns), dtype)
        matrices += [whole, np.ascontiguousarray(whole.T).T]
    cube = some((70, 3, 90), dtype)  # parts of stacked weights, and rows from the last to the first
    matrices += [cube[:, 1, :], cube[:, 2, :].T, cube[:, :, 7], cube[::-1, 0, 5:80], cube[:0, 0]]
    packed = [rubbish(matrix) for matrix in matrices]
    jobs = [job_for(m.ctypes.data, m, p) for m, p in zip(matrices, packed, strict=True)]
    linnet_library(library).pack(function, *jobs)
    for matrix, found in zip(matrices, packed, strict=True):
        assert np.array_equal(found, panels(matrix)), matrix.shape


def resident(address: int, size: int) -> int:
    """How many kB of the mapping at `address` this process has in memory."""
    found = 0
    inside = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        head = line.split(" ", 1)[0]
        if "-" in head and not head.endswith(":"):
            begin, end = (int(part, 16) for part in head.split("-"))
            inside = begin < address + size and address < end
        elif inside and line.startswith("Rss:"):
            found += int(line.split()[1])
    return found


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="tells memory by Linux's list")
def test_pages_of_a_file_go_as_they_are_read(library: Path, tmp_path: Path) -> None:
    matrix = some((WINDOW_ROWS, 1000), np.uint32)
    file = tmp_path / "weights"
    file.write_bytes(b"x" + matrix.tobytes())  # at an odd address, as in a checkpoint
    with file.open("rb") as handle:
        mapped = mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ)
    address = address_of(mapped)
    packed = [rubbish(matrix), rubbish(matrix.T)]
    for k, view in enumerate((matrix, matrix.T)):
        job = job_for(address + 1, view, packed[k], is_file=True)
        linnet_library(library).pack("linnet_pack_panels", job)
        assert np.array_equal(packed[k], panels(view))
        assert resident(address, len(mapped)) < 64
    assert mapped[1:5] == matrix.tobytes()[:4]  # and come again
