"""`linnet embed`: vectors of texts.

The vectors go to stdout, or with --npy into a file. Progress and figures go to stderr.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linnet.cli.inputs import lines, read
from linnet.cli.loading import card_for, load
from linnet.cli.options import (
    HELP,
    Text,
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
    import numpy as np
    from numpy.typing import NDArray


@click.command(context_settings=HELP, short_help="Turn texts into vectors with a model.")
@click.argument("model")
@click.argument("texts", nargs=-1, type=Text(), metavar="[TEXT]...")
@click.option("--file", "file", metavar="FILE", help="Take each line as a text; - is stdin.")
@click.option("--npy", "npy", metavar="OUT", help="Write an array [N, H] of f32 to this file.")
@option("--truncate", is_flag=True, help="Leave out what is too much of a text that is too long.")
@option("--batch-tokens", type=int, help="Compute as many tokens at once; 4096 if not given.")
@threads_option
@checkpoint_options
@target_options
@json_option
@common
@click.pass_obj
def embed(
    console: Console,
    /,
    model: str,
    texts: tuple[str, ...],
    file: str | None,
    npy: str | None,
    truncate: bool,
    batch_tokens: int | None,
    checkpoint: str | None,
    target: str,
    numerics: str,
    threads: int | None,
    offline: bool,
    as_json: bool,
) -> None:
    """Turn texts into vectors with MODEL: a name of the zoo, a folder with a card, or a checkpoint.

    The texts are the arguments, else the lines of --file, else those of stdin unless that is a
    terminal; an empty line is an empty text. For each there is one line of numbers, in their
    order; with --json one document, with --npy a file that numpy reads.
    """
    from linnet.nest.embed import BATCH_TOKENS

    most = BATCH_TOKENS if batch_tokens is None else batch_tokens
    _check(most, threads, npy, as_json)
    card = card_for(
        "embedding", model, hint="the model comes first, then the texts", offline=offline
    )
    asked = _texts(texts, file)
    with load(console, card, checkpoint, target, numerics, threads, offline) as loaded:
        begin = time.perf_counter()
        with console.progress(f"embedding {counted(len(asked), 'text')}"):
            vectors = loaded.embed(asked, truncate=truncate, batch_tokens=most)
        taken = time.perf_counter() - begin
        if npy is not None:
            _store(npy, vectors)
        elif as_json:
            console.line(_document(loaded.name, asked, vectors))
        else:
            for vector in vectors:
                console.line(" ".join(map(str, vector)))
    console.detail(f"{counted(len(asked), 'text')} in {taken:.2f} s")


def _check(batch_tokens: int, threads: int | None, npy: str | None, as_json: bool) -> None:
    """Refuse what no model could do, before anything is loaded."""
    from linnet.driver import checked_threads
    from linnet.nest.sampling import whole

    if npy is not None and as_json:
        raise click.UsageError("--npy and --json exclude each other")
    if npy is not None and not Path(npy).expanduser().absolute().parent.is_dir():
        raise click.UsageError(f"--npy {npy}: there is no such folder")
    with usage():
        whole("batch_tokens", batch_tokens, low=1)
        checked_threads(threads)


def _texts(texts: tuple[str, ...], file: str | None) -> Sequence[str]:
    if texts and file is not None:
        raise click.UsageError("texts and --file exclude each other")
    if texts:
        return texts
    text = read(file)
    if text is None:
        raise click.UsageError("there is no text: give some, or --file, or lines on stdin")
    return lines(text)


def _store(npy: str, vectors: NDArray[np.float32]) -> None:
    import numpy as np

    with Path(npy).expanduser().open("wb") as out:
        np.save(out, vectors)


def _document(name: str, texts: Sequence[str], vectors: NDArray[np.float32]) -> str:
    rows = [
        {"text": text, "embedding": [float(str(x)) for x in vector]}
        for text, vector in zip(texts, vectors, strict=True)
    ]
    return json.dumps(
        {"model": name, "dimensions": vectors.shape[1], "embeddings": rows}, ensure_ascii=False
    )
