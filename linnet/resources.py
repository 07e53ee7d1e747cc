"""The one place that knows where `stdlib/`, `nest/` and `codegen/` lie.

In a checkout they stand at the top of the repository; in an installed wheel they travel
inside the package, under `_data/`. Everything else asks `folder(name)`.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def folder(name: str) -> Path:
    """Return the folder `name` (`stdlib`, `nest` or `codegen`) of this installation.

    Raises FileNotFoundError when the installation is damaged.
    """
    for candidate in (_PACKAGE / "_data" / name, _PACKAGE.parent / name):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"this installation of linnet lacks its `{name}` folder")
