"""Loading a compiled library: only what has the digest it should have."""

from __future__ import annotations

from pathlib import Path

import pytest

from linnet.errors import CacheError, ToolchainError
from linnet.toolchain.cache import Cache, Entry, file_digest
from linnet.toolchain.cc import compile_shared, find_compiler
from linnet.toolchain.load import load_entry, load_library

SOURCE = '__attribute__((visibility("default"))) int answer(void) { return 42; }'


@pytest.fixture
def entry(tmp_path: Path) -> Entry:
    cache = Cache(tmp_path / "my models ü 模型")

    def build(folder: Path) -> None:
        compile_shared(find_compiler(cache), SOURCE, (), folder / "unit.so")

    return cache.get_or_build("k", build)


def test_a_good_library_answers(entry: Entry) -> None:
    assert load_entry(entry).answer() == 42


def test_an_altered_or_lost_library_is_never_opened(entry: Entry) -> None:
    path = entry.path("unit.so")
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CacheError, match=r"unit\.so.*damaged"):
        load_entry(entry)
    path.unlink()
    with pytest.raises(CacheError, match=r"unit\.so.*cannot be read"):
        load_entry(entry)


def test_a_file_that_is_no_library_is_a_toolchain_error(tmp_path: Path) -> None:
    path = tmp_path / "unit.so"
    path.write_text("not a library")
    with pytest.raises(ToolchainError, match="cannot be loaded"):
        load_library(path, file_digest(path))
