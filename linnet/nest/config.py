"""`config.json` of a checkpoint as it stands, and the ids that end a text.

In goes a file; out comes a `Config`. What its values mean for a card is said by `nest.settings`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linnet.errors import ConfigError
from linnet.nest import pooling
from linnet.nest.card import Card
from linnet.nest.json_values import is_size, read_object, shown


@dataclass(frozen=True)
class Config:
    """A config.json as it stands. `file` is None for a checkpoint that has none."""

    values: Mapping[str, Any]
    file: Path | None = None


def load_config(file: Path) -> Config:
    """Read a config.json, and with it what lies beside it about the model (`nest.pooling`).
    Raises ConfigError when it is no JSON object."""
    return Config(read_object(file) | pooling.stated(file), file)


def end_of_text_ids(
    card: Card, config: Config, generation: Config | None, vocabulary: int | None = None
) -> tuple[int, ...]:
    """The ids that end a text: generation_config.json's, else config.json's, else the card's.

    Raises ConfigError when a file gives something else than an id or a list of ids, or an id
    beyond `vocabulary`. The card's own id is let through: files of cut-down models repeat it,
    and it merely never comes.
    """
    usual = None if card.text is None else card.text.end_of_text_id
    given = [_ids_of(s, vocabulary, usual) for s in (generation, config) if s is not None]
    return next((ids for ids in given if ids is not None), () if usual is None else (usual,))


def _ids_of(source: Config, vocabulary: int | None, usual: int | None) -> tuple[int, ...] | None:
    """What one file says about the end of a text; None if nothing."""
    value = source.values.get("eos_token_id")
    if value is None:
        return None
    ids = value if isinstance(value, list) else [value]
    title = f"{source.file}: eos_token_id = {shown(value)}"
    if not all(is_size(item) for item in ids):
        raise ConfigError(f"{title} must be an id or a list of ids")
    if vocabulary is not None and any(i >= vocabulary and i != usual for i in ids):
        raise ConfigError(f"{title} is out of range: this model has {vocabulary} ids")
    return tuple(ids)
