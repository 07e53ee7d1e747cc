"""The `linnet` command: arguments in, text on stdout, everything else on stderr.

Holds no compiler logic: each command calls `linnet.driver`, `linnet.nest` or the toolchain.
Importing this is as good as free, and the commands import what they need when they run, so
that `linnet --help` is quick and Ctrl+C is honoured from the first moment.

    exit code   meaning
    0           done; also when the reader of our output closed its end
    1           something is wrong with the input: a LinnetError, a file, a source with errors
    2           the command line itself: unknown options, values out of their range
    130         interrupted (143: terminated)
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # as typing's, whose import takes longer than all that stands here
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the command line `args` (the process's own by default) and exit."""
    try:
        from linnet.cli import interrupt

        interrupt.install()
        from linnet.cli.app import cli

        with interrupt.honoured():
            cli.main(args=args, prog_name="linnet")
    except KeyboardInterrupt:
        os._exit(130)  # before anything was begun
