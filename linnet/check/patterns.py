"""Patterns: bind the names of a `let`, a loop or a match arm to the parts of a value."""

from __future__ import annotations

from linnet.check import show
from linnet.check.context import Context
from linnet.check.declare import free_name
from linnet.check.typed import Pattern, Variable
from linnet.check.types import Error, Tuple, Type
from linnet.syntax import tree


def bind_pattern(
    ctx: Context, node: tree.Pattern, type: Type, *, quiet: bool = False
) -> Pattern | None:
    """Put the names of `node` in scope, with the types of their parts.

    None after E2117; the names are poison then, as they are where `type` is. With `quiet`
    nothing is said at all."""
    match node:
        case tree.NamePattern(name="_"):
            return Pattern(None)
        case tree.NamePattern():
            return Pattern(bind_name(ctx, node, type))
        case tree.TuplePattern():
            return _tuple(ctx, node, type, quiet)
    if not quiet and not isinstance(type, Error):
        ctx.report(
            "E2117",
            f"`{node.span.text}` can fail to match here",
            node.span,
            "a binding takes names, `_` and tuples of them",
            help="take an optional apart with `match`",
        )
    if isinstance(node, tree.SomePattern):
        bind_pattern(ctx, node.inner, Error(), quiet=True)
    return None


def bind_name(ctx: Context, node: tree.NamePattern, type: Type) -> Variable:
    """Bind one name; a prelude name becomes poison after E1207."""
    fine = free_name(ctx.run, node.name, node.span, "a local")
    variable = Variable(node.name, type if fine else Error(), node.span)
    ctx.bind(variable)
    return variable


def _tuple(ctx: Context, node: tree.TuplePattern, type: Type, quiet: bool) -> Pattern | None:
    if isinstance(type, Tuple) and len(type.items) == len(node.elements):
        parts = [
            bind_pattern(ctx, element, item)
            for element, item in zip(node.elements, type.items, strict=True)
        ]
        whole = tuple(part for part in parts if part is not None)
        return Pattern(None, whole) if len(whole) == len(parts) else None
    if not quiet and not isinstance(type, Error):
        count = len(node.elements)
        ctx.report(
            "E2117",
            f"a pattern of {count} parts for {show.quoted(type)}",
            node.span,
            f"the value has {len(type.items)} parts"
            if isinstance(type, Tuple)
            else "the value is no tuple",
        )
    for element in node.elements:
        bind_pattern(ctx, element, Error(), quiet=True)
    return None
