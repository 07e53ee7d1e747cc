"""A compile cache of these tests' own, and a checkpoint made once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


@pytest.fixture(scope="package", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LINNET_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="package")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """2 layers of width 64 with 4 heads; the same bytes everywhere."""
    folder = tmp_path_factory.mktemp("tiny")
    tool = TESTS / "tools" / "make_gpt2_checkpoint.py"
    subprocess.run([sys.executable, tool, "--size", "tiny", "--out", folder], check=True)
    return folder
