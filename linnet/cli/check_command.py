"""`linnet check`: what the checker has to say about sources, without running them.

Diagnostics are drawn on stderr; with `--json` they are one document on stdout.
"""

from __future__ import annotations

import json
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
@json_option
@common
@click.pass_obj
def check(
    console: Console, sources: tuple[str, ...], strict: bool, std: Path | None, as_json: bool
) -> None:
    """Check each SOURCE: a .linnet file, a name of the zoo or a folder with a card.

    Exits 0 if all is well and 1 if there are errors.
    """
    from linnet.check import check_file
    from linnet.cli.drawing import draw
    from linnet.cli.subject import find

    found: dict[Diagnostic, None] = {}
    for subject in [find(source) for source in sources]:
        console.detail(f"checking {subject.source}")
        found.update(dict.fromkeys(check_file(subject.source, std=std).problems))
    if as_json:
        from linnet.diag.render import to_json

        console.line(json.dumps(to_json(tuple(found)), indent=2, ensure_ascii=False))
    else:
        draw(tuple(found), console)
    if any(d.is_error for d in found) or (strict and found):
        raise click.exceptions.Exit(1)
    if not found and not as_json:
        console.note(f"{counted(len(sources), 'source')} checked, nothing to report")
