"""`linnet generate`: text from a model, as it comes.

The text goes to stdout and nothing else does. The seed, progress and figures go to stderr.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from linnet.cli.inputs import read, without_last_newline
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
from linnet.errors import UsageError

if TYPE_CHECKING:
    from linnet.nest.generate import TextStream


@click.command(
    context_settings={**HELP, "allow_extra_args": True}, short_help="Write text with a model."
)
@click.argument("model", required=False)
@click.option("-p", "--prompt", type=Text(), help="Write on from this text.")
@click.option("--file", "file", metavar="FILE", help="Read the prompt from a file; - is stdin.")
@option(
    "-n",
    "--max-tokens",
    "--max-new-tokens",
    "--n-predict",
    type=int,
    help="How many tokens to write at most; 64 if not given.",
)
@option(
    "--temp",
    "--temperature",
    type=float,
    help="0, the default, is greedy; above 0 tokens are drawn.",
)
@option("--top-k", type=int, help="Draw from the k likeliest; 0 is off.")
@option("--top-p", type=float, help="Draw from the fewest that reach this probability; 1 is off.")
@option("--min-p", type=float, help="Draw from those this likely against the best; 0 is off.")
@option(
    "--repeat-penalty",
    "--repetition-penalty",
    type=float,
    help="Make tokens of the prompt and the text less likely; 1 is off.",
)
@option("-s", "--seed", type=int, help="Seed of the draws; a random one is used and reported.")
@option("--stop", type=Text(), multiple=True, help="End before this text. May be repeated.")
@option("--ignore-eos", is_flag=True, help="Do not end at the end-of-text token.")
@click.option("--echo", is_flag=True, help="Write the prompt before the text.")
@threads_option
@checkpoint_options
@target_options
@json_option
@common
@click.pass_obj
def generate(
    console: Console,
    /,
    model: str | None,
    prompt: str | None,
    file: str | None,
    echo: bool,
    checkpoint: str | None,
    target: str,
    numerics: str,
    threads: int | None,
    offline: bool,
    as_json: bool,
    max_tokens: int | None,
    stop: tuple[str, ...],
    ignore_eos: bool,
    **sampling: Any,
) -> None:
    """Write text with MODEL: a name of the zoo, a folder with a card, or a checkpoint.

    Without MODEL it is the one that came with the installation. The prompt is --prompt, else
    --file, else stdin unless that is a terminal; of a file and of stdin one final newline is
    left out. An empty prompt starts from the token that begins a text, or else from the one that
    ends one. The text also ends where the model's positions do.
    """
    if extra := click.get_current_context().args:
        raise click.UsageError(f"unexpected {extra[0]!r}: a prompt is given by --prompt")
    parameters = _parameters(sampling, max_tokens, stop, ignore_eos)
    _check(parameters, threads)
    card = card_for("text-generation", model, hint="a prompt is given by --prompt", offline=offline)
    text = _prompt(prompt, file)
    with load(console, card, checkpoint, target, numerics, threads, offline) as loaded:
        stream = loaded.stream(text, **parameters)
        seed = stream.completion.seed
        if seed is not None:
            console.note(f"seed: {seed}")
        _write(console, stream, loaded.name, text if echo else "", as_json)


_NAMES = {"temp": "temperature", "repeat_penalty": "repetition_penalty"}


def _parameters(
    sampling: dict[str, Any], max_tokens: int | None, stop: tuple[str, ...], ignore_eos: bool
) -> dict[str, Any]:
    """The options under the names of `Model.stream`."""
    named = {_NAMES.get(name, name): value for name, value in sampling.items()}
    return {**named, "max_new_tokens": max_tokens, "stop": stop, "ignore_eos": ignore_eos}


def _check(parameters: dict[str, Any], threads: int | None) -> None:
    """Refuse values that no model could take, before anything is loaded."""
    from linnet.driver import checked_threads
    from linnet.nest.sampling import Sampling, whole

    names = Sampling.checked.__kwdefaults__ or {}
    with usage():
        Sampling.checked(**{name: parameters[name] for name in names if name in parameters})
        if parameters["max_new_tokens"] is not None:
            whole("max_tokens", parameters["max_new_tokens"])
        if "" in parameters["stop"]:
            raise UsageError("--stop '': an empty text would stop at once")
        checked_threads(threads)


def _prompt(prompt: str | None, file: str | None) -> str:
    if prompt is not None and file is not None:
        raise click.UsageError("--prompt and --file exclude each other")
    return prompt if prompt is not None else without_last_newline(read(file) or "")


def _write(console: Console, stream: TextStream, name: str, echoed: str, as_json: bool) -> None:
    """Stream the text, or gather it into a document. An interrupt still gives what is there."""
    try:
        if not as_json:
            console.out(echoed)
        for piece in stream:
            if not as_json:
                console.out(piece)
    except KeyboardInterrupt:
        if as_json:
            console.line(_document(stream, name))
        raise
    if as_json:
        console.line(_document(stream, name))
    console.end_line()
    done = stream.completion
    console.detail(
        f"{counted(done.usage.prompt_tokens, 'prompt token')} in {done.timings.prefill:.2f} s, "
        f"{counted(done.usage.completion_tokens, 'token')} at "
        f"{done.timings.tokens_per_second(done.usage.completion_tokens):.1f} a second, "
        f"ended by {done.finish_reason}"
    )


def _document(stream: TextStream, name: str) -> str:
    done = stream.completion
    document = {
        "model": name,
        "text": done.text,
        "token_ids": list(done.token_ids),
        "finish_reason": done.finish_reason,
        "seed": done.seed,
        "usage": {
            "prompt_tokens": done.usage.prompt_tokens,
            "completion_tokens": done.usage.completion_tokens,
            "total_tokens": done.usage.total_tokens,
        },
        "timings": {"prefill_s": done.timings.prefill, "decode_s": done.timings.decode},
    }
    return json.dumps(document, indent=2, ensure_ascii=False)
