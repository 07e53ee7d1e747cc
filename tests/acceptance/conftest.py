"""Loaded models and checkpoints that the tests of the whole road share."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.targets import require

from acceptance.checkpoints import write_checkpoint
from linnet import nest
from linnet.nest import Model

Load = Callable[..., Model]


@pytest.fixture(scope="package", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A compile cache of these tests' own, and no other LINNET_ variable."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        for name in [*os.environ]:
            if name.startswith("LINNET_") and name != "LINNET_REQUIRE_NEON":
                patch.delenv(name)
        patch.setenv("LINNET_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="module")
def load() -> Iterator[Load]:
    """`nest.load`, once for the same arguments within a module; skips what cannot run here."""
    models: dict[tuple[Any, ...], Model] = {}

    def once(name: str, target: str = "native", batch: int | None = 1, **options: Any) -> Model:
        if target != "native":
            require(target)
        key = (name, target, batch, *sorted(options.items()))
        if key not in models:
            generics = None if batch is None else {"Batch": batch}
            models[key] = nest.load(name, target=target, generics=generics, **options)
        models[key].reset_state()
        return models[key]

    yield once
    for model in models.values():
        model.close()


@pytest.fixture(scope="package")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A random checkpoint, written once: `checkpoint("odd", "--sharded", "3")`."""
    written: dict[tuple[str, ...], Path] = {}

    def folder(size: str, *options: str) -> Path:
        key = (size, *options)
        if key not in written:
            written[key] = tmp_path_factory.mktemp(f"checkpoint-{size}-")
            write_checkpoint(written[key], size, *options)
        return written[key]

    return folder


@pytest.fixture(scope="package")
def full_size(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """GPT-2 of 124M random parameters, 500 MB; gone when the last test has used it."""
    folder = tmp_path_factory.mktemp("gpt2-124m")
    write_checkpoint(folder, "gpt2")
    yield folder
    shutil.rmtree(folder)
