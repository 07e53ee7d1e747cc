"""What every name in one file means, by the rules of scopes alone.

In go the trees of a file and of what it imports; out come all uses of names, and for each place
in the file the names that can be used there. Members behind a dot are known here only where the
words before it say enough; `types` knows the others, in programs that check.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

from linnet.diag import Span
from linnet.lsp.symbols import Symbol
from linnet.modules import ModuleGraph
from linnet.syntax import tree


@dataclass(frozen=True)
class Use:
    """One occurrence of a name, its declaration included."""

    span: Span
    symbol: Symbol


@dataclass(frozen=True)
class Binding:
    """A symbol that can be named between two offsets of the file."""

    symbol: Symbol
    start: int
    end: int


@dataclass
class Names:
    """`uses` in the order they were met. `bindings`: of equal names the last one that reaches a
    place is meant there. `dots` are the `base.name` whose name is still unknown."""

    uses: list[Use] = field(default_factory=list)
    bindings: list[Binding] = field(default_factory=list)
    dots: list[tree.Attribute] = field(default_factory=list)
    calls: list[tree.Call] = field(default_factory=list)

    def visible(self, offset: int) -> dict[str, Symbol]:
        """What can be named at a place, inner names instead of outer ones."""
        found: dict[str, Symbol] = {}
        for binding in self.bindings:
            if binding.start <= offset <= binding.end:
                found[binding.symbol.name] = binding.symbol
        return found


class _Scope:
    """Names around a place. `end` is where the scope ends in the text."""

    def __init__(self, outer: _Scope | None, end: int) -> None:
        self.outer = outer
        self.end = end
        self.names: dict[str, Symbol] = {}

    def find(self, name: str) -> Symbol | None:
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        return None


def resolve(graph: ModuleGraph, name: str, modules: dict[str, Symbol]) -> Names:
    """The names of module `name`. `modules` are the symbols of all modules of the graph."""
    return _Resolver(graph, name, modules).run()


class _Resolver:
    def __init__(self, graph: ModuleGraph, name: str, modules: dict[str, Symbol]) -> None:
        self.graph = graph
        self.module = graph.modules[name]
        self.symbol = modules[name]
        self.modules = modules
        self.names = Names()
        self.indices: list[dict[str, Symbol]] = []

    def run(self) -> Names:
        end = len(self.module.source.text)
        scope = _Scope(None, end)
        if self.module.path:
            self._use(self.symbol.span, self.symbol)
        for use in self.module.uses:
            self._import(scope, use)
        self._items(scope, self.symbol)
        return self.names

    # --- helpers --------------------------------------------------------------------------

    def _use(self, span: Span, symbol: Symbol) -> None:
        self.names.uses.append(Use(span, symbol))

    def _bind(self, scope: _Scope, symbol: Symbol, start: int) -> None:
        scope.names[symbol.name] = symbol
        self.names.bindings.append(Binding(symbol, start, scope.end))

    def _declare(self, scope: _Scope, ident: tree.Node, name: str, span: Span, kind: str) -> Symbol:
        """A name that is used from here on."""
        symbol = Symbol(name, kind, span, ident)
        self._use(span, symbol)
        self._bind(scope, symbol, span.end)
        return symbol

    def _name(self, scope: _Scope, name: str, span: Span) -> Symbol | None:
        symbol = scope.find(name)
        if symbol is not None:
            self._use(span, symbol)
        return symbol

    # --- imports and items ----------------------------------------------------------------

    def _import(self, scope: _Scope, use: tree.Use) -> None:
        target = self.modules.get(self.graph.targets.get(use) or "")
        if target is not None:
            self._use(use.path[-1].span, target)
        if use.picks is None:
            last = use.path[-1]
            symbol = Symbol(last.name, "import", last.span, last, None, {}, target)
            self._bind(scope, symbol, 0)
            return
        for pick in use.picks:
            item = None if target is None else target.children.get(pick.name)
            if item is not None:
                self._use(pick.name_span, item)
            if pick.alias is not None:
                span = pick.alias.span
                symbol = Symbol(pick.alias.name, "import", span, pick, None, {}, item)
                self._use(span, symbol)
                self._bind(scope, symbol, 0)
            elif item is not None:
                self._bind(scope, item, 0)

    def _items(self, scope: _Scope, owner: Symbol) -> None:
        """Names of a module or block are known everywhere in it."""
        start = owner.node.span.start
        for child in owner.children.values():
            self._use(child.span, child)
            self._bind(scope, child, start)
        for child in owner.children.values():
            self._item(scope, child)

    def _item(self, scope: _Scope, symbol: Symbol) -> None:
        item = symbol.node
        inner = _Scope(scope, item.span.end)
        generics = getattr(item, "generics", ())
        for generic in generics:
            self._declare(inner, generic, generic.name, generic.name_span, "generic")
        for generic in generics:
            self._maybe(inner, generic.default)
        if isinstance(item, tree.Block):
            self._each(inner, item.where)
            self._items(inner, symbol)
        elif isinstance(item, tree.Function | tree.Kernel):
            self._function(inner, item, symbol)
        elif isinstance(item, tree.Enum | tree.Struct):
            for child in symbol.children.values():
                self._use(child.span, child)
                if isinstance(child.node, tree.Field):
                    self._node(inner, child.node.type)
        else:
            for part in tree.children(item):
                if not isinstance(part, tree.Generic):
                    self._node(inner, part)

    def _function(self, scope: _Scope, item: tree.Function | tree.Kernel, symbol: Symbol) -> None:
        for parameter, known in zip(item.parameters, symbol.children.values(), strict=True):
            self._node(scope, parameter.type)
            self._maybe(scope, parameter.default)
            self._use(known.span, known)
            self._bind(scope, known, known.span.end)
        if isinstance(item, tree.Kernel):
            for result in item.results:
                self._node(scope, result.type)
                self._declare(scope, result, result.name, result.name_span, "parameter")
            self._each(scope, item.grid)
            self._each(scope, item.hints)
        else:
            self._maybe(scope, item.result)
            self._maybe(scope, item.kernel)
        self._each(scope, item.where)
        if item.body is not None:
            self._body(scope, item.body)
        if isinstance(item, tree.Function) and item.grad is not None:
            inner = _Scope(scope, item.grad.span.end)
            for ident in (item.grad.result, item.grad.gradient):
                self._declare(inner, ident, ident.name, ident.span, "parameter")
            self._body(inner, item.grad.body)

    # --- statements and expressions -------------------------------------------------------

    def _body(self, scope: _Scope, body: tree.Body) -> None:
        inner = _Scope(scope, body.span.end)
        for statement in body.statements:
            self._statement(inner, statement)

    def _statement(self, scope: _Scope, this: tree.Statement) -> None:
        match this:
            case tree.Let():
                self._maybe(scope, this.type)
                self._node(scope, this.value)
                self._pattern(scope, this.pattern, this.span.end)
            case tree.Var():
                self._maybe(scope, this.type)
                self._node(scope, this.value)
                self._local(scope, this, this.name, this.name_span, this.span.end)
            case tree.IndexLet():
                self._with_indices(scope, this.outputs, this.value)
                self._local(scope, this, this.name, this.name_span, this.span.end)
            case tree.Assign():
                self._name(scope, this.name, this.name_span)
                self._node(scope, this.value)
            case tree.StaticFor():
                self._node(scope, this.subject)
                self._maybe(scope, this.stop)
                inner = _Scope(scope, this.span.end)
                self._pattern(inner, this.pattern, this.body.span.start, this.subject)
                self._body(inner, this.body)
            case tree.While():
                self._node(scope, this.condition)
                self._body(scope, this.body)
            case tree.DamagedStatement():
                for ident in this.names:
                    self._local(scope, ident, ident.name, ident.span, this.span.end)
            case _:
                self._each(scope, tree.children(this))

    def _local(
        self, scope: _Scope, node: tree.Node, name: str, span: Span, start: int,
        subject: tree.Expr | None = None,
    ) -> None:  # fmt: skip
        symbol = Symbol(name, "variable", span, node, subject=subject)
        self._use(span, symbol)
        if name != "_":
            self._bind(scope, symbol, start)

    def _pattern(
        self, scope: _Scope, pattern: tree.Pattern, start: int, subject: tree.Expr | None = None
    ) -> None:
        for part in tree.walk(pattern):
            if isinstance(part, tree.NamePattern):
                self._local(scope, part, part.name, part.span, start, subject)

    def _with_indices(
        self, scope: _Scope, indices: Iterable[tree.Ident | tree.Pack], body: tree.Expr
    ) -> None:
        known: dict[str, Symbol] = {}
        for index in indices:
            span = index.name_span if isinstance(index, tree.Pack) else index.span
            known[index.name] = Symbol(index.name, "index", span, index)
            self._use(span, known[index.name])
        self.indices.append(known)
        self._node(scope, body)
        self.indices.pop()

    def _index_named(self, name: str) -> Symbol | None:
        return next((known[name] for known in reversed(self.indices) if name in known), None)

    def _maybe(self, scope: _Scope, node: tree.Node | None) -> None:
        if node is not None:
            self._node(scope, node)

    def _each(self, scope: _Scope, nodes: Iterable[tree.Node]) -> None:
        for node in nodes:
            self._node(scope, node)

    def _node(self, scope: _Scope, node: tree.Node, in_index: bool = False) -> None:
        """Everything that is named in an expression or type. Long chains take no recursion."""
        waiting: list[tuple[tree.Node, bool]] = [(node, in_index)]
        while waiting:
            this, inside = waiting.pop()
            rest = partial(_later, waiting, inside)
            match this:
                case tree.Name():
                    self._plain(scope, this.name, this.span, inside)
                case tree.Pack():
                    self._plain(scope, this.name, this.name_span, inside)
                case tree.Attribute():
                    self._attribute(scope, this, inside)
                    rest([this.base])
                case tree.Index():
                    rest([this.base])
                    _later(waiting, True, this.components)
                case tree.Reduction():
                    if this.accumulator is not None:
                        self._name(scope, this.accumulator.name, this.accumulator.span)
                    self._with_indices(scope, this.indices, this.body)
                case tree.Match():
                    rest([this.subject])
                    for arm in this.arms:
                        inner = _Scope(scope, arm.span.end)
                        self._pattern(inner, arm.pattern, arm.value.span.start)
                        self._node(inner, arm.value, inside)
                case tree.For():
                    rest([this.start, this.stop])
                    inner = _Scope(scope, this.span.end)
                    variable = this.variable
                    self._local(inner, variable, variable.name, variable.span, variable.span.end)
                    self._body(inner, this.body)
                case tree.NamedType():
                    self._path(scope, this.path)
                    rest(this.args or ())
                case tree.KernelRef():
                    self._name(scope, this.name, this.name_span)
                    rest(this.type_args or ())
                case tree.Call():
                    self.names.calls.append(this)
                    rest([*this.args, *(this.type_args or ()), this.callee])
                case tree.Argument():
                    rest([this.value])
                case _:
                    rest(tree.children(this))

    def _plain(self, scope: _Scope, name: str, span: Span, in_index: bool) -> None:
        if span.end - span.start != len(name):
            span = self._inside_parentheses(name, span)
        index = self._index_named(name)
        if index is not None and (in_index or scope.find(name) is None):
            self._use(span, index)
        else:
            self._name(scope, name, span)

    def _inside_parentheses(self, name: str, span: Span) -> Span:
        """The place of a name alone: parentheses around it are counted to that of its node."""
        tokens = self.module.tokens
        at = bisect_left(tokens, span.start, key=lambda token: token.start)
        while tokens[at].text != name:
            at += 1
        return self.module.source.span(tokens[at].start, tokens[at].end)

    def _path(self, scope: _Scope, path: tuple[tree.Ident, ...]) -> None:
        symbol = self._name(scope, path[0].name, path[0].span)
        for part in path[1:]:
            symbol = None if symbol is None else symbol.real.children.get(part.name)
            if symbol is not None:
                self._use(part.span, symbol)

    def _attribute(self, scope: _Scope, this: tree.Attribute, in_index: bool) -> None:
        """`module.item` and `Enum.Variant`; the rest is for those who know types."""
        base = scope.find(this.base.name) if isinstance(this.base, tree.Name) else None
        found = None
        if base is not None and base.real.kind in ("module", "enum"):
            found = base.real.children.get(this.name)
        if found is not None:
            self._use(this.name_span, found)
        else:
            self.names.dots.append(this)


def _later(waiting: list[tuple[tree.Node, bool]], inside: bool, nodes: Iterable[tree.Node]) -> None:
    waiting.extend((node, inside) for node in reversed(tuple(nodes)))


def enclosing(symbols: Iterable[Symbol], offset: int) -> Iterator[Symbol]:
    """The items that an offset stands in, outermost first."""
    for symbol in symbols:
        if symbol.node.span.start <= offset <= symbol.node.span.end:
            yield symbol
            yield from enclosing(symbol.children.values(), offset)
            return
