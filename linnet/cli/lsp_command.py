"""`linnet lsp`: the language server, on stdin and stdout."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from linnet.cli.options import HELP, common
from linnet.cli.terminal import Console, is_terminal
from linnet.errors import LinnetError


@click.command(context_settings=HELP, short_help="Serve an editor: the language server.")
@click.option(
    "--std",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Take the standard library from this folder.",
)
@click.option("--stdio", is_flag=True, help="Talk on stdin and stdout, as is always done.")
@common
@click.pass_obj
def lsp(console: Console, std: Path | None, stdio: bool) -> None:
    """Answer an editor on stdin and stdout, in the Language Server Protocol.

    Editors start this command themselves; see editors/ in the sources.
    """
    try:
        from linnet.lsp.server import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol", "cattrs", "attrs"):
            raise
        raise LinnetError(
            "the language server needs the package pygls", help='pip install "pygls>=2.0"'
        ) from None
    if is_terminal(sys.stdin):
        console.note("this talks to editors, in JSON on stdin; end it with Ctrl+D")
    serve(std)
