"""Where the files of a model come from.

In goes a card and perhaps a path; out comes a `Checkpoint`: the weight files, config.json and
tokenizer files on this disk. The places are tried in this order, and the first that has the
weights is used: the path the caller gave, the entry's own folder, the Hugging Face cache, a
download into that cache. Only files the card names, at the card's revision, are asked for, and
no request is made while the cache has them. Files are found here, never opened.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from linnet.errors import CheckpointError, UsageError
from linnet.nest import tasks
from linnet.nest.card import Card
from linnet.nest.hub import Repository
from linnet.nest.pooling import MODULES_FILE, pooling_files

CONFIG_FILE = "config.json"
GENERATION_FILE = "generation_config.json"
PREPROCESSOR_FILE = "preprocessor_config.json"
SINGLE_FILE = "model.safetensors"
INDEX_FILE = "model.safetensors.index.json"
# Either of these sets is a whole tokenizer.
TOKENIZER_SETS = (("tokenizer.json",), ("vocab.json", "merges.txt"))


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint's files. `weights` is what to open: a safetensors file, or a folder with one
    or with shards and their index. `origin` tells people where it was found."""

    weights: Path
    config: Path | None
    generation: Path | None
    tokenizer: Mapping[str, Path]
    origin: str
    preprocessor: Path | None = None


def resolve(
    card: Card, checkpoint: str | os.PathLike[str] | None = None, *, offline: bool = False
) -> Checkpoint:
    """Find the files of `card`'s model; `checkpoint` is a folder or a safetensors file.

    Raises CheckpointError when there is nothing at the path, or when the weights are in none of
    the places and cannot be fetched; the message says what is missing and where it was sought.
    """
    chosen = card.checkpoint if checkpoint is None else checkpoint
    if chosen is not None:
        return _explicit(card, chosen)
    names = card.weights.files
    if card.has_own_weights:
        return _in_folder(card, card.folder, names, "the entry's own folder")
    if card.weights.repo is None:
        lost = ", ".join(name for name in names if not (card.folder / name).is_file())
        raise CheckpointError(
            f"{card.name} names no repository, and {card.folder} lacks {lost}",
            help="give the folder of a checkpoint: checkpoint=... or --checkpoint",
        )
    return _from_hub(card, offline)


def known_config(card: Card, checkpoint: str | os.PathLike[str] | None = None) -> Path | None:
    """The config.json of what `resolve` would find, as far as that is known without looking for
    weights: beside the checkpoint, in the entry's own folder, or in a repository for which the
    card was chosen. None where the card's own values stand."""
    if checkpoint is not None or card.checkpoint is not None or card.has_own_weights:
        return resolve(card, checkpoint, offline=True).config
    repo, revision = card.weights.repo, card.weights.revision
    if card.weights.files or repo is None or revision is None:
        return None
    return Repository(repo, revision, True, "").cached(CONFIG_FILE)


def _explicit(card: Card, checkpoint: str | os.PathLike[str]) -> Checkpoint:
    if not isinstance(checkpoint, str | os.PathLike) or not os.fspath(checkpoint):
        raise UsageError(f"checkpoint = {checkpoint!r} must be the path of a folder or file")
    # os.path says no where Path raises: for a name too long for a file, or with a zero byte.
    path = Path(os.path.expanduser(checkpoint)).absolute()
    if not os.path.exists(path):
        raise CheckpointError(
            f"there is no checkpoint at {path}",
            help="give a folder with model.safetensors, or the file itself",
        )
    if path.is_dir():
        return _in_folder(card, path, (), f"the path {path}")
    found = _in_folder(card, path.parent, (), f"the path {path}")
    return replace(found, weights=path)


def _in_folder(card: Card, folder: Path, names: tuple[str, ...], origin: str) -> Checkpoint:
    """The checkpoint in `folder`; `names` are its weight files if the card has listed them."""
    tokenizer = find_tokenizer_files((folder, card.folder)) if card.text else {}
    return Checkpoint(
        weights=folder / names[0] if len(names) == 1 else folder,
        config=_if_there(folder / CONFIG_FILE),
        generation=_if_there(folder / GENERATION_FILE),
        tokenizer=tokenizer,
        origin=origin,
        preprocessor=_if_there(folder / PREPROCESSOR_FILE),
    )


