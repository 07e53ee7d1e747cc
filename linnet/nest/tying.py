"""Tensors that may be another parameter's: output heads that are the table of tokens.

A card's `[weights.tied]` says of which parameter a tensor is a copy; `[config.tied]` which key of
config.json says whether it is. In go these with the names of a checkpoint's tensors; out come the
optional parameters that need not be bound, since the program has the same weights already.

- Where they are tied (or no key says), a stored copy must equal what it is a copy of.
- Where they are not, there must be a tensor.
- Without a config.json the checkpoint's tensors decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from linnet.artifact import Parameter
from linnet.errors import CheckpointError, ConfigError
from linnet.nest.card import Card
from linnet.nest.config import Config
from linnet.nest.json_values import shown


class Tensors(Protocol):
    """What is asked of an open checkpoint."""

    @property
    def names(self) -> tuple[str, ...]: ...
    def same(self, name: str, other: str) -> bool: ...


def spare_copies(
    card: Card,
    config: Config,
    manifest: tuple[Parameter, ...],
    names: Mapping[str, str],
    weights: Tensors,
    where: str,
) -> frozenset[str]:
    """The optional parameters whose tensor is a copy of another's. `names` maps paths to tensors;
    `where` names the checkpoint in messages.

    Raises CheckpointError for a copy that differs and for a tensor that is missing, ConfigError
    for a key that is neither true nor false."""
    there = set(weights.names)
    optional = {p.path for p in manifest if p.optional and not p.group}
    spare: set[str] = set()
    for tensor, path in (card.weights.tied or {}).items():
        own = names.get(path, path)
        tied, said = _is_tied(card, config, tensor)
        if tied is False and tensor not in there:
            raise CheckpointError(
                f"{where}: there is no `{tensor}`, and {said}, so it is not `{own}`",
                help="the checkpoint is not whole, or its config.json belongs to another one",
            )
        if tied is False or not {tensor, own} <= there:
            continue
        if weights.same(tensor, own):
            spare |= {p for p, name in names.items() if name == tensor and p in optional}
        elif tied:
            raise CheckpointError(
                f"{where}: `{tensor}` differs from `{own}`, and {said}",
                help="this checkpoint was trained with separate weights; it is another model",
            )
    return frozenset(spare)


def _is_tied(card: Card, config: Config, tensor: str) -> tuple[bool | None, str]:
    """Whether a tensor is a copy, None where the tensors themselves say it; and who says so."""
    source = card.config_tied.get(tensor)
    if source is None:
        return True, f"{card.name} takes both to be the same weights"
    if config.file is None:
        return None, ""
    found = source.key.look_up(config.values)
    value = source.default if found.value is None else found.value
    if not isinstance(value, bool):
        held = f"{found.key} = {shown(value)}" if found.there else f"{found.key} is not there"
        raise ConfigError(
            f"{config.file} does not fit {card.name}:\n  {held}, expected true or false "
            f"(whether `{tensor}` is that of `{(card.weights.tied or {})[tensor]}`)"
        )
    state = f"{found.key} = {shown(value)}"
    missing = "" if found.value is not None else ", which holds where it is not there,"
    return value, f"{state}{missing} in {config.file} says that they are " + (
        "the same weights" if value else "separate weights"
    )
