"""`linnet check`: what the checker has to say about sources, without running them.

Diagnostics are drawn on stderr, or go to stdout in a form for tools.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linnet.cli.options import HELP, common, json_option
from linnet.cli.terminal import Console, counted

if TYPE_CHECKING:
    from linnet.diag.diagnostic import Diagnostic


@click.command(context_settings=HELP, short_help="Check sources without running them.")
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
@click.option("--strict", is_flag=True, help="Let warnings count as errors.")
@click.option(
    "--std",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Take the standard library from this folder.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "sarif", "github"]),
    default="text",
    help="text for people; for tools JSON, SARIF, or the annotations of GitHub, on stdout.",
)
@json_option
@common
@click.pass_obj
def check(
    console: Console,
    sources: tuple[str, ...],
    strict: bool,
    std: Path | None,
    form: str,
    as_json: bool,
) -> None:
    """Check each SOURCE: a .linnet file, a name of the zoo, a folder with a card, or another folder
    and all .linnet files below it.

    Exits 0 if all is well and 1 if there are errors.
    """
    from linnet.check import check_file
    from linnet.cli.drawing import draw

    found: dict[Diagnostic, None] = {}
    files = [file for source in sources for file in _files(source)]
    for file in files:
        console.detail(f"checking {file}")
        found.update(dict.fromkeys(check_file(file, std=std).problems))
    if as_json and form not in ("text", "json"):
        raise click.UsageError(f"--json and --format {form} exclude each other")
    form = "json" if as_json else form
    if form == "text":
        draw(tuple(found), console)
    elif text := _for_tools(tuple(found), form):
        console.line(text)
    if any(d.is_error for d in found) or (strict and found):
        raise click.exceptions.Exit(1)
    if not found and form == "text":
        console.note(f"{counted(len(files), 'source')} checked, nothing to report")


def _files(source: str) -> list[Path]:
    """The files SOURCE stands for: of a folder that is no model, such as a package, all sources.
    Raises what `find` does, for a folder with no source too."""
    from linnet.cli.subject import find
    from linnet.errors import UnknownModelError
    from linnet.fmt.files import sources

    try:
        return [find(source).source]
    except UnknownModelError:
        folder = Path(os.path.expanduser(source))
        below = list(sources([folder])) if os.path.isdir(folder) else []
        if not below:
            raise
        return below


def _for_tools(found: tuple[Diagnostic, ...], form: str) -> str:
    """All diagnostics as one document."""
    if form == "github":
        from linnet.diag.github import to_github

        return to_github(found)
    if form == "sarif":
        from linnet import __version__
        from linnet.diag.sarif import to_sarif

        return json.dumps(to_sarif(found, __version__), indent=2, ensure_ascii=False)
    from linnet.diag.render import to_json

    return json.dumps(to_json(found), indent=2, ensure_ascii=False)
