"""The root of the command line: its commands, loaded on demand, and what becomes of errors.

In go arguments; every way a command can end becomes an exit status here, and nowhere else.
"""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from importlib import import_module
from typing import Any, NoReturn

import click

from linnet.cli import interrupt
from linnet.cli.options import HELP, common, show_version
from linnet.cli.terminal import STDOUT, Console
from linnet.errors import LinnetError, SourceError

# Each command is the function of its name in the module `linnet.cli.<name>_command`.
COMMANDS = {
    "init": "Begin a package of your own.",
    "generate": "Write text with a model.",
    "embed": "Turn texts into vectors with a model.",
    "classify": "Say what images show with a model.",
    "check": "Check sources without running them.",
    "fmt": "Format sources in the one style there is.",
    "lsp": "Serve an editor: the language server.",
    "compile": "Compile a model to C, an object file or a library.",
    "inspect": "Show the entries, parameters or Core IR of a model.",
    "explain": "Explain the plan of a model, or a diagnostic code.",
    "compare": "Find where a model and another stack part.",
    "bench": "Measure a model against the machine and other engines.",
    "profile": "Time the steps of an entry against their limits.",
    "nest": "List, show, check and add models of the zoo.",
    "doctor": "Say what this installation and this machine offer.",
}


class Root(click.Group):
    """The group of all commands."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"linnet.cli.{cmd_name}_command")
        command: click.Command = getattr(module, cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        # The inherited way knows only commands that are loaded, so has no nearest name.
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            from linnet.nest.nearest import did_you_mean

            hint = did_you_mean(args[0], COMMANDS)
            ctx.fail(f"there is no command {args[0]!r}{hint if '?' in hint else ''}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # Without loading the commands, as the inherited way would.
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        console: Console = ctx.obj
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            _end_line(console)
            raise click.exceptions.Exit(interrupt.status()) from None
        except BrokenPipeError:
            _let_go_of_stdout()
            raise click.exceptions.Exit(0) from None

    def main(self, *args: Any, **extra: Any) -> NoReturn:
        """Run a command line and exit with its status; see `linnet.cli` for their meaning."""
        console = Console()
        interrupt.on_stop(lambda: _end_line(console))
        extra.update(standalone_mode=False, obj=console)
        with contextlib.suppress(AttributeError, ValueError):
            # A character the terminal's encoding lacks is shown as "?" and stops nothing.
            sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: console.warning(str(message))
            try:
                status = super().main(*args, **extra)
            except Exception as error:
                status = report(error, console)
                if isinstance(error, OSError) and error.filename == STDOUT:
                    _let_go_of_stdout()
        sys.exit(status if isinstance(status, int) else 0)


# What click raises for a group without a command; older ones show the help by themselves.
_ASKS_FOR_HELP: type[click.UsageError] | tuple[()] = getattr(
    click.exceptions, "NoArgsIsHelpError", ()
)


def report(error: Exception, console: Console) -> int:
    """Say what went wrong, and give the exit status. Raises the error again if no user can have
    caused it."""
    if interrupt.came() or isinstance(error, click.Abort):
        _end_line(console)
        return interrupt.status()
    if isinstance(error, _ASKS_FOR_HELP) and error.ctx is not None:
        console.line(error.ctx.get_help())
        return 2
    match error:
        case click.UsageError():
            where = error.ctx.command_path if error.ctx else "linnet"
            console.error(_usage_text(error), f"`{where} --help` tells more")
            return 2
        case click.ClickException():
            console.error(_sentence(error.format_message()))
        case SourceError():
            report_source(error, console)
        case LinnetError():
            console.error(error.message, error.help)
        case MemoryError():
            console.error("there is not enough memory", "end other programs, or ask for less")
        case RecursionError():
            console.error("the input is nested too deeply")
        case OSError() if error.strerror:
            where = f"{os.fsdecode(error.filename)}: " if error.filename else ""
            console.error(f"{where}{error.strerror}")
        case _:
            raise error
    return 1


def report_source(error: SourceError, console: Console) -> None:
    """Draw the diagnostics of a source that does not check."""
    from linnet.cli.drawing import draw

    if error.diagnostics:
        draw(error.diagnostics, console)
    else:
        console.error(error.message, error.help)


def _usage_text(error: click.UsageError) -> str:
    """What is wrong with a command line; a bad value by the name it was given under, which is an
    option's main one or a variable."""
    bad, context = error, error.ctx
    if isinstance(bad, click.NoSuchOption) and context is not None:
        wanted = bad.option_name.lstrip("-")
        named = [p for p in context.command.params if isinstance(p, click.Argument)]
        if any(p.name == wanted for p in named):
            return f"there is no {bad.option_name}: give it as `{context.command_path} NAME`"
    if type(bad) is click.BadParameter and bad.param is not None and context is not None:
        name = next((o for o in bad.param.opts if o.startswith("--")), bad.param.opts[0])
        source = context.get_parameter_source(bad.param.name or "")
        if source is click.core.ParameterSource.ENVIRONMENT:
            name = str(bad.param.envvar)
        return f"{name}: {bad.message.strip().removesuffix('.')}"
    return _sentence(error.format_message())


def _sentence(text: str) -> str:
    """click's message as ours begin and end."""
    text = text.strip().removesuffix(".")
    return text[:1].lower() + text[1:]


def _end_line(console: Console) -> None:
    try:
        console.end_line()
    except BrokenPipeError:
        _let_go_of_stdout()


def _let_go_of_stdout() -> None:
    """Nobody reads: have what is still buffered go nowhere when the process ends."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


EPILOG = """\b
Exit codes: 0 done, 1 something is wrong with the input, 2 with the command line, 130 interrupted.
Variables: LINNET_CC or CC (the C compiler), LINNET_CC_TIMEOUT (seconds), LINNET_CACHE (a folder),
NO_COLOR, FORCE_COLOR; those of options stand in the help of each command."""


@click.command(cls=Root, context_settings=HELP, epilog=EPILOG)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=show_version,
    help="Show the version, the target and the compiler.",
)
@common
def cli() -> None:
    """Compile typed tensor programs and write text with the models of the zoo."""
