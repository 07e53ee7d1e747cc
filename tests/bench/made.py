"""A result made by hand, with numbers that are easy to check."""

from __future__ import annotations

from linnet.bench.results import COMPILE, LOAD, MEMORY, START, Figure, Result, Row, Status
from linnet.bench.workload import Task
from linnet.plan.cost import Cost, Limits

DECODE = Task("decode_16", "decode", "decode after 16", 16, 64)
PREFILL = Task("prefill_512", "prefill", "prefill 512", 512, 1)


def made() -> Result:
    """We decode 18 tokens/s of 20 and need 1200 ms of 900; one engine is slower, one is faster
    but writes other text, one is missing."""
    common = {LOAD: Figure([0.2]), START: Figure([0.4]), MEMORY: Figure([6e8])}
    ours = Row("linnet", "linnet", 1, ids={"decode_16": [[7, 8]]})
    ours.figures = {
        "decode_16": Figure([18.0, 17.0, 19.0]),
        "prefill_512": Figure([1200.0]),
        COMPILE: Figure([8.0]),
        "step_overhead": Figure([21e-6, 22e-6]),
        "greedy": Figure([4e-6]),
        "sampling": Figure([30e-6]),
        "sampling_worst": Figure([130e-6]),
        **common,
    }
    other = Row("transformers", "transformers (torch)", 1, agreeing=64, compared=64)
    other.versions = {"torch": "2.13.0"}
    other.difference = 1.5e-5
    other.figures = {"decode_16": Figure([12.0]), "prefill_512": Figure([1500.0]), **common}
    other.others = [0.02, 0.9]
    wrong = Row("onnxruntime", "ONNX Runtime", 1, agreeing=2, compared=64)
    wrong.figures = {"decode_16": Figure([90.0]), "prefill_512": Figure([10.0])}
    missing = Row("llama.cpp", "llama.cpp", 1, Status.MISSING, "No module named 'llama_cpp'")
    return Result(
        model="gpt2",
        title="GPT-2",
        date="2026-11-29T12:00:00+00:00",
        weights="random weights of the right shapes (seed 0)",
        is_random=True,
        seed=0,
        rounds=3,
        tasks=(DECODE, PREFILL),
        threads=(1,),
        costs={"decode_16": Cost(0.5e9, 0.25e9), "prefill_512": Cost(0.5e9, 90e9)},
        stored_bytes=498_000_000,
        environment={
            "versions": {"linnet": "0.1.0"},
            "target": "avx512",
            "machine": "a processor, 2 CPUs",
            "gpu": None,
            "driver": None,
        },
        limits={1: [Limits(1, 10e9, 100e9), Limits(1, 11e9, 101e9), Limits(1, 9e9, 99e9)]},
        rows=[ours, other, wrong, missing],
    )
