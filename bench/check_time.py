"""How long checking takes, in processor time of this process and its children.

    python bench/check_time.py [--rounds 7] [--enforce]

Four things are measured, each the median of several rounds:

    2,000 lines    a generated file of that length, checked again after an edit      300 ms
    GPT-2          nest/gpt2 and the seven modules it imports, after an edit         150 ms
    help           `linnet --help` in a new process                                  200 ms
    small file     `linnet check` of a small file in a new process                   350 ms

"After an edit" is what an editor asks for: another text of the file, in a process that has checked
the former one and holds what it imports (`linnet.lsp.workspace`). Beside it stands the same with
every module read, parsed and checked anew. Processor time is what counts, so that a busy machine
does not blur it; `--enforce` ends with 1 when a limit is passed.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from linnet.check import check_source
from linnet.diag import Source
from linnet.lsp.workspace import Workspace

ROOT = Path(__file__).resolve().parent.parent
GPT2 = ROOT / "nest/gpt2/gpt2.linnet"

SMALL = """module small

fn double<*S: Shape>(x: Tensor[*S; f32]) -> Tensor[*S; f32] {
    return x + x
}
"""
VISION = """
/// Patches of an image, each `P` pixels square, as rows.
fn patches{n}<B: Dim, C: Dim, Hi: Dim, Wi: Dim, P: Dim, T: Float>(
    x: Tensor[B, C, Hi, Wi; T], like: Tensor[P; T]
) -> Tensor[B, (Hi / P) * (Wi / P), C * P * P; T]
where P > 0, Hi % P == 0, Wi % P == 0 {{
    let cut = reshape(x, [B, C, Hi / P, P, Wi / P, P])
    let rows = permute(cut, [0, 2, 4, 1, 3, 5])
    return reshape(rows, [B, (Hi / P) * (Wi / P), C * P * P])
}}

/// A convolution without padding, written out.
fn conv{n}<B: Dim, C: Dim, O: Dim, L: Dim, K: Dim, T: Float>(
    x: Tensor[B, C, L; T], weight: Tensor[O, C, K; T]
) -> Tensor[B, O, L - K + 1; T]
where K > 0, L >= K {{
    let place = iota<i32>(L - K + 1)
    let offset = iota<i32>(K)
    let out[b, o, t] = sum[c, k] x[b, c, place[t] + offset[k]] * weight[o, c, k]
    return out
}}

/// Rows rescaled to mean 0 and variance 1, and a gate over two halves.
fn gated{n}<*S: Shape, D: Dim>(x: Tensor[*S, 2 * D; f32]) -> Tensor[*S, D; f32]
where D > 0 {{
    let left = x[..., 0:D]
    let right = x[..., D:2 * D]
    let size = 1.0 / (1.0 + exp(-right))
    return select(right > 0.0, left * size, left * 0.5)
}}
"""


def generated(lines: int) -> str:
    """A program of about `lines` lines: GPT-2's declarations and some of vision, under new names
    again and again."""
    text = GPT2.read_text()
    head, body = text.split("const EPSILON", 1)
    body = "const EPSILON" + body
    names = re.findall(r"^(?:pub )?(?:block|fn|const) (\w+)", body, re.MULTILINE)
    parts = [head]
    number = 0
    while sum(part.count("\n") for part in parts) < lines:
        renamed = re.sub(rf"\b({'|'.join(names)})\b", rf"\g<1>{number}", body)
        # Calls of a block's own functions are not renamed.
        renamed = re.sub(rf"\.(\w+?){number}\(", r".\1(", renamed)
        renamed = re.sub(rf"(return )(head){number}\(", r"\1\2(", renamed)
        parts += [renamed, VISION.format(n=number)]
        number += 1
    return "".join(parts)


def edited(text: str, number: int) -> str:
    """The text with another constant and a line more in the middle."""
    lines = text.splitlines(keepends=True)
    heads = ("fn ", "block ", "pub block ")
    at = next(i for i in range(len(lines) // 2, len(lines)) if lines[i].startswith(heads))
    lines.insert(at, f"const EDIT{number} = {number}\n")
    return "".join(lines)


def spent() -> float:
    """Processor seconds of this process and of its finished children."""
    return sum(os.times()[:4])


def median(rounds: int, work: Callable[[int], object]) -> float:
    """Milliseconds of processor time of `work`, called with the number of the round."""
    times = []
    for number in range(rounds):
        before = time.process_time()
        work(number)
        times.append(time.process_time() - before)
    return 1000 * statistics.median(times)


def after_an_edit(path: Path, text: str, rounds: int) -> float:
    workspace = Workspace()

    def check(number: int) -> None:
        workspace.open(path, edited(text, number))
        errors = [d for d in workspace.analysis(path).diagnostics if d.is_error]
        if errors:
            raise SystemExit(f"{path}: {errors[0].code} {errors[0].message}")

    check(-1 % 1000)
    return median(rounds, check)


def anew(path: Path, text: str, rounds: int) -> float:
    return median(rounds, lambda n: check_source(Source(str(path), edited(text, n), None)))


def in_a_process(rounds: int, *words: str) -> float:
    times = []
    for _ in range(rounds + 1):
        before = spent()
        subprocess.run(
            [sys.executable, "-m", "linnet.cli", *words], check=True, capture_output=True
        )
        times.append(spent() - before)
    return 1000 * statistics.median(times[1:])


def measure(rounds: int) -> list[tuple[str, float, float | None]]:
    """(what, milliseconds, limit or None)."""
    with tempfile.TemporaryDirectory() as folder:
        big = Path(folder, "generated.linnet")
        text = generated(2000)
        big.write_text(text)
        small = Path(folder, "small.linnet")
        small.write_text(SMALL)
        source = GPT2.read_text()
        count = text.count("\n")
        return [
            (f"{count:,} lines, after an edit", after_an_edit(big, text, rounds), 300),
            (f"{count:,} lines, all anew", anew(big, text, rounds), None),
            ("GPT-2 and its imports, after an edit", after_an_edit(GPT2, source, rounds), 150),
            ("GPT-2 and its imports, all anew", anew(GPT2, source, rounds), None),
            ("linnet --help", in_a_process(rounds, "--help"), 200),
            ("linnet check of a small file", in_a_process(rounds, "check", str(small)), 350),
        ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--enforce", action="store_true", help="end with 1 above a limit")
    options = parser.parse_args()
    late = False
    for what, took, limit in measure(options.rounds):
        late |= limit is not None and took > limit
        print(f"{what:40} {took:7.0f} ms" + ("" if limit is None else f"   (limit {limit} ms)"))
    return 1 if late and options.enforce else 0


if __name__ == "__main__":
    sys.exit(main())
