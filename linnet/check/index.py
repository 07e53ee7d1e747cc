"""Index notation: `let y[o] = …`, reductions, and accesses that address every axis.

In: the syntax of one form and the index variables around it. Out: `Comprehension`, `Reduce` and
`Access` nodes. The first access of an index variable fixes its extent; every further one must
be provably equal. Slices with their own meaning are in `slices`.
"""

from __future__ import annotations

from linnet.check import show
from linnet.check.context import Context, IndexFrame, is_poison, poison
from linnet.check.entities import Poison
from linnet.check.fit import ANNOTATION, as_dtype
from linnet.check.names import unknown_name
from linnet.check.operators import is_literal
from linnet.check.positions import inside, integer_position
from linnet.check.proofs import same_dtype_class, same_shape, suggestion
from linnet.check.substitute import tensor
from linnet.check.typed import Access, Comprehension, IndexVar, Reduce, TExpr
from linnet.check.types import Axis, CompileTimeInt, DType, Optional, Scalar, Shape, Tensor, Type
from linnet.check.types_of import entity_dtype
from linnet.diag import Label, Span
from linnet.dims import Clause, Dim, Pack
from linnet.syntax import tree

_UNSET: Shape = ()
"""The domain of an index variable before its first access."""


# --- forms ------------------------------------------------------------------------------


def comprehension(ctx: Context, node: tree.IndexLet) -> TExpr:
    """The tensor that `let y[outputs] = body` binds."""
    before = ctx.run.errors
    frame = IndexFrame()
    for output in node.outputs:
        if not isinstance(output, tree.Pack):
            _add(ctx, frame, output.name, output.span, "output")
            continue
        if frame.packs:
            ctx.report(
                "E3106",
                "two pack indices among the outputs",
                output.span,
                "nothing would say where one ends",
                help="name the axes of one of them",
            )
        frame.packs.add(output.name)
        _add(ctx, frame, output.name, output.name_span, "output")
    with ctx.index_frame(frame):
        body = ctx.value(node.value)
    if is_poison(body) or ctx.run.errors > before:
        return poison(node.span)
    if not scalar_body(ctx, body, node.value):
        return poison(node.span)
    unused = [v for v in frame.variables.values() if v.name not in frame.first]
    for variable in unused:
        ctx.report(
            "E3103",
            f"output `{variable.name}` indexes nothing",
            variable.span,
            "nothing says how far it runs",
            help="remove it, or stretch the result with `broadcast_to`",
        )
    if unused:
        return poison(node.span)
    outputs = tuple(frame.variables[output.name] for output in node.outputs)
    axes: list[Axis] = []
    for variable in outputs:
        axes.extend(variable.domain if isinstance(variable.domain, tuple) else (variable.domain,))
    assert isinstance(body.type, Scalar)
    return Comprehension(tensor(body.type.dtype, tuple(axes)), node.span, outputs, body)


def _add(ctx: Context, frame: IndexFrame, name: str, span: Span, what: str) -> None:
    first = frame.variables.get(name)
    if first is not None:
        ctx.report(
            "E3105",
            f"index `{name}` is listed twice",
            span,
            f"the same {what} again",
            related=(Label(first.span, "first listed here"),),
            help="rename one of them",
        )
        return
    frame.variables[name] = IndexVar(name, _UNSET, span)


def reduction(ctx: Context, node: tree.Reduction) -> TExpr:
    """`sum<A>[i, j] body` and its kin: a scalar."""
    before = ctx.run.errors
    frame = IndexFrame()
    for index in node.indices:
        _add(ctx, frame, index.name, index.span, "index")
    accumulator = _accumulator(ctx, node)
    with ctx.index_frame(frame):
        body = ctx.value(node.body)
    if is_poison(body) or ctx.run.errors > before:
        return poison(node.span)
    if not scalar_body(ctx, body, node.body):
        return poison(node.span)
    unused = [v for v in frame.variables.values() if v.name not in frame.first]
    for variable in unused:
        ctx.report(
            "E3102",
            f"reduction index `{variable.name}` indexes nothing",
            variable.span,
            "nothing says how far it runs",
            help="remove it",
        )
    if unused:
        return poison(node.span)
    assert isinstance(body.type, Scalar)
    dtype = body.type.dtype
    if accumulator is not None and dtype != accumulator:
        target = show.dtype(accumulator)
        return ctx.bad(
            "E2103",
            f"`{node.kind}<{target}>` adds up `{show.dtype(dtype)}`",
            node.body.span,
            f"the body has to be `{target}`",
            at=node.span,
            help=f"convert each element: `cast<{target}>(…)`",
        )
    if not _reducible(ctx, node, dtype):
        return poison(node.span)
    indices = tuple(frame.variables.values())
    return Reduce(Scalar(dtype), node.span, node.kind, dtype, indices, body)


