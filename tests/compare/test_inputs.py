"""What an entry is given, and what the other side calls it."""

from __future__ import annotations

import numpy as np
import pytest
from programs.agree import checked

from linnet.check import root_of
from linnet.compare.inputs import make
from linnet.errors import UsageError
from linnet.ir.node import Graph
from linnet.lower import lower_entry

SOURCE = """module m

pub block Root<Size: Dim, Batch: Dim = 2> {
    pub entry embed<B: Dim, S: Dim>(
        tokens: Tensor[B, S; i32],
        kinds: Tensor[B, S; i32],
        lengths: Tensor[B; i32]
    ) -> Tensor[B, S; i32] {
        return tokens + kinds
    }

    pub entry classify<B: Dim>(pixels: Tensor[B, 3, Size, Size; f32]) -> Tensor[B; f32] {
        return pixels[:, 0, 0, 0]
    }

    pub entry prefill<S: Dim>(tokens: Tensor[Batch, S; i32], pos: i32) -> Tensor[Batch, S; i32] {
        return tokens + pos
    }

    pub entry other<B: Dim>(lamps: Tensor[B; f32]) -> Tensor[B; f32] {
        return lamps
    }
}
"""


def lowered(entry: str) -> Graph:
    program = checked(SOURCE)
    return lower_entry(program, root_of(program), entry, {"Size": 4})


def test_a_text_as_encoders_take_it() -> None:
    given = make(lowered("embed"), [5, 6, 7])
    assert list(given.ours) == ["tokens", "kinds", "lengths"]
    assert given.ours["tokens"].tolist() == [[5, 6, 7]]
    assert given.ours["lengths"].tolist() == [3]
    assert given.theirs["input_ids"].tolist() == [[5, 6, 7]]
    assert given.theirs["token_type_ids"].tolist() == [[0, 0, 0]]
    assert given.theirs["attention_mask"].tolist() == [[1, 1, 1]]


def test_an_image_is_the_same_for_both() -> None:
    given = make(lowered("classify"), [], seed=3)
    assert given.ours["pixels"].shape == (1, 3, 4, 4)
    assert np.array_equal(given.ours["pixels"], given.theirs["pixel_values"])
    assert not np.array_equal(make(lowered("classify"), [], 4).ours["pixels"], given.ours["pixels"])


def test_all_rows_of_a_cache_hold_the_text() -> None:
    given = make(lowered("prefill"), [9, 8])
    assert given.ours["tokens"].tolist() == given.theirs["input_ids"].tolist() == [[9, 8], [9, 8]]
    assert given.ours["pos"] == 0
    assert list(given.theirs) == ["input_ids"]


def test_a_name_of_no_task_is_refused() -> None:
    with pytest.raises(UsageError, match="entry `other` takes `lamps`"):
        make(lowered("other"), [1])
