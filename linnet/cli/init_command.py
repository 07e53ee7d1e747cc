"""`linnet init`: a package to begin with.

In goes a name; out comes a folder with a manifest, two modules, a README and a script that runs
them. What is written is the package in the folder `starter` beside this file, under another name.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

import click

from linnet.cli.options import HELP, common
from linnet.cli.terminal import Console
from linnet.errors import LinnetError

STARTER = Path(__file__).with_name("starter")
_FILES = ("linnet.toml", "README.md", "run.py", "src/lib.linnet", "src/layers.linnet")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*(?:-[A-Za-z0-9_]+)*")


@click.command(context_settings=HELP, short_help="Begin a package of your own.")
@click.argument("name", metavar="NAME")
@common
@click.pass_obj
def init(console: Console, name: str) -> None:
    """Make the folder NAME with a package in it: a manifest, two modules, a README that says
    how to check, format and run them.

    NAME may be a path; its last part names the package. Nothing that exists is changed.
    """
    folder = Path(name)
    title = Path(os.path.abspath(folder)).name if name else ""
    module = _module_name(title)
    _refuse_existing(folder)
    _create(folder, title, module)
    console.note(f"made {folder}: {', '.join(_FILES)}")
    console.note(f"now: cd {folder} && linnet check . && python run.py")


def _module_name(title: str) -> str:
    """The name after `module` for a package called `title`. Raises click.BadParameter."""
    from linnet.syntax.tokens import KEYWORDS, RESERVED

    if not _NAME.fullmatch(title):
        raise click.BadParameter(
            f"{title!r} cannot name a package; use letters, digits, - and _, a letter first",
            param_hint="NAME",
        )
    module = title.replace("-", "_")
    if module in KEYWORDS | RESERVED | {"std"}:
        raise click.BadParameter(
            f"{title!r} means something else in a program; {title}-models would do",
            param_hint="NAME",
        )
    return module


def _refuse_existing(folder: Path) -> None:
    if folder.is_dir():
        if any(folder.iterdir()):
            raise LinnetError(
                f"the folder {folder} is not empty", help="give the name of a new folder"
            )
    elif folder.exists() or folder.is_symlink():
        raise LinnetError(f"{folder} exists and is no folder", help="give the name of a new folder")
    parent = folder.parent
    if not parent.is_dir():
        raise LinnetError(
            f"there is no folder {parent} to make {folder.name} in", help=f"mkdir -p {parent}"
        )


def _create(folder: Path, title: str, module: str) -> None:
    """Write all files or none. Raises OSError with the folder's name."""
    place = folder if folder.is_dir() else folder.parent
    try:
        with tempfile.TemporaryDirectory(prefix=".linnet-", dir=place) as work:
            for name in _FILES:
                text = (STARTER / name).read_text(encoding="utf-8")
                named = title if name.endswith((".toml", ".md")) else module
                target = Path(work, name)
                target.parent.mkdir(exist_ok=True)
                target.write_text(text.replace("starter", named), encoding="utf-8")
            folder.mkdir(exist_ok=True)
            for part in Path(work).iterdir():
                shutil.move(part, folder / part.name)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(folder)) from None
