"""Records that are made by the thousand.

A frozen dataclass sets every field through `object.__setattr__`, which makes it three times as
dear to build as a plain one. `frozen` makes a plain one with slots, and says to type checkers that
it is frozen; they hold everybody to it.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

_T = TypeVar("_T")


@dataclass_transform(eq_default=False, frozen_default=True)
def frozen(cls: type[_T]) -> type[_T]:
    """A dataclass compared by identity whose fields are set once."""
    return dataclass(eq=False, slots=True)(cls)


@dataclass_transform(eq_default=True, frozen_default=True)
def frozen_value(cls: type[_T]) -> type[_T]:
    """A dataclass compared by its fields, which are set once."""
    return dataclass(unsafe_hash=True, slots=True)(cls)


@contextmanager
def no_collection() -> Iterator[None]:
    """Trees are all alive while they grow: looking for garbage among them finds none, and takes a
    third of the time of building them."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
