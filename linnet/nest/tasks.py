"""What a model is for: the task its card names, and what each task offers.

A task has a method of `Model`, a command of the same name, and the entries of the source that it
calls. What the method does stands in a module of its own (`nest.generate`, `nest.embed`, ...).
Here is decided whether a model has a task; whoever lacks it says so in the same words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from linnet.artifact import Entry
from linnet.errors import UsageError
from linnet.nest.card import Card


@dataclass(frozen=True)
class Task:
    """`name` is what cards call it; `does` completes "the model cannot ..."; `method` is a method
    of `Model` and a command; `entries` are those it calls, with their parameters."""

    name: str
    does: str
    method: str
    entries: Mapping[str, tuple[str, ...]]


GENERATION = Task(
    "text-generation",
    "write text",
    "generate",
    {"prefill": ("tokens", "pos"), "decode": ("token", "pos")},
)
EMBEDDING = Task("embedding", "make embeddings", "embed", {"embed": ("tokens", "kinds", "lengths")})
CLASSIFICATION = Task(
    "image-classification", "classify images", "classify", {"classify": ("pixels",)}
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
    there = [entries.get(name) for name in task.entries]
    wanted = [len(parameters) for parameters in task.entries.values()]
    if [None if entry is None else len(entry.inputs) for entry in there] != wanted:
        heads = [f"{name}({', '.join(names)})" for name, names in task.entries.items()]
        word = "entry" if len(heads) == 1 else "entries"
        raise UsageError(
            f"{card.name} cannot {task.does}: that takes the {word} {' and '.join(heads)}, and "
            f"its entries are: {', '.join(entries) or 'none'}"
        )
