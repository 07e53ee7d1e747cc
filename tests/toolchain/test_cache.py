"""The compile cache: one artefact a key, whole or absent, whatever else happens."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import textwrap
import time
import warnings
from pathlib import Path

import pytest

from linnet.errors import CacheError, ToolchainError
from linnet.toolchain import cache as cache_module
from linnet.toolchain.cache import Cache, CacheWarning, default_cache, make_key

KEY = make_key(source="int f(void);", target="scalar")


def litter(root: Path) -> list[str]:
    """What should be gone once nobody builds."""
    return [str(p) for name in ("staging", "locks") for p in (root / name).glob("*")]


def environment(cache: Path, **variables: str) -> dict[str, str]:
    """The environment of a process that imports the package under test from anywhere."""
    package = str(Path(cache_module.__file__).parents[2])
    return {**os.environ, "PYTHONPATH": package, "LINNET_CACHE": str(cache), **variables}


def build_hello(folder: Path) -> None:
    (folder / "unit.c").write_text("hello")


def must_not_build(folder: Path) -> None:
    raise AssertionError("the artefact should have been found")


def test_an_artefact_is_built_once_and_then_found(tmp_path: Path) -> None:
    root = tmp_path / "my models ü 模型"
    entry = Cache(root).get_or_build(KEY, build_hello)
    assert entry.path("unit.c").read_text() == "hello"
    again = Cache(root).get_or_build(KEY, must_not_build)
    assert again == entry
    with pytest.raises(KeyError):
        entry.path("unit.so")
    assert litter(root) == []


def test_put_copies_files_and_keeps_what_is_there(tmp_path: Path) -> None:
    source = tmp_path / "made elsewhere"
    source.write_bytes(b"\x00\xff")
    cache = Cache(tmp_path / "cache")
    cache.put(KEY, {"unit.so": source, "artifact.json": b"{}"})
    cache.put(KEY, {"artifact.json": b"another"})
    found = cache.get(KEY)
    assert found is not None
    assert found.path("unit.so").read_bytes() == b"\x00\xff"
    assert found.path("artifact.json").read_bytes() == b"{}"


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "unit.c").write_text("hellO"),
        lambda folder: (folder / "unit.c").write_text(""),
        lambda folder: (folder / "unit.c").unlink(),
        lambda folder: (folder / "manifest.json").write_text('{"files": '),
        lambda folder: (folder / "manifest.json").write_text("[]"),
        lambda folder: (folder / "manifest.json").unlink(),
    ],
)
def test_a_damaged_artefact_is_replaced(tmp_path: Path, damage: object) -> None:
    cache = Cache(tmp_path)
    damage(cache.get_or_build(KEY, build_hello).folder)  # type: ignore[operator]
    assert cache.get(KEY) is None
    entry = cache.get_or_build(KEY, build_hello)
    assert entry.path("unit.c").read_text() == "hello"
    assert cache.get(KEY) == entry
    assert litter(tmp_path) == []


def test_a_failed_or_interrupted_build_leaves_nothing(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    for failure in (ToolchainError("no"), KeyboardInterrupt()):

        def build(folder: Path, failure: BaseException = failure) -> None:
            build_hello(folder)
            raise failure

        with pytest.raises(type(failure)):
            cache.get_or_build(KEY, build)
        assert cache.get(KEY) is None
        assert litter(tmp_path) == []


WORKER = """
    import sys
    from pathlib import Path
    from linnet.toolchain.cache import default_cache
    from linnet.toolchain.cc import compile_shared, find_compiler
    from linnet.toolchain.load import load_entry

    def build(folder):
        compile_shared(find_compiler(), SOURCE, (), folder / "unit.so")

    SOURCE = '__attribute__((visibility("default"))) int answer(void) { return 42; }'
    for turn in sys.argv[1:]:
        print(load_entry(default_cache().get_or_build(turn, build)).answer())
