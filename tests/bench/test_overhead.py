"""What a token costs besides the model's work: measured without it, and leaving no trace."""

from __future__ import annotations

import numpy as np

from linnet import nest
from linnet.bench import overhead
from tests.bench.conftest import EMBEDDED


def test_the_model_does_nothing_meanwhile_and_works_afterwards() -> None:
    with nest.load(EMBEDDED, threads=1, offline=True) as model:
        before = model.generate([1, 2, 3], max_new_tokens=8).token_ids
        with overhead._idle(model):
            marked = np.full((1, 1), 7, np.int32)
            state = model._open().state("blocks.0.attn.cache_k")
            model.decode(marked, 3)
            assert np.array_equal(model._open().state("blocks.0.attn.cache_k"), state)
        found = overhead.measure(model, 1857)
        assert model.generate([1, 2, 3], max_new_tokens=8).token_ids == before
    assert set(found) == {"step", "greedy", "sampling", "sampling_worst"}
    assert 0 < found["greedy"] < found["step"]
    assert found["sampling"] <= found["sampling_worst"]
