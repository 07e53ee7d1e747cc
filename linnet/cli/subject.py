"""What a command is about: MODEL_OR_FILE, as the driver's request.

A `.linnet` file stands for itself. Anything else is a model, as `nest.registry` finds it: a name
of the zoo, a folder with a card, or a checkpoint. Nothing is compiled here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from linnet import driver
from linnet.errors import UsageError
from linnet.nest import registry
from linnet.nest.card import CARD_FILE, Card, Constant, Generic
from linnet.nest.request import known_generics, request_for

if TYPE_CHECKING:
    from linnet.nest.settings import Settings

SOURCE_SUFFIX = ".linnet"


@dataclass(frozen=True)
class Subject:
    """A source file, and the card it was reached by if any."""

    source: Path
    card: Card | None

    @property
    def name(self) -> str:
        return self.card.name if self.card else self.source.stem

    def request(
        self,
        generics: Mapping[str, Generic],
        *,
        constants: Mapping[str, Constant] | None = None,
        root: str | None = None,
        checkpoint: str | None = None,
    ) -> driver.Request:
        """The request to compile it. A model takes its generics from its card and, where there
        is one, from config.json; `generics` and `constants` go over them."""
        if self.card is None:
            return driver.Request(
                self.source, root=root, generics=generics, constants=constants or {}
            )
        request = request_for(self.card, _settings(self.card, generics, constants, checkpoint))
        return request if root is None else replace(request, root=root)


def find(what: str) -> Subject:
    """Raises UsageError for a file that is not there, UnknownModelError for a name that is
    none, CardError for a malformed card."""
    # os.path says no where Path raises: for a name too long for a file, or with a zero byte.
    path = Path(os.path.expanduser(what))
    if os.path.exists(path) and not path.is_dir() and path.name != CARD_FILE:
        return Subject(path, None)
    if path.suffix == SOURCE_SUFFIX and not os.path.isdir(path):
        raise UsageError(f"there is no file {what}")
    card = find_model(what)
    return Subject(card.source.path, card)


def find_model(what: str, *, offline: bool = False) -> Card:
    """The card of a model. Raises UnknownModelError or CardError, and what a checkpoint of no
    known family gives."""
    return registry.find(what, offline=offline)


def place_of(card: Card, checkpoint: str | None, *, offline: bool = False) -> str | None:
    """The checkpoint to load a card's model from: the one asked for, else the one for which the
    card was chosen, downloaded if need be; None for the entry's own."""
    from linnet.nest.resolve import resolve

    if checkpoint is not None or (card.checkpoint is None and card.weights.files):
        return checkpoint
    return str(resolve(card, offline=offline).weights)


def default_model(task: str = "text-generation") -> Card:
    """The entry with this task whose weights came with the installation; the first by name.
    Raises UsageError when there is none."""
    for card in registry.readable():
        if card.about.task == task and card.has_own_weights:
            return card
    raise UsageError(
        "no model came with this installation", help="name one; `linnet nest list` shows all"
    )


def _settings(
    card: Card,
    given: Mapping[str, Generic],
    constants: Mapping[str, Constant] | None,
    checkpoint: str | None,
) -> Settings:
    from linnet.nest.config import Config, load_config
    from linnet.nest.resolve import known_config
    from linnet.nest.settings import resolve_settings

    file = known_config(card, checkpoint)
    config = Config({}) if file is None else load_config(file)
    return resolve_settings(card, config, given, constants, known_generics(card, given))
