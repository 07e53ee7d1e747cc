"""How near `linear` is to the machine's limits, measured in the same interleaved run.

    python tests/bench/bench_linear.py [--target avx512] [--threads 1] [--in 768] [--out 3072]

Prints the read bandwidth (weights too many for the caches) and the fused multiply-add rate,
then for each number of rows the time and the share of the nearer limit. Medians over rounds in
which everything takes its turn; a busy machine slows limits and kernel alike.
"""

from __future__ import annotations

import argparse
import ctypes
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from linnet.emit.env import environment, prelude, render
from linnet.targets.detect import target_rule
from linnet.targets.target import Target, load_target

ROWS = (1, 2, 4, 8, 32, 128, 512)
WEIGHT_BYTES = 400_000_000
FLAGS = (
    "-std=gnu11",
    "-O3",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fPIC",
    "-shared",
    "-pthread",
)
PARAMETERS = (
    "struct worker *w, int64_t S, const float *x, int64_t x_s0, const float *weight,"
    " const float *bias, float *out"
)
LIMITS = """
struct arguments { int64_t rows; const float *x, *weight, *bias; float *out; };

static volatile float sink;

void run_linear(struct worker *w, void *p) {
  const struct arguments *a = p;
  linear(w, a->rows, a->x, {{ inner }}, a->weight, a->bias, a->out);
  sync(w);
}

void run_read(struct worker *w, void *p) {
  enum { PIECE = 1 << 15 };
  const struct arguments *a = p;
{% for r in f32.span(64) %}
  {{ f32.vec }} s{{ r }} = {{ f32.zero }};
{% endfor %}
  for (int64_t piece; (piece = claim(w, {{ panels * inner * 64 }} / PIECE)) >= 0;) {
    const float *from = a->weight + piece * PIECE;
    for (int64_t i = 0; i < PIECE; i += 64) {
{% for r in f32.span(64) %}
      s{{ r }} = {{ f32.add(a="s%s" % r, b=f32.load(p=r.of("from + i"))) }};
{% endfor %}
    }
  }
{% for r in f32.span(64) %}
  {{ f32.store(p=r.of("w->id + a->out"), v="s%s" % r) }};
{% endfor %}
  sync(w);
}

void run_peak(struct worker *w, void *p) {
  const struct arguments *a = p;
  const {{ f32.vec }} half = {{ f32.splat(s="0.5f") }};
{% for i in range(chains) %}
  {{ f32.vec }} s{{ i }} = {{ f32.splat(s="%d.0f" % i) }};
{% endfor %}
  for (int64_t k = 0; k < {{ steps }}; ++k) {
{% for i in range(chains) %}
    s{{ i }} = {{ f32.fma(a="s%d" % i, b="half", c="half") }};
{% endfor %}
  }
{% for i in range(chains) %}
  {{ f32.store(p="a->out + %d" % (i * f32.lanes), v="s%d" % i) }};
{% endfor %}
  sync(w);
}
"""
CHAINS, STEPS = 12, 1_000_000


class Arguments(ctypes.Structure):
    _fields_ = (
        ("rows", ctypes.c_int64),
        ("x", ctypes.c_void_p),
        ("weight", ctypes.c_void_p),
        ("bias", ctypes.c_void_p),
        ("out", ctypes.c_void_p),
    )


def compiled(target: Target, inner: int, outer: int) -> ctypes.CDLL:
    """The kernel for these sizes, and the two limits, as a library."""
    consts = [("In", inner), ("Out", outer)]
    body = render(
        "kernels/linear/linear.c.j2",
        target,
        name="linear",
        params=PARAMETERS,
        consts=consts,
        has={"bias": True},
    )
    limits = environment().from_string(LIMITS)
    panels = -(-outer // 64)
    body += limits.render(
        **target.context(), inner=inner, panels=panels, chains=CHAINS, steps=STEPS
    )
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "bench.c", Path(folder) / "bench.so"
        source.write_text(prelude(target, body) + body, encoding="utf-8")
        compiler = shutil.which("gcc") or shutil.which("clang") or "cc"
        command = [compiler, *FLAGS, "-pthread", *target_rule(target.name).cflags, str(source)]
        subprocess.run([*command, "-o", str(library), "-lm"], check=True)
        loaded = ctypes.CDLL(str(library))
    loaded.linnet_pool_new.restype = ctypes.c_void_p
    loaded.linnet_pool_run.argtypes = [ctypes.c_void_p] * 3
    return loaded


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", default="avx512")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--in", type=int, default=768, dest="inner")
    parser.add_argument("--out", type=int, default=3072, dest="outer")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    target = load_target(options.target)
    inner, outer = options.inner, options.outer
    library = compiled(target, inner, outer)
    pool = library.linnet_pool_new(options.threads)
    rng = np.random.default_rng(0)
    floats = -(-outer // 64) * 64 * inner
    copies = max(1, WEIGHT_BYTES // (4 * floats))  # taken in turn, so that none is cached
    weights = [np.ones(floats, np.float32) for _ in range(copies)]
    bias = np.zeros(outer, np.float32)
    turn = 0

    def timed(function: object, rows: int) -> Callable[[], float]:
        x = rng.standard_normal((rows, inner), dtype=np.float32)
        out = np.empty(max(rows * outer, 4096), np.float32)
        pointer = ctypes.cast(function, ctypes.c_void_p)  # type: ignore[arg-type]
        repeats = max(1, min(40, 300_000_000 // (rows * floats)))

        def once() -> float:
            nonlocal turn
            took = []
            for _ in range(repeats):
                turn += 1
                weight = weights[turn % copies].ctypes.data
                arguments = Arguments(
                    rows, x.ctypes.data, weight, bias.ctypes.data, out.ctypes.data
                )
                start = time.perf_counter()
                library.linnet_pool_run(pool, pointer, ctypes.byref(arguments))
                took.append(time.perf_counter() - start)
            return statistics.median(took)

        return once

    tasks = {"read": timed(library.run_read, 1), "peak": timed(library.run_peak, 1)}
    tasks |= {str(rows): timed(library.run_linear, rows) for rows in ROWS}
    samples: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(options.rounds):
        for name, task in tasks.items():
            samples[name].append(task())
    median = {name: statistics.median(values) for name, values in samples.items()}
    bandwidth = 4 * floats / median["read"]
    workers = library.linnet_pool_size(ctypes.c_void_p(pool))
    peak = workers * STEPS * CHAINS * target.f32.lanes * 2 / median["peak"]
    print(f"{options.target}, {workers} threads, {inner} -> {outer}")
    print(f"read {bandwidth / 1e9:.1f} GB/s, fma {peak / 1e9:.0f} GFLOP/s")
    print("rows        ms    GB/s  GFLOP/s  of the limit")
    for rows in ROWS:
        took, operations = median[str(rows)], 2 * rows * inner * outer
        least = max(4 * floats / bandwidth, operations / peak)
        print(
            f"{rows:4d} {took * 1e3:9.3f} {4 * floats / took / 1e9:7.1f}"
            f" {operations / took / 1e9:8.0f} {least / took:9.0%}"
        )


if __name__ == "__main__":
    main()
