"""The time of a check grows with the file, no faster. `bench/check_time.py` measures it."""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path

from linnet.check import check_source
from linnet.diag import Source

SCRIPT = Path(__file__).parents[2] / "bench" / "check_time.py"


def generated(lines: int) -> str:
    spec = importlib.util.spec_from_file_location("check_time", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text: str = module.generated(lines)
    return text


def seconds(text: str) -> float:
    """Processor time of the quickest of three checks."""
    times = []
    for _ in range(3):
        before = time.process_time()
        assert check_source(Source("generated.linnet", text)).program is not None
        times.append(time.process_time() - before)
    return min(times)


def test_four_times_the_lines_take_about_four_times_as_long() -> None:
    small, large = generated(700), generated(2800)
    ratio = large.count("\n") / small.count("\n")
    seconds(small)  # what is read once is read
    assert seconds(large) < 1.6 * ratio * seconds(small)
