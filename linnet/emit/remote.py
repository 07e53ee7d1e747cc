"""A unit as a program of its own, for machines that can only be emulated here.

In: the C text of a unit and its artifact. Out: C text with a `main` that is driven through
pipes (`codegen/rt/remote.h`, `linnet.runtime.machine.EmulatedMachine`).
"""

from __future__ import annotations

from linnet.artifact import Artifact
from linnet.resources import folder


def remote_program(c: str, artifact: Artifact) -> str:
    """Append the tables of functions and the command loop."""
    packs = ", ".join(artifact.packs) or "NULL"
    entries = ", ".join(entry.symbol for entry in artifact.entries)
    tables = (
        f"static void (*const ln_remote_packs[])(struct worker *, void *) = {{{packs}}};\n"
        "static void (*const ln_remote_entries[])(struct linnet_pool *, struct linnet_call *) =\n"
        f"    {{{entries}}};\n"
    )
    main = (folder("codegen") / "rt" / "remote.h").read_text(encoding="utf-8")
    return "\n".join([c, tables, main])
