"""The zoo: finding a model by name, loading it, and writing text with it.

    from linnet import nest

    with nest.load("finch") as model:
        for piece in model.stream("Once upon a time", max_new_tokens=40):
            print(piece, end="")

A checkpoint of a family that the zoo has needs no name: `nest.load("folder")`, or
`nest.load("owner/name")` for a repository. `nest.list()` names the entries, `nest.show(name)`
gives the card of one. Importing this is cheap: numpy, the compiler, tokenizers and the hub are
imported when they are first needed.
"""

from __future__ import annotations

from linnet.nest.card import Card
from linnet.nest.classify import Guess
from linnet.nest.generate import Completion
from linnet.nest.loader import load
from linnet.nest.model import Model
from linnet.nest.registry import find as show
from linnet.nest.registry import names as list

__all__ = ["Card", "Completion", "Guess", "Model", "list", "load", "show"]
