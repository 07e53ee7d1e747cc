"""The drawing of an entry of a model, from its card."""

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


def drawing(card: Card, entry: str | None = None) -> str:
    """The SVG of `entry`, by default the one that the card names, else the first.

    Raises UsageError for an entry that there is not, SourceError for a source with errors.
    """
    request = request_for(card, resolve_settings(card, Config({})))
    program = driver.check(card.source.path).program
    assert program is not None
    root = driver.root_block(program, card.source.root)
    names = [function.name for function in root.entries]
    chosen = entry or card.source.entry or names[0]
    if chosen not in names:
        raise UsageError(f"{card.name} has no entry {chosen!r}{did_you_mean(chosen, names)}")
    box, used = flow(root, chosen, request.constants)
    unused = [path for path in members(root) if path not in used]
    values = driver.bound_generics(request, program)
    return draw(box, f"{card.about.title}: {chosen}", values, unused)
