"""Config paths: where in a config.json a value stands, such as `rope_scaling.factor | factor`.

In goes their text from a card; out comes a `KeyPath` that is looked up in the object of a
config.json. Dots go into nested objects, ` | ` joins alternatives.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Found:
    """What a lookup gave: `key` is the alternative that counts, as people write it. A key that
    is not there and one that holds null both have the value None; `there` tells them apart."""

    key: str
    value: Any
    there: bool


@dataclass(frozen=True)
class KeyPath:
    """`text` as written, and its alternatives, each a list of keys from the outside in."""

    text: str
    alternatives: tuple[tuple[str, ...], ...]

    def look_up(self, values: Mapping[str, Any]) -> Found:
        """The first alternative that is there and not null; else the first that is there; else
        the path as a whole as not there."""
        found = [one for keys in self.alternatives if (one := _at(values, keys)) is not None]
        told = next((one for one in found if one.value is not None), None)
        return told or next(iter(found), Found(self.text, None, False))

    def obstacle(self, values: Mapping[str, Any]) -> Found | None:
        """A value on the way of an alternative that is neither null nor an object, so that
        nothing can stand below it; None where the ways are free."""
        for keys in self.alternatives:
            for end in range(1, len(keys)):
                found = _at(values, keys[:end])
                if found and found.value is not None and not isinstance(found.value, Mapping):
                    return found
        return None

    def put(self, values: MutableMapping[str, Any], value: Any) -> None:
        """Write `value` where the first alternative leads, with the objects on the way."""
        *way, last = self.alternatives[0]
        for key in way:
            values = values.setdefault(key, {})
        values[last] = value


def parse_keypath(text: str) -> KeyPath:
    """Read a config path. Raises ValueError when part of it is empty."""
    alternatives = tuple(tuple(part.strip().split(".")) for part in text.split("|"))
    if any(not key or key != key.strip() for keys in alternatives for key in keys):
        raise ValueError("it has an empty part")
    return KeyPath(text, alternatives)


def _at(values: Mapping[str, Any], keys: tuple[str, ...]) -> Found | None:
    """The value at the end of `keys`, or None where the way there ends early. A null on the way
    means that what would stand below is not there."""
    at: Any = values
    for key in keys:
        if not isinstance(at, Mapping) or key not in at:
            return None
        at = at[key]
    return Found(".".join(keys), at, True)
