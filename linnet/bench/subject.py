"""What is measured: a model of the zoo with the files of a checkpoint, as data.

In go a name (or a card) and perhaps a checkpoint; out come the driver's request, the names of
tensors, and the sizes a workload needs. Where no checkpoint is on this machine there are random
weights of the right shapes (`weights`). Nothing is compiled here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from linnet import driver
from linnet.errors import CheckpointError, UsageError
from linnet.nest import registry
from linnet.nest.bindings import load_bindings, tensor_names
from linnet.nest.card import Card, Generic
from linnet.nest.config import Config, load_config
from linnet.nest.request import request_for
from linnet.nest.resolve import Checkpoint, resolve
from linnet.nest.settings import Settings, resolve_settings

if TYPE_CHECKING:
    from linnet.runtime.bind import Binding
    from linnet.runtime.checkpoint import Checkpoint as Weights

ROWS = "Batch"
"""The generic that counts the rows kept between calls, as entries for serving name it."""


@dataclass(frozen=True)
class Subject:
    """A card, the checkpoint's files (None when there are none), and the values they give."""

    card: Card
    files: Checkpoint | None
    settings: Settings
    is_random: bool = False

    @staticmethod
    def find(name: str | Path, checkpoint: str | Path | None = None) -> Subject:
        """Find a model, without the network. Raises UnknownModelError, CardError, ConfigError;
        CheckpointError for a `checkpoint` that is not there."""
        card = registry.find(name)
        files = _files(card, checkpoint)
        config = load_config(files.config) if files and files.config else Config({})
        return Subject(card, files, resolve_settings(card, config))

    @property
    def generics(self) -> Mapping[str, Generic]:
        return self.settings.generics

    def request(self, rows: int = 1) -> driver.Request:
        """The request to compile it, for a number of rows kept between calls."""
        generics = dict(self.generics)
        # Models with another task keep nothing; their entries take as many rows as come.
        if rows != 1 and self.card.about.task in (None, "text-generation"):
            generics[ROWS] = rows
        return request_for(self.card, dataclasses.replace(self.settings, generics=generics))

    def names(self, available: Iterable[str] = ()) -> dict[str, str]:
        """The tensor name of each parameter, with the prefix that fits the names `available`."""
        card = self.card
        bindings = None if card.weights.bindings is None else load_bindings(card.weights.bindings)
        paths = [parameter.path for parameter in driver.manifest(self.request())]
        return tensor_names(bindings, paths, available, card.weights.prefixes)

    def opened(self, rows: int = 1) -> Opened:
        """The weights with the request that they lead to. Raises CheckpointError."""
        from linnet.runtime.bind import bind
        from linnet.runtime.checkpoint import open_checkpoint

        assert self.files is not None
        request = self.request(rows)
        manifest = driver.manifest(request)
        source = open_checkpoint(self.files.weights)
        where = str(self.files.weights)
        binding = bind(manifest, source.tensors, self.names(source.names), where)
        halves = driver.stored_halves(manifest, binding, source)
        request = dataclasses.replace(request, absent=binding.absent, stored=halves)
        return Opened(request, source, binding)

    @property
    def vocabulary(self) -> int:
        """How many token ids there are. Raises UsageError for a model that writes no text."""
        text = self.card.text
        size = self.generics.get(text.vocabulary) if text and text.vocabulary else None
        if not isinstance(size, int):
            raise UsageError(
                f"{self.card.name} cannot be measured: its card does not say how many token ids "
                "there are",
                help="give `vocabulary` under [text] in nest.toml",
            )
        return size

    @property
    def context(self) -> int:
        """The longest text, in tokens. Raises UsageError as `vocabulary`."""
        names = self.card.text.context if self.card.text else ()
        sizes = [size for n in names if isinstance(size := self.generics.get(n), int)]
        if not sizes:
            raise UsageError(
                f"{self.card.name} cannot be measured: its card does not say how long a text "
                "may be",
                help="give `context` under [text] in nest.toml",
            )
        return min(sizes)


@dataclass(frozen=True)
class Opened:
    """What is compiled for the weights of a checkpoint, the weights, and which is which."""

    request: driver.Request
    source: Weights
    binding: Binding


def _files(card: Card, checkpoint: str | Path | None) -> Checkpoint | None:
    """The files asked for, or those on this machine, or None."""
    if checkpoint is not None:
        return resolve(card, checkpoint)
    try:
        return resolve(card, offline=True)
    except CheckpointError:
        return None
