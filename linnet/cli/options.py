"""Options that several commands share, and how their values are read.

An option `--top-k` has the environment variable `LINNET_TOP_K`; the command line wins. Values
that are out of range are usage errors (exit 2), with the wording of the layer that owns the
rule: nothing here repeats a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from linnet.cli.terminal import Console
from linnet.errors import UsageError

HELP: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

F = TypeVar("F", bound=Callable[..., Any])


def option(*names: str, env: bool = True, **rest: Any) -> Callable[[F], F]:
    """A click option with its variable, named after the first long form."""
    if env:
        long = next(name for name in names if name.startswith("--"))
        rest["envvar"] = "LINNET_" + long.split("/")[0].removeprefix("--").upper().replace("-", "_")
        rest["show_envvar"] = True
    return click.option(*names, **rest)


class Text(click.ParamType[str]):
    """A text as it stands. From a variable it is one value, spaces and all."""

    name = "text"

    def split_envvar_value(self, rv: str) -> list[str]:
        return [rv]


class Assignment(click.ParamType[tuple[str, int | str]]):
    """`NAME=VALUE`, VALUE a whole number or, with `words`, also a word such as a dtype."""

    def __init__(self, *, words: bool) -> None:
        self.words = words
        self.name = "name=value" if words else "name=number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int | str]:
        if isinstance(value, tuple):
            return value
        name, equals, text = str(value).partition("=")
        name, text = name.strip(), text.strip()
        if not (name and equals and text):
            self.fail(f"{value!r} must be {self.name.upper()}, such as S=8", param, ctx)
        try:
            # Only plain digits: `int` would also take underscores and other scripts.
            if text.isascii() and text.isdigit():
                return name, int(text)
        except ValueError:
            self.fail(f"{name}: the number has too many digits", param, ctx)
        if self.words and text.isidentifier():
            return name, text
        what = "a whole number or a dtype" if self.words else "a whole number of at least 0"
        return self.fail(f"{value!r}: the value must be {what}", param, ctx)


class ConstantAssignment(click.ParamType[tuple[str, Any]]):
    """`NAME=VALUE`, VALUE a number, `true` or `false`, or the name of a variant."""

    name = "name=value"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, Any]:
        if isinstance(value, tuple):
            return value
        name, _, text = str(value).partition("=")
        name, text = name.strip(), text.strip()
        if not (name and text):
            self.fail(f"{value!r} must be NAME=VALUE, such as EPSILON=1e-6", param, ctx)
        if text in ("true", "false"):
            return name, text == "true"
        if text.isidentifier():
            return name, text
        for number in (int, float):
            try:
                return name, number(text)
            except ValueError:
                continue
        what = "a number, true or false, or the name of a variant"
        return self.fail(f"{value!r}: the value must be {what}", param, ctx)


def assignments(pairs: tuple[tuple[str, Any], ...], option_name: str) -> dict[str, Any]:
    """The pairs as a dictionary. Raises click.UsageError when a name is given two values."""
    result: dict[str, Any] = {}
    for name, value in pairs:
        if result.setdefault(name, value) != value:
            raise click.UsageError(f"{option_name} gives {name} two values")
    return result


@contextmanager
def usage() -> Iterator[None]:
    """Make a UsageError about the value of an option what click knows as one: exit 2. A message
    that begins with the name of a parameter begins with that of the option then."""
    try:
        yield
    except UsageError as error:
        context = click.get_current_context(silent=True)
        raise click.UsageError(_by_option(error.message, context), context) from None


def _by_option(message: str, context: click.Context | None) -> str:
    name, space, rest = message.partition(" ")
    for parameter in () if context is None else context.command.params:
        long = [opt for opt in parameter.opts if opt.startswith("--")]
        if name in {opt.removeprefix("--").replace("-", "_") for opt in long}:
            return f"{long[0]}{space}{rest}"
    return message


def common(function: F) -> F:
    """`--quiet` and `--verbose`, before or after the name of a command."""
    quiet = click.option(
        "-q",
        "--quiet",
        is_flag=True,
        expose_value=False,
        callback=_set_quiet,
        help="Say nothing but results and errors.",
    )
    verbose = click.option(
        "-v",
        "--verbose",
        is_flag=True,
        expose_value=False,
        callback=_set_verbose,
        help="Say more on stderr.",
    )
    return quiet(verbose(function))


def _set_quiet(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    console: Console = ctx.obj
    console.quiet = console.quiet or value


def _set_verbose(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    console: Console = ctx.obj
    console.verbose = console.verbose or value


def target_options(function: F) -> F:
    """`--target` and `--numerics`."""
    target = option(
        "--target",
        default="native",
        show_default=True,
        metavar="NAME",
        callback=_known_target,
        help="Instruction set: native, or one by name.",
    )
    numerics = option(
        "--numerics",
        default="equivalent",
        show_default=True,
        metavar="POLICY",
        callback=_known_policy,
        help="exact, equivalent or fast.",
    )
    return target(numerics(function))


def _known_target(ctx: click.Context, param: click.Parameter, value: str) -> str:
    from linnet.targets.detect import TARGET_NAMES

    if value not in ("native", *TARGET_NAMES):
        known = ", ".join(("native", *TARGET_NAMES))
        raise click.BadParameter(f"{value!r} is no target; there are {known}")
    return value


def _known_policy(ctx: click.Context, param: click.Parameter, value: str) -> str:
    from linnet.driver import POLICIES

    if value not in POLICIES:
        raise click.BadParameter(f"{value!r} is no policy; there are {', '.join(POLICIES)}")
    return value


def checkpoint_options(function: F) -> F:
    """`--checkpoint` and `--offline`."""
    checkpoint = option(
        "--checkpoint",
        metavar="DIR",
        help="Take the weights of this folder or safetensors file.",
    )
    offline = option("--offline", is_flag=True, help="Make no request over the network.")
    return checkpoint(offline(function))


def threads_option(function: F) -> F:
    """`--threads`."""
    return option(
        "-t",
        "--threads",
        type=int,
        help="Threads to compute with; what this process may use if not given.",
    )(function)


def json_option(function: F) -> F:
    """`--json`: one document on stdout in place of text."""
    return click.option(
        "--json", "as_json", is_flag=True, help="Write one JSON document to stdout."
    )(function)


def show_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    """Print what this is and what it runs on, and exit."""
    if not value or ctx.resilient_parsing:
        return
    from linnet.cli.doctor_command import versions

    console: Console = ctx.obj
    console.line(versions())
    ctx.exit()


def generics_options(function: F) -> F:
    """`--entry`, `--bind`, `--generic`, `--constant` and `--root`: what of a source, and for which
    sizes and values."""
    entry = click.option(
        "--entry",
        "entries",
        metavar="NAME",
        multiple=True,
        help="Take this entry only. May be repeated.",
    )
    bind = click.option(
        "--bind",
        type=Assignment(words=False),
        multiple=True,
        help="Fix a generic of the entries. May be repeated.",
    )
    generic = click.option(
        "--generic",
        "generics",
        type=Assignment(words=True),
        multiple=True,
        help="Give a generic of the root block a value. May be repeated.",
    )
    root = click.option("--root", metavar="NAME", help="The root block, if there are several.")
    return entry(bind(generic(constants_option(root(function)))))


def constants_option(function: F) -> F:
    """`--constant`."""
    return click.option(
        "--constant",
        "constants",
        type=ConstantAssignment(),
        multiple=True,
        help="Give a public constant of the source another value. May be repeated.",
    )(function)
