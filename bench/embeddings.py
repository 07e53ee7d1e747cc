#!/usr/bin/env python3
"""How many texts a second are embedded, against transformers? On all-MiniLM-L6-v2 or another.

    bench/embeddings.py --checkpoint DIR [--python PYTHON] [--texts 256] [--threads 1,2]
                        [--rounds 5] [--json]

Both engines embed the same made-up texts of 4 to 50 words, in f32, each in a process of its own;
in each round they take turns, and a figure is the median of the rounds. Both put texts of similar
lengths together: ours as it always does, theirs in batches of 32 that are sorted by length, as
sentence-transformers does. Tokenizing is part of it. Speeds count only if the vectors agree within
1e-5. PYTHON is one that has torch and transformers (extra `bench`); this one if not given.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

WORDS = (
    "the a man woman child is was eating food bread playing guitar piano in on near park house "
    "river mountain quick brown fox jumps over lazy dog cat horse science computer language model "
    "vector search cluster paper result measure speed city winter summer small large old new"
)
LENGTHS = (4, 8, 10, 12, 15, 20, 30, 50)
TOLERANCE = 1e-5
BATCH = 32


def texts(count: int) -> list[str]:
    draw = random.Random(1)
    words = WORDS.split()
    return [" ".join(draw.choices(words, k=draw.choice(LENGTHS))) for _ in range(count)]


def linnet_engine(checkpoint: str, threads: int) -> Any:
    """A function from texts to rows of numbers."""
    from linnet import nest

    return nest.load(checkpoint, threads=threads, offline=True).embed


def transformers_engine(checkpoint: str, threads: int) -> Any:
    import torch
    import transformers

    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(threads)
    tokenizer = transformers.AutoTokenizer.from_pretrained(checkpoint)
    model = transformers.AutoModel.from_pretrained(checkpoint, dtype=torch.float32).eval()

    def embed(given: list[str]) -> Any:
        order = sorted(range(len(given)), key=lambda n: -len(given[n]))
        found: list[Any] = [None] * len(given)
        for at in range(0, len(order), BATCH):
            rows = order[at : at + BATCH]
            batch = tokenizer([given[n] for n in rows], padding=True, return_tensors="pt")
            with torch.inference_mode():
                hidden = model(**batch).last_hidden_state
            real = batch["attention_mask"].unsqueeze(-1)
            mean = (hidden * real).sum(1) / real.sum(1)
            for n, vector in zip(rows, torch.nn.functional.normalize(mean), strict=True):
                found[n] = vector.numpy()
        return found

    return embed


ENGINES = {"linnet": linnet_engine, "transformers": transformers_engine}


def work(engine: str, checkpoint: str, threads: int, count: int) -> None:
    """A worker: the vectors as a line of JSON, then a line with seconds for each line read."""
    import time

    embed, given = ENGINES[engine](checkpoint, threads), texts(count)
    print(json.dumps([[float(x) for x in row] for row in embed(given)]), flush=True)
    for _ in sys.stdin:
        begin = time.perf_counter()
        embed(given)
        print(time.perf_counter() - begin, flush=True)


def measured(options: argparse.Namespace, threads: int) -> dict[str, Any]:
    """Texts a second of both engines on some threads. Ends the program when they disagree."""
    seconds: dict[str, list[float]] = {engine: [] for engine in ENGINES}
    with ExitStack() as stack:
        workers, vectors = {}, {}
        for engine in ENGINES:
            python = sys.executable if engine == "linnet" else options.python
            command = [python, __file__, "--engine", engine, "--checkpoint", options.checkpoint]
            command += ["--texts", str(options.texts), "--threads", str(threads)]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            workers[engine] = stack.enter_context(subprocess.Popen(command, **pipes))
            first = workers[engine].stdout.readline()
            if not first:
                sys.exit(f"error: {engine} did not start; its message is above")
            vectors[engine] = json.loads(first)
        apart = max(
            abs(a - b)
            for ours, theirs in zip(*vectors.values(), strict=True)
            for a, b in zip(ours, theirs, strict=True)
        )
        if apart > TOLERANCE:
            sys.exit(f"error: the vectors are {apart:.1e} apart")
        for _ in range(options.rounds):
            for engine, worker in workers.items():
                worker.stdin.write("again\n")
                worker.stdin.flush()
                seconds[engine].append(float(worker.stdout.readline()))
    speeds = {engine: options.texts / statistics.median(s) for engine, s in seconds.items()}
    ratios = [b / a for a, b in zip(*seconds.values(), strict=True)]
    return {
        "threads": threads,
        **{f"{engine}_texts_s": round(speed, 1) for engine, speed in speeds.items()},
        "ratio": round(statistics.median(ratios), 2),
        "spread": [round(min(ratios), 2), round(max(ratios), 2)],
        "max_abs_diff": apart,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--checkpoint", required=True, help="the folder of a checkpoint")
    parser.add_argument("--python", default=sys.executable, help="a Python with transformers")
    parser.add_argument("--texts", type=int, default=256)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--engine", choices=ENGINES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.checkpoint = str(Path(options.checkpoint).absolute())
    if options.engine:
        work(options.engine, options.checkpoint, int(options.threads), options.texts)
        return
    lines = [measured(options, int(threads)) for threads in options.threads.split(",")]
    if options.json:
        print(json.dumps(lines, indent=2))
        return
    for line in lines:
        print(
            f"{line['threads']} threads: linnet {line['linnet_texts_s']} texts a second, "
            f"transformers {line['transformers_texts_s']}, {line['ratio']} times as fast "
            f"({line['spread'][0]} to {line['spread'][1]})"
        )


if __name__ == "__main__":
    main()