"""


def test_many_processes_share_one_empty_cache(tmp_path: Path) -> None:
    root = tmp_path / "cache"
    keys = [make_key(turn=turn) for turn in range(3)]
    damaged = root / "artefacts" / keys[1]  # one of the rounds meets a damaged artefact
    damaged.mkdir(parents=True)
    (damaged / "manifest.json").write_text("{")
    command = [sys.executable, "-c", textwrap.dedent(WORKER), *keys]
    pipe = subprocess.PIPE
    workers = [
        subprocess.Popen(command, env=environment(root), stdout=pipe, stderr=pipe) for _ in range(8)
    ]
    results = [worker.communicate(timeout=120) for worker in workers]
    assert results == [(b"42\n42\n42\n", b"")] * 8
    assert sorted(path.name for path in (root / "artefacts").iterdir()) == sorted(keys)
    assert litter(root) == []
    assert not list((root / "records").glob(".*"))


def test_two_builders_without_a_lock_agree(tmp_path: Path) -> None:
    """The rename alone makes it right: the second finds the first's artefact in place."""

    def build(folder: Path) -> None:
        (folder / "unit.c").write_text("mine")
        cache_module._publish_in(tmp_path, KEY, build_hello)

    entry = cache_module._publish_in(tmp_path, KEY, build)
    assert entry.path("unit.c").read_text() == "hello"
    assert litter(tmp_path) == []


def test_a_stopped_holder_of_the_lock_costs_a_limited_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from filelock import FileLock

    monkeypatch.setattr(cache_module, "_LOCK_SECONDS", 0.2)
    (tmp_path / "locks").mkdir()
    with FileLock(tmp_path / "locks" / f"{KEY}.lock"):
        start = time.monotonic()
        Cache(tmp_path).get_or_build(KEY, build_hello)
        assert time.monotonic() - start < 5


