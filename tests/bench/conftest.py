"""A cache of these tests' own, shared by all of them and by the workers they start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

EMBEDDED = "gpt2-tales"


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LINNET_CACHE", str(folder))
        patch.delenv("LINNET_BENCH_PYTHON", raising=False)
        yield folder
