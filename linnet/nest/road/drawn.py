"""The drawings of a model's entries, from its card."""

from __future__ import annotations

from linnet import driver
from linnet.errors import UsageError
from linnet.nest.card import Card
from linnet.nest.config import Config
from linnet.nest.nearest import did_you_mean
from linnet.nest.request import request_for
from linnet.nest.road.diagram import draw
from linnet.nest.road.flow import flow, members
from linnet.nest.settings import resolve_settings


class Drawings:
    """Draws entries of one model; the source is checked once. Raises SourceError for one with
    errors, and what reading the card's values raises."""

    def __init__(self, card: Card) -> None:
        request = request_for(card, resolve_settings(card, Config({})))
        program = driver.check(card.source.path).program
        assert program is not None
        self._card = card
        self._constants = request.constants
        self._values = driver.bound_generics(request, program)
        self._root = driver.root_block(program, card.source.root)

    def of(self, entry: str | None = None) -> str:
        """The SVG of `entry`, by default the one that the card names, else the first. Raises
        UsageError for an entry that there is not."""
        names = [function.name for function in self._root.entries]
        chosen = entry or self._card.source.entry or names[0]
        if chosen not in names:
            hint = did_you_mean(chosen, names)
            raise UsageError(f"{self._card.name} has no entry {chosen!r}{hint}")
        box, used = flow(self._root, chosen, self._constants)
        unused = [path for path in members(self._root) if path not in used]
        return draw(box, f"{self._card.about.title}: {chosen}", self._values, unused)
