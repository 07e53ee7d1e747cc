"""Many processes, forks and interrupts: each works alone, and what is cut short harms nothing."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from support.targets import require

from linnet import nest
from linnet.errors import ToolchainError
from linnet.nest import Model

pytestmark = pytest.mark.alone

Load = Callable[..., Model]

PROMPT = "Once upon a time"
WRITE = """
from linnet import nest
with nest.load("gpt2-tales") as model:
    print(model.generate("Once upon a time", max_new_tokens=24))
"""
TEXT = " there was a great deal of money for the first time.\n"


def start(code: str, cache: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env=os.environ | {"LINNET_CACHE": str(cache)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def units(cache: Path) -> int:
    return len([*cache.rglob("unit.so")])


def staged(cache: Path) -> list[Path]:
    return [path for path in cache.rglob("staging/*") if path.is_dir()]


def test_many_processes_on_an_empty_cache(tmp_path: Path) -> None:
    running = [start(WRITE, tmp_path) for _ in range(6)]
    for process in running:
        out, errors = process.communicate(timeout=200)
        assert (process.returncode, errors) == (0, "")
        assert out.startswith(TEXT)
    assert units(tmp_path) == 1, "compiled once, or thrown away"
    assert not staged(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_first_load_that_is_ended_leaves_a_good_cache(
    tmp_path: Path, number: signal.Signals
) -> None:
    process = start(WRITE, tmp_path)
    deadline = time.monotonic() + 60
    while not staged(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.2)
    process.send_signal(number)
    process.communicate(timeout=30)
    assert process.returncode != 0
    assert units(tmp_path) == 0
    again = start(WRITE, tmp_path)
    out, errors = again.communicate(timeout=200)
    assert (again.returncode, errors) == (0, "")
    assert out.startswith(TEXT)


@contextlib.contextmanager
def interrupted(seconds: float) -> Iterator[None]:
    """This process gets the signal of Ctrl+C a little later, within the block."""
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        yield
    except KeyboardInterrupt:
        timer.join()
        return
    pytest.fail("no interrupt came")


def test_an_interrupt_ends_a_text_and_the_next_is_whole(load: Load) -> None:
    model = load("gpt2-tales")
    options = {"max_new_tokens": 240, "ignore_eos": True}
    whole = model.generate(PROMPT, **options)
    for delay in (0.003, 0.006, 0.01, 0.02, 0.03):
        stream = model.stream(PROMPT, **options)
        with interrupted(delay):
            for _ in stream:
                pass
            time.sleep(5)
        assert whole.startswith(stream.completion)
        assert model.generate(PROMPT, **options) == whole


def test_an_interrupt_within_a_call(load: Load) -> None:
    model = load("gpt2-tales")
    tokens = np.arange(200, dtype=np.int32)[None].repeat(24, 0)
    wanted = model.forward(tokens)
    for delay in (0.005, 0.02, 0.05):
        with interrupted(delay):
            for _ in range(1000):
                model.forward(tokens)
        assert model.forward(tokens).tobytes() == wanted.tobytes()


def test_a_fork_has_a_state_of_its_own(load: Load) -> None:
    model = load("gpt2-tales")
    model.prefill([[5, 6, 7]], 0)
    wanted = model.decode([[8]], 3)[0].tobytes()
    ours, theirs = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads and forks: what is tested
        child = os.fork()
    if child == 0:
        status = 1
        try:
            os.write(theirs, model.decode([[8]], 3)[0, :8].tobytes())
            model.prefill([[1, 2, 3, 4, 9]], 0)  # would overwrite the parent's text
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert os.read(ours, 32) == wanted[:32]
    assert model.decode([[8]], 3)[0].tobytes() == wanted
    os.close(ours)
    os.close(theirs)


def test_models_side_by_side_do_not_disturb_each_other(load: Load) -> None:
    first = load("gpt2-tales")
    with nest.load("gpt2-tales", threads=2) as second:
        first.prefill([[5, 6, 7]], 0)
        second.prefill([[1, 2, 3]], 0)
        wanted = first.decode([[8]], 3).tobytes()
        found: dict[str, bytes] = {}

        def work(name: str, model: Model) -> None:
            for _ in range(100):
                found[name] = model.decode([[8]], 3).tobytes()

        threads = [threading.Thread(target=work, args=a) for a in (("a", first), ("b", second))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found["a"] == wanted
    assert found["b"] != wanted


def test_an_interrupt_under_emulation_gives_no_wrong_answer() -> None:
    require("neon")
    tokens = np.arange(100, dtype=np.int32)[None]
    with nest.load("gpt2-tales", target="neon") as model:
        wanted = model.forward(tokens)
        with interrupted(0.1):
            for _ in range(1000):
                model.forward(tokens)
        with pytest.raises(ToolchainError, match="load the model again"):
            model.forward(tokens)
    with nest.load("gpt2-tales", target="neon") as model:
        assert model.forward(tokens).tobytes() == wanted.tobytes()
