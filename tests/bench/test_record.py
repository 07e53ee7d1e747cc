"""bench.json: the format of cards, and nothing made up."""

from __future__ import annotations

import json
from pathlib import Path

from linnet.bench import record
from tests.bench.made import made

METHOD_KEYS = {"method", "kind", "key", "metrics", "max_abs_diff", "notes", "error"}


def test_the_document_has_the_keys_of_the_format() -> None:
    data = record.document(made())
    assert {"date", "environment", "workload", "methods", "reference"} <= set(data)
    assert {"versions", "machine", "gpu", "driver"} <= set(data["environment"])
    assert data["workload"] == {
        "device": "cpu",
        "prompt_tokens": 16,
        "new_tokens": 64,
        "batch": 1,
        "warmup": 1,
        "iters": 3,
        "seed": 0,
    }
    assert all(set(method) == METHOD_KEYS for method in data["methods"])


def test_figures_are_the_medians() -> None:
    data = record.document(made())
    ours, theirs, _, missing = data["methods"]
    assert ours["metrics"]["decode_tok_s"] == 18.0
    assert ours["metrics"]["load_s"] == 0.2
    assert ours["metrics"]["peak_memory_mib"] == float(f"{6e8 / 2**20:.4g}")
    assert ours["metrics"]["sampling_us"] == 30
    assert ours["metrics"]["step_overhead_us"] == 21.5
    assert ours["metrics"]["first_token"] == 7
    assert data["reference"] == theirs["key"] == "transformers-1t"
    assert ours["max_abs_diff"] == 1.5e-5
    assert theirs["max_abs_diff"] is None
    assert missing["error"] == "not installed: No module named 'llama_cpp'"
    assert missing["metrics"] == {}


def test_notes_say_that_weights_were_made() -> None:
    data = record.document(made())
    assert all("random weights" in method["notes"] for method in data["methods"])


def test_the_file_appears_whole(tmp_path: Path) -> None:
    file = record.update(made(), tmp_path)
    assert json.loads(file.read_text()) == json.loads(json.dumps(record.document(made())))
    assert [path.name for path in tmp_path.iterdir()] == ["bench.json"]
