"""Everything a user can get wrong, as one small family of exceptions.

The message of each says what is wrong, where, and what to do. The command line
prints it without a traceback and exits 1 (2 for `UsageError`).

    LinnetError
    ├── UsageError         an argument of a call or of the command line (a ValueError too)
    │   └── ConstantError  a value for a constant of a source that the source cannot take
    ├── SourceError        a `.linnet` file with diagnostics; carries them
    ├── ShapeError         actual sizes break a dimension, a `where` clause or a value range
    │   └── SizeError      generics break a `where` clause of the root block
    ├── DTypeError         an array of another element type than declared
    ├── CheckpointError    a weight file that is missing, damaged or does not fit
    ├── ImageError         an image that is missing, damaged or of a kind that cannot be read
    ├── ConfigError        config.json contradicts what the source relies on
    ├── CardError          nest.toml, bindings.json or their neighbours are malformed
    ├── UnknownModelError  no zoo entry of that name
    ├── ToolchainError     no C compiler, or it failed, or it hung
    └── CacheError         the compile cache cannot be used
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class LinnetError(Exception):
    """Base of all errors a user can cause. `help` is the edit or the step to take, if known."""

    def __init__(self, message: str, *, help: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.help = help

    def __str__(self) -> str:
        return self.message if self.help is None else f"{self.message}\nhelp: {self.help}"


class UsageError(LinnetError, ValueError):
    """An argument out of its range or of the wrong kind; names the argument and its value."""


class ConstantError(UsageError):
    """A value given for a constant that the source does not have, or that cannot have it."""

    def __init__(self, constant: str, message: str) -> None:
        super().__init__(f"constants: {message}")
        self.constant = constant


class SourceError(LinnetError):
    """A program that does not check. `diagnostics` holds `linnet.diag.Diagnostic` objects."""

    def __init__(self, message: str, diagnostics: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.diagnostics = tuple(diagnostics)


class ShapeError(LinnetError):
    """Actual sizes or index values that the program's declarations rule out."""


class SizeError(ShapeError):
    """Values of generics that break a `where` item of the block; `generics` are those in it."""

    def __init__(self, place: str, fact: str, block: str, generics: Mapping[str, int]) -> None:
        shown = ", ".join(f"{name} = {value}" for name, value in generics.items())
        super().__init__(
            f"{place}: {fact} for {block} with {shown}",
            help="bind the generics to sizes that satisfy it",
        )
        self.place = place
        self.fact = fact
        self.generics = generics


class DTypeError(LinnetError):
    """An array whose element type cannot stand for the declared one."""


class CheckpointError(LinnetError):
    """A checkpoint that is missing, damaged, or does not hold what the program needs."""


class ImageError(LinnetError):
    """An image that is missing, damaged, or of a kind or size that cannot be taken."""


class ConfigError(LinnetError):
    """A `config.json` that contradicts what the source relies on."""


class CardError(LinnetError):
    """A card or one of its companion files that is malformed."""


class UnknownModelError(LinnetError):
    """A name that means no model, or a checkpoint of a family that the zoo does not have."""


class ToolchainError(LinnetError):
    """No usable C compiler, or one that failed or hung."""


class CacheError(LinnetError):
    """The compile cache cannot be read or written."""