def find_tokenizer_files(folders: Iterable[Path]) -> dict[str, Path]:
    """The files of a whole tokenizer, from the first folder that has one; else nothing."""
    for folder in folders:
        for names in TOKENIZER_SETS:
            if all((folder / name).is_file() for name in names):
                return {name: folder / name for name in names}
    return {}


def _if_there(path: Path) -> Path | None:
    """A folder or a dead link counts as there: whoever reads it says what is wrong."""
    return path if os.path.lexists(path) else None


def _from_hub(card: Card, offline: bool) -> Checkpoint:
    """The checkpoint of the repository that the card names."""
    weights = card.weights
    assert weights.repo is not None
    assert weights.revision is not None
    title, here = f"the weights of {card.name}", [str(card.folder)] if weights.files else []
    hub = Repository(weights.repo, weights.revision, offline, title, here)
    config = hub.cached(CONFIG_FILE)
    known = bool(config) and _cached_weights(hub, weights.files) is not None
    if not known and hub.why_offline is None:
        # Before the weights: a start that finds those asks for nothing more.
        hub.pin(hub.get([CONFIG_FILE])[CONFIG_FILE])
        _fetch_beside(hub, card)
    names = weights.files or _published(hub)
    found = hub.get([CONFIG_FILE, *_with_index(names)])
    origin = f"the Hugging Face cache {hub.cache}" if known else f"downloaded from {hub.repo}"
    return _in_folder(card, found[CONFIG_FILE].parent, names, origin)


def _with_index(names: tuple[str, ...]) -> list[str]:
    return [INDEX_FILE, *names] if len(names) > 1 and INDEX_FILE not in names else list(names)


def _cached_weights(hub: Repository, listed: tuple[str, ...]) -> tuple[str, ...] | None:
    """The names of the weight files if the cache has them all; `listed` if the card knows them."""
    names = listed or (SINGLE_FILE,)
    if all(hub.cached(name) for name in _with_index(names)):
        return names
    index = None if listed else hub.cached(INDEX_FILE)
    if index is None:
        return None
    shards = shards_of(index)
    return shards if all(hub.cached(name) for name in shards) else None


def _published(hub: Repository) -> tuple[str, ...]:
    """The weight files of a repository of which no card says them: one file, or shards by their
    index."""
    index = hub.cached(INDEX_FILE)
    if index is None:
        if hub.get_if_any([SINGLE_FILE]):
            return (SINGLE_FILE,)
        if hub.why_offline is not None:
            hub.get([SINGLE_FILE])
        index = hub.fetch(INDEX_FILE, [SINGLE_FILE, INDEX_FILE])
    return shards_of(index)


def shards_of(index: Path) -> tuple[str, ...]:
    """The files that an index of shards names, sorted. Raises CheckpointError for a damaged one."""
    try:
        names = set(json.loads(index.read_bytes())["weight_map"].values())
    except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(
            f"{index} is no index of shards: {error}", help="download the file again"
        ) from error
    if not all(isinstance(n, str) and re.fullmatch(r"[\w.-]+", n) and n[0] != "." for n in names):
        raise CheckpointError(f"{index} names files outside of its folder")
    return tuple(sorted(names))


def _fetch_beside(hub: Repository, card: Card) -> None:
    """Fetch what lies beside the weights, as far as the repository has it: the first tokenizer,
    the ids that end a text, the preparation of pictures, how vectors are pooled. None of it is an
    error where it is missing: whoever needs it says so."""
    if card.text:
        # A repository that the card does not name may well have another one.
        if not (card.weights.files and find_tokenizer_files((card.folder,))):
            any(hub.get_if_any(names) for names in TOKENIZER_SETS)
        hub.get_if_any([GENERATION_FILE])
    if card.image:
        hub.get_if_any([PREPROCESSOR_FILE])
    if card.about.task == tasks.EMBEDDING.name and hub.get_if_any([MODULES_FILE]):
        modules = hub.get([MODULES_FILE])[MODULES_FILE]
        hub.get_if_any(pooling_files(modules))
