"""All that is known about one source at one moment, whatever state it is in.

`Analysis` reads and parses at once, which is quick; the checker runs when somebody first asks for
what only it knows. Knows nothing of editors: places are spans and offsets.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

from linnet.check.program import check_modules
from linnet.diag import Diagnostic, Problems, Source, Span
from linnet.lsp.scopes import Names, Use, resolve
from linnet.lsp.symbols import Symbol, module_symbol
from linnet.lsp.types import Types, place, types_of
from linnet.modules import load
from linnet.syntax import tree

_MAX_ALIASES = 8


class Analysis:
    """One text and what it imports. `known` are modules that need not be read again, by their
    real paths; `std` replaces the standard library."""

    def __init__(
        self,
        source: Source,
        known: Mapping[Path, tree.Module] | None = None,
        std: Path | None = None,
    ) -> None:
        self.source = source
        self._parsed = Problems()
        self.graph = load(source, self._parsed, std, known or {})
        self.module = self.graph.modules[self.graph.root]

    # --- from the trees alone -------------------------------------------------------------

    @cached_property
    def symbols(self) -> dict[str, Symbol]:
        """Symbols of all modules, by logical name."""
        return {name: module_symbol(module) for name, module in self.graph.modules.items()}

    @property
    def symbol(self) -> Symbol:
        """The symbol of the source itself."""
        return self.symbols[self.graph.root]

    @cached_property
    def names(self) -> Names:
        return resolve(self.graph, self.graph.root, self.symbols)

    @cached_property
    def _declared(self) -> dict[tuple[int, int, int], Symbol]:
        every = (s for module in self.symbols.values() for s in (module, *module.below()))
        return {place(symbol.span): symbol for symbol in every}

    # --- from the checker -----------------------------------------------------------------

    @cached_property
    def _checked(self) -> tuple[Problems, Types]:
        problems = Problems()
        problems.extend(self._parsed)
        program = check_modules(self.graph, problems)
        return problems, types_of(program, self.source)

    @property
    def is_checked(self) -> bool:
        return "_checked" in self.__dict__

    @property
    def types(self) -> Types:
        return self._checked[1]

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Everything that is wrong here or in what is imported; warnings only without errors."""
        found = self._checked[0].sorted()
        errors = tuple(d for d in found if d.is_error)
        return errors or found

    # --- both -----------------------------------------------------------------------------

    def member(self, dot: tree.Attribute) -> Symbol | None:
        """What `base.name` names: by the checker if it has run, else by what the declaration of
        `base` says."""
        if self.is_checked:
            owners = (dot.span, *self._calls.get(place(dot.span), ()))
            for span in owners:
                found = self.types.declared_at(span)
                if found is not None:
                    return self._declared.get(place(found))
        owner = self.owner_of(dot.base)
        return None if owner is None else owner.children.get(dot.name)

    @cached_property
    def _calls(self) -> dict[tuple[int, int, int], tuple[Span, ...]]:
        """The spans of calls by that of what they call."""
        return {place(call.callee.span): (call.span,) for call in self.names.calls}

    def owner_of(self, expr: tree.Expr) -> Symbol | None:
        """The block or struct that an expression is of, or the module or enum it names."""
        if self.is_checked:
            span = self.types.owner_of(expr.span)
            if span is not None:
                return self._declared.get(place(span))
        if isinstance(expr, tree.Index):
            return self.owner_of(expr.base)
        symbol: Symbol | None = None
        if isinstance(expr, tree.Name):
            use = self.use_at(expr.span.start)
            symbol = None if use is None else use.symbol
        elif isinstance(expr, tree.Attribute):
            symbol = self.member(expr)
        return None if symbol is None else self._written(symbol.real)

    def inside(self, symbol: Symbol) -> Symbol | None:
        """Where the names behind a dot are declared, if `symbol` stands before it. Asks the
        checker about what is written nowhere."""
        found = self._written(symbol.real)
        if found is None and symbol.kind == "variable":
            span = self.types.owner_of(symbol.span)
            found = None if span is None else self._declared.get(place(span))
        return found

    def _written(self, symbol: Symbol) -> Symbol | None:
        if symbol.kind in ("module", "enum"):
            return symbol
        if symbol.subject is not None:
            return self.owner_of(symbol.subject)
        written = getattr(symbol.node, "type", None)
        while isinstance(written, tree.OptionalType | tree.ArrayType):
            written = written.inner if isinstance(written, tree.OptionalType) else written.element
        if not isinstance(written, tree.NamedType):
            return None
        if written.span.source is self.source:
            use = self.use_at(written.path[-1].span.start, of_dots=False)
            return None if use is None else use.symbol.real
        scope: Symbol | None = symbol
        while scope is not None and written.name not in scope.children:
            scope = scope.parent
        return None if scope is None else scope.children[written.name]

    @cached_property
    def _plain_uses(self) -> list[Use]:
        return sorted(self.names.uses, key=lambda use: use.span.start)

    @property
    def uses(self) -> list[Use]:
        """Every name in the source that means something known, in order."""
        return self._uses_checked if self.is_checked else self._uses_unchecked

    @cached_property
    def _uses_checked(self) -> list[Use]:
        return self._all_uses()

    @cached_property
    def _uses_unchecked(self) -> list[Use]:
        return self._all_uses()

    def _all_uses(self) -> list[Use]:
        found = list(self._plain_uses)
        for dot in self.names.dots:
            symbol = self.member(dot)
            if symbol is not None:
                found.append(Use(dot.name_span, symbol))
        known = {use.span.end: use.symbol for use in found}
        for call in self.names.calls:
            callee = known.get(call.callee.span.end)
            for _ in range(_MAX_ALIASES):  # they may form a circle
                if callee is not None and callee.real.kind == "type":
                    callee = self._written(callee.real)
            for argument in call.args:
                child = None
                if argument.name is not None and callee is not None:
                    child = callee.real.children.get(argument.name.name)
                if argument.name is not None and child is not None:
                    found.append(Use(argument.name.span, child))
        found.sort(key=lambda use: use.span.start)
        return found

    def certain_use_at(self, offset: int) -> Use | None:
        """The name at an offset; the checker is asked about one behind a dot if need be."""
        found = self.use_at(offset, of_dots=True)
        if found is None and not self.is_checked:
            dots = (dot.name_span for dot in self.names.dots)
            if any(span.start <= offset <= span.end for span in dots):
                _ = self.types
                found = self.use_at(offset, of_dots=True)
        return found

    def use_at(self, offset: int, of_dots: bool = False) -> Use | None:
        """The name that an offset stands in or just behind."""
        uses = self.uses if of_dots else self._plain_uses
        at = bisect_right(uses, offset, key=lambda use: use.span.start) - 1
        found = [use for use in uses[max(at - 3, 0) : at + 1] if offset <= use.span.end]
        # An import is also the use of what it imports; the name that it binds is meant.
        return found[-1] if found else None

    def items(self) -> Iterator[Symbol]:
        """What is declared in the source, outer items before inner ones; no parameters."""
        return (symbol for symbol in self.symbol.below() if symbol.kind != "parameter")
