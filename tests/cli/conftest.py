"""Running the command: in this process, or as one of its own with a terminal or signals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

ROOT = Path(__file__).parents[2]
REFERENCES = ROOT / "tests" / "data" / "gpt2-tales" / "references.json"
EMBEDDED = "gpt2-tales"

Run = Callable[..., Result]


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache of the tests' own, shared by all of them, and no other LINNET_ variable."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        for name in [*os.environ]:
            if name.startswith("LINNET_") or name in ("NO_COLOR", "FORCE_COLOR"):
                patch.delenv(name)
        patch.setenv("LINNET_CACHE", str(folder))
        yield folder


@pytest.fixture
def run() -> Run:
    """Run a command line in this process: `run("nest", "list")`."""
    from linnet.cli.app import cli

    def call(*args: str, stdin: str | bytes = b"", **env: str) -> Result:
        result = CliRunner().invoke(cli, args, input=stdin, env=env, prog_name="linnet")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return call


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start the command as a process; it is ended with the test."""
    running: list[subprocess.Popen[bytes]] = []

    def call(*args: str, **options: Any) -> subprocess.Popen[bytes]:
        settings = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE}
        settings |= {"stderr": subprocess.PIPE, "cwd": ROOT}
        process = subprocess.Popen(
            [sys.executable, "-m", "linnet.cli", *args], **settings | options
        )
        running.append(process)
        return process

    yield call
    for process in running:
        process.kill()
        process.communicate()


@pytest.fixture(scope="session")
def references() -> dict[str, dict[str, Any]]:
    """What transformers says about the embedded model, by the name of the case."""
    return {case["name"]: case for case in json.loads(REFERENCES.read_text("utf-8"))["cases"]}
