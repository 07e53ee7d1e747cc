"""Rounds and turns, with workers that answer from a script; then one short run with real ones."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from linnet.bench import client, measure
from linnet.bench.client import WorkerError
from linnet.bench.measure import Request, bench
from linnet.bench.results import COMPILE, LOAD, MEMORY, OVERHEAD, START, Status
from linnet.errors import UsageError
from tests.bench.conftest import EMBEDDED

STEP = {"linnet": 0.01, "transformers": 0.02, "torch.compile": 0.005}


class Scripted:
    """A worker that has done everything at once; `log` is what all of them were asked."""

    log: ClassVar[list[tuple[str, str]]] = []

    def __init__(self, python: str = sys.executable, threads: int = 0) -> None:
        self.started = 100.0
        self.engine = ""

    def ask(self, do: str, **details: Any) -> dict[str, Any]:
        self.engine = details.get("engine", self.engine)
        Scripted.log.append((do, self.engine))
        if self.engine == "onnxruntime":
            raise WorkerError("missing", "No module named 'onnxruntime'")
        if do == "run" and self.engine == "openvino":
            raise WorkerError("error", "the worker ended with status -9")
        return self.answers()[do](details)

    def answers(self) -> dict[str, Callable[[dict[str, Any]], dict[str, Any]]]:
        return {
            "check": lambda d: {"title": d["engine"].upper(), "versions": {d["engine"]: "1.0"}},
            "prepare": lambda d: {"seconds": 1.0},
            "load": lambda d: {"seconds": 0.5},
            "run": self.run,
            "logits": lambda d: {"shown": False},
            "memory": lambda d: {"peak": 50_000_000},
            "limits": lambda d: {"threads": d["threads"], "bandwidth": 1e10, "peak": 1e11},
            "compile": lambda d: {"seconds": 7.0},
            "overhead": lambda d: dict.fromkeys(OVERHEAD, 1e-5),
        }

    def run(self, details: dict[str, Any]) -> dict[str, Any]:
        step, count = STEP[self.engine], details["count"]
        first = 3 if self.engine == "torch.compile" else 4  # another text than ours
        run = {
            "start": 101.0,
            "ids": [[first] * count for _ in details["prompts"]],
            "times": [101.0 + step * (k + 1) for k in range(count)],
        }
        return {"runs": [run] * details.get("repeats", 1), "others": 0.05}

    def __enter__(self) -> Scripted:
        return self

    def __exit__(self, *exception: object) -> None:
        pass


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> type[Scripted]:
    monkeypatch.setattr(measure, "Client", Scripted)
    monkeypatch.setattr(client, "Client", Scripted)
    Scripted.log = []
    return Scripted


def test_each_round_has_everything_once_and_failures_keep_their_rows(
    scripted: type[Scripted],
) -> None:
    compare = ("transformers", "torch.compile", "onnxruntime", "openvino")
    result = bench(Request(EMBEDDED, threads=(1,), rounds=3, quick=True, compare=compare))
    status = {row.engine: row.status for row in result.rows}
    assert status == {
        "linnet": Status.MEASURED,
        "transformers": Status.MEASURED,
        "torch.compile": Status.MEASURED,
        "onnxruntime": Status.MISSING,
        "openvino": Status.FAILED,
    }
    ours, torch, wrong = result.rows[0:3]
    for key in ("decode_16", "prefill_32", "rows_8", LOAD, START, MEMORY):
        assert len(ours.figures[key].samples) == 3
    assert ours.figures["decode_16"].median == pytest.approx(100.0)
    assert torch.figures["rows_8"].median == pytest.approx(8 * 50.0)
    assert ours.figures[START].median == pytest.approx(1.01)
    assert ours.figures[COMPILE].median == 7.0
    assert torch.is_believed
    assert not wrong.is_believed
    assert next(r for r in result.rows if r.engine == "openvino").reason.endswith("status -9")
    assert len(result.limits[1]) == 3


def test_the_order_turns_from_round_to_round(scripted: type[Scripted]) -> None:
    bench(Request(EMBEDDED, threads=(1,), rounds=2, quick=True, compare=("transformers",)))
    loads = [engine for do, engine in scripted.log if do == "load"]
    assert loads == ["linnet", "transformers", "transformers", "linnet"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"rounds": 0}, "rounds must be at least 1"),
        ({"threads": ()}, "at least one number of threads"),
        ({"threads": (0,)}, "threads must be"),
        ({"compare": ("excel",)}, "no engine 'excel'"),
        ({"precision": "f64"}, "precision must be f32 or bf16"),
    ],
)
def test_requests_are_checked_before_anything_runs(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Request(EMBEDDED, **wrong)


def test_tasks_can_be_chosen(scripted: type[Scripted]) -> None:
    result = bench(Request(EMBEDDED, threads=(1,), rounds=1, tasks=("rows_8",)))
    assert [task.key for task in result.tasks] == ["rows_8"]
    with pytest.raises(UsageError, match="no task 'decode_512' here; there are decode_16"):
        bench(Request(EMBEDDED, threads=(1,), tasks=("decode_512",)))


def test_a_short_run_with_real_workers(tmp_path: Path) -> None:
    result = bench(Request(EMBEDDED, threads=(1,), rounds=1, quick=True))
    ours = result.ours(1)
    assert ours is not None
    assert ours.status is Status.MEASURED, ours.reason
    assert set(ours.figures) == {
        "decode_16",
        "prefill_32",
        "rows_8",
        LOAD,
        START,
        MEMORY,
        COMPILE,
        *OVERHEAD.values(),
    }
    assert all(figure.median > 0 for figure in ours.figures.values())
    assert result.bound(result.tasks[0], 1) is not None
    assert len(ours.ids["decode_16"][0]) == 16
    assert ours.figures[MEMORY].median > result.stored_bytes
