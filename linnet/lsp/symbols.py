"""Symbols: what the names of a program stand for, from the syntax tree alone.

A symbol is one declaration. Those of modules are made here, with all that is declared inside of
items; those of functions by `scopes`. Nothing here needs the program to check, or even to parse
as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from linnet.diag import Span
from linnet.syntax import tree

KINDS = (
    "module", "function", "op", "entry", "block", "enum", "struct", "type", "constant",
    "variant", "field", "param", "buffer", "state", "sub", "generic", "parameter", "variable",
    "index", "import",
)  # fmt: skip


@dataclass(eq=False)
class Symbol:
    """One declaration. `span` is its name (of a module, the path behind `module`); `parent` what
    it is declared in; `children` what can be named inside it; `target` what an import leads to."""

    name: str
    kind: str
    span: Span
    node: tree.Node
    parent: Symbol | None = None
    children: dict[str, Symbol] = field(default_factory=dict)
    target: Symbol | None = None
    subject: tree.Expr | None = None

    @property
    def doc(self) -> str:
        node = self.node
        return node.doc if isinstance(node, tree.Item | tree.Module) else ""

    @property
    def real(self) -> Symbol:
        """The symbol behind an import."""
        return self if self.target is None else self.target.real

    @property
    def items(self) -> Iterator[Symbol]:
        """The children without parameters."""
        return (child for child in self.children.values() if child.kind != "parameter")

    def below(self) -> Iterator[Symbol]:
        """All children and what is below them, in order."""
        for child in self.children.values():
            yield child
            yield from child.below()

    def add(self, name: str, kind: str, span: Span, node: tree.Node) -> Symbol:
        """Declare a child. The first of equal names can be named, the others are there too."""
        child = Symbol(name, kind, span, node, self)
        key = name
        while key in self.children:
            key += "'"
        self.children[key] = child
        return child


def module_symbol(module: tree.Module) -> Symbol:
    """The symbol of a module, with all that is declared in it."""
    span = module.path[0].span.to(module.path[-1].span) if module.path else module.span.before
    symbol = Symbol(module.name, "module", span, module)
    _declare(symbol, module.items)
    return symbol


_ITEMS: Mapping[type[tree.Item], str] = {
    tree.Const: "constant",
    tree.Alias: "type",
    tree.Struct: "struct",
    tree.Enum: "enum",
    tree.Block: "block",
    tree.Kernel: "function",
}


def _declare(owner: Symbol, items: tuple[tree.Item, ...]) -> None:
    for item in items:
        if isinstance(item, tree.DamagedItem) and not item.name:
            continue
        symbol = owner.add(item.name, _kind(item), item.name_span, item)
        if isinstance(item, tree.Block):
            _declare(symbol, item.members)
        elif isinstance(item, tree.Function | tree.Kernel):
            for parameter in item.parameters:
                symbol.add(parameter.name, "parameter", parameter.name_span, parameter)
        elif isinstance(item, tree.Struct):
            for part in item.fields:
                symbol.add(part.name, "field", part.name_span, part)
        elif isinstance(item, tree.Enum):
            for variant in item.variants:
                symbol.add(variant.name, "variant", variant.span, variant)


def _kind(item: tree.Item) -> str:
    if isinstance(item, tree.Member):
        return item.kind
    if isinstance(item, tree.Function):
        return "function" if item.kind == "fn" else item.kind
    return _ITEMS.get(type(item), "constant")
