"""Engines that are installed write the same text as ours from the same small checkpoint."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linnet.bench.client import Client, WorkerError
from linnet.bench.engine import Job
from linnet.bench.results import OURS
from linnet.bench.worker import ENGINES
from linnet.bench.workload import Task, prompts

ROOT = Path(__file__).parents[2]
ONE = Task("one", "decode", "one", prompt=20, count=24)
FOUR = Task("four", "rows", "four", prompt=12, count=12, rows=4)
VOCABULARY = 512
ROUNDING = 1e-3
TABLE_OF_HALVES = 0.1  # its GELU is looked up by a half float
SLOW = ("torch.compile",)  # a minute of compiling, even for a tiny model


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """2 layers of width 64 with 4 heads; some engines want heads of a multiple of 8."""
    folder = tmp_path_factory.mktemp("tiny")
    tool = ROOT / "tests" / "tools" / "make_gpt2_checkpoint.py"
    subprocess.run([sys.executable, tool, "--size", "tiny", "--out", folder], check=True)
    return folder


@contextmanager
def _loaded(engine: str, checkpoint: Path, folder: Path) -> Iterator[Client]:
    job = Job(
        checkpoint=str(checkpoint),
        folder=str(folder),
        threads=1,
        context=128,
        rows=(1, 4),
        card=str(ROOT / "nest" / "gpt2" / "nest.toml") if engine == OURS else "",
    )
    with Client(threads=1) as client:
        try:
            client.ask("check", engine=engine)
        except WorkerError as error:
            pytest.skip(f"{engine} is not installed: {error}")
        client.ask("prepare", engine=engine, job=asdict(job))
        client.ask("load", engine=engine, job=asdict(job))
        yield client


@pytest.fixture(scope="module")
def ours(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    with _loaded(OURS, checkpoint, tmp_path_factory.mktemp(OURS)) as client:
        return _written(client, tmp_path_factory.mktemp("ours") / "logits.npy")


def _written(client: Client, file: Path) -> dict[str, Any]:
    texts = {
        task.key: client.ask("run", prompts=prompts(task, VOCABULARY, 0), count=task.count)
        for task in (ONE, FOUR)
    }
    found: dict[str, Any] = {key: answer["runs"][0]["ids"] for key, answer in texts.items()}
    prompt = prompts(ONE, VOCABULARY, 0)[0]
    shown = client.ask("logits", prompt=prompt, file=str(file))["shown"]
    found["logits"] = np.load(file) if shown else None
    return found


@pytest.mark.timeout(240)
@pytest.mark.parametrize("engine", [e for e in ENGINES if e != OURS and e not in SLOW])
def test_an_engine_agrees_with_ours(
    engine: str, checkpoint: Path, tmp_path: Path, ours: dict[str, Any]
) -> None:
    with _loaded(engine, checkpoint, tmp_path) as client:
        theirs = _written(client, tmp_path / "logits.npy")
    assert theirs["one"] == ours["one"]
    assert theirs["four"] == ours["four"]
    if theirs["logits"] is not None:
        off = TABLE_OF_HALVES if engine == "llama.cpp" else ROUNDING
        assert np.abs(theirs["logits"] - ours["logits"]).max() < off


def test_rows_write_what_they_would_write_alone(
    checkpoint: Path, tmp_path: Path, ours: dict[str, Any]
) -> None:
    with _loaded(OURS, checkpoint, tmp_path) as client:
        for row, prompt in enumerate(prompts(FOUR, VOCABULARY, 0)):
            alone = client.ask("run", prompts=[prompt], count=FOUR.count)["runs"][0]["ids"]
            assert alone == [ours["four"][row]]
