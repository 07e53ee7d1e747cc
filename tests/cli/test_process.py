"""The command as a process: signals, pipes, terminals, and what its start costs."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT

pytestmark = pytest.mark.alone

Start = Callable[..., subprocess.Popen[bytes]]

ENDLESS = ("generate", "--temp", "1", "--ignore-eos", "-n", "1000000", "--seed", "7")
QUICK = 0.3 if "PYTEST_XDIST_WORKER" not in os.environ else 1.0


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """The embedded model compiled, so that the tests below see a warm start."""
    command = [sys.executable, "-m", "linnet.cli", "generate", "-n", "1"]
    subprocess.run(command, stdin=subprocess.DEVNULL, check=True, cwd=ROOT, capture_output=True)


def interrupt(process: subprocess.Popen[bytes], number: int = signal.SIGINT) -> float:
    """Send the signal and wait; the seconds until the end."""
    sent = time.monotonic()
    process.send_signal(number)
    process.wait(10)
    return time.monotonic() - sent


def test_help_needs_none_of_the_heavy_modules() -> None:
    code = (
        "import sys\n"
        "from click.testing import CliRunner\n"
        "import linnet.cli.app as app\n"
        "assert CliRunner().invoke(app.cli, ['--help']).exit_code == 0\n"
        "heavy = {'numpy', 'lark', 'jinja2', 'tokenizers', 'huggingface_hub', 'rich'}\n"
        "heavy |= {'linnet.driver', 'linnet.nest', 'safetensors'}\n"
        "print(*(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, cwd=ROOT)
    assert done.stdout.split() == []


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["int", "term"]
)
def test_an_interrupt_keeps_the_text_and_ends_its_line(
    start: Start, number: int, status: int
) -> None:
    # A model of 256 positions would be done too soon: read a little, then let the pipe fill.
    process = start(*ENDLESS)
    assert process.stdout is not None
    first = process.stdout.read(1)
    took = interrupt(process, number)
    assert process.stderr is not None
    rest, errors = process.stdout.read(), process.stderr.read()
    assert process.returncode in (status, 0)
    if process.returncode == status:
        assert took < QUICK
    assert (first + rest).endswith(b"\n")
    assert errors == b"seed: 7\n"


@pytest.mark.parametrize("delay", [0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5])
def test_an_interrupt_at_any_moment_of_a_start(start: Start, delay: float) -> None:
    process = start(*ENDLESS[:-4], stdin=subprocess.PIPE)  # waits for its prompt
    time.sleep(0.05 + delay)  # the interpreter's own start is not ours
    took = interrupt(process)
    assert process.returncode == 130
    assert took < QUICK
    _, errors = process.communicate()
    assert b"Traceback" not in errors


def test_an_interrupt_while_c_code_runs_does_not_wait_for_it(tmp_path: Path) -> None:
    code = (
        "import hashlib\n"
        "from linnet.cli import interrupt\n"
        "interrupt.install()\n"
        "interrupt.on_stop(lambda: print('last words', flush=True))\n"
        "print('ready', flush=True)\n"
        "with interrupt.honoured():\n"
        "    hashlib.pbkdf2_hmac('sha256', b'a', b'b', 10**8)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=ROOT)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    time.sleep(0.1)
    took = interrupt(process)
    assert process.returncode == 130
    assert took < QUICK
    assert process.communicate()[0] == b"last words\n"


def test_an_interrupted_compiler_leaves_nothing(start: Start, tmp_path: Path) -> None:
    compiler = tmp_path / "slow cc"
    compiler.write_text(
        "#!/bin/sh\n"
        'case "$*" in *-dM*) exec cc "$@" ;; esac\n'
        f"echo $$ > '{tmp_path}/pid'\nexec sleep 60\n"
    )
    compiler.chmod(0o755)
    cache = tmp_path / "cache"
    env = {**os.environ, "LINNET_CACHE": str(cache), "LINNET_CC": str(compiler)}
    source = tmp_path / "one.linnet"
    source.write_text(ONE)
    process = start("compile", str(source), "--generic", "N=8", env=env)
    give_up = time.monotonic() + 60
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < give_up
        time.sleep(0.02)
    took = interrupt(process)
    assert process.returncode == 130
    assert took < QUICK
    assert [p for name in ("staging", "locks", "artefacts") for p in (cache / name).iterdir()] == []
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


ONE = """module one

