"""The entries of the zoo: what there is, and which one a name or a folder means.

In goes a name such as "finch", the path of a folder with a `nest.toml`, or a checkpoint without a
name; out comes the entry's `Card`. Reads cards, and config.json of a checkpoint that is to say
which; neither sources nor weights.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import replace
from pathlib import Path

from linnet import resources
from linnet.errors import CardError, UnknownModelError, UsageError
from linnet.nest.card import CARD_FILE, Card, load_card
from linnet.nest.nearest import did_you_mean


def names() -> list[str]:
    """The names of all zoo entries, sorted."""
    return sorted(file.parent.name for file in resources.folder("nest").glob(f"*/{CARD_FILE}"))


def readable() -> list[Card]:
    """The cards of the zoo, without those that are malformed (`linnet nest check` names them)."""
    found = []
    for name in names():
        with contextlib.suppress(CardError):
            found.append(load_card(resources.folder("nest") / name))
    return found


def find(
    name: str | os.PathLike[str], *, revision: str | None = None, offline: bool = False
) -> Card:
    """The card that a name means: that of a zoo entry, that in a folder, or the one for a
    checkpoint: its folder or weight file, or a repository of the hub as "owner/name".

    A name of the zoo wins over a folder of that name; write `./finch` for the folder. What is on
    this disk wins over a repository. `revision` is a commit, branch or tag of the repository, which
    may stand in the name too: "owner/name@revision".

    Raises UnknownModelError with the nearest name, CardError when the card is malformed, and what
    `nest.families` raises for a checkpoint.
    """
    if not isinstance(name, str | os.PathLike):
        raise UsageError(f"a model is named by a string or a path, not {name!r}")
    if not os.fspath(name):
        raise UnknownModelError("no model name is given", help="`linnet nest list` shows all")
    card = _on_this_disk(name)
    if card is not None:
        return card if revision is None else _at_revision(card, revision)
    from linnet.nest import families

    found = families.repository(name) if isinstance(name, str) else None
    # Within a folder that is here it is a path that was mistyped, and no request is made for it.
    if found is None or os.path.isdir(found[0].partition("/")[0]):
        raise _unknown(os.fspath(name))
    repo, stated = found
    if stated is not None and revision not in (None, stated):
        raise UsageError(f"revision = {revision!r}: {name} names another one")
    return families.card_for_repository(repo, revision or stated, readable(), offline=offline)


def _on_this_disk(name: str | os.PathLike[str]) -> Card | None:
    zoo = resources.folder("nest")
    if isinstance(name, str) and name in names():
        return load_card(zoo / name)
    # os.path says no where Path raises: for a name too long for a file, or with a zero byte.
    path = Path(os.path.expanduser(name))
    if path.name == CARD_FILE and os.path.isfile(path):
        return load_card(path)
    if os.path.isfile(path / CARD_FILE):
        return load_card(path)
    from linnet.nest import families

    if families.is_checkpoint(path):
        return families.card_for_checkpoint(path, readable())
    if os.path.isdir(path):
        raise UnknownModelError(
            f"the folder {path.absolute()} has no {CARD_FILE} and no config.json",
            help="give a folder with a card or a checkpoint, or the name of a zoo entry; "
            "to load a checkpoint without config.json, name its model and pass the folder as "
            "checkpoint",
        )
    # An entry by its path in the project, from anywhere.
    folder, _, entry = str(name).strip("/").rpartition("/")
    return load_card(zoo / entry) if folder == "nest" and entry in names() else None


def _at_revision(card: Card, revision: str) -> Card:
    if card.weights.repo is None or card.has_own_weights or card.checkpoint is not None:
        raise UsageError(f"revision = {revision!r}: {card.name} does not come from a repository")
    return replace(card, weights=replace(card.weights, revision=revision, sha256=None))


def _unknown(name: str) -> UnknownModelError:
    short = name if len(name) <= 80 else name[:77] + "..."
    if os.path.isfile(name) and name.endswith(".linnet"):
        return UnknownModelError(
            f"{name} is a source file, not a model",
            help="linnet.compile in Python runs one, with sizes and weights; a model is a folder "
            "with a card or a checkpoint, or a name of `linnet nest list`",
        )
    if name.startswith((".", "/")):
        return UnknownModelError(
            f"there is no folder {short}",
            help="give a folder with a card or a checkpoint, or a name of `linnet nest list`",
        )
    return UnknownModelError(
        f"there is no model {short!r}{did_you_mean(name, names())}",
        help="`linnet nest list` shows all; a folder with a card or a checkpoint can be given by "
        "its path",
    )
