"""Plain values, as JSON files give them: read, recognised, and shown in messages.

TOML gives the same kinds. What a value means, and whether it may stand where it does, is for
others to say.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from linnet.errors import ConfigError


def read_json(file: Path) -> Any:
    """Raises ConfigError for a file that cannot be read or is no JSON."""
    try:
        return json.loads(file.read_bytes())
    except OSError as error:
        raise ConfigError(f"cannot read {file}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file} is not valid JSON: {error}") from error


def read_object(file: Path) -> dict[str, Any]:
    """As `read_json`, for a file that must hold one object."""
    data = read_json(file)
    if not isinstance(data, dict):
        raise ConfigError(f"{file} must hold one JSON object, not {shown(data)[:60]}")
    return data


def is_size(value: Any) -> bool:
    """Whether a value is an integer that is not negative."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_number(value: Any) -> bool:
    """Whether a value is a number, finite as an f64; true and false are none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= sys.float_info.max  # false for NaN


def shown(value: Any) -> str:
    """A value for messages, cut short."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:77] + "..."