pub block One<N: Dim> {
    param w: Tensor[N; f32]

    entry forward(x: Tensor[N; f32]) -> Tensor[N; f32] {
        return x * w
    }
}
"""


def test_a_closed_pipe_ends_quietly(start: Start) -> None:
    process = start("compile", "gpt2-tales", "--emit", "c", "--target", "scalar")
    assert process.stdout is not None
    process.stdout.read(1)
    process.stdout.close()
    process.stdout = None
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0
    assert errors == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_an_error(start: Start) -> None:
    with open("/dev/full", "wb") as full:
        process = start("nest", "list", stdout=full)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert errors == b"error: stdout: No space left on device\n"


def test_progress_is_one_line_on_a_terminal_and_gone_when_done(start: Start) -> None:
    ours, theirs = pty.openpty()
    try:
        env = {**os.environ, "TERM": "xterm"}
        process = start("generate", "-n", "2", stderr=theirs, env=env)
        text, _ = process.communicate(timeout=60)
        os.close(theirs)
        shown = os.read(ours, 4096)
    finally:
        os.close(ours)
    assert shown == b"loading gpt2-tales ...\r\x1b[K"
    assert text.strip()
    assert b"\x1b" not in text


def test_quiet_says_nothing_on_a_terminal(start: Start) -> None:
    ours, theirs = pty.openpty()
    process = start("generate", "-q", "-n", "2", "--temp", "1", stderr=theirs)
    assert process.wait(60) == 0
    os.set_blocking(ours, False)
    with pytest.raises(BlockingIOError):
        os.read(ours, 1)
    os.close(theirs)
    os.close(ours)


def test_an_unusable_cache_is_one_plain_warning(start: Start, tmp_path: Path) -> None:
    taken = tmp_path / "a file"
    taken.touch()
    source = tmp_path / "one.linnet"
    source.write_text(ONE)
    env = {**os.environ, "LINNET_CACHE": str(taken)}
    process = start("compile", str(source), "--generic", "N=8", env=env)
    text, errors = process.communicate(timeout=120)
    assert process.returncode == 0
    assert errors.startswith(b"warning: the cache folder `")
    assert errors.count(b"warning") == 1
    assert b"Traceback" not in errors
    # The private folder is gone with the process.
    assert not Path(os.fsdecode(text.strip())).exists()


def test_other_alphabets_in_paths_and_the_c_locale(start: Start, tmp_path: Path) -> None:
    folder = tmp_path / "my models ü 模型"
    folder.mkdir()
    (folder / "one.linnet").write_text(ONE)
    env = {**os.environ, "LC_ALL": "C", "LINNET_CACHE": str(folder / "cache")}
    process = start("compile", "one.linnet", "--generic", "N=8", "-o", "ü.so", cwd=folder, env=env)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert (folder / "ü.so").stat().st_size > 0


def test_no_compiler_says_what_was_tried(start: Start, tmp_path: Path) -> None:
    env = {**os.environ, "PATH": str(tmp_path), "LINNET_CACHE": str(tmp_path / "cache")}
    env.pop("CC", None)
    process = start("generate", env=env)
    text, errors = process.communicate(timeout=60)
    assert (process.returncode, text) == (1, b"")
    assert errors.startswith(b"error: no C compiler can be used; tried cc (not found)")
    assert b"\nhelp: install gcc or clang" in errors


def test_a_warm_start_needs_no_compiler(start: Start, tmp_path: Path) -> None:
    process = start("generate", "-n", "4", env={**os.environ, "PATH": str(tmp_path)})
    text, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert text.strip()
