"""What is stored is what transformers makes of the checkpoints, where it is installed; and there
are three configs of each family."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import numpy as np
import pytest

from families.data import CHECKPOINTS, TOOL, family_of, names, references

LARGEST = 250_000
"""Bytes of a checkpoint with its references."""


def test_three_small_configs_of_each_family() -> None:
    families = [file.stem for file in Path(__file__).parent.glob("*.json")]
    wanted = []
    for family in families:
        configs = json.loads((Path(__file__).parent / f"{family}.json").read_text())["configs"]
        assert len(configs) >= 3, family
        wanted += [f"{family}-{n}" for n in range(1, len(configs) + 1)]
    assert names() == sorted(wanted)
    for name in wanted:
        size = sum(file.stat().st_size for file in (CHECKPOINTS / name).iterdir())
        assert size < LARGEST, name


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", names())
def test_transformers_finds_the_same_again(name: str) -> None:
    pytest.importorskip("torch", reason="needs the extra bench")
    pytest.importorskip("transformers", reason="needs the extra bench")
    stored = references(name)
    tool = runpy.run_path(str(TOOL))
    found = tool["references"](CHECKPOINTS / name, family_of(name), int(stored.pop("seed")))
    assert found.keys() == stored.keys()
    for key, array in found.items():
        assert array.dtype == stored[key].dtype, key
        if array.dtype == np.float32:
            np.testing.assert_allclose(array, stored[key], atol=2e-5, err_msg=key)
        else:
            assert array.tolist() == stored[key].tolist(), key
