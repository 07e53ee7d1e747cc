"""The thread pool: work is handed out once, waiting costs nothing, a fork keeps working."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from linnet.emit.env import prelude
from linnet.targets.target import load_target
from parity.harness import BASE, compiler

PROGRAM = r"""
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { CHUNKS = 1000, ROUNDS = 200 };
static _Atomic int taken[CHUNKS];
static _Atomic int wrong;

// Every chunk once a round; after the barrier everybody sees all of them.
static void count(struct worker *w, void *arg) {
  (void)arg;
  for (int round = 1; round <= ROUNDS; ++round) {
    for (int64_t i; (i = claim(w, CHUNKS)) >= 0;) atomic_fetch_add(&taken[i], 1);
    sync(w);
    for (int i = 0; i < CHUNKS; i += 97) wrong += taken[i] != round;
    sync(w);
  }
}

static void steps(struct worker *w, void *arg) {
  for (int i = 0; i < *(int *)arg; ++i) {
    for (int64_t c; (c = claim(w, 4)) >= 0;) {
      volatile double x = 1.0;
      for (int k = 0; k < 2000; ++k) x = x * 1.0000001;
    }
    sync(w);
  }
}

static double now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int right(struct linnet_pool *pool) {
  for (int i = 0; i < CHUNKS; ++i) taken[i] = 0;
  wrong = 0;
  linnet_pool_run(pool, count, NULL);
  for (int i = 0; i < CHUNKS; ++i) wrong += taken[i] != ROUNDS;
  return wrong == 0;
}

static void *caller(void *pool) { return right(pool) ? pool : NULL; }

int main(int argc, char **argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 1;
  struct linnet_pool *pool = linnet_pool_new(threads);
  int ok = right(pool);
  pid_t child = fork();
  if (child == 0) {
    ok = right(pool) && right(pool);
    linnet_pool_free(pool);
    _exit(ok ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  child = fork();                       // a child that only frees
  if (child == 0) {
    linnet_pool_free(pool);
    _exit(0);
  }
  int freed = -1;
  waitpid(child, &freed, 0);
  ok = ok && right(pool);
  pthread_t other;
  void *from_thread = NULL;
  pthread_create(&other, NULL, caller, pool);
  pthread_join(other, &from_thread);
  int many = 1000;
  double start = now(CLOCK_MONOTONIC);
  linnet_pool_run(pool, steps, &many);
  const double stepping = now(CLOCK_MONOTONIC) - start;
  usleep(20000);                        // let the workers fall asleep
  start = now(CLOCK_PROCESS_CPUTIME_ID);
  usleep(300000);
  const double idle = now(CLOCK_PROCESS_CPUTIME_ID) - start;
  printf("{\"size\": %d, \"right\": %d, \"child\": %d, \"freed\": %d, \"other\": %d,"
         " \"stepping\": %f, \"idle\": %f}\n", linnet_pool_size(pool), ok, status, freed,
         from_thread == pool, stepping, idle);
  linnet_pool_free(pool);
  linnet_pool_free(NULL);
  return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("threads")
    source, path = folder / "threads.c", folder / "threads"
    source.write_text(prelude(load_target("scalar"), PROGRAM) + PROGRAM, encoding="utf-8")
    command = [*compiler("scalar"), *BASE, "-Wall", "-Wextra", "-Werror", "-pthread"]
    subprocess.run([*command, str(source), "-o", str(path), "-lm"], check=True, timeout=60)
    return path


def run(program: Path, threads: int, prefix: tuple[str, ...] = ()) -> dict[str, float]:
    command = [*prefix, str(program), str(threads)]
    done = subprocess.run(command, check=True, timeout=60, capture_output=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


@pytest.mark.parametrize("threads", [1, 2, 5, 64, 0, -3])
def test_chunks_go_out_once_and_forks_work(program: Path, threads: int) -> None:
    result = run(program, threads)
    assert result["right"] == 1
    assert result["other"] == 1, "a run from another thread"
    assert (result["child"], result["freed"]) == (0, 0), "a forked child"
    assert 1 <= result["size"] <= max(threads, 1)


def test_an_idle_pool_uses_no_cpu(program: Path) -> None:
    assert run(program, 4)["idle"] < 0.03


def test_far_more_threads_than_cores_are_not_far_slower(program: Path) -> None:
    best = min(run(program, n)["stepping"] for n in (1, 2))
    # A wide margin: 64 threads that spin would be slower by orders of magnitude.
    assert min(run(program, 64)["stepping"] for _ in range(3)) < 20 * best + 0.1
