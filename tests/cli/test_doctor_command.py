"""`linnet doctor` and `--version`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from linnet.driver import VERSION
from linnet.targets.detect import TARGET_NAMES
from tests.cli.conftest import EMBEDDED, Run


def test_a_sound_machine(run: Run, cache: Path) -> None:
    result = run("doctor", "--json")
    facts = json.loads(result.stdout)
    assert (result.exit_code, facts["sound"]) == (0, True)
    assert facts["linnet"].startswith(VERSION)
    assert facts["native target"] in TARGET_NAMES
    assert f"{facts['native target']} runs here" in facts["targets"]
    assert facts["cache"] == f"{cache}, writable"
    assert f"{EMBEDDED} (included)" in facts["models"]
    assert "tokenizers" in facts["libraries"]
    text = run("doctor").stdout
    assert all(name in text for name in facts if name != "sound")


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system pins no process")
def test_threads_follow_the_affinity(run: Run) -> None:
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert json.loads(run("doctor", "--json").stdout)["threads"].startswith("1 by affinity")
    finally:
        os.sched_setaffinity(0, before)


def test_what_is_missing_is_a_line_and_not_an_end(run: Run, tmp_path: Path) -> None:
    result = run("doctor", CC=str(tmp_path / "no cc"), LINNET_CACHE=str(tmp_path / "a" / "b"))
    assert result.exit_code == 1
    assert "none: no C compiler can be used; tried $CC" in result.stdout
    assert "threads" in result.stdout
    taken = tmp_path / "file"
    taken.touch()
    assert "cannot be written" in run("doctor", LINNET_CACHE=str(taken)).stdout


def test_version_names_target_and_compiler(run: Run, tmp_path: Path) -> None:
    assert run("--version").stdout.startswith(f"linnet {VERSION} (Python 3.")
    bare = run("--version", CC=str(tmp_path / "no cc"), LINNET_CACHE=str(tmp_path / "cache"))
    assert bare.exit_code == 0
    assert "no C compiler" in bare.stdout
