"""The page of one diagnostic code, as `linnet explain` prints it."""

from __future__ import annotations

import textwrap

from linnet.diag.codes import CODES
from linnet.diag.example import Example
from linnet.diag.examples import EXAMPLES

WIDTH = 88


def page(number: str) -> str:
    """What the code means, a wrong program, the same repaired, and how. Raises KeyError for a
    number that is none."""
    code = CODES[number]
    parts = [f"{code.severity}[{number}]: {code.title}", _filled(code.explanation)]
    example = EXAMPLES.get(number)
    if example is not None:
        parts += ["Wrong:", *_files(example, 0), "Repaired:", *_files(example, 1)]
        parts.append(_filled(example.advice))
    return "\n\n".join(parts) + "\n"


def _files(example: Example, which: int) -> list[str]:
    """The wrong (0) or repaired (1) files, under their paths where there are several."""
    root = (example.wrong, example.right)[which]
    if not example.beside:
        return [textwrap.indent(root.rstrip(), "    ")]
    files = {path: texts[which] for path, texts in example.beside.items()}
    files["src/lib.linnet"] = root
    return [
        textwrap.indent(f"{path}:\n\n{textwrap.indent(text.rstrip(), '    ')}", "  ")
        for path, text in files.items()
    ]


def _filled(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_on_hyphens=False)
