"""`linnet nest new`: a folder for a new entry, from a checkpoint, that already checks.

In go a name and the folder of a checkpoint; out comes a folder with a card, a source, bindings
and the other files of an entry. What can be read off config.json and the tensors' names, dtypes
and shapes is filled in; what a person must decide stands beside it as comments. Nothing that
exists is written over.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linnet.errors import CheckpointError, UsageError
from linnet.nest import registry
from linnet.nest.road import draft
from linnet.nest.road.sizes import Size, Speller, flat, guessed, may_be_size
from linnet.nest.road.skeleton import Skeleton, skeleton
from linnet.nest.road.tensors import Kind, kinds, tree

if TYPE_CHECKING:
    from linnet.runtime.checkpoint import Checkpoint

LARGEST_TIE = 1 << 31
"""Bytes of a tensor up to which it is compared with others of its shape."""


@dataclass(frozen=True)
class Begun:
    """What was written, and what of it needs a look first."""

    folder: Path
    files: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Facts:
    """All that is known when the files are written. `doubts` are numbers that may mean several
    sizes; `rest` are the keys of config.json that nothing was made of."""

    name: str
    title: str
    config: Mapping[str, Any]
    sizes: tuple[Size, ...]
    kinds: tuple[Kind, ...]
    skeleton: Skeleton
    tied: Mapping[str, str]
    doubts: Mapping[tuple[int, str], tuple[str, ...]]
    unknown: tuple[int, ...]
    weight_files: tuple[str, ...]
    rest: Mapping[str, Any]

    def notes(self) -> Iterator[str]:
        """What a person should look at first."""
        for (value, text), others in sorted(self.doubts.items()):
            yield f"{value} is taken for {text}; it is also {' and '.join(others)}"
        for value in self.unknown:
            yield f"{value} stands as a number: no key of config.json gives it"
        for name, why in self.skeleton.left_out.items():
            yield f"{name} is left out: {why}"
        if not self.config:
            yield "the checkpoint has no config.json: all sizes stand as numbers"


def begin(name: str, checkpoint: Path, into: Path | None = None) -> Begun:
    """Write the folder of a new entry `name` from the checkpoint in `checkpoint`. `into` is the
    folder itself; by default `nest/<name>` where there is a folder `nest`, else `<name>`.

    Raises UsageError for a name that is none and for a folder that holds anything already,
    CheckpointError and ConfigError for a checkpoint that cannot be read.
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", name):
        raise UsageError(f"the name {name!r} must be small letters, digits, `-`, `.` and `_`")
    if name in registry.names():
        raise UsageError(f"the zoo has an entry {name!r} already", help="choose another name")
    folder = into or (Path("nest") / name if Path("nest").is_dir() else Path(name))
    if os.path.lexists(folder) and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(
            f"{folder} is there already", help="choose another name, or --into another folder"
        )
    facts = read(name, checkpoint)
    texts = draft.files(facts)
    made = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        for file, text in texts.items():
            with open(folder / file, "x", encoding="utf-8") as out:
                out.write(text)
    except OSError:
        if made:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    return Begun(folder, tuple(texts), tuple(facts.notes()))


def read(name: str, checkpoint: Path) -> Facts:
    """What the files of a new entry are made from. Raises as `begin`."""
    from linnet.nest.config import load_config
    from linnet.runtime.checkpoint import open_checkpoint

    if not checkpoint.exists():
        raise CheckpointError(f"there is no checkpoint at {checkpoint}")
    folder = checkpoint if checkpoint.is_dir() else checkpoint.parent
    file = folder / "config.json"
    config = dict(load_config(file).values) if file.exists() else {}
    with open_checkpoint(checkpoint) as weights:
        if not weights.names:
            raise CheckpointError(f"{checkpoint} holds no tensor")
        tied = _ties(weights)
        found = kinds(weights.tensors)
        sizes = guessed(config)
        sizes, speller, sketch = _sketched(_camel(name), weights, config, sizes, tied)
        files = tuple(path.name for path in weights.files)
    used = {size.key for size in sizes if size.key}
    rest = {key: value for key, value in flat(config) if key not in used}
    return Facts(
        name=name,
        title=_camel(name),
        config=config,
        sizes=tuple(sizes),
        kinds=tuple(found),
        skeleton=sketch,
        tied=tied,
        doubts=speller.doubts,
        unknown=tuple(sorted(speller.unknown)),
        weight_files=files,
        rest=rest,
    )


def _sketched(
    title: str,
    weights: Checkpoint,
    config: Mapping[str, Any],
    sizes: list[Size],
    tied: dict[str, str],
) -> tuple[list[Size], Speller, Skeleton]:
    """The skeleton in the usual generics, and in those that other keys of config.json give
    where the usual ones leave a number unexplained. Sizes that nothing needs are left out."""
    plan = tree(weights.tensors)
    first = Speller({size.name: size.value for size in sizes})
    skeleton(title, plan, first, tied)
    sizes = [*sizes, *_further(config, sizes, first.unknown)]
    speller = Speller({size.name: size.value for size in sizes})
    sketch = skeleton(title, plan, speller, tied)
    needed = set(speller.used)
    return [size for size in sizes if size.name in needed], speller, sketch


def _further(config: Mapping[str, Any], sizes: list[Size], unknown: set[int]) -> Iterator[Size]:
    """Keys of config.json that hold a number which no usual generic explains."""
    taken = {size.name for size in sizes}
    keys = {size.key for size in sizes}
    left = {value for value in unknown if value > 2}
    for key, value in flat(config):
        name = _camel(key.rpartition(".")[2])
        if key not in keys and may_be_size(value) and value in left and name not in taken:
            left.discard(value)
            yield Size(name, value, key)


def _ties(weights: Checkpoint) -> dict[str, str]:
    """Tensors that hold the same values as an earlier one, such as a head that is the table."""
    groups: dict[tuple[str, tuple[int, ...]], list[str]] = {}
    for name in sorted(weights.names, key=lambda n: ("head" in n or n.startswith("embed_out"), n)):
        info = weights.tensors[name]
        if len(info.shape) == 2 and not re.search(r"\.\d+\.", name) and info.nbytes <= LARGEST_TIE:
            groups.setdefault((info.dtype, info.shape), []).append(name)
    tied: dict[str, str] = {}
    for names in groups.values():
        for at, name in enumerate(names):
            twin = next((o for o in names[:at] if o not in tied and weights.same(o, name)), None)
            if twin is not None:
                tied[name] = twin
    return tied


def _camel(name: str) -> str:
    words = [w for w in re.split(r"[^0-9A-Za-z]+", name) if w]
    joined = "".join(w[0].upper() + w[1:] for w in words)
    return joined if joined[:1].isalpha() and len(joined) > 1 else f"Model{joined}"
