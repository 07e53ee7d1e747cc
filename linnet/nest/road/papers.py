"""The files of an entry that people read: README.md and bench.json, and what is wrong with them.

Each function gives sentences about one file; none means it is as it should be.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from linnet.nest.nearest import did_you_mean

SECTIONS: dict[str, tuple[str, ...]] = {
    "Use": ("use", "usage"),
    "Files and where they come from": ("files", "where", "weights", "provenance"),
    "Limits": ("limit",),
}
"""The sections a README must have, and how the heading of each may begin."""

BENCH_KEYS: dict[str, tuple[type, ...]] = {
    "date": (str, type(None)),
    "environment": (dict, type(None)),
    "workload": (dict, type(None)),
    "weights": (str, type(None)),
    "method": (str, type(None)),
    "limits": (dict, type(None)),
    "methods": (list,),
    "reference": (str, type(None)),
}
METHOD_KEYS: dict[str, tuple[type, ...]] = {
    "method": (str,),
    "kind": (str,),
    "key": (str,),
    "metrics": (dict,),
    "max_abs_diff": (int, float, type(None)),
    "notes": (str, type(None)),
    "error": (str, type(None)),
}
_METHOD_REQUIRED = ("method", "kind", "metrics")


def headings(text: str) -> list[str]:
    """The headings of a page, outside of its code blocks."""
    plain = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return [h.strip() for h in re.findall(r"^#{1,6}\s+(.+)$", plain, flags=re.MULTILINE)]


def readme_problems(file: Path) -> Iterator[str]:
    """Raises OSError for a file that cannot be read."""
    text = file.read_text(encoding="utf-8", errors="replace")
    found = headings(text)
    if not re.match(r"\s*# \S", text):
        yield "it does not begin with a title (`# …`)"
    for title, words in SECTIONS.items():
        if not any(heading.lower().startswith(words) for heading in found):
            yield f"there is no section `## {title}`"
    if "licen" not in text.lower():
        yield "it does not say under which licence the files are"


def bench_problems(file: Path) -> Iterator[str]:
    """An empty object is one that was not measured yet. Raises OSError as above."""
    try:
        data = json.loads(file.read_bytes())
    except (ValueError, RecursionError) as error:
        yield f"it is not valid JSON: {error}"
        return
    if not isinstance(data, dict):
        yield "it must hold one JSON object"
    elif data:
        yield from _wrong_keys(data, BENCH_KEYS, ("methods",), "")
        methods = data.get("methods")
        for number, method in enumerate(methods if isinstance(methods, list) else (), 1):
            where = f"method {number} "
            if not isinstance(method, dict):
                yield f"{where}must be an object"
                continue
            yield from _wrong_keys(method, METHOD_KEYS, _METHOD_REQUIRED, where)
            metrics = method.get("metrics")
            for name, value in metrics.items() if isinstance(metrics, dict) else ():
                if isinstance(value, bool) or not isinstance(value, int | float | None):
                    yield f"{where}has the metric {name} = {value!r}, which is no number"


def _wrong_keys(
    data: dict[str, Any],
    keys: dict[str, tuple[type, ...]],
    required: tuple[str, ...],
    where: str,
) -> Iterator[str]:
    for key in required:
        if key not in data:
            yield f"{where}lacks {key!r}"
    for key, value in data.items():
        if key not in keys:
            yield f"{where}has an unknown key {key!r}{did_you_mean(key, keys)}"
        elif not isinstance(value, keys[key]) or isinstance(value, bool):
            yield f"{where}has {key} = {json.dumps(value)[:60]}, which has the wrong type"
