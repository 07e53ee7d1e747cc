"""`linnet fmt`: sources in the house style.

Files are replaced in place. With `--check` the names of those that would change, and with
`--diff` the changes, go to stdout; nothing is written then.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linnet.cli.options import HELP, common
from linnet.cli.terminal import STDOUT, Console, counted
from linnet.errors import LinnetError, SourceError

if TYPE_CHECKING:
    from linnet.diag import Source


@click.command(context_settings=HELP, short_help="Format sources in the one style there is.")
@click.argument("paths", metavar="[PATH...]", nargs=-1)
@click.option("--check", is_flag=True, help="Only name the files that would change.")
@click.option("--diff", is_flag=True, help="Only show what would change.")
@common
@click.pass_obj
def fmt(console: Console, paths: tuple[str, ...], check: bool, diff: bool) -> None:
    """Format each PATH: a file, all .linnet files below a folder, or - for stdin to stdout.
    Without a PATH, the folder one is in.

    A file that does not parse is left alone. Exits 1 for such a file and, with --check or
    --diff, if something would change.
    """
    if "-" in paths:
        if len(paths) > 1:
            raise click.UsageError("- stands for stdin and takes no other path beside it")
        changed, failed = _stdin(console, check, diff)
    else:
        changed, failed = _files(console, paths or (".",), check, diff)
    if failed or (changed and (check or diff)):
        raise click.exceptions.Exit(1)


def _stdin(console: Console, check: bool, diff: bool) -> tuple[int, int]:
    from linnet.diag import Source

    text = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    source = Source("<stdin>", text)
    result = _formatted(console, source)
    if result is None:
        return 0, 1
    if diff:
        _show_diff(console, source, result)
    elif check:
        if result != text:
            console.note("stdin would be reformatted")
    else:
        _write(result)
    return int(result != text), 0


def _files(console: Console, paths: tuple[str, ...], check: bool, diff: bool) -> tuple[int, int]:
    from linnet.fmt.files import replace, sources
    from linnet.modules.load import read_source

    done = changed = failed = 0
    for path in sources(map(Path, paths)):
        done += 1
        try:
            source = read_source(path)
            result = _formatted(console, source)
            if result is None:
                failed += 1
                continue
            if result == source.text:
                continue
            changed += 1
            if diff:
                _show_diff(console, source, result)
            elif check:
                console.line(str(path))
            else:
                replace(path, result)
                console.detail(f"formatted {path}")
        except OSError as error:
            if isinstance(error, BrokenPipeError) or error.filename == STDOUT:
                raise
            failed += 1
            console.error(f"{path}: {error.strerror}")
    _sum_up(console, done, changed, failed, check or diff)
    return changed, failed


def _write(text: str) -> None:
    """Write a source to stdout in UTF-8, whatever the terminal's encoding: it may go to a file."""
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, STDOUT) from None


def _formatted(console: Console, source: Source) -> str | None:
    """The formatted text, or None after saying why there is none."""
    from linnet.fmt import format_source

    try:
        return format_source(source)
    except SourceError as error:
        from linnet.cli.drawing import draw

        draw(error.diagnostics, console)
    except LinnetError as error:
        console.error(error.message, error.help)
    return None


def _show_diff(console: Console, source: Source, result: str) -> None:
    for line in _diff(source, result):
        console.line(line)


def _diff(source: Source, result: str) -> Iterator[str]:
    old, new = (text.splitlines() for text in (source.text, result))
    changed = list(difflib.unified_diff(old, new, source.name, source.name, lineterm=""))
    if not changed and source.text != result:
        changed = [f"{source.name}: only the ends of lines differ"]
    return iter(changed)


def _sum_up(console: Console, done: int, changed: int, failed: int, dry: bool) -> None:
    same = done - changed - failed
    parts = [f"{counted(changed, 'file')} {'would be ' if dry else ''}reformatted"] * bool(changed)
    parts += [f"{counted(same, 'file')} left unchanged"] * bool(same)
    parts += [f"{counted(failed, 'file')} not formatted"] * bool(failed)
    console.note(", ".join(parts) or "no .linnet files here")
