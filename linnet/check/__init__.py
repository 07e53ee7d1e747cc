"""Names, types, generics and proofs: trees in, typed trees and diagnostics out.

    check_file(path)      a file and all it imports
    check_source(source)  the same for a text that is in no file
    root_of(program)      the block a driver starts from

Importing this package is cheap; the checker itself is imported at the first use.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from linnet.errors import UsageError

if TYPE_CHECKING:
    from linnet.check.typed import BlockDecl, Program
    from linnet.diag import Problems, Source

__all__ = ["CheckResult", "check_file", "check_source", "root_of"]


@dataclass(frozen=True)
class CheckResult:
    """`program` is there iff no error was found (with `strict`, no warning either); `problems`
    iterates over the diagnostics in order; `sources` are the texts that were read, by module."""

    program: Program | None
    problems: Problems
    sources: dict[str, Source]


def check_file(
    path: Path,
    *,
    std: Path | None = None,
    strict: bool = False,
    constants: Mapping[str, int | float | bool | str] | None = None,
) -> CheckResult:
    """Check the file at `path` and everything it imports.

    `std` replaces the standard library that comes with the compiler. `constants` are values for
    public constants of the file, in place of those it declares. Raises UsageError when the file
    cannot be read and ConstantError when a constant cannot have its value; whatever is in the
    file becomes diagnostics."""
    return _check(path, std, strict, constants)


def check_source(source: Source, *, std: Path | None = None, strict: bool = False) -> CheckResult:
    """As `check_file`, for a text; it can import from the standard library."""
    return _check(source, std, strict)


def _check(
    root: Path | Source,
    std: Path | None,
    strict: bool,
    constants: Mapping[str, int | float | bool | str] | None = None,
) -> CheckResult:
    from linnet.check.program import check_modules
    from linnet.diag import Problems
    from linnet.modules import load

    problems = Problems()
    graph = load(root, problems, std)
    program = check_modules(graph, problems, constants)
    sources = {name: module.source for name, module in graph.modules.items()}
    failed = problems.has_errors or (strict and len(problems) > 0)
    return CheckResult(None if failed else program, problems, sources)


def root_of(program: Program, name: str | None = None) -> BlockDecl:
    """The block of the root file named `name`, or its only block with entries; where no block has
    any, the entries of the module as if they stood in one. Beside blocks with entries, those of
    the module go by the module's name.

    Raises UsageError with the list of candidates when there is no such block, or several."""
    blocks = program.blocks.get(program.root_module, {})
    if name is not None:
        blocks = blocks | {b.name: b for b in program.loose if b.name not in blocks}
        if name in blocks:
            return blocks[name]
        raise UsageError(
            f"the file has no block `{name}`",
            help=_choices(blocks) or "the file declares no block at all",
        )
    roots = program.roots()
    if len(roots) == 1:
        return roots[0]
    if roots:
        raise UsageError(
            "the file has several blocks with entries",
            help=f"name the root: {_choices(block.name for block in roots)}",
        )
    raise UsageError(
        "the file has no entries",
        help="declare an `entry` in the block that is the model",
    )


def _choices(names: Iterable[str]) -> str:
    listed = ", ".join(f"`{name}`" for name in names)
    return f"its blocks are {listed}" if listed else ""
