"""Workers: requests and answers, and what becomes of failures."""

from __future__ import annotations

import json
from typing import Any

import pytest

from linnet.bench.client import Client, WorkerError
from linnet.bench.engine import Engine, Job, NotForThisModelError, Prompts, need
from linnet.bench.worker import ENGINES, Worker, engine_named


class Counting(Engine):
    """Writes the numbers after the last of each prompt."""

    title = "counting"

    def load(self, job: Job) -> None:
        if job.checkpoint == "strange":
            raise NotForThisModelError("it is strange")

    def prefill(self, prompts: Prompts) -> Any:
        return [prompt[-1] + 1 for prompt in prompts]

    def decode(self, tokens: Any) -> Any:
        return [token + 1 for token in tokens]


def engines_answer(name: str) -> dict[str, Any]:
    """What a worker says about an engine by its real name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("linnet.bench.worker.engine_named", engine_named)
        return Worker().answer({"do": "check", "engine": name})


JOB = {"checkpoint": "folder", "folder": "", "threads": 1, "context": 64}


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Worker:
    monkeypatch.setattr("linnet.bench.worker.engine_named", lambda name: Counting())
    return Worker()


def test_a_run_gives_ids_by_row_and_a_time_for_each_step(worker: Worker) -> None:
    worker.answer({"do": "load", "engine": "counting", "job": JOB})
    answer = worker.answer({"do": "run", "prompts": [[1, 2], [7, 8]], "count": 3, "repeats": 2})
    assert len(answer["runs"]) == 2
    run = answer["runs"][0]
    assert run["ids"] == [[3, 4, 5], [9, 10, 11]]
    assert run["start"] <= run["times"][0] <= run["times"][1] <= run["times"][2]
    json.dumps(answer)


def test_failures_are_answers(worker: Worker) -> None:
    strange = {**JOB, "checkpoint": "strange"}
    request = {"do": "load", "engine": "counting", "job": strange}
    assert worker.answer(request) == {"unfit": "it is strange"}
    assert "KeyError" in engines_answer("no such engine")["error"]
    assert "nothing is loaded" in Worker().answer({"do": "run", "prompts": [], "count": 1})["error"]


def test_a_package_that_is_not_there_is_missing() -> None:
    class Elsewhere(Counting):
        def check(self) -> None:
            need("no_such_package_anywhere")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("linnet.bench.worker.engine_named", lambda name: Elsewhere())
        answer = Worker().answer({"do": "check", "engine": "elsewhere"})
    assert "no_such_package_anywhere" in answer["missing"]


def test_a_worker_process_answers_and_knows_its_memory() -> None:
    with Client() as client:
        assert client.ask("check", engine="linnet")["title"] == "linnet"
        assert 10e6 < client.ask("memory")["peak"] < 500e6
        with pytest.raises(WorkerError, match="nothing is loaded"):
            client.ask("run", prompts=[[1]], count=1)
        assert client.ask("check", engine="linnet")["title"] == "linnet"  # it goes on


def test_a_worker_that_dies_is_an_error_that_says_so() -> None:
    with Client() as client:
        client._process.kill()
        with pytest.raises(WorkerError, match="ended with status"):
            client.ask("memory")


def test_an_interpreter_that_is_not_there_is_missing() -> None:
    with pytest.raises(WorkerError) as error:
        Client("/no/such/python")
    assert error.value.kind == "missing"


@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_can_be_asked_without_being_installed(name: str) -> None:
    assert engine_named(name).title
