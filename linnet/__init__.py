"""Linnet: a compiler for typed tensor programs, and a zoo of models written in it.

    from linnet import nest                     a model of the zoo, with its weights
    import linnet; linnet.compile("own.linnet") a source of one's own

Importing this costs next to nothing: each name is brought in when it is first used.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as typing's, whose import takes longer than all that stands here
if TYPE_CHECKING:
    from typing import Any

    from linnet import nest
    from linnet.api import Program, Unit, compile
    from linnet.driver import VERSION as __version__
    from linnet.errors import (
        CacheError,
        CardError,
        CheckpointError,
        ConfigError,
        ConstantError,
        DTypeError,
        ImageError,
        LinnetError,
        ShapeError,
        SizeError,
        SourceError,
        ToolchainError,
        UnknownModelError,
        UsageError,
    )

__all__ = [
    "CacheError",
    "CardError",
    "CheckpointError",
    "ConfigError",
    "ConstantError",
    "DTypeError",
    "ImageError",
    "LinnetError",
    "Program",
    "ShapeError",
    "SizeError",
    "SourceError",
    "ToolchainError",
    "Unit",
    "UnknownModelError",
    "UsageError",
    "__version__",
    "compile",
    "nest",
]

_ELSEWHERE = {
    "Program": ("linnet.api", "Program"),
    "Unit": ("linnet.api", "Unit"),
    "__version__": ("linnet.driver", "VERSION"),
    "compile": ("linnet.api", "compile"),
}


def __getattr__(name: str) -> Any:
    # Reached only for a name that is not here yet; what it finds stays.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    if name == "nest":
        return import_module("linnet.nest")
    module, there = _ELSEWHERE.get(name, ("linnet.errors", name))
    value = getattr(import_module(module), there)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
