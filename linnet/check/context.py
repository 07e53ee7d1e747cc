"""Where a piece of source is being checked: its scopes, its facts, and where to report.

`Run` is shared by everything that is checked together; `Context` is one place in it. Both
carry state only: what the language means is in the modules that read them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from linnet.check.entities import (
    BlockItem,
    Demand,
    Entity,
    FunctionItem,
    ModuleScope,
    Poison,
    Scope,
    StructItem,
)
from linnet.check.typed import BlockDecl, FunctionDecl, IndexVar, StructDecl, TExpr, Variable
from linnet.check.types import Array, Block, Error, Optional, Type, Unit
from linnet.diag import Label, Problems, Span
from linnet.dims.facts import Facts
from linnet.syntax import tree

PROOF_CODES = frozenset(("E2201", "E2202", "E2203", "E2205", "E2206", "E2207"))
"""What may go away once a broken `where` list is mended."""


@dataclass(frozen=True)
class CallEdge:
    """`caller` calls `callee` at `span`."""

    caller: FunctionDecl
    callee: FunctionDecl
    span: Span


@dataclass(eq=False)
class Run:
    """One closed set of modules under check. `evaluate` is the expression checker."""

    problems: Problems
    modules: dict[str, ModuleScope]
    evaluate: Callable[[Context, tree.Expr], TExpr]
    std: Path | None = None  # of the library, for suggestions
    blocks: dict[BlockDecl, BlockItem] = field(default_factory=dict)
    structs: dict[StructDecl, StructItem] = field(default_factory=dict)
    calls: list[CallEdge] = field(default_factory=list)
    locals: list[Variable] = field(default_factory=list)
    read: set[int] = field(default_factory=set)  # ids of variables and members in use
    errors: int = 0
    _uid: int = 0

    def fresh(self) -> int:
        """A number no other symbol of this run has."""
        self._uid += 1
        return self._uid

    def report(
        self,
        code: str,
        message: str,
        span: Span,
        label: str = "",
        *,
        related: Iterable[Label] = (),
        notes: Iterable[str] = (),
        help: str | Iterable[str] = (),
    ) -> None:
        """Add a diagnostic to the problems of the run."""
        if not code.startswith("W"):
            self.errors += 1
        self.problems.report(code, message, span, label, related=related, notes=notes, help=help)


@dataclass(eq=False)
class IndexFrame:
    """The index variables of one `let y[…]` or one reduction, which of them are pack indices,
    and where each got its extent."""

    variables: dict[str, IndexVar] = field(default_factory=dict)
    packs: set[str] = field(default_factory=set)
    first: dict[str, Span] = field(default_factory=dict)


@dataclass(eq=False)
class Context:
    """A place: `scope` to look names up, `facts` to prove from, `function` and `block` around.

    `frames` are the enclosing index notations, innermost last; `unbound` the names that were
    already reported as missing indices of this statement."""

    run: Run
    module: ModuleScope
    scope: Scope
    facts: Facts
    block: BlockItem | None = None
    function: FunctionItem | None = None
    frames: tuple[IndexFrame, ...] = ()
    unbound: set[str] = field(default_factory=set)
    dividing_freely: bool = False  # in a `where` list
    constant_only: str = ""  # "constant" or "default": calls are refused
    facts_broken: bool = False  # an item of a `where` list around was reported
    demands: list[Demand] | None = None  # in an alias: collected instead of proven

    def report(
        self,
        code: str,
        message: str,
        span: Span,
        label: str = "",
        *,
        related: Iterable[Label] = (),
        notes: Iterable[str] = (),
        help: str | Iterable[str] = (),
    ) -> None:
        """Report; a proof that fails where facts could not be read stays silent."""
        if self.facts_broken and code in PROOF_CODES:
            self.run.errors += 1
            return
        self.run.report(code, message, span, label, related=related, notes=notes, help=help)

    def bad(
        self,
        code: str,
        message: str,
        span: Span,
        label: str = "",
        *,
        at: Span | None = None,
        related: Iterable[Label] = (),
        notes: Iterable[str] = (),
        help: str | Iterable[str] = (),
    ) -> TExpr:
        """Report, and give the poisoned expression that stands for what is wrong (`at`)."""
        self.report(code, message, span, label, related=related, notes=notes, help=help)
        return poison(at or span)

    def expr(self, node: tree.Expr) -> TExpr:
        """The typed expression of `node`; blocks and block arrays are allowed."""
        return self.run.evaluate(self, node)

    def value(self, node: tree.Expr, *, unit_allowed: bool = False) -> TExpr:
        """The typed expression of `node`, which has to be a value: a block is E1208, a call
        without result E2101."""
        found = self.expr(node)
        kind = found.type.inner if isinstance(found.type, Optional) else found.type
        if isinstance(kind, Block | Array):
            return self.bad(
                "E1208",
                "a block is not a value",
                node.span,
                "this is a child block, or several",
                help="call one of its methods, or read one of its members",
            )
        if isinstance(kind, Unit) and not unit_allowed:
            return self.bad(
                "E2101",
                "this call gives no value",
                node.span,
                "the function has no result",
                help="bind it to `_` to run it for its effect: `let _ = …`",
            )
        return found

    def find(self, name: str) -> Entity | None:
        """What `name` means here, marking imports and locals as used."""
        entity = self.scope.find(name)
        if isinstance(entity, Variable):
            self.run.read.add(id(entity))
            return Poison() if is_poison(entity.type) else entity
        return entity

    @contextmanager
    def inner_scope(self) -> Iterator[None]:
        """A scope of its own for a loop body or a match arm."""
        outer = self.scope
        self.scope = Scope(outer)
        try:
            yield
        finally:
            self.scope = outer

    @contextmanager
    def index_frame(self, frame: IndexFrame) -> Iterator[None]:
        outer = self.frames
        self.frames = (*outer, frame)
        try:
            yield
        finally:
            self.frames = outer

    def index_variable(self, name: str) -> tuple[IndexFrame, IndexVar] | None:
        """The innermost index variable of this name."""
        for frame in reversed(self.frames):
            if name in frame.variables:
                return frame, frame.variables[name]
        return None

    def bind(self, variable: Variable) -> None:
        """Put a local in scope."""
        self.scope.names[variable.name] = variable
        self.run.locals.append(variable)

    def without_proofs(self) -> Context:
        """The same place, for a `where` list: divisors need no proof there."""
        return replace(self, dividing_freely=True)


def poison(span: Span) -> TExpr:
    """The expression that fits everywhere and about which nothing more is said."""
    return TExpr(Error(), span)


def is_poison(value: TExpr | Type) -> bool:
    return isinstance(value.type if isinstance(value, TExpr) else value, Error)
