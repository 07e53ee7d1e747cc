"""Loaded checkpoints of the families, and a compile cache of these tests' own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.targets import require

from families.data import CHECKPOINTS, family_of
from linnet import nest
from linnet.nest import Model

Load = Callable[..., Model]


@pytest.fixture(scope="package", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No LINNET_ variable has a say, but the one by which CI promises NEON."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [*os.environ]:
            if name.startswith("LINNET_") and name != "LINNET_REQUIRE_NEON":
                patch.delenv(name)
        patch.setenv("LINNET_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def load() -> Iterator[Load]:
    """`load("llama-1", "scalar")`: that stored checkpoint, once for the same arguments. Skips a
    target that cannot run here."""
    models: dict[tuple[Any, ...], Model] = {}

    def once(name: str, target: str = "native", **options: Any) -> Model:
        if target != "native":
            require(target)
        key = (name, target, repr(sorted(options.items())))
        if key not in models:
            # Without a name: config.json's model_type chooses the entry.
            models[key] = nest.load(CHECKPOINTS / name, target=target, offline=True, **options)
            assert models[key].name == family_of(name)["entry"]
        return models[key]

    yield once
    for model in models.values():
        model.close()
