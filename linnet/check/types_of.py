"""Written types: from the syntax tree to `Type`, with what a type demands proven on the way.

In: a type expression and where it stands. Out: the type, or `Error()` after a report. Writing
a block's name demands its `where` list (E2206); which sorts of types a place allows is asked by
`value_type` and by the members of blocks.
"""

from __future__ import annotations

from linnet.check import show
from linnet.check.context import Context, is_poison
from linnet.check.dims_of import axis_of, shape_of, size_of
from linnet.check.entities import (
    AliasItem,
    BlockItem,
    Demand,
    Entity,
    EnumItem,
    GenericItem,
    ModuleItem,
    Poison,
    PreludeItem,
    StructItem,
)
from linnet.check.names import resolve, resolve_path, wrong_sort
from linnet.check.operators import require_positive
from linnet.check.proofs import counterexample, impossible, proved, same_dtype_class, suggestion
from linnet.check.receivers import itself
from linnet.check.substitute import Bindings, tensor
from linnet.check.typed import GenericParam
from linnet.check.types import (
    SCALARS,
    Array,
    Axis,
    Block,
    DType,
    DTypeVar,
    Enum,
    Error,
    GenericArgument,
    Optional,
    Scalar,
    Struct,
    Tuple,
    Type,
)
from linnet.diag import Label, Span
from linnet.dims import Clause, Pack
from linnet.dims.facts import Facts
from linnet.syntax import tree


def type_of(ctx: Context, node: tree.TypeExpr) -> Type:
    """The type that `node` spells."""
    match node:
        case tree.TensorType():
            return _tensor(ctx, node)
        case tree.TupleType():
            items = tuple(type_of(ctx, element) for element in node.elements)
            return Error() if any(is_poison(item) for item in items) else Tuple(items)
        case tree.OptionalType():
            inner = type_of(ctx, node.inner)
            return inner if is_poison(inner) else Optional(inner)
        case tree.ArrayType():
            return array_type(ctx, node, "E2101")
        case tree.NamedType():
            entity = resolve_path(ctx, node.path)
            return Error() if entity is None else _named(ctx, entity, node)
        case _:
            return Error()


def value_type(ctx: Context, node: tree.TypeExpr, what: str) -> Type:
    """A type that values can have: no block and no array of blocks in any part (E2101)."""
    found = type_of(ctx, node)
    offender = _block_inside(found)
    if offender is None:
        return found
    ctx.report(
        "E2101",
        f"{what} cannot be of a block type",
        node.span,
        f"`{show.type_(offender)}` is a block, not a value",
        help="blocks are children: declare a `sub`, and pass the tensors it needs",
    )
    return Error()


def _block_inside(type: Type) -> Type | None:
    match type:
        case Block() | Array():
            return type
        case Optional(inner):
            return _block_inside(inner)
        case Tuple(items):
            return next((b for item in items if (b := _block_inside(item)) is not None), None)
        case _:
            return None


def _tensor(ctx: Context, node: tree.TensorType) -> Type:
    entries = [axis_of(ctx, entry) for entry in node.dims]
    dtype = dtype_named(ctx, node.dtype)
    axes: list[Axis] = [entry for entry in entries if entry is not None]
    if dtype is None or len(axes) < len(entries):
        return Error()
    return tensor(dtype, tuple(axes))


def dtype_named(ctx: Context, node: tree.NamedType) -> DType | None:
    """The dtype of a tensor type or an accumulator; E1208 for a name that is none."""
    entity = resolve_path(ctx, node.path)
    if entity is None:
        return None
    dtype = _dtype_behind(ctx, entity, node.span)
    if dtype is None and not isinstance(entity, Poison):
        wrong_sort(ctx, node.name, entity, node.span, "a dtype is needed here")
    return dtype


def entity_dtype(entity: Entity) -> DType | None:
    """The dtype that a name stands for, if it stands for one."""
    if isinstance(entity, PreludeItem) and entity.name in SCALARS:
        return entity.name
    if isinstance(entity, GenericItem) and isinstance(entity.param.symbol, DTypeVar):
        return entity.param.symbol
    return None


