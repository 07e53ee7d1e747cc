"""Heads of declarations: generics, `where` lists, members, parameters and results.

In: modules whose names are declared. Out: every `BlockDecl` and `FunctionDecl` with its head
filled in; an item whose head has an error is marked (`head_ok`), and uses of it stay silent.
All heads are read before any body, in the order their parts depend on each other: generics of
everything, `where` lists of blocks, members, then functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from linnet.check import show
from linnet.check.constants import resolve_constant
from linnet.check.context import Context, Run, is_poison
from linnet.check.declare import free_name, twice
from linnet.check.dims_of import clause_of
from linnet.check.entities import (
    AliasItem,
    BlockItem,
    ConstItem,
    EnumItem,
    FunctionItem,
    Item,
    ModuleScope,
    Poison,
    StructItem,
)
from linnet.check.fit import DEFAULT, fit
from linnet.check.generics import declare_generics
from linnet.check.names import resolve
from linnet.check.substitute import field_types
from linnet.check.typed import GenericParam, Member, Parameter, Variable
from linnet.check.types import (
    Array,
    Block,
    Error,
    Optional,
    Scalar,
    Struct,
    Tensor,
    Tuple,
    Type,
    Unit,
)
from linnet.check.types_of import (
    array_type,
    resolve_alias,
    resolve_struct,
    type_of,
    value_type,
)
from linnet.diag import Span
from linnet.dims import Clause, Sym
from linnet.dims.facts import Facts
from linnet.syntax import tree


def resolve_heads(run: Run) -> None:
    """Read all heads of all modules of the run."""
    items = [item for module in run.modules.values() for item in every_item(module)]
    for item in items:
        _generics(run, item)
    for item in items:
        if isinstance(item, BlockItem):
            _block_where(run, item)
    for item in items:
        if isinstance(item, BlockItem):
            _members(run, item)
    for item in items:
        if isinstance(item, FunctionItem):
            _function(run, item)
        elif isinstance(item, AliasItem):
            resolve_alias(_outside(run, item), item, item.node.name_span)
        elif isinstance(item, StructItem):
            resolve_struct(_outside(run, item), item, item.node.name_span)
        elif isinstance(item, ConstItem):
            resolve_constant(run, item)


def every_item(module: ModuleScope) -> Iterator[Item]:
    """The items of a module and, after each block, those nested in it."""
    waiting = list(reversed(module.order))
    while waiting:
        item = waiting.pop()
        yield item
        if isinstance(item, BlockItem):
            waiting.extend(reversed(item.items))


def _outside(
    run: Run, item: FunctionItem | BlockItem | AliasItem | EnumItem | StructItem
) -> Context:
    return Context(run, item.module, item.scope, Facts())


# --- generics and where -----------------------------------------------------------------


def _generics(run: Run, item: Item) -> None:
    before = run.errors
    if isinstance(item, BlockItem):
        place = Context(run, item.module, item.names, Facts(), block=item)
        own = declare_generics(place, item.node.generics, item.names)
        captured = item.outer.decl.generics if item.outer is not None else ()
        item.decl.generics = (*captured, *own)
        item.decl.captured = len(captured)
        item.head_ok = run.errors == before and (item.outer is None or item.outer.head_ok)
    elif isinstance(item, FunctionItem):
        place = Context(run, item.module, item.inner, Facts())
        item.decl.generics = declare_generics(place, item.node.generics, item.inner)
        item.head_ok = run.errors == before
    elif isinstance(item, AliasItem | EnumItem | StructItem):
        place = Context(run, item.module, item.inner, Facts())
        generics = declare_generics(place, item.node.generics, item.inner)
        item.head_ok = run.errors == before
        if isinstance(item, AliasItem):
            item.generics = generics
        else:
            item.decl.generics = generics


def _symbols(generics: tuple[GenericParam, ...]) -> list[Sym]:
    return [g.symbol for g in generics if isinstance(g.symbol, Sym)]


def _clauses(ctx: Context, nodes: tuple[tree.Expr, ...]) -> tuple[Clause, ...]:
    clauses = (clause_of(ctx, node) for node in nodes)
    return tuple(clause for clause in clauses if clause is not None)


def _block_where(run: Run, item: BlockItem) -> None:
    before = run.errors
    place = Context(run, item.module, item.names, Facts(), block=item)
    own = _clauses(place, item.node.where)
    outer = item.outer.decl.where if item.outer is not None else ()
    item.decl.where = (*outer, *own)
    item.facts = Facts(item.decl.where, _symbols(item.decl.generics))
    item.facts_broken = run.errors > before or (item.outer is not None and item.outer.facts_broken)
    item.head_ok = item.head_ok and not item.facts_broken


# --- members ----------------------------------------------------------------------------

_ALLOWED = {
    "param": "a tensor or an optional tensor",
    "buffer": "a tensor or an optional tensor",
    "state": "a tensor",
    "sub": "a block, an optional block, or an array of blocks",
}


def _members(run: Run, item: BlockItem) -> None:
    ctx = Context(run, item.module, item.names, item.facts, block=item)
    ctx.facts_broken = item.facts_broken
    followers = dict(pairwise(item.node.members))
    for node, member in item.members:
        if not cut_short(node, followers.get(node)):
            _member(ctx, node, member)


def cut_short(node: tree.Node, following: tree.Node | None) -> bool:
    """Whether the parser gave up right behind `node`, which then is hardly what was meant."""
    if not isinstance(following, tree.DamagedItem | tree.DamagedStatement):
        return False
    between = node.span.source.text[node.span.end : following.span.start]
    return not between.strip() and "\n" not in between


def _member(ctx: Context, node: tree.Member, member: Member) -> None:
    if isinstance(node.type, tree.ArrayType):
        found = array_type(ctx, node.type, "E4101")
    else:
        found = type_of(ctx, node.type)
    if not is_poison(found) and not _allowed(node.kind, found):
        ctx.report(
            "E4101",
            f"`{node.kind} {node.name}` cannot be of type `{show.type_(found)}`",
            node.type.span,
            f"a `{node.kind}` holds {_ALLOWED[node.kind]}",
            help=_other_kind(found),
        )
        found = Error()
    member.type = found
    if node.default is not None:
        _member_default(ctx, node, found)


def _allowed(kind: str, type: Type) -> bool:
    bare = type.inner if isinstance(type, Optional) else type
    if kind == "sub":
        return isinstance(bare, Block) or isinstance(type, Array)
    if kind == "state":
        return isinstance(type, Tensor)
    return isinstance(bare, Tensor)


def _other_kind(type: Type) -> tuple[str, ...]:
    bare = type.inner if isinstance(type, Optional) else type
    if isinstance(bare, Block | Array):
        return ("declare it as a `sub`",)
    if isinstance(bare, Scalar):
        return (f"use a tensor with one element: `Tensor[1; {show.type_(bare)}]`",)
    return ()


def _member_default(ctx: Context, node: tree.Member, type: Type) -> None:
    assert node.default is not None
    if not isinstance(node.default, tree.NoneLiteral):
        ctx.report(
            "E4102",
            f"`{node.kind} {node.name}` has a value in source",
            node.default.span,
            "values come from the checkpoint",
            help="remove it; the only default is `= none`, on an optional",
        )
    elif not isinstance(type, Optional) and not is_poison(type):
        ctx.report(
            "E4101",
            f"`{node.kind} {node.name}` is not optional and cannot be `none`",
            node.default.span,
            f"its type is `{show.type_(type)}`",
            help=f"make it optional: `{show.type_(type)}?`",
        )


# --- functions --------------------------------------------------------------------------


def _function(run: Run, item: FunctionItem) -> None:
    before = run.errors
    node, decl = item.node, item.decl
    block = item.block
    outer = block.facts if block is not None else Facts()
    ctx = Context(run, item.module, item.inner, outer, block=block, function=item)
    decl.where = _clauses(ctx, node.where)
    item.facts_broken = run.errors > before or (block is not None and block.facts_broken)
    item.facts = outer.extended(decl.where, _symbols(decl.generics))
    ctx.facts, ctx.facts_broken = item.facts, item.facts_broken
    decl.parameters = _parameters(ctx, node)
    if node.result is not None:
        decl.result = value_type(ctx, node.result, "a result")
        if node.kind == "entry":
            _crosses(ctx, decl.result, node.result.span, "result")
    _later_parts(ctx, node)
    types = [parameter.variable.type for parameter in decl.parameters]
    types_ok = not any(is_poison(type) for type in types) and not is_poison(decl.result or Unit())
    block_ok = block is None or block.head_ok
    item.head_ok = item.head_ok and block_ok and types_ok and run.errors == before
    decl.ok = item.head_ok


def _parameters(ctx: Context, node: tree.Function) -> tuple[Parameter, ...]:
    parameters: list[Parameter] = []
    seen: dict[str, Span] = {}
    for param in node.parameters:
        type = value_type(ctx, param.type, f"parameter `{param.name}`")
        if node.kind == "entry":
            _crosses(ctx, type, param.type.span, f"parameter `{param.name}`")
        free_name(ctx.run, param.name, param.name_span, "a parameter")
        if param.name in seen:
            twice(ctx.run, "parameter", param.name, param.name_span, seen[param.name])
            continue
        seen[param.name] = param.name_span
        variable = Variable(param.name, type, param.name_span)
        default = None
        if param.default is not None:
            place = Context(
                ctx.run,
                ctx.module,
                ctx.scope,
                ctx.facts,
                function=ctx.function,
                constant_only="default",
            )
            default = fit(place, place.value(param.default), type, DEFAULT)
        parameters.append(Parameter(variable, default, param.span))
    return tuple(parameters)


def _crosses(ctx: Context, type: Type, span: Span, what: str) -> None:
    """Entries exchange scalars, tensors and tuples of them; a struct is a tuple of its fields."""
    match type:
        case Scalar() | Tensor() | Error():
            return
        case Tuple(items):
            for item in items:
                _crosses(ctx, item, span, what)
        case Struct():
            for item in field_types(type):
                _crosses(ctx, item, span, what)
        case Optional():
            ctx.report(
                "E2190",
                f"{what} of an entry is optional",
                span,
                "not supported by this compiler",
                help="offer a second entry without it",
            )
        case _:
            ctx.report(
                "E2101",
                f"{what} of an entry cannot be `{show.type_(type)}`",
                span,
                "entries take and give scalars, tensors and tuples of them",
            )


def _later_parts(ctx: Context, node: tree.Function) -> None:
    if node.kernel is not None:
        # A kernel in scope has been answered with E2190 where it is declared.
        entity = resolve(ctx, node.kernel.name, node.kernel.name_span)
        if entity is not None and not isinstance(entity, Poison):
            ctx.report(
                "E2126",
                f"`{node.kernel.name}` is no kernel",
                node.kernel.span,
                "an op names a kernel here",
            )
    if node.grad is not None and node.kind == "fn":
        ctx.report(
            "E2125",
            "`grad` on an `fn`",
            node.grad.span,
            "only ops have gradients of their own",
            help="remove it, or make this an `op`",
        )
    elif node.grad is not None:
        ctx.report(
            "E2190",
            "gradients are not supported by this compiler",
            node.grad.span,
            "known to the language, not built yet",
            help="remove it: inference does not need it",
        )
