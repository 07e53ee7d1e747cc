"""`linnet classify`: what images show.

The classes go to stdout and nothing else does. Progress and figures go to stderr.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from linnet.cli.loading import card_for, load
from linnet.cli.options import (
    HELP,
    checkpoint_options,
    common,
    json_option,
    option,
    target_options,
    threads_option,
    usage,
)
from linnet.cli.terminal import Console, counted

if TYPE_CHECKING:
    from linnet.nest.classify import Guess


@click.command(context_settings=HELP, short_help="Say what images show with a model.")
@click.argument("model")
@click.argument("images", nargs=-1, required=True, metavar="IMAGE...")
@option("--top", type=int, help="Show so many of the likeliest classes; 5 if not given.")
@threads_option
@checkpoint_options
@target_options
@json_option
@common
@click.pass_obj
def classify(
    console: Console,
    /,
    model: str,
    images: tuple[str, ...],
    top: int | None,
    checkpoint: str | None,
    target: str,
    numerics: str,
    threads: int | None,
    offline: bool,
    as_json: bool,
) -> None:
    """Say what images show with MODEL: a name of the zoo, a folder or a repository.

    For each image its likeliest classes, a line each: how likely it is, from 0 to 1, and its name.
    Of several images each has its file above them. Needs Pillow.
    """
    from linnet.nest.classify import DEFAULT_TOP

    count = DEFAULT_TOP if top is None else top
    hint = "the model comes first, then the images"
    card = card_for("image-classification", model, hint=hint, offline=offline)
    _check(images, count, threads)
    with load(console, card, checkpoint, target, numerics, threads, offline) as loaded:
        begin = time.perf_counter()
        with console.progress(f"looking at {counted(len(images), 'image')}"):
            found = loaded.classify(list(images), top=count)
        taken = time.perf_counter() - begin
        if as_json:
            console.line(_document(loaded.name, images, found))
        else:
            _write(console, images, found)
    console.detail(f"{counted(len(images), 'image')} in {taken:.2f} s")


def _check(images: Sequence[str], top: int, threads: int | None) -> None:
    """Refuse what no model could do, before anything is loaded."""
    from linnet.driver import checked_threads
    from linnet.nest.image import check_files
    from linnet.nest.sampling import whole

    with usage():
        whole("top", top, low=1)
        checked_threads(threads)
    check_files(images)


def _write(console: Console, images: Sequence[str], found: Sequence[Sequence[Guess]]) -> None:
    indent = "  " if len(images) > 1 else ""
    for image, guesses in zip(images, found, strict=True):
        if indent:
            console.line(image)
        for guess in guesses:
            console.line(f"{indent}{guess.score:.4f}  {guess.label}")


def _document(name: str, images: Sequence[str], found: Sequence[Sequence[Guess]]) -> str:
    rows = [
        {"image": image, "classes": [guess._asdict() for guess in guesses]}
        for image, guesses in zip(images, found, strict=True)
    ]
    return json.dumps({"model": name, "images": rows}, indent=2, ensure_ascii=False)