def _dtype_behind(ctx: Context, entity: Entity, span: Span) -> DType | None:
    """The same, through aliases that need no arguments."""
    if not isinstance(entity, AliasItem) or entity.generics:
        return entity_dtype(entity)
    known = entity.type if resolve_alias(ctx, entity, span) else None
    return known.dtype if isinstance(known, Scalar) else None


def array_type(ctx: Context, node: tree.ArrayType, code: str) -> Type:
    """`[Layer<H>; Depth]`; `code` is what an element that is no block gets."""
    item = type_of(ctx, node.element)
    length = size_of(ctx, node.size)
    if is_poison(item) or length is None:
        return Error()
    if not isinstance(item, Block):
        ctx.report(
            code,
            "an array holds blocks only",
            node.element.span,
            f"`{show.type_(item)}` is no block",
            help="for numbers use a tensor with one more axis",
        )
        return Error()
    return Array(item, length)


def _named(ctx: Context, entity: Entity, node: tree.NamedType) -> Type:
    if isinstance(entity, PreludeItem) and entity.name in SCALARS:
        if node.args:
            _too_many(ctx, node.name, (), node.span)
            return Error()
        return Scalar(entity.name)
    match entity:
        case GenericItem(param) if isinstance(param.symbol, DTypeVar):
            return Scalar(param.symbol)
        case BlockItem():
            return _block(ctx, entity, node)
        case EnumItem():
            if not entity.head_ok:
                return Error()
            arguments = type_arguments(ctx, entity.decl.generics, node, node.name)
            return Error() if arguments is None else Enum(entity.decl, arguments)
        case StructItem():
            return _struct(ctx, entity, node)
        case AliasItem():
            return _alias(ctx, entity, node)
        case Poison():
            pass
        case _:
            wrong_sort(ctx, node.name, entity, node.span, "a type is needed here")
    return Error()


def _block(ctx: Context, item: BlockItem, node: tree.NamedType) -> Type:
    decl = item.decl
    if not item.head_ok:
        return Error()
    own = type_arguments(ctx, decl.generics[decl.captured :], node, node.name)
    if own is None:
        return Error()
    captured = tuple(itself(g) for g in decl.generics[: decl.captured])
    block = Block(decl, (*captured, *own))
    return block if prove_block(ctx, block, node.span) else Error()


def prove_block(ctx: Context, block: Block, span: Span) -> bool:
    """Prove a block's `where` list for its arguments (E2206)."""
    bindings = Bindings.of(block)
    clauses = [bindings.clause(clause) for clause in block.decl.where]
    return prove_clauses(ctx, clauses, f"block `{block.decl.name}`", span)


def prove_clauses(ctx: Context, clauses: list[Clause], whose: str, span: Span) -> bool:
    """Prove what `whose` demands; the first clause that fails is reported."""
    if ctx.demands is not None:
        ctx.demands.extend(Demand(clause, whose) for clause in clauses)
        return True
    for clause in clauses:
        if not proved(ctx.facts, clause):
            unproven(ctx, clause, whose, span)
            return False
    return True


def unproven(ctx: Context, clause: Clause, whose: str, span: Span) -> None:
    """E2206, with the item as written and as it reads here."""
    here = f"{clause.left} {clause.op} {clause.right}"
    false = impossible(ctx.facts, clause)
    origin = clause.origin
    related = (Label(origin, "demanded here"),) if isinstance(origin, Span) else ()
    ctx.report(
        "E2206",
        f"{whose} demands `{clause.text}`, which is {'false' if false else 'not provable'} here",
        span,
        f"here it means `{here}`",
        related=related,
        notes=counterexample(ctx.facts, clause),
        help=suggestion(ctx, clause),
    )


# --- aliases ----------------------------------------------------------------------------


