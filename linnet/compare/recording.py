"""What another stack computed: the tensors of its modules and of the functions they called.

A recording is a JSON document and a file of arrays in one folder. The worker of the other
interpreter writes it, we read it. Standard library only, numpy where arrays are touched: this is
imported under interpreters that have nothing else of ours.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

DOCUMENT, ARRAYS = "recording.json", "arrays.npz"
TAKEN, GAVE, FUNCTION = "in", "out", "function"


@dataclass(frozen=True)
class Event:
    """Tensors seen at one moment: what the `call`-th call of `module` took in or gave, or what a
    `function` gave that it called. `arrays` are keys of the arrays, in order."""

    module: str
    call: int
    what: str
    name: str
    arrays: tuple[str, ...]


@dataclass(frozen=True)
class Recording:
    """`title` says which stack it was; `parameters` are the full names of the model's own;
    `outputs` are what it gave in the end, by name; `events` stand in running order."""

    title: str
    parameters: tuple[str, ...]
    events: tuple[Event, ...]
    outputs: dict[str, str]
    arrays: dict[str, Any]

    def save(self, folder: Path) -> None:
        """Write both files."""
        import numpy as np

        document = {
            "title": self.title,
            "parameters": self.parameters,
            "events": [asdict(event) for event in self.events],
            "outputs": self.outputs,
        }
        (folder / DOCUMENT).write_text(json.dumps(document, indent=0), encoding="utf-8")
        np.savez_compressed(folder / ARRAYS, **self.arrays)

    @staticmethod
    def load(folder: Path) -> Recording:
        """Read what `save` wrote."""
        import numpy as np

        document = json.loads((folder / DOCUMENT).read_text(encoding="utf-8"))
        with np.load(folder / ARRAYS) as file:
            arrays = {name: file[name] for name in file.files}
        events = [Event(**{**e, "arrays": tuple(e["arrays"])}) for e in document["events"]]
        return Recording(
            document["title"],
            tuple(document["parameters"]),
            tuple(events),
            document["outputs"],
            arrays,
        )
