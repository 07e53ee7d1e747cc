"""What a model is for: the task its card names, and what each task offers.

A task has a method of `Model`, a command of the same name, and entries that a source for it has.
What the method does stands in a module of its own (`nest.generate`, `nest.embed`, ...). Here is
decided whether a model has a task; whoever lacks it says so in the same words. Whether a source has
all entries, with types as they should be, is a question of reviews (`nest.road.entries`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from linnet.artifact import Entry
from linnet.errors import UsageError
from linnet.nest.card import Card


@dataclass(frozen=True)
class Head:
    """The inputs of an entry: name, dtype and number of axes of each, and the axes of what it
    gives in some float."""

    inputs: tuple[tuple[str, str, int], ...]
    result: int

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _, _ in self.inputs)

    def __str__(self) -> str:
        inputs = ", ".join(f"{name}: {_shown(dtype, rank)}" for name, dtype, rank in self.inputs)
        return f"({inputs}) -> {_shown('a float', self.result)}"


def _shown(dtype: str, rank: int) -> str:
    return f"{dtype} with {rank} axes" if rank > 1 else f"{dtype} with 1 axis" if rank else dtype


@dataclass(frozen=True)
class Task:
    """`name` is what cards call it; `does` completes "the model cannot ..."; `method` is a method
    of `Model` and a command, and calls the entries `called`; `entries` are all that a source for
    the task has, the first of them that for comparisons."""

    name: str
    does: str
    method: str
    called: tuple[str, ...]
    entries: Mapping[str, Head]


_TOKENS = ("tokens", "i32", 2)

GENERATION = Task(
    "text-generation",
    "write text",
    "generate",
    ("prefill", "decode"),
    {
        "forward": Head((_TOKENS,), 3),
        "decode": Head((("token", "i32", 2), ("pos", "i32", 0)), 2),
        "prefill": Head((_TOKENS, ("pos", "i32", 0)), 2),
        "decode_rows": Head((_TOKENS, ("positions", "i32", 1)), 2),
        "prefill_slots": Head((_TOKENS, ("slots", "i32", 1), ("lengths", "i32", 1)), 2),
    },
)
EMBEDDING = Task(
    "embedding",
    "make embeddings",
    "embed",
    ("embed",),
    {"embed": Head((_TOKENS, ("kinds", "i32", 2), ("lengths", "i32", 1)), 2)},
)
CLASSIFICATION = Task(
    "image-classification",
    "classify images",
    "classify",
    ("classify",),
    {"classify": Head((("pixels", "f32", 4),), 2)},
)
TASKS = {task.name: task for task in (GENERATION, EMBEDDING, CLASSIFICATION)}


def check_card(task: Task, card: Card) -> None:
    """Raise UsageError for a card that names another task. One that names none may have any."""
    stated = card.about.task
    if stated is None or stated == task.name:
        return
    other = TASKS[stated]
    raise UsageError(
        f'{card.name} cannot {task.does}: its card says task = "{stated}"',
        help=f"it can {other.does}: `linnet {other.method}`, or `{other.method}` in Python",
    )


def check(task: Task, card: Card, entries: Mapping[str, Entry]) -> None:
    """Raise UsageError unless a model with this card and these entries has the task."""
    check_card(task, card)
    there = [entries.get(name) for name in task.called]
    wanted = [len(task.entries[name].inputs) for name in task.called]
    if [None if entry is None else len(entry.inputs) for entry in there] != wanted:
        heads = [f"{name}({', '.join(task.entries[name].names)})" for name in task.called]
        word = "entry" if len(heads) == 1 else "entries"
        raise UsageError(
            f"{card.name} cannot {task.does}: that takes the {word} {' and '.join(heads)}, and "
            f"its entries are: {', '.join(entries) or 'none'}"
        )