def _alias(ctx: Context, item: AliasItem, node: tree.NamedType) -> Type:
    if not resolve_alias(ctx, item, node.span):
        return Error()
    arguments = type_arguments(ctx, item.generics, node, node.name)
    if arguments is None or item.type is None or is_poison(item.type):
        return Error()
    symbols = (g.symbol for g in item.generics)
    bindings = Bindings(dict(zip(symbols, arguments, strict=True)))
    fine = meet_demands(ctx, item.demands, bindings, node.span)
    return bindings.type(item.type) if fine else Error()


def meet_demands(ctx: Context, demands: list[Demand], bindings: Bindings, span: Span) -> bool:
    """Prove what the text of an alias or struct demands of one of its uses."""
    for demand in demands:
        clause = bindings.clause(demand.clause)
        if demand.whose is None:
            fine = require_positive(ctx, clause.left, span)
        else:
            fine = prove_clauses(ctx, [clause], demand.whose, span)
        if not fine:
            return False
    return True


def resolve_alias(ctx: Context, item: AliasItem, span: Span) -> bool:
    """Read the alias's own type, once; E2122 where it needs itself."""
    if item.state == "busy":
        ctx.report(
            "E2122",
            f"type alias `{item.node.name}` contains itself",
            span,
            "used in its own definition",
            related=(Label(item.node.name_span, "declared here"),),
        )
        item.type = Error()
        return False
    if item.state == "new":
        item.state = "busy"
        place = Context(ctx.run, item.module, item.inner, Facts(), demands=item.demands)
        item.type = type_of(place, item.node.type)
        item.state = "done"
    return item.head_ok


# --- structs ----------------------------------------------------------------------------


def _struct(ctx: Context, item: StructItem, node: tree.NamedType) -> Type:
    if not resolve_struct(ctx, item, node.span):
        return Error()
    arguments = type_arguments(ctx, item.decl.generics, node, node.name)
    if arguments is None:
        return Error()
    struct = Struct(item.decl, arguments)
    fine = meet_demands(ctx, item.demands, Bindings.of(struct), node.span)
    return struct if fine else Error()


def resolve_struct(ctx: Context, item: StructItem, span: Span) -> bool:
    """Read the types of a struct's fields, once; E2122 where it needs itself."""
    if item.state == "busy":
        ctx.report(
            "E2122",
            f"struct `{item.node.name}` contains itself",
            span,
            "used in its own definition",
            related=(Label(item.node.name_span, "declared here"),),
        )
        item.head_ok = False
        return False
    if item.state == "new":
        item.state = "busy"
        place = Context(ctx.run, item.module, item.inner, Facts(), demands=item.demands)
        for field in item.node.fields:
            type = value_type(place, field.type, f"field `{field.name}`")
            item.head_ok = item.head_ok and not is_poison(type)
            item.decl.fields.setdefault(field.name, type)
        item.state = "done"
    return item.head_ok


# --- generic arguments ------------------------------------------------------------------


def type_arguments(
    ctx: Context, params: tuple[GenericParam, ...], node: tree.NamedType, name: str
) -> tuple[GenericArgument, ...] | None:
    """The positional arguments of a type, defaults filled in. None after a report."""
    given = node.args or ()
    if len(given) > len(params):
        _too_many(ctx, name, params, node.span, len(given))
        return None
    bindings = Bindings()
    failed = False
    for number, param in enumerate(params):
        if number < len(given):
            argument = generic_argument(ctx, given[number], param)
        elif param.default is not None:
            argument = None if failed else bindings.argument(param.default)
        else:
            _too_few(ctx, name, params, node.span, len(given))
            return None
        if argument is None:
            failed = True
        else:
            bindings.bind(param.symbol, argument)
    if failed:
        return None
    return tuple(a for p in params if (a := bindings.get(p.symbol)) is not None)


