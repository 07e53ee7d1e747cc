"""A cache of the tests' own, and the program that most of them use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import linnet

SCALED = """
module scaled

pub block Scaled<N: Dim, T: Float = f32> {
    param weight: Tensor[N; T]
    param bias: Tensor[N; T]? = none
    state total: Tensor[N; T]

    pub entry add<B: Dim>(x: Tensor[B, N; T]) -> Tensor[N; T] where B <= 4 {
        let sums[n] = sum[b] x[b, n] * weight[n]
        let shifted = match bias {
            some(c) => sums + c
            none => sums
        }
        total = total + shifted
        return total
    }

    pub entry pick(at: i32) -> T {
        return weight[at]
    }

    pub entry zeros<M: Dim>() -> Tensor[M, N; T] {
        return fill<T>([M, N], 0.0)
    }
}
"""


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LINNET_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("source") / "scaled.linnet"
    path.write_text(SCALED, encoding="utf-8")
    return path


@pytest.fixture
def unit(source: Path) -> linnet.Unit:
    return linnet.compile(source, generics={"N": 3})
