"""What can still go wrong once generics have numbers, as exceptions a user can act on.

Everything about shapes that holds for all sizes was settled by the checker; what is left are
conditions on the numbers themselves, and forms that this compiler does not lower.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from linnet.diag import Diagnostic, Label, Source, Span
from linnet.dims import Clause, Sym
from linnet.errors import SizeError, SourceError
from linnet.ir.node import Origin
from linnet.resources import folder


def source_error(code: str, message: str, span: Span, *notes: str, help: str = "") -> SourceError:
    """A `SourceError` with one diagnostic at `span`."""
    diagnostic = Diagnostic(
        code, message, Label(span), notes=tuple(notes), help=(help,) if help else ()
    )
    return SourceError(f"{span}: {message}", [diagnostic])


def unsupported(what: str, span: Span, help: str = "") -> SourceError:
    """The language allows `what`, this compiler has no way to run it."""
    return source_error("E2190", f"this compiler cannot run {what}", span, help=help)


def values_text(clause: Clause, values: Mapping[Sym, int]) -> str:
    """The symbols of `clause` with their values: `S = 1025, MaxPositions = 1024`."""
    return ", ".join(f"{name} = {value}" for name, value in _values_of(clause, values).items())


def _values_of(clause: Clause, values: Mapping[Sym, int]) -> dict[str, int]:
    involved = sorted(clause.symbols() & values.keys(), key=lambda s: clause.text.find(s.name))
    return {s.name: values[s] for s in involved}


def violated_block_clause(block: str, clause: Clause, values: Mapping[Sym, int]) -> SizeError:
    """The `where` item of a root block that the given generics break."""
    fact = f"`{clause.text}` does not hold"
    return SizeError(place_of(clause.origin), fact, block, _values_of(clause, values))


def violated_entry_clause(entry: str, clause: Clause, values: Mapping[Sym, int]) -> SourceError:
    """The `where` item of an entry that the sizes known at compile time break."""
    message = f"`{clause.text}` does not hold for `{entry}` with {values_text(clause, values)}"
    if isinstance(clause.origin, Span):
        return source_error("E2206", message, clause.origin)
    return SourceError(message, [Diagnostic("E2206", message)])


def place_of(origin: object | None) -> str:
    """`file:line:column` of a span or origin."""
    return "" if origin is None else str(origin)


def origin_of(span: Span, name: str = "", path: str = "") -> Origin:
    """The IR's record of a span."""
    return Origin(_file(span.source), span.line, span.column, name, path)


@lru_cache(maxsize=256)
def _file(source: Source) -> str:
    """How generated code names a file, the same wherever things are installed: below `std`,
    below its package, or by its own name."""
    if source.path is None:
        return source.name
    path = source.path.resolve()
    library = folder("stdlib").resolve()
    if path.is_relative_to(library):
        return f"std/{path.relative_to(library).as_posix()}"
    package = next((p for p in path.parents if (p / "linnet.toml").is_file()), path.parent)
    return path.relative_to(package).as_posix()