def _accumulator(ctx: Context, node: tree.Reduction) -> DType | None:
    if node.accumulator is None:
        return None
    name, span = node.accumulator.name, node.accumulator.span
    entity = ctx.find(name)
    if entity is None:
        unknown_name(ctx, name, span)
    elif not isinstance(entity, Poison):
        dtype = entity_dtype(entity)
        if dtype is not None:
            return dtype
        ctx.report("E1208", f"`{name}` is no dtype", span, "the dtype to accumulate in")
    return None


def _reducible(ctx: Context, node: tree.Reduction, dtype: DType) -> bool:
    if node.kind in ("any", "all"):
        fine, wanted = dtype == "bool", "`bool`"
    else:
        fine, wanted = same_dtype_class(dtype, "Numeric"), "Numeric dtypes"
    if not fine:
        ctx.report(
            "E2104",
            f"`{node.kind}` does not take `{show.dtype(dtype)}`",
            node.body.span,
            f"it reduces {wanted}",
            help="compare first, as in `x[i] != 0`"
            if wanted == "`bool`"
            else "count with `select(x[i], 1, 0)` and a cast"
            if dtype == "bool"
            else (),
        )
    return fine


def scalar_body(ctx: Context, body: TExpr, node: tree.Expr) -> bool:
    """Whether the body of an index form is a scalar with a dtype; E3104 if not."""
    if isinstance(body.type, Scalar):
        return True
    help: tuple[str, ...]
    if is_literal(body.type):
        what, help = "a bare literal", ("for a constant tensor use `fill<T>([…], value)`",)
    elif isinstance(body.type, Tensor):
        what = f"the tensor `{show.type_(body.type)}`"
        help = ("index every axis of every tensor in the body",)
    else:
        what = show.quoted(body.type)
        help = ("take it apart first",) if isinstance(body.type, Optional) else ()
    ctx.report(
        "E3104",
        "the body of index notation is no scalar",
        node.span,
        f"this is {what}",
        help=help,
    )
    return False


# --- accesses ---------------------------------------------------------------------------


def access(ctx: Context, node: tree.Index, base: TExpr, type: Tensor) -> TExpr:
    """`base[i, *s, at[j]]` inside index notation: every axis is addressed."""
    before = ctx.run.errors
    parts = [_component(ctx, component) for component in node.components]
    packs = [n for n, c in enumerate(node.components) if isinstance(c, tree.Pack)]
    plain = len(parts) - len(packs)
    if len(packs) > 1:
        return ctx.bad(
            "E3106",
            "two pack indices in one access",
            node.components[packs[1]].span,
            "one covers the axes that the others leave",
            at=node.span,
        )
    if plain > len(type.axes) or (not packs and plain < len(type.axes)):
        return _wrong_count(ctx, node, base, type)
    for number, (component, part) in enumerate(zip(node.components, parts, strict=True)):
        axes = _covered(type.axes, packs, len(parts), number)
        if isinstance(part, IndexVar):
            _run_over(ctx, part, axes, component, base)
        elif part is not None and isinstance(axes, Pack):
            _pack_by_plain(ctx, component.span, axes)
        elif part is not None and isinstance(axes, Dim):
            parts[number] = _fixed(ctx, part, axes)
    if ctx.run.errors > before or any(part is None for part in parts):
        return poison(node.span)
    components = tuple(part for part in parts if part is not None)
    return Access(Scalar(type.dtype), node.span, base, components)


def _fixed(ctx: Context, part: TExpr, axis: Dim) -> TExpr | None:
    """A position that is no index variable: inside its axis as far as one can say."""
    if not isinstance(part.type, CompileTimeInt):
        return part
    if not inside(ctx, part.type.value, axis, part.span):
        return None
    return as_dtype(ctx, part, "i64", ANNOTATION)


def _covered(axes: Shape, packs: list[int], count: int, number: int) -> Axis | Shape:
    """The axis that component `number` addresses; for the pack index all that are left."""
    if not packs or number < packs[0]:
        return axes[number]
    if number > packs[0]:
        return axes[len(axes) - (count - number)]
    return axes[number : len(axes) - (count - number - 1)]


