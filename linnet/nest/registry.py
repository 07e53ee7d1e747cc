"""The entries of the zoo: what there is, and which one a name or a folder means.

In goes a name such as "gpt2", or the path of a folder with a `nest.toml`; out comes the entry's
`Card`. Reads cards only: neither sources nor weights.
"""

from __future__ import annotations

import os
from pathlib import Path

from linnet import resources
from linnet.errors import UnknownModelError, UsageError
from linnet.nest.card import CARD_FILE, Card, load_card
from linnet.nest.nearest import did_you_mean


def names() -> list[str]:
    """The names of all zoo entries, sorted."""
    return sorted(file.parent.name for file in resources.folder("nest").glob(f"*/{CARD_FILE}"))


def find(name: str | os.PathLike[str]) -> Card:
    """The card of a zoo entry by its name, or of a folder by its path.

    A name of the zoo wins over a folder of that name; write `./gpt2` for the folder. Raises
    UnknownModelError with the nearest name, CardError when the card is malformed.
    """
    if not isinstance(name, str | os.PathLike):
        raise UsageError(f"a model is named by a string or a path, not {name!r}")
    if not os.fspath(name):
        raise UnknownModelError("no model name is given", help="`linnet nest list` shows all")
    zoo = names()
    if isinstance(name, str) and name in zoo:
        return load_card(resources.folder("nest") / name)
    # os.path says no where Path raises: for a name too long for a file, or with a zero byte.
    path = Path(os.path.expanduser(name))
    if path.name == CARD_FILE and os.path.isfile(path):
        return load_card(path)
    if os.path.isfile(path / CARD_FILE):
        return load_card(path)
    if os.path.isdir(path):
        raise UnknownModelError(
            f"the folder {path.absolute()} has no {CARD_FILE}",
            help="give a folder with a card, or the name of a zoo entry; "
            "to load a checkpoint, name its model and pass the folder as checkpoint",
        )
    shown = os.fspath(name) if len(os.fspath(name)) <= 80 else os.fspath(name)[:77] + "..."
    raise UnknownModelError(
        f"there is no model {shown!r}{did_you_mean(os.fspath(name), zoo)}",
        help="`linnet nest list` shows all; a folder with a card can be given by its path",
    )
