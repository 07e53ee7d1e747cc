"""`if` and `match`: conditions, patterns, and the common type of what the branches give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from linnet.check import show
from linnet.check.context import Context, is_poison, poison
from linnet.check.fit import (
    BRANCH,
    adapt,
    has_literal,
    none_without_context,
    settle,
    shape_notes,
)
from linnet.check.operators import BOOL
from linnet.check.patterns import bind_pattern
from linnet.check.proofs import same_type
from linnet.check.typed import (
    EnumDecl,
    If,
    MatchEnum,
    MatchOptional,
    Pattern,
    TExpr,
    Variable,
)
from linnet.check.types import (
    CompileTimeInt,
    Enum,
    Error,
    FloatLiteral,
    NoneLiteral,
    Optional,
    Scalar,
    Tensor,
    Tuple,
    Type,
)
from linnet.diag import Label, Span
from linnet.syntax import tree


def condition(ctx: Context, node: tree.Expr, what: str) -> TExpr:
    """The scalar `bool` of an `if` or `while` (E2114)."""
    value = ctx.value(node)
    if is_poison(value) or value.type == BOOL:
        return value
    help: tuple[str, ...] = ()
    if isinstance(value.type, Tensor):
        reduced = "reduce it, as in `any[i] m[i]`"
        by_element = "choose by element with `select(c, a, b)`, or "
        help = (by_element + reduced if what == "if" else reduced,)
    elif not isinstance(value.type, Optional | Tuple):
        help = (f"compare it, as in `{node.span.text} != 0`",)
    return ctx.bad(
        "E2114",
        f"the condition of `{what}` is no scalar `bool`",
        node.span,
        f"this is {show.quoted(value.type)}",
        help=help,
    )


def if_expr(ctx: Context, node: tree.If) -> TExpr:
    """`if c { a } else { b }`."""
    test = condition(ctx, node.condition, "if")
    then, otherwise = ctx.value(node.then), ctx.value(node.otherwise)
    joined = join(ctx, (then, otherwise), node.span, "branches of `if`")
    if joined is None or is_poison(test):
        return poison(node.span)
    type, (then, otherwise) = joined
    return If(type, node.span, test, then, otherwise)


# --- joining ----------------------------------------------------------------------------


def join(
    ctx: Context, values: Sequence[TExpr], span: Span, what: str
) -> tuple[Type, tuple[TExpr, ...]] | None:
    """The common type of all branches and the branches adapted to it; None after a report."""
    if any(is_poison(value) for value in values):
        return None
    wanted = values[0].type
    first = values[0]
    for value in values[1:]:
        joined = _join_types(ctx, wanted, value.type)
        if joined is None:
            _disagree(ctx, first, value, span, what)
            return None
        wanted = joined
    wanted = _settled(wanted)
    if isinstance(wanted, NoneLiteral):
        none_without_context(ctx, replace(values[0], span=span))
        return None
    adapted: list[TExpr] = []
    for value in values:
        new = value if isinstance(wanted, FloatLiteral) else adapt(ctx, value, wanted, BRANCH)
        if new is None or is_poison(new):
            return None
        adapted.append(new)
    return wanted, tuple(adapted)


def _join_types(ctx: Context, a: Type, b: Type) -> Type | None:
    """The type both can become: a literal gives way to a typed value, `none` to an optional."""
    match a, b:
        case (CompileTimeInt() | FloatLiteral(), CompileTimeInt() | FloatLiteral()):
            both_int = isinstance(a, CompileTimeInt) and isinstance(b, CompileTimeInt)
            return a if both_int else FloatLiteral(None)
        case ((CompileTimeInt() | FloatLiteral()), _) if not has_literal(b):
            return b
        case _, (CompileTimeInt() | FloatLiteral()) if not has_literal(a):
            return a
        case NoneLiteral(), Optional() | NoneLiteral():
            return b
        case Optional(), NoneLiteral():
            return a
        case Optional(x), Optional(y):
            inner = _join_types(ctx, x, y)
            return None if inner is None else Optional(inner)
        case Tuple(x), Tuple(y) if len(x) == len(y):
            parts = [_join_types(ctx, i, j) for i, j in zip(x, y, strict=True)]
            whole = tuple(part for part in parts if part is not None)
            return Tuple(whole) if len(whole) == len(parts) else None
        case _:
            return a if same_type(ctx.facts, a, b) else None


def _settled(type: Type) -> Type:
    """Integer literals of branches become `i64`; a float literal stays one."""
    match type:
        case CompileTimeInt():
            return Scalar("i64")
        case FloatLiteral():
            return FloatLiteral(None)
        case Optional(inner):
            return Optional(_settled_inside(inner))
        case Tuple(items):
            return Tuple(tuple(_settled_inside(item) for item in items))
        case _:
            return type


def _settled_inside(type: Type) -> Type:
    return Scalar("f64") if isinstance(type, FloatLiteral) else _settled(type)


def _disagree(ctx: Context, first: TExpr, second: TExpr, span: Span, what: str) -> None:
    ctx.report(
        "E2115",
        f"{what} disagree in type",
        second.span,
        f"this gives {show.quoted(second.type)}",
        related=(Label(first.span, f"this gives {show.quoted(first.type)}"),),
        notes=shape_notes(ctx, second.type, first.type),
    )


# --- match ------------------------------------------------------------------------------


def match_expr(ctx: Context, node: tree.Match) -> TExpr:
    """`match` on an optional or an enum."""
    subject = ctx.expr(node.subject)
    if has_literal(subject.type):
        subject = settle(ctx, subject, keep_dims=False)
    if is_poison(subject):
        for arm in node.arms:
            _poisoned_arm(ctx, arm)
        return poison(node.span)
    if isinstance(subject.type, Optional):
        return _match_optional(ctx, node, subject, subject.type)
    if isinstance(subject.type, Enum):
        return _match_enum(ctx, node, subject, subject.type)
    ctx.report(
        "E2117",
        f"{show.quoted(subject.type)} cannot be matched",
        node.subject.span,
        "`match` takes optionals and enums",
        help="use `if` for conditions" if subject.type == BOOL else (),
    )
    for arm in node.arms:
        if isinstance(arm.pattern, tree.SomePattern | tree.NonePattern):
            ctx.report(
                "E2117",
                f"`{arm.pattern.span.text}` matches optionals only",
                arm.pattern.span,
                f"the value is {show.quoted(subject.type)}",
            )
        _poisoned_arm(ctx, arm)
    return poison(node.span)


def _poisoned_arm(ctx: Context, arm: tree.Arm) -> None:
    """Look for errors in an arm whose pattern means nothing: its names are poison."""
    with ctx.inner_scope():
        bind_pattern(ctx, arm.pattern, Error(), quiet=True)
        ctx.value(arm.value)


def _after_catch_all(ctx: Context, arm: tree.Arm, first: tree.Arm) -> None:
    ctx.report(
        "E2117",
        "this arm can never match",
        arm.pattern.span,
        "an earlier arm takes everything",
        related=(Label(first.pattern.span, "this one"),),
        help="move the arm that takes everything to the end",
    )


def _missing(ctx: Context, node: tree.Match, missing: list[str]) -> None:
    ctx.report(
        "E2118",
        "`match` leaves a case out",
        node.span,
        f"no arm for {', '.join(f'`{m}`' for m in missing)}",
        help=f"add {' and '.join(f'`{m} => …`' for m in missing)}",
    )


def _repeated(ctx: Context, arm: tree.Arm, first: tree.Arm) -> None:
    ctx.report(
        "E2117",
        f"`{arm.pattern.span.text}` has an arm already",
        arm.pattern.span,
        "this one can never match",
        related=(Label(first.pattern.span, "the first one"),),
    )


def _match_optional(ctx: Context, node: tree.Match, subject: TExpr, type: Optional) -> TExpr:
    some: tuple[tree.Arm, Pattern | None, TExpr] | None = None
    none: tuple[tree.Arm, TExpr] | None = None
    whole: tuple[tree.Arm, Pattern | None, TExpr] | None = None
    fine = True
    for arm in node.arms:
        with ctx.inner_scope():
            if whole is not None:
                _after_catch_all(ctx, arm, whole[0])
                _poisoned_arm(ctx, arm)
                fine = False
            elif isinstance(arm.pattern, tree.NonePattern):
                value = ctx.value(arm.value)
                if none is not None:
                    _repeated(ctx, arm, none[0])
                    fine = False
                else:
                    none = (arm, value)
            elif isinstance(arm.pattern, tree.SomePattern):
                pattern = bind_pattern(ctx, arm.pattern.inner, type.inner)
                value = ctx.value(arm.value)
                if some is not None:
                    _repeated(ctx, arm, some[0])
                    fine = False
                elif pattern is None:
                    fine = False
                    some = (arm, None, poison(arm.span))
                else:
                    some = (arm, pattern, value)
            elif isinstance(arm.pattern, tree.NamePattern):
                pattern = bind_pattern(ctx, arm.pattern, type)
                whole = (arm, pattern, ctx.value(arm.value))
            else:
                ctx.report(
                    "E2117",
                    "a tuple pattern stands only inside `some(…)`",
                    arm.pattern.span,
                    f"the value is {show.quoted(type)}",
                )
                _poisoned_arm(ctx, arm)
                fine = False
    if whole is None and fine:
        missing = [m for m, arm in (("some(v)", some), ("none", none)) if arm is None]
        if missing:
            _missing(ctx, node, missing)
            return poison(node.span)
    if not fine:
        return poison(node.span)
    some_body = some[2] if some is not None else whole[2] if whole is not None else None
    none_body = none[1] if none is not None else whole[2] if whole is not None else None
    assert some_body is not None
    assert none_body is not None
    joined = join(ctx, (some_body, none_body), node.span, "arms of `match`")
    if joined is None:
        return poison(node.span)
    result, (some_body, none_body) = joined
    pattern = some[1] if some is not None else None
    name = whole[1].variable if whole is not None and whole[1] is not None else None
    return MatchOptional(result, node.span, subject, pattern, some_body, none_body, name)


def _match_enum(ctx: Context, node: tree.Match, subject: TExpr, type: Enum) -> TExpr:
    decl = type.decl
    bodies: dict[str, tuple[tree.Arm, TExpr]] = {}
    rest: tuple[tree.Arm, TExpr] | None = None
    whole: Variable | None = None
    fine = True
    for arm in node.arms:
        pattern = arm.pattern
        with ctx.inner_scope():
            if not isinstance(pattern, tree.NamePattern):
                ctx.report(
                    "E2117",
                    f"`{pattern.span.text}` does not match an enum",
                    pattern.span,
                    f"the value is {show.quoted(type)}",
                    notes=(f"its variants are {', '.join(decl.variants)}",),
                )
                _poisoned_arm(ctx, arm)
                fine = False
            elif rest is not None:
                _after_catch_all(ctx, arm, rest[0])
                _poisoned_arm(ctx, arm)
                fine = False
            elif pattern.name in decl.variants:
                value = ctx.value(arm.value)
                if pattern.name in bodies:
                    _repeated(ctx, arm, bodies[pattern.name][0])
                    fine = False
                else:
                    bodies[pattern.name] = (arm, value)
            else:
                _suspicious(ctx, pattern, decl)
                bound = bind_pattern(ctx, pattern, type)
                if pattern.name[0].isupper() and bound is not None:
                    ctx.run.read.add(id(bound.variable))  # W1901 says enough about it
                whole = bound.variable if bound is not None else None
                rest = (arm, ctx.value(arm.value))
    missing = [variant for variant in decl.variants if variant not in bodies]
    if rest is None and fine and missing:
        _missing(ctx, node, missing)
        fine = False
    if not fine:
        return poison(node.span)
    values = [bodies[v][1] if v in bodies else (rest or bodies[v])[1] for v in decl.variants]
    joined = join(ctx, values, node.span, "arms of `match`")
    if joined is None:
        return poison(node.span)
    return MatchEnum(joined[0], node.span, subject, joined[1], whole)


def _suspicious(ctx: Context, pattern: tree.NamePattern, decl: EnumDecl) -> None:
    """W1901: a catch-all whose name starts like a variant's."""
    if pattern.name[0].isupper():
        ctx.report(
            "W1901",
            f"`{pattern.name}` is no variant of `{decl.name}` and catches everything",
            pattern.span,
            "a new name, not a variant",
            notes=(f"the variants are {', '.join(decl.variants)}",),
            help="check its spelling, or write `_`",
        )
