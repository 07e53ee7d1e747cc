"""`linnet nest bind`: proposing bindings for an entry, and writing them.

In go a card and perhaps a checkpoint; out comes the `Proposal` for the sizes that its config.json
gives. The checkpoint's header is read, no weight.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from linnet import driver
from linnet.errors import CardError
from linnet.nest.bindings import load_bindings
from linnet.nest.card import Card
from linnet.nest.config import Config, load_config
from linnet.nest.request import request_for
from linnet.nest.resolve import resolve
from linnet.nest.road.propose import Proposal, propose
from linnet.nest.settings import resolve_settings

FILE = "bindings.json"


def proposal_for(card: Card, checkpoint: str | None, *, fresh: bool = False) -> Proposal:
    """What the parameters of `card` could take from a checkpoint, by default from its own, as
    far as it is on this machine. `fresh` forgets what bindings.json says.

    Names are without the card's prefix, as bindings.json has them. Raises what reading the card,
    the source and the checkpoint raise.
    """
    from linnet.runtime.checkpoint import open_checkpoint

    files = resolve(card, checkpoint, offline=True)
    config = Config({}) if files.config is None else load_config(files.config)
    manifest = driver.manifest(request_for(card, resolve_settings(card, config)))
    given: Mapping[str, str] = {}
    if card.weights.bindings is not None and card.weights.bindings.is_file() and not fresh:
        given = load_bindings(card.weights.bindings).pairs
    with open_checkpoint(files.weights) as weights:
        prefix = _prefix(card, weights.names)
        tied = set(card.weights.tied or ())
        tensors = {
            name.removeprefix(prefix): info
            for name, info in weights.tensors.items()
            if name not in tied
        }
        return propose(manifest, tensors, given)


def _prefix(card: Card, names: tuple[str, ...]) -> str:
    """The prefix of the card that most tensors have, if most have one."""
    counts = {p: sum(n.startswith(p) for n in names) for p in card.weights.prefixes if p}
    best = max(counts, key=lambda p: counts[p], default="")
    return best if best and 2 * counts[best] > len(names) else ""


def write_bindings(card: Card, found: Proposal) -> Path:
    """Write the pairs to the entry's own bindings.json, at once or not at all; returns the file.

    Raises CardError where the card takes the bindings of another entry, or none.
    """
    file = card.weights.bindings
    if file is None:
        raise CardError(
            f"the card {card.file} names no bindings",
            help=f'add bindings = "{FILE}" under [weights]',
        )
    if file.resolve().parent != card.folder.resolve():
        raise CardError(
            f"{card.name} takes the bindings of another entry, {file}",
            help="write them by the name of that entry",
        )
    text = json.dumps(found.bindings, indent=2, ensure_ascii=False) + "\n"
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, file)
    return file
