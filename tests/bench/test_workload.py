"""Tasks and their figures."""

from __future__ import annotations

import pytest

from linnet.bench.workload import SHORT, Task, prompts, start_task, tasks


def test_a_task_that_does_not_fit_the_context_is_left_out() -> None:
    whole = {task.key for task in tasks(1024)}
    assert whole == {
        "decode_16",
        "decode_512",
        "prefill_32",
        "prefill_512",
        "prefill_1023",
        "rows_8",
        "rows_32",
    }
    assert "prefill_1023" in {task.key for task in tasks(1024)}
    assert {task.key for task in tasks(575)} == whole - {"decode_512", "prefill_1023"}
    assert all(task.prompt + task.count <= 256 for task in tasks(256))


def test_figures_are_rates_of_later_tokens_and_times_of_first_ones() -> None:
    decode = Task("d", "decode", "d", prompt=4, count=3)
    assert decode.figure(10.0, [10.5, 10.75, 11.0]) == pytest.approx(4.0)
    rows = Task("r", "rows", "r", prompt=4, count=3, rows=8)
    assert rows.figure(10.0, [10.5, 10.75, 11.0]) == pytest.approx(32.0)
    prefill = Task("p", "prefill", "p", prompt=4, count=1)
    assert prefill.figure(10.0, [10.5]) == pytest.approx(500.0)


def test_prompts_are_the_same_for_every_engine_and_stay_in_the_vocabulary() -> None:
    task = Task("r", "rows", "r", prompt=50, count=3, rows=4)
    found = prompts(task, vocabulary=100, seed=1)
    assert found == prompts(task, vocabulary=100, seed=1)
    assert found != prompts(task, vocabulary=100, seed=2)
    assert [len(row) for row in found] == [50] * 4
    assert {token for row in found for token in row} <= set(range(84))


def test_the_start_is_one_token_after_a_short_prompt() -> None:
    task = start_task()
    assert (task.prompt, task.count, task.rows) == (SHORT, 1, 1)
