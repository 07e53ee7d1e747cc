#!/usr/bin/env python3
"""Record what transformers computes for a stored or made checkpoint, for tests/compare.

    make_recording.py --python PATH MODEL CHECKPOINT TOKENS OUT

PATH is an interpreter that has torch and transformers. MODEL is an entry of the zoo, TOKENS are
ids such as 1,2,3; the folder OUT gets the recording.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from linnet.bench.subject import Subject
from linnet.compare import run, trace
from linnet.compare.inputs import make


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", required=True)
    parser.add_argument("model")
    parser.add_argument("checkpoint")
    parser.add_argument("tokens")
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    subject = Subject.find(given.model, given.checkpoint)
    opened = subject.opened()
    request = run.Request(given.model)
    entry = run.entry_of(subject.card, request)
    graph = trace.lowered(trace.probed(opened, entry, "scalar", "equivalent"))
    inputs = make(graph, [int(k) for k in given.tokens.split(",")])
    ours = trace.interpreted(opened, graph, inputs.ours)
    recording, _ = run.record(subject, opened, ours, inputs.theirs, given.python)
    given.out.mkdir(parents=True, exist_ok=True)
    recording.save(given.out)


if __name__ == "__main__":
    main()
