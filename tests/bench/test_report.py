"""Reports: what a reader must be told."""

from __future__ import annotations

import json

from linnet.bench import report
from tests.bench.made import made


def test_the_table_says_what_was_measured_against_what() -> None:
    lines = report.text(made())
    text = "\n".join(lines)
    row = {line.strip().split("  ")[0]: line for line in lines}
    assert "random weights of the right shapes (seed 0)" in text
    assert row["linnet"].split()[1:] == ["18.0", "1200", "0.40", "0.20", "600"]
    assert row["of the limit"].split()[-2:] == ["0.90", "0.75"]
    assert row["the machine"].split()[2:] == ["20.0", "900"]
    assert row["linnet / best other"].split()[4:6] == ["1.50x", "1.25x"]
    assert "limits here: read 10.0 GB/s, multiply-add 100 GFLOP/s" in text


def test_nothing_is_silently_absent() -> None:
    text = "\n".join(report.text(made()))
    assert any(line.split("  ")[0] == "llama.cpp" for line in report.text(made()))
    assert "not installed: No module named 'llama_cpp'" in text
    assert "ONNX Runtime (other ids)" in text
    assert "2 of 64 greedy ids are ours" in text
    assert "overhead of a step: 22 us beside the model's own work" in text
    assert "sampling: 30 us a token with temperature, top-k and top-p; 130 us at worst" in text
    assert "in 1 of 2 measurements other processes" in text


def test_the_document_has_samples_and_the_work_of_tasks() -> None:
    data = json.loads(json.dumps(report.document(made())))
    assert data["tasks"][0]["read_bytes"] == 0.5e9
    ours = data["rows"][0]
    assert ours["figures"]["decode_16"] == {
        "median": 18.0,
        "spread": 2 / 18,
        "samples": [18.0, 17.0, 19.0],
    }
    assert ours["share_of_limit"]["decode_16"] == 0.9
    assert [row["status"] for row in data["rows"]] == [
        "measured",
        "measured",
        "measured",
        "not installed",
    ]
    assert [row["is_believed"] for row in data["rows"]] == [True, True, False, False]


def test_columns_line_up() -> None:
    lines = report.aligned([("a", "1", "22"), ("bbb", "333", "4"), ("c", "a long remark")])
    assert lines == ["a      1  22", "bbb  333   4", "c    a long remark"]
