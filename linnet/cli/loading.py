"""What the commands that run a model share: from its name to a model that is ready."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linnet.cli.terminal import Console
from linnet.errors import UnknownModelError

if TYPE_CHECKING:
    from linnet.nest.card import Card
    from linnet.nest.model import Model


def card_for(task: str, model: str | None, hint: str, *, offline: bool) -> Card:
    """The card of a model, or of the one that came with the installation. `hint` says how texts
    are given, for those who gave one in place of a name.

    Raises UnknownModelError or CardError, and UsageError for a card that names another task.
    """
    from linnet.cli.subject import default_model, find_model
    from linnet.nest import tasks

    if model is None:
        return default_model(task)
    try:
        card = find_model(model, offline=offline)
    except UnknownModelError as error:
        if " " in model.strip():
            raise UnknownModelError(error.message, help=hint) from None
        raise
    tasks.check_card(tasks.TASKS[task], card)
    return card


def load(
    console: Console,
    card: Card,
    checkpoint: str | None,
    target: str,
    numerics: str,
    threads: int | None,
    offline: bool,
) -> Model:
    """Load a model, and say so while it takes time. Raises as `nest.load`."""
    from linnet import nest
    from linnet.cli.progress import no_download_bars, watched
    from linnet.cli.subject import place_of

    if console.quiet and checkpoint is None and not card.has_own_weights:
        no_download_bars()
    with watched(console, f"loading {card.name}"):
        return nest.load(
            card.file,
            checkpoint=place_of(card, checkpoint, offline=offline),
            target=target,
            numerics=numerics,
            threads=threads,
            offline=offline,
        )
