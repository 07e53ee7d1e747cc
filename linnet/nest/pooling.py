"""What sentence-transformers says beside a config.json: how vectors of tokens become one.

It writes `modules.json`, the steps of a model in their order, and for the step that pools a
config.json in a folder of its own. In goes the path of the checkpoint's config.json; out come
values to be read like its own, of which cards speak by config paths:

    sentence_transformers.modules    kinds of the steps: ["Transformer", "Pooling", "Normalize"]
    sentence_transformers.pooling    "mean", "cls", ...; several joined by ", "
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from linnet.errors import ConfigError
from linnet.nest.json_values import read_json, read_object

MODULES_FILE = "modules.json"
KEY = "sentence_transformers"
POOLING = "Pooling"

# Older files have a flag for each way to pool, in place of `pooling_mode`.
_FLAGS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}


def stated(config: Path) -> dict[str, Any]:
    """The values for the checkpoint whose config.json is `config`; none without a modules.json.

    Raises ConfigError when a file is malformed, or one that modules.json names is missing.
    """
    file = config.parent / MODULES_FILE
    if not file.is_file():
        return {}
    steps = _steps(file)
    values: dict[str, Any] = {"modules": [kind for kind, _ in steps]}
    for kind, folder in steps:
        if kind == POOLING:
            values["pooling"] = _pooling(config.parent / folder / "config.json")
    return {KEY: values}


def pooling_files(modules: Path) -> list[str]:
    """The files beside `modules` (a modules.json) that `stated` needs, by their names in the
    repository. Raises ConfigError for a malformed one."""
    return [f"{folder}/config.json" for kind, folder in _steps(modules) if kind == POOLING]


def _steps(file: Path) -> list[tuple[str, str]]:
    """Kind and folder of each step."""
    data = read_json(file)
    good = isinstance(data, list) and all(
        isinstance(step, Mapping)
        and isinstance(step.get("type"), str)
        and _inside(step.get("path", ""))
        for step in data
    )
    if not good:
        raise ConfigError(f"{file} must list the steps of a model, each with a `type` and a `path`")
    return [(step["type"].rpartition(".")[2], step.get("path", "")) for step in data]


def _inside(path: Any) -> bool:
    """Whether a path leads to no place outside of the checkpoint's folder."""
    if not isinstance(path, str):
        return False
    return not PurePosixPath(path).is_absolute() and ".." not in PurePosixPath(path).parts


def _pooling(file: Path) -> str:
    """How it pools, by its newer key or by the older flags; a mean where it says nothing."""
    data = read_object(file)
    mode = data.get("pooling_mode")
    if mode is None:
        mode = [way for flag, way in _FLAGS.items() if data.get(flag)] or "mean"
    return ", ".join(map(str, mode)) if isinstance(mode, list) else str(mode)