def _component(ctx: Context, node: tree.Component) -> IndexVar | TExpr | None:
    """One component: an index variable, or a position. None after a report."""
    if isinstance(node, tree.Pack):
        found = ctx.index_variable(node.name)
        if found is None:
            _unbound(ctx, node.name, node.span, pack=True)
            return None
        return _starred(ctx, *found, node, starred=True)
    if isinstance(node, tree.Name):
        found = ctx.index_variable(node.name)
        if found is not None:
            return _starred(ctx, *found, node, starred=False)
        if ctx.find(node.name) is None:
            _unbound(ctx, node.name, node.span)
            return None
    assert isinstance(node, tree.Expr)
    return integer_position(ctx, node)


def _starred(
    ctx: Context, frame: IndexFrame, variable: IndexVar, node: tree.Component, *, starred: bool
) -> IndexVar | None:
    """A pack index is written with its `*` and no other index is (E3106)."""
    if starred == (variable.name in frame.packs):
        return variable
    right = variable.name if starred else f"*{variable.name}"
    ctx.report(
        "E3106",
        f"`{variable.name}` is {'a plain' if starred else 'a pack'} index",
        node.span,
        f"it is written `{right}`",
        related=(Label(variable.span, "listed here"),),
    )
    return None


def _unbound(ctx: Context, name: str, span: Span, pack: bool = False) -> None:
    """E3101, once for each name of a statement."""
    if name in ctx.unbound:
        return
    ctx.unbound.add(name)
    star = "*" if pack else ""
    ctx.report(
        "E3101",
        f"index `{star}{name}` is neither an output nor reduced",
        span,
        "no list of indices names it",
        help=f"list `*{name}` on the left: `let y[*{name}] = …`"
        if pack
        else f"reduce it, as in `sum[{name}] …`, or list it on the left: `let y[{name}] = …`",
    )


def _run_over(
    ctx: Context, variable: IndexVar, covered: Axis | Shape, node: tree.Component, base: TExpr
) -> None:
    """Let `variable` run over what it addresses: fix its domain or compare with it."""
    if not isinstance(node, tree.Pack) and isinstance(covered, Pack):
        _pack_by_plain(ctx, node.span, covered)
        return
    frame = next(f for f in reversed(ctx.frames) if variable in f.variables.values())
    if variable.name not in frame.first:
        frame.first[variable.name] = node.span
        assert not isinstance(covered, Pack)
        variable.domain = covered
        return
    if _same_domain(ctx, variable.domain, covered):
        return
    first, second = _text(variable.domain), _text(covered)
    help: tuple[str, ...] = ()
    if isinstance(variable.domain, Dim) and isinstance(covered, Dim):
        help = suggestion(ctx, Clause.of("==", variable.domain, covered))
    ctx.report(
        "E2201",
        f"index `{variable.name}` runs over different extents",
        node.span,
        f"over `{second}` here",
        related=(Label(frame.first[variable.name], f"over `{first}` here"),),
        notes=(
            f"`{base.span.text}` is {show.quoted(base.type)}",
            "all axes of one index have to be provably equal; a size of 1 does not stretch",
        ),
        help=help,
    )


def _same_domain(ctx: Context, domain: Dim | Shape, covered: Axis | Shape) -> bool:
    if isinstance(domain, tuple) and isinstance(covered, tuple):
        return same_shape(ctx.facts, domain, covered)
    if isinstance(domain, Dim) and isinstance(covered, Dim):
        return same_shape(ctx.facts, (domain,), (covered,))
    return False


def _text(domain: Axis | Shape) -> str:
    return show.axes(domain) if isinstance(domain, tuple) else show.axis(domain)


def _pack_by_plain(ctx: Context, span: Span, pack: Pack) -> None:
    ctx.report(
        "E3106",
        f"this axis is the pack `*{pack.name}`",
        span,
        "a plain index addresses one axis",
        help="address a pack with a pack index, `*s`, listed on the left as `*s`",
    )


def _wrong_count(ctx: Context, node: tree.Index, base: TExpr, type: Type) -> TExpr:
    assert isinstance(type, Tensor)
    return ctx.bad(
        "E2204",
        show.indices_for_axes(len(node.components), len(type.axes)),
        node.span,
        f"`{node.base.span.text}` is {show.quoted(base.type)}",
        help="inside index notation an access addresses every axis",
    )