def generic_argument(
    ctx: Context, node: tree.TypeArg, param: GenericParam, code: str = "E2111"
) -> GenericArgument | None:
    """One written generic argument, of the sort its parameter wants. None after a report, with
    `code` if the sort is wrong."""
    if param.kind == "Shape":
        return _shape_argument(ctx, node, param, code)
    if param.kind != "Dim":
        return _dtype_argument(ctx, node, param, code)
    if isinstance(node, tree.TypeExpr | tree.ShapeLiteral):
        return _misfit(ctx, node, param, "a dimension", code)
    if isinstance(node, tree.Name):
        entity = resolve(ctx, node.name, node.span)
        if entity is None or isinstance(entity, Poison):
            return None
        pack = isinstance(entity, GenericItem) and entity.param.kind == "Shape"
        kinds = PreludeItem | BlockItem | EnumItem | StructItem | AliasItem | ModuleItem
        typelike = isinstance(entity, kinds)
        if pack or typelike or entity_dtype(entity) is not None:
            return _misfit(ctx, node, param, "a dimension", code)
    return size_of(ctx, node)


def _shape_argument(
    ctx: Context, node: tree.TypeArg, param: GenericParam, code: str
) -> GenericArgument | None:
    if isinstance(node, tree.ShapeLiteral):
        return shape_of(ctx, node)
    if isinstance(node, tree.Name):
        entity = resolve(ctx, node.name, node.span)
        if entity is None or isinstance(entity, Poison):
            return None
        if isinstance(entity, GenericItem) and isinstance(entity.param.symbol, Pack):
            return (entity.param.symbol,)
    return _misfit(ctx, node, param, "a shape: `[B, H]` or a pack in scope", code)


def _dtype_argument(
    ctx: Context, node: tree.TypeArg, param: GenericParam, code: str
) -> GenericArgument | None:
    dtype: DType | None = None
    path = node.path if isinstance(node, tree.NamedType) and not node.args else None
    name = node.name if isinstance(node, tree.Name) else None
    if path is not None or name is not None:
        entity = resolve_path(ctx, path) if path else resolve(ctx, name or "", node.span)
        if entity is None or isinstance(entity, Poison):
            return None
        dtype = _dtype_behind(ctx, entity, node.span)
    if dtype is None:
        return _misfit(ctx, node, param, "a dtype", code)
    return dtype if in_class(ctx, dtype, param, node.span) else None


def in_class(ctx: Context, dtype: DType, param: GenericParam, span: Span) -> bool:
    """Whether `dtype` may stand for the generic; E2112 if not."""
    if same_dtype_class(dtype, param.kind):
        return True
    help: tuple[str, ...] = ()
    if isinstance(dtype, DTypeVar):
        help = (f"constrain it: `{dtype.name}: {param.kind}`",)
    ctx.report(
        "E2112",
        f"`{show.dtype(dtype)}` is outside the class `{param.kind}`",
        span,
        f"`{param.name}` is one of {show.members(param.kind)}",
        related=(Label(param.span, "declared here"),),
        help=help,
    )
    return False


def _misfit(
    ctx: Context, node: tree.Node, param: GenericParam, wanted: str, code: str
) -> GenericArgument | None:
    """Report an argument of the wrong sort; always None."""
    ctx.report(
        code,
        f"generic argument of the wrong sort for `{param.name}`",
        node.span,
        f"`{param.name}: {param.kind}` takes {wanted}",
        related=(Label(param.span, "declared here"),),
    )
    return None


def _too_many(
    ctx: Context, name: str, params: tuple[GenericParam, ...], span: Span, given: int = 0
) -> None:
    takes = f"takes {len(params)} at most" if params else "takes none"
    ctx.report(
        "E2111",
        f"`{name}` has too many generic arguments",
        span,
        f"{given} given, {takes}" if given else takes,
        notes=_declared(name, params),
    )


def _too_few(
    ctx: Context, name: str, params: tuple[GenericParam, ...], span: Span, given: int
) -> None:
    missing = ", ".join(f"`{p.name}`" for p in params[given:] if p.default is None)
    ctx.report(
        "E2111",
        f"`{name}` lacks generic arguments",
        span,
        f"no argument for {missing}",
        notes=_declared(name, params),
    )


def _declared(name: str, params: tuple[GenericParam, ...]) -> tuple[str, ...]:
    return (f"declared as `{name}{show.generics(params)}`",) if params else ()
