"""What the checker found out, by place in the text: types of expressions and of names, and what
calls and members mean.

In goes the typed program; it holds whatever could be checked, also where other parts could not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from linnet.check import show
from linnet.check import typed as t
from linnet.check.types import Array, Block, Struct, Type
from linnet.diag import Source, Span

Place = tuple[int, int, int]  # of a source, the first character and the one behind the last


def place(span: Span) -> Place:
    return id(span.source), span.start, span.end


@dataclass
class Types:
    """`expressions` are those of the file that was asked for; `variables` and `functions` are by
    the place of their name, `meant` says for `base.name` where that name is declared."""

    expressions: dict[Place, t.TExpr] = field(default_factory=dict)
    variables: dict[Place, t.Variable] = field(default_factory=dict)
    functions: dict[Place, t.FunctionDecl] = field(default_factory=dict)
    members: dict[Place, t.Member] = field(default_factory=dict)

    def declared_at(self, span: Span) -> Span | None:
        """Where the name is declared that the expression at `span` ends in."""
        found = self.expressions.get(place(span))
        if isinstance(found, t.MemberRef):
            return found.member.span
        return found.function.span if isinstance(found, t.Call) else None

    def owner_of(self, span: Span) -> Span | None:
        """The name of the block or struct that the expression, or the variable declared, at
        `span` is of."""
        found = self.expressions.get(place(span)) or self.variables.get(place(span))
        of = None if found is None else found.type
        if isinstance(of, Array):
            of = of.item
        return of.decl.span if isinstance(of, Block | Struct) else None

    def call_of(self, function: Span, name: Span) -> t.Call | None:
        """The call of the function declared at `function` that is made by the word at `name`."""
        best: t.Call | None = None
        for found in self.expressions.values():
            if (
                isinstance(found, t.Call)
                and place(found.function.span) == place(function)
                and found.span.start <= name.start < found.span.end
                and (best is None or found.span.end < best.span.end)
            ):
                best = found
        return best

    def around(self, source: Source, offset: int) -> t.TExpr | None:
        """The smallest expression at an offset."""
        best: t.TExpr | None = None
        for (owner, start, end), found in self.expressions.items():
            if owner == id(source) and start <= offset < end:
                size = end - start
                if best is None or size < best.span.end - best.span.start:
                    best = found
        return best

    def text_at(self, span: Span) -> str | None:
        """The type of the variable or member that is declared at `span`."""
        variable = self.variables.get(place(span))
        if variable is not None:
            return shown(variable.type)
        member = self.members.get(place(span))
        return None if member is None else shown(member.type)


def shown(type: Type) -> str:
    return show.type_(type)


def types_of(program: t.Program, source: Source) -> Types:
    """What is known of the expressions in `source`, and of all declarations of the program."""
    found = Types()
    functions = [f for module in program.functions.values() for f in module.values()]
    blocks = [b for module in program.blocks.values() for b in module.values()]
    for block in blocks:
        functions.extend(block.functions.values())
        for member in block.members.values():
            found.members[place(member.span)] = member
    for function in functions:
        found.functions[place(function.span)] = function
        for parameter in function.parameters:
            found.variables[place(parameter.variable.span)] = parameter.variable
        if function.span.source is source:
            for node in _walk(function.body):
                if isinstance(node, t.SelfBlock):
                    continue  # stands for no text
                if isinstance(node, t.TExpr):
                    # Where one expression stands for another, the outer one came of conversions.
                    found.expressions[place(node.span)] = node
                elif isinstance(node, t.Variable):
                    found.variables[place(node.span)] = node
    return found


_DECLARATIONS = (t.FunctionDecl, t.BlockDecl, t.ConstDecl, t.Member, Type, Span)
_FIELDS: dict[type, tuple[str, ...]] = {}


def _walk(body: object) -> Iterator[Any]:
    """All expressions, statements and variables below `body`."""
    waiting: list[Any] = [body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, tuple):
            waiting.extend(reversed(node))
            continue
        if not is_dataclass(node) or isinstance(node, _DECLARATIONS):
            continue
        yield node
        if not isinstance(node, t.Variable):
            waiting.extend(getattr(node, name) for name in reversed(_parts(type(node))))


def _parts(kind: type) -> tuple[str, ...]:
    if kind not in _FIELDS:
        skipped = ("type", "span")
        _FIELDS[kind] = tuple(f.name for f in fields(kind) if f.name not in skipped)
    return _FIELDS[kind]
