"""The jinja2 environment that turns templates under `codegen/` into C.

In: the name of a template and the values it is rendered with. Out: C text, laid out as the
template is. `prelude` gives the support code that a body of C uses: system headers, functions
of `simd/`, shared pieces of `kernels/`, the thread pool. Templates substitute and loop; a
misspelt name fails here, at render. No decision about a program is taken in this module.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection

import jinja2

from linnet.resources import folder
from linnet.targets.target import Target

THREADS = "rt/threads.h"
MATH = "simd/math.h.j2"
PACK = "rt/pack.h"
SHARED = (
    "kernels/activations/lanes.h.j2",
    "kernels/linear/tiles.h.j2",
    "kernels/softmax/rows.h.j2",
    "kernels/attention/blocks.h.j2",
)
"""Pieces that several kernels of a unit call, later ones resting on earlier ones; each function
is pasted once, if it is used."""

_DEFINES = re.compile(
    r"^(?:#define (\w+)"
    r"|typedef .*?(\w+);"
    r"|(?:struct|enum|union) (\w+) \{"
    r"|[A-Za-z_][\w \*]*?\b(\w+)(?:\(|\[|\s=\s|;)"
    r"|\} (\w+);)",
    re.MULTILINE,
)
_WORD = re.compile(r"\w+")


@functools.cache
def environment() -> jinja2.Environment:
    """The one environment: strict about names, faithful about white space."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder("codegen")),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )


def render(template: str, target: Target, **values: object) -> str:
    """Render `template` (a path below `codegen/`) for `target`.

    The template sees `target`, `f32`, `i32`, `tile` and `values`. Raises
    jinja2.UndefinedError for a name that it uses and nobody gave.
    """
    return environment().get_template(template).render(**target.context(), **values)


def prelude(target: Target, body: str, packs: Collection[str] = ()) -> str:
    """The C text that must stand before `body`: headers, the thread pool, what `body` calls.

    `body` is everything generated after it. A support function that neither the body nor
    another kept function names is left out, so a unit holds no dead code. `packs` names the
    exported functions of `rt/pack.h` that lay out the unit's weights at load.
    """
    threads = _source(THREADS, target)
    libraries = [_source(name, target) for name in (MATH, target.simd, *SHARED, PACK)]
    kept = _used_paragraphs(libraries, "\n".join([threads, body, *packs]))
    return "\n".join([_includes(target), threads, kept])


def _includes(target: Target) -> str:
    system = ["math.h", "pthread.h", "sched.h", "signal.h", "stdatomic.h", "stdint.h", "stdlib.h"]
    system += ["string.h", "time.h", "unistd.h", *target.includes]
    lines = ["#ifndef _GNU_SOURCE", "#define _GNU_SOURCE", "#endif"]
    return "\n".join(lines + [f"#include <{name}>" for name in sorted(system)]) + "\n"


def _source(name: str, target: Target) -> str:
    return render(name, target)


def _used_paragraphs(libraries: list[str], body: str) -> str:
    """Keep the paragraphs of `libraries` whose names are used, directly or through others.

    A paragraph is what stands between two blank lines: a comment and one definition. A comment
    alone is a heading, and goes along when something below it does.
    """
    paragraphs = [p for text in libraries for p in re.split(r"\n\s*\n", text.strip("\n")) if p]
    wanted = set(_WORD.findall(body))
    kept: set[int] = set()
    grew = True
    while grew:
        grew = False
        for i, paragraph in enumerate(paragraphs):
            if i not in kept and _defined_names(paragraph) & wanted:
                kept.add(i)
                wanted |= set(_WORD.findall(_code(paragraph)))
                grew = True
    lines: list[str] = []
    heading = ""
    for i, paragraph in enumerate(paragraphs):
        if not _code(paragraph):
            heading = f"{paragraph}\n\n"
        elif i in kept:
            lines.append(f"{heading}{paragraph}\n\n")
            heading = ""
    return "".join(lines)


@functools.cache
def _defined_names(paragraph: str) -> frozenset[str]:
    return frozenset(name for names in _DEFINES.findall(_code(paragraph)) for name in names if name)


def _code(paragraph: str) -> str:
    return "\n".join(line for line in paragraph.split("\n") if not line.startswith("//"))
