"""Conversions of checkpoints into the formats of other engines.

What a family's weights mean to another engine is no business of the product: a conversion is a
module of its own, `bench/peers/<model_type>/<engine>.py` in a checkout, found by the model_type in
config.json. An installed wheel has none, and says so. Engines stay generic around them.
"""

from __future__ import annotations

import json
import re
import sys
from importlib import import_module, util
from pathlib import Path
from types import ModuleType

from linnet.bench.engine import NotForThisModelError

PACKAGE = Path(__file__).resolve().parents[1]


def model_type(checkpoint: str) -> str:
    """What the checkpoint's config.json says it is. Raises NotForThisModelError."""
    try:
        config = json.loads((Path(checkpoint) / "config.json").read_text(encoding="utf-8"))
        kind = config.get("model_type")
    except (OSError, ValueError, AttributeError):
        kind = None
    if not isinstance(kind, str):
        raise NotForThisModelError("config.json does not say what model this is")
    return kind


def conversion(checkpoint: str, engine: str) -> ModuleType:
    """The module that converts this kind of checkpoint for an engine, named like the engine's
    own module. Raises NotForThisModelError where there is none."""
    kind = model_type(checkpoint)
    folder = _folder(kind)
    if folder is None or not (folder / f"{engine}.py").is_file():
        raise NotForThisModelError(f"there is no conversion of {kind} for it here")
    name = f"linnet_peers_{kind.replace('-', '_')}"
    if name not in sys.modules:
        spec = util.spec_from_file_location(
            name, folder / "__init__.py", submodule_search_locations=[str(folder)]
        )
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return import_module(f"{name}.{engine}")


def _folder(kind: str) -> Path | None:
    """Where the conversions of a kind of model are: in a checkout only."""
    if (PACKAGE / "_data").exists() or not re.fullmatch(r"\w[\w-]*", kind):
        return None
    folder = PACKAGE.parent / "bench" / "peers" / kind
    return folder if (folder / "__init__.py").is_file() else None