def test_what_killed_processes_left_is_swept_later(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    for age, name in ((7200, "old"), (10, "young")):
        folder = tmp_path / "staging" / name
        folder.mkdir(parents=True)
        (folder / "result").write_text("half")
        os.utime(folder, (time.time() - age,) * 2)
    cache.get_or_build(KEY, build_hello)
    assert [path.name for path in (tmp_path / "staging").iterdir()] == ["young"]


def test_a_cache_path_that_is_a_file_costs_one_warning(tmp_path: Path) -> None:
    occupied = tmp_path / "file"
    occupied.write_text("not a folder")
    cache = Cache(occupied)
    assert cache.get(KEY) is None
    cache.write_record("fact", {"a": 1})
    with pytest.warns(CacheWarning, match=r"`.*file`.*Set LINNET_CACHE"):
        cache.get_or_build(KEY, build_hello)
    cache.put(make_key(other=1), {"a": b"b"})  # a second warning would be an error here
    assert cache.get_or_build(KEY, must_not_build).path("unit.c").read_text() == "hello"
    cache.write_record("fact", {"a": 1})
    assert cache.read_record("fact") == {"a": 1}
    assert occupied.read_text() == "not a folder"


def test_a_full_disk_costs_one_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = Cache(tmp_path)

    def build(folder: Path) -> None:
        if folder.is_relative_to(tmp_path):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        build_hello(folder)

    with pytest.warns(CacheWarning, match="No space left"):
        full.get_or_build(KEY, build)
    assert litter(tmp_path) == []

    def compile_there(folder: Path) -> None:
        if folder.is_relative_to(tmp_path):
            raise ToolchainError("the C compiler failed: No space left on device")
        build_hello(folder)

    monkeypatch.setattr(cache_module, "_is_full", lambda folder: True)
    with pytest.warns(CacheWarning, match="no space left"):
        Cache(tmp_path).get_or_build(KEY, compile_there)


def test_a_read_only_cache_that_is_warm_needs_no_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Cache(tmp_path).get_or_build(KEY, build_hello)

    def refuse(root: Path, name: str) -> Path:
        raise PermissionError(errno.EROFS, os.strerror(errno.EROFS))

    cache = Cache(tmp_path)
    monkeypatch.setattr(cache_module, "_make_folder", refuse)
    assert cache.get_or_build(KEY, must_not_build).path("unit.c").read_text() == "hello"
    cache.write_record("fact", {"a": 1})


def test_nowhere_to_write_is_an_error_that_names_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    occupied = tmp_path / "file"
    occupied.write_text("")

    def refuse(**kind: object) -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")

    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    with pytest.raises(CacheError, match=r"file.*\n?.*LINNET_CACHE"):
        Cache(occupied).get_or_build(KEY, build_hello)


def test_the_private_folder_goes_when_the_process_ends(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    program = """
        import os, sys, warnings
        from linnet.toolchain.cache import default_cache
        warnings.simplefilter("ignore")
        entry = default_cache().put("k", {"a": b"b"})
        if os.fork() == 0:
            sys.exit(0)  # a child that ends properly must not take it away
        os.wait()
        assert entry.path("a").read_bytes() == b"b"
        print(default_cache().root)
    """
    variables = environment(tmp_path / "file", TMPDIR=str(tmp_path))
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(command, env=variables, check=True, capture_output=True, text=True)
    assert Path(done.stdout.strip()).parent == tmp_path
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


ASCII_ONLY = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.parametrize("variables", [{}, {"LC_ALL": "C"}, ASCII_ONLY])
def test_importing_writes_nothing_and_any_home_will_do(
    tmp_path: Path, variables: dict[str, str]
) -> None:
    home = tmp_path / "my models ü 模型"
    program = """
        import pathlib, os
        import linnet.toolchain.cc, linnet.toolchain.load, linnet.toolchain.native
        from linnet.toolchain.cache import default_cache
        assert not os.path.exists(os.environ["LINNET_CACHE"])
        default_cache().put("k", {"a": b"b"})
        assert os.path.isfile(os.path.join(os.environ["LINNET_CACHE"], "artefacts", "k", "a"))
    """
    homeless = environment(home, **variables)
    homeless.pop("HOME", None)
    command = [sys.executable, "-c", textwrap.dedent(program)]
    subprocess.run(command, env=homeless, check=True, cwd=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [home.name]


def test_a_user_without_a_home_gets_a_private_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LINNET_CACHE", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("platformdirs.user_cache_path", lambda *a, **k: Path("~/.cache/linnet"))
    monkeypatch.setattr(cache_module, "_caches", {})
    with pytest.warns(CacheWarning, match="no home folder"):
        default_cache().put(KEY, {"a": b"b"})
    assert list(tmp_path.iterdir()) == []


def test_a_relative_variable_means_the_folder_it_meant_at_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LINNET_CACHE", "here")
    cache = default_cache()
    monkeypatch.chdir("/")
    cache.put(KEY, {"a": b"b"})
    assert (tmp_path / "here" / "artefacts" / KEY / "a").is_file()


def test_keys_differ_whenever_a_part_differs() -> None:
    keys = {
        make_key(a="x", b="y"),
        make_key(a="y", b="x"),
        make_key(a="xb", b="y"),
        make_key(a="x"),
        make_key(a=b"x"),
        make_key(a=("x",)),
        make_key(a=("x", "y")),
        make_key(a="1"),
        make_key(a=1),
        make_key(a=True),
        make_key(a=None),
        make_key(a="ü"),
        make_key(a="模"),
    }
    assert len(keys) == 13
    assert make_key(a="x", b="y") == make_key(b="y", a="x")


def test_a_damaged_record_is_forgotten(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.write_record("fact", {"path": "/ü", "n": 3})
    path = tmp_path / "records" / "fact.json"
    assert json.loads(path.read_text()) == cache.read_record("fact") == {"path": "/ü", "n": 3}
    for text in ('{"path": ', "[1]", ""):
        path.write_text(text)
        assert cache.read_record("fact") is None
