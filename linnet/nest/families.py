"""Checkpoints without a name: the entry of the zoo that computes what their config.json describes.

In goes the folder of a checkpoint, its weight file, or a repository of the hub; out comes the card
of the entry, with the place of the checkpoint in it.

The entry is the one whose card has the config's `model_type` among the values that
`[config.expect]` allows. Where several have it, as entries with weights of their own do beside
that of their family, it is the one that has the source in its own folder; where that does not
settle it, the one that comes without weights. All other values of the config are the card's to
judge, when the model is loaded.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from linnet.errors import CheckpointError, ConfigError, UnknownModelError
from linnet.nest.card import Card
from linnet.nest.config import Config, load_config
from linnet.nest.hub import MAIN, Repository
from linnet.nest.json_values import shown
from linnet.nest.nearest import did_you_mean
from linnet.nest.resolve import CONFIG_FILE

MODEL_TYPE = "model_type"
WEIGHTS_SUFFIX = ".safetensors"

_REPOSITORY = re.compile(r"([\w-][\w.-]*/[\w.-]+?)(?:@([\w./-]+))?")


def is_checkpoint(path: Path) -> bool:
    """Whether a path is the folder or the weight file of a checkpoint that says what it is."""
    if path.suffix == WEIGHTS_SUFFIX and os.path.isfile(path):
        return True
    return os.path.isfile(path / CONFIG_FILE)


def repository(name: str) -> tuple[str, str | None] | None:
    """The parts of `owner/name` or `owner/name@revision`; None for what is neither."""
    found = _REPOSITORY.fullmatch(name)
    return (found[1], found[2]) if found else None


def card_for_checkpoint(path: Path, cards: Sequence[Card]) -> Card:
    """The card for a checkpoint on this disk, its folder or weight file."""
    path = path.absolute()
    config = (path.parent if path.suffix == WEIGHTS_SUFFIX else path) / CONFIG_FILE
    if not os.path.lexists(config):
        raise CheckpointError(
            f"there is no {config}, which would say what kind of model {path.name} is",
            help="name the model, and give the file as its checkpoint",
        )
    return replace(choose(load_config(config), cards), checkpoint=path)


def card_for_repository(
    repo: str, revision: str | None, cards: Sequence[Card], *, offline: bool
) -> Card:
    """The card for a repository of the hub. Its config.json is fetched if the cache lacks it."""
    title = f"the files of {repo} (no folder of that name is here, so it is a repository)"
    hub = Repository(repo, revision or MAIN, offline, title)
    file = hub.get([CONFIG_FILE])[CONFIG_FILE]
    hub.pin(file)
    card = choose(load_config(file), cards)
    weights = replace(card.weights, repo=repo, revision=hub.revision, files=(), sha256=None)
    return replace(card, weights=weights)


def model_types(card: Card) -> tuple[str, ...]:
    """The values of `model_type` that a card expects."""
    expected = card.expect.get(MODEL_TYPE)
    return () if expected is None else tuple(v for v in expected.values if isinstance(v, str))


def choose(config: Config, cards: Sequence[Card]) -> Card:
    """The card of the family that a config.json names.

    Raises ConfigError for a config that names none or whose family several entries claim,
    UnknownModelError with the families there are for another one."""
    kind = config.values.get(MODEL_TYPE)
    if not isinstance(kind, str) or not kind:
        raise ConfigError(
            f"{config.file}: {MODEL_TYPE} = {shown(kind)} names no family",
            help="name the model, and give the folder as its checkpoint",
        )
    fitting = [card for card in cards if kind in model_types(card)]
    for narrower in (_owns_source, _comes_without_weights):
        if len(fitting) > 1:
            fitting = [card for card in fitting if narrower(card)] or fitting
    if not fitting:
        known = sorted({kind for card in cards for kind in model_types(card)})
        hint = did_you_mean(kind, known)
        raise UnknownModelError(
            f"{config.file}: no entry of the zoo computes {MODEL_TYPE} = {shown(kind)}"
            + (hint if "did you mean" in hint else ""),
            help=f"there are {', '.join(known)}; `linnet nest new NAME --from FOLDER` begins an "
            "entry for another",
        )
    if len(fitting) > 1:
        names = ", ".join(card.name for card in fitting)
        raise ConfigError(
            f"{config.file}: {MODEL_TYPE} = {shown(kind)} is claimed by several entries: {names}",
            help="name the one that is meant, and give the folder as its checkpoint",
        )
    return fitting[0]


def entry_that_fits(config: Config, cards: Sequence[Card]) -> str | None:
    """The name of the entry for a config.json, where there is just one."""
    try:
        return choose(config, cards).name
    except (ConfigError, UnknownModelError):
        return None


def _owns_source(card: Card) -> bool:
    return card.source.path.parent == card.folder


def _comes_without_weights(card: Card) -> bool:
    return not card.has_own_weights
