"""What each alternative of the grammar builds: one method for every `-> name` in `linnet.lark`.

A method takes the values of its symbols (tokens, nodes, lists, None) and gives the value of
the whole. Rules of the language that the grammar does not express but that need no names
resolved are checked here: E1004 (reserved words), E1103 (set-aside forms) and some E1101.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from linnet.diag import Problems, Source, Span
from linnet.syntax import tree
from linnet.syntax.tokens import RESERVED, Token

COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
MAX_POSTFIX = 200

Values = list[Any]
# A declaration waits for what stands before it: it is given its start, `pub` and its doc.
Pending = Callable[[int, bool, str], tree.Item]


class Elements(list[Any]):
    """A list that may be resumed after an error. `next` is the index of the token where its
    next element starts, `damaged` whether something in it was lost."""

    def __init__(self, next: int) -> None:
        super().__init__()
        self.next = next
        self.damaged = False


class Actions:
    """Builds the nodes of one file. `at` is the index of the token being looked at;
    `header_missing` is set once the lack of a `module` line is known to the user."""

    def __init__(
        self,
        source: Source,
        problems: Problems,
        tokens: list[Token],
        docs: dict[int, str],
        literals: dict[int, int | float | str],
    ) -> None:
        self.source = source
        self.problems = problems
        self.tokens = tokens
        self.docs = docs
        self.literals = literals
        self.at = 0
        self.header_missing = False
        self.chain_reported = False
        self.lone_calls: list[tree.CallStatement] = []

    # --- helpers --------------------------------------------------------------------------

    def span(self, first: Any, last: Any) -> Span:
        """From the start of one token or node to the end of another."""
        start = first.start if isinstance(first, Token) else first.span.start
        end = last.end if isinstance(last, Token) else last.span.end
        return Span(self.source, start, end)

    def token_span(self, token: Token) -> Span:
        return Span(self.source, token.start, token.end)

    def new_ident(self, token: Token) -> tree.Ident:
        return tree.Ident(self.token_span(token), token.text)

    def declare(self, token: Token) -> tuple[str, Span]:
        """The name and place of a declaration; a reserved word is reported."""
        span = self.token_span(token)
        if token.text in RESERVED:
            report_reserved(self.problems, span)
        return token.text, span

    def error(self, message: str, span: Span, label: str = "", **more: Any) -> None:
        self.problems.report("E1101", message, span, label, **more)

    # --- lists ----------------------------------------------------------------------------

    def on_first(self, v: Values) -> list[Any]:
        return [v[0]]

    def on_next(self, v: Values) -> list[Any]:
        v[0].append(v[2])
        return cast("list[Any]", v[0])

    def on_append(self, v: Values) -> list[Any]:
        v[0].append(v[1])
        return cast("list[Any]", v[0])

    def on_empty(self, v: Values) -> list[Any]:
        return []

    def on_enclosed(self, v: Values) -> Any:
        return v[1]

    def on_second(self, v: Values) -> Any:
        return v[1]

    def on_absent(self, v: Values) -> None:
        return None

    def on_no_elements(self, v: Values) -> Elements:
        return Elements(self.at)

    def on_element(self, v: Values) -> Elements:
        elements = cast(Elements, v[0])
        elements.append(v[1])
        elements.next = self.at
        return elements

    # --- file -----------------------------------------------------------------------------

    def on_file(self, v: Values) -> tuple[Any, Elements]:
        return v[0], v[1]

    def on_header(self, v: Values) -> tuple[Token, tuple[tree.Ident, ...]]:
        return v[0], tuple(self.new_ident(token) for token in v[1])

    def on_missing_header(self, v: Values) -> None:
        if self.header_missing:
            return
        self.header_missing = True
        token = self.tokens[self.at]
        place = Span(self.source, token.start, token.end)
        self.problems.report(
            "E1102",
            "the file does not begin with `module`",
            place,
            "the first thing here should be the `module` line",
            help="add `module <name>` as the first line",
        )

    def _use(
        self, keyword: Token, path: list[Token], end: Token, picks: tuple[tree.Pick, ...] | None
    ) -> tree.Use:
        root = path[0]
        if root.type in ("SELF", "SUPER"):
            self.problems.report(
                "E1103",
                f"`use {root.text}` is set aside for a later version",
                self.token_span(root),
                help="write the whole path, from `crate`, `std` or a dependency",
            )
        return tree.Use(self.span(keyword, end), tuple(map(self.new_ident, path)), picks)

    def on_use_module(self, v: Values) -> tree.Use:
        return self._use(v[0], v[1], v[1][-1], None)

    def on_use_one(self, v: Values) -> tree.Use:
        return self._use(v[0], v[1], v[3], (self.on_pick([v[3]]),))

    def on_use_many(self, v: Values) -> tree.Use:
        return self._use(v[0], v[1], v[5], tuple(v[4]))

    def on_pick(self, v: Values) -> tree.Pick:
        span = self.token_span(v[0])
        return tree.Pick(span, v[0].text, span, None)

    def on_pick_as(self, v: Values) -> tree.Pick:
        self.declare(v[2])
        alias = self.new_ident(v[2])
        return tree.Pick(self.span(v[0], v[2]), v[0].text, self.token_span(v[0]), alias)

    # --- items ----------------------------------------------------------------------------

    def on_private(self, v: Values) -> None:
        return None

    def on_public(self, v: Values) -> Token:
        return cast(Token, v[0])

    def on_item(self, v: Values) -> tree.Item:
        public, (keyword, pending) = v
        first = keyword if public is None else public
        return cast(Pending, pending)(
            first.start, public is not None, self.docs.get(first.start, "")
        )

    def _pending(
        self, keyword: Token, name: Token, end: Any, kind: Callable[..., tree.Item], *rest: Any
    ) -> tuple[Token, Pending]:
        word, where = self.declare(name)
        stop = end.end if isinstance(end, Token) else end.span.end

        def finish(start: int, public: bool, doc: str) -> tree.Item:
            return kind(Span(self.source, start, stop), word, where, public, doc, *rest)

        return keyword, finish

    def on_const(self, v: Values) -> tuple[Token, Pending]:
        return self._pending(v[0], v[1], v[4], tree.Const, v[2], v[4])

    def on_alias(self, v: Values) -> tuple[Token, Pending]:
        return self._pending(v[0], v[1], v[4], tree.Alias, tuple(v[2]), v[4])

    def on_struct(self, v: Values) -> tuple[Token, Pending]:
        return self._pending(v[0], v[1], v[5], tree.Struct, tuple(v[2]), tuple(v[4]))

    def on_field(self, v: Values) -> tree.Field:
        name, where = self.declare(v[0])
        return tree.Field(self.span(v[0], v[2]), name, where, v[2])

    def on_empty_enum(self, v: Values) -> tuple[Token, Pending]:
        return self._pending(v[0], v[1], v[4], tree.Enum, tuple(v[2]), ())

    def on_enum(self, v: Values) -> tuple[Token, Pending]:
        return self._pending(v[0], v[1], v[5], tree.Enum, tuple(v[2]), tuple(v[4]))

    def on_variant(self, v: Values) -> tree.Ident:
        self.declare(v[0])
        return self.new_ident(v[0])

    def on_payload_variant(self, v: Values) -> tree.Ident:
        self.problems.report(
            "E1103",
            "variants with a payload are set aside for a later version",
            self.span(v[1], v[3]),
            help=f"write `{v[0].text}` alone and pass the data as parameters of its own",
        )
        return self.new_ident(v[0])

    def _function(self, kind: str, v: Values, kernel: Any, body: Any, grad: Any) -> Any:
        keyword, name, generics, params, result, where = v[:6]
        if kind == "op" and result is None:
            self.error(
                "an `op` must declare its result",
                self.token_span(name),
                "add `-> type` after the parameters",
                help="only an `fn` or `entry` may have no result",
            )
            result = tree.BrokenType(self.token_span(name))
        end = body if grad is None else grad
        return self._pending(
            keyword, name, end, tree.Function, kind, tuple(generics), tuple(params), result,
            tuple(where), body, kernel, grad,
        )  # fmt: skip

    def on_fn(self, v: Values) -> tuple[Token, Pending]:
        return cast("tuple[Token, Pending]", self._function("fn", v, None, v[6], v[7]))

    def on_entry(self, v: Values) -> tuple[Token, Pending]:
        return cast("tuple[Token, Pending]", self._function("entry", v, None, v[6], None))

    def on_op(self, v: Values) -> tuple[Token, Pending]:
        head = [*v[:5], v[6]]
        return cast("tuple[Token, Pending]", self._function("op", head, v[5], v[7], v[8]))

    def on_kernel_ref(self, v: Values) -> tree.KernelRef:
        args, end = v[2] if v[2:] else (None, v[1])
        return tree.KernelRef(self.span(v[0], end), v[1].text, self.token_span(v[1]), args)

    def on_type_args(self, v: Values) -> tuple[tuple[tree.TypeArg, ...], Token]:
        return tuple(v[1]), v[2]

    def on_grad(self, v: Values) -> tree.Grad:
        self.declare(v[2])
        self.declare(v[4])
        return tree.Grad(self.span(v[0], v[6]), self.new_ident(v[2]), self.new_ident(v[4]), v[6])

    def on_kernel(self, v: Values) -> tuple[Token, Pending]:
        keyword, name, generics, params, _, results, grid, hints, where, body = v
        end: Any = body
        if body is None:
            end = (where or hints or [grid[1]])[-1]
        start, stop = keyword.start, end.end if isinstance(end, Token) else end.span.end
        self.lone_calls = [s for s in self.lone_calls if not start <= s.span.start < stop]
        return self._pending(
            keyword, name, end, tree.Kernel, tuple(generics), tuple(params), tuple(results),
            tuple(grid[0]), tuple(hints), tuple(where), body,
        )  # fmt: skip

    def on_grid(self, v: Values) -> tuple[list[tree.Expr], Token]:
        return v[2], v[3]

    def on_hint(self, v: Values) -> Elements:
        hints = cast(Elements, v[0])
        hints.append(tree.KernelHint(self.span(v[1], v[4]), v[1].text, v[3]))
        return hints

    def on_block(self, v: Values) -> tuple[Token, Pending]:
        return self._pending(v[0], v[1], v[6], tree.Block, tuple(v[2]), tuple(v[3]), tuple(v[5]))

    def on_member(self, v: Values) -> tree.Member:
        name, where = self.declare(v[1])
        default = v[5] if len(v) > 4 else None
        doc = self.docs.get(v[0].start, "")
        return tree.Member(
            self.span(v[0], v[-1]), name, where, False, doc, v[0].text, v[3], default
        )

    # --- heads ----------------------------------------------------------------------------

    def _generic(self, first: Token, name: Token, kind: Token, rest: Values) -> tree.Generic:
        word, where = self.declare(name)
        if kind.text not in tree.GENERIC_KINDS:
            kinds = ", ".join(f"`{k}`" for k in tree.GENERIC_KINDS)
            self.error(
                f"`{kind.text}` is no kind of generic",
                self.token_span(kind),
                f"expected one of {kinds}",
                help="`Dim` is a size, `*S: Shape` a list of sizes, the rest are classes of dtypes",
            )
        default = rest[1] if rest else None
        return tree.Generic(
            self.span(first, default if default is not None else kind), word, where,
            kind.text, self.token_span(kind), first is not name, default,
        )  # fmt: skip

    def on_generic(self, v: Values) -> tree.Generic:
        return self._generic(v[0], v[0], v[2], v[3:])

    def on_pack_generic(self, v: Values) -> tree.Generic:
        return self._generic(v[0], v[1], v[3], v[4:])

    def on_param(self, v: Values) -> tree.Parameter:
        name, where = self.declare(v[0])
        return tree.Parameter(self.span(v[0], v[-1]), name, where, v[2], v[4] if v[3:] else None)

    def on_where(self, v: Values) -> list[tree.Expr]:
        kept: list[tree.Expr] = []
        for item in v[1]:
            if isinstance(item, tree.Binary) and item.op in COMPARISONS:
                kept.append(item)
                continue
            if isinstance(item, tree.Broken):
                continue
            joined = isinstance(item, tree.Binary) and item.op in ("&&", "||")
            self.error(
                "a `where` item must be a comparison",
                item.span,
                "not a comparison at its top",
                help="separate conditions by commas; all of them have to hold"
                if joined
                else "write for example `H % N == 0` or `N > 0`",
            )
        return kept

    # --- statements -----------------------------------------------------------------------

    def on_body(self, v: Values) -> tree.Body:
        return tree.Body(self.span(v[0], v[2]), tuple(v[1]), v[1].damaged)

    def on_let(self, v: Values) -> tree.Let:
        return tree.Let(self.span(v[0], v[4]), v[1], v[2], v[4])

    def on_index_let(self, v: Values) -> tree.IndexLet:
        name, where = self.declare(v[1])
        return tree.IndexLet(self.span(v[0], v[6]), name, where, tuple(v[3]), v[6])

    def on_var(self, v: Values) -> tree.Var:
        name, where = self.declare(v[1])
        return tree.Var(self.span(v[0], v[4]), name, where, v[2], v[4])

    def on_assign(self, v: Values) -> tree.Assign:
        return tree.Assign(self.span(v[0], v[2]), v[0].text, self.token_span(v[0]), v[2])

    def on_member_assign(self, v: Values) -> tree.MemberAssign:
        target: tree.Expr = self.on_name(v)
        for part in v[2]:
            target = tree.Attribute(self.span(v[0], part), target, part.text, self.token_span(part))
        assert isinstance(target, tree.Attribute)
        return tree.MemberAssign(self.span(v[0], v[4]), target, v[4])

    def on_return_nothing(self, v: Values) -> tree.Return:
        return tree.Return(self.token_span(v[0]), None)

    def on_return_value(self, v: Values) -> tree.Return:
        return tree.Return(self.span(v[0], v[1]), v[1])

    def on_static_for(self, v: Values) -> tree.StaticFor:
        return tree.StaticFor(self.span(v[0], v[5]), v[2], v[4], None, v[5])

    def on_static_range(self, v: Values) -> tree.StaticFor:
        return tree.StaticFor(self.span(v[0], v[7]), v[2], v[4], v[6], v[7])

    def on_while(self, v: Values) -> tree.While:
        return tree.While(self.span(v[0], v[2]), v[1], v[2])

    def on_for_statement(self, v: Values) -> tree.ForStatement:
        return tree.ForStatement(v[0].span, v[0])

    def on_yield(self, v: Values) -> tree.Yield:
        return tree.Yield(self.span(v[0], v[1]), v[1])

    def on_call_statement(self, v: Values) -> tree.CallStatement:
        call = tree.Call(self.span(v[0], v[3]), self.on_name(v), None, tuple(v[2]))
        statement = tree.CallStatement(call.span, call)
        self.lone_calls.append(statement)
        return statement

    def on_for_loop(self, v: Values) -> tree.For:
        self.declare(v[1])
        return tree.For(self.span(v[0], v[6]), self.new_ident(v[1]), v[3], v[5], v[6])

    def on_ident(self, v: Values) -> tree.Ident:
        self.declare(v[0])
        return self.new_ident(v[0])

    def on_pack(self, v: Values) -> tree.Pack:
        return tree.Pack(self.span(v[0], v[1]), v[1].text, self.token_span(v[1]))

    # --- patterns -------------------------------------------------------------------------

    def on_name_pattern(self, v: Values) -> tree.NamePattern:
        name, where = self.declare(v[0])
        return tree.NamePattern(where, name)

    def on_tuple_pattern(self, v: Values) -> tree.TuplePattern:
        return tree.TuplePattern(self.span(v[0], v[2]), tuple(v[1]))

    def on_some_pattern(self, v: Values) -> tree.SomePattern:
        return tree.SomePattern(self.span(v[0], v[3]), v[2])

    def on_none_pattern(self, v: Values) -> tree.NonePattern:
        return tree.NonePattern(self.token_span(v[0]))

    # --- expressions ----------------------------------------------------------------------

    def on_if(self, v: Values) -> tree.If:
        return tree.If(self.span(v[0], v[8]), v[1], v[3], v[7])

    def on_match(self, v: Values) -> tree.Match:
        return tree.Match(self.span(v[0], v[4]), v[1], tuple(v[3]))

    def on_name_arm(self, v: Values) -> tree.Arm:
        return tree.Arm(self.span(v[0], v[2]), self.on_name_pattern(v), v[2])

    def on_some_arm(self, v: Values) -> tree.Arm:
        return tree.Arm(self.span(v[0], v[5]), self.on_some_pattern(v), v[5])

    def on_none_arm(self, v: Values) -> tree.Arm:
        return tree.Arm(self.span(v[0], v[2]), self.on_none_pattern(v), v[2])

    def on_binary(self, v: Values) -> tree.Binary:
        left, op, right = v
        return tree.Binary(self.span(left, right), op.text, self.token_span(op), left, right)

    def on_unary(self, v: Values) -> tree.Unary:
        return tree.Unary(self.span(v[0], v[1]), v[0].text, v[1])

    def _postfix(self, node: tree.Call | tree.Index | tree.Attribute) -> tree.Expr:
        """`node`, unless it ends a chain of calls, indices and members that is absurdly long:
        its depth would be a danger to everything that walks the tree."""
        length = 0
        base: tree.Expr = node
        while isinstance(base, (tree.Call, tree.Index, tree.Attribute)):
            base = base.callee if isinstance(base, tree.Call) else base.base
            length += 1
        if length <= MAX_POSTFIX:
            return node
        if not self.chain_reported:
            self.chain_reported = True
            self.error(
                f"more than {MAX_POSTFIX} calls, indices or members in one chain",
                node.span,
                help="bind an intermediate value with `let`",
            )
        return tree.Broken(node.span)

    def on_call(self, v: Values) -> tree.Expr:
        return self._postfix(tree.Call(self.span(v[0], v[3]), v[0], None, tuple(v[2])))

    def on_generic_call(self, v: Values) -> tree.Expr:
        return self._postfix(tree.Call(self.span(v[0], v[6]), v[0], tuple(v[2]), tuple(v[5])))

    def on_index(self, v: Values) -> tree.Expr:
        return self._postfix(tree.Index(self.span(v[0], v[3]), v[0], tuple(v[2])))

    def on_attribute(self, v: Values) -> tree.Expr:
        where = self.token_span(v[2])
        return self._postfix(tree.Attribute(self.span(v[0], v[2]), v[0], v[2].text, where))

    def on_argument(self, v: Values) -> tree.Argument:
        return tree.Argument(v[0].span, None, v[0])

    def on_named_argument(self, v: Values) -> tree.Argument:
        return tree.Argument(self.span(v[0], v[2]), self.new_ident(v[0]), v[2])

    def on_int(self, v: Values) -> tree.Int:
        value = cast(int, self.literals[v[0].start])
        return tree.Int(self.token_span(v[0]), value, v[0].text)

    def on_float(self, v: Values) -> tree.Float:
        value = cast(float, self.literals[v[0].start])
        return tree.Float(self.token_span(v[0]), value, v[0].text)

    def on_string(self, v: Values) -> tree.String:
        return tree.String(self.token_span(v[0]), cast(str, self.literals[v[0].start]))

    def on_broken(self, v: Values) -> tree.Broken:
        return tree.Broken(self.token_span(v[0]))

    def on_true(self, v: Values) -> tree.Bool:
        return tree.Bool(self.token_span(v[0]), True)

    def on_false(self, v: Values) -> tree.Bool:
        return tree.Bool(self.token_span(v[0]), False)

    def on_none(self, v: Values) -> tree.NoneLiteral:
        return tree.NoneLiteral(self.token_span(v[0]))

    def on_name(self, v: Values) -> tree.Name:
        return tree.Name(self.token_span(v[0]), v[0].text)

    def on_some(self, v: Values) -> tree.Some:
        return tree.Some(self.span(v[0], v[3]), v[2])

    def on_group(self, v: Values) -> tree.Expr:
        return cast(tree.Expr, replace(v[1], span=self.span(v[0], v[2])))

    def on_tuple(self, v: Values) -> tree.Tuple:
        rest = v[3] if len(v) > 4 else ()
        return tree.Tuple(self.span(v[0], v[-1]), (v[1], *rest))

    def on_shape(self, v: Values) -> tree.ShapeLiteral:
        return tree.ShapeLiteral(self.span(v[0], v[-1]), tuple(v[1]) if v[2:] else ())

    def on_reduction(self, v: Values) -> tree.Reduction:
        return tree.Reduction(self.span(v[0], v[4]), v[0].text, None, tuple(v[2]), v[4])

    def on_typed_reduction(self, v: Values) -> tree.Reduction:
        accumulator = self.new_ident(v[2])
        return tree.Reduction(self.span(v[0], v[7]), v[0].text, accumulator, tuple(v[5]), v[7])

    def on_dots(self, v: Values) -> tree.Dots:
        return tree.Dots(self.token_span(v[0]))

    def on_slice(self, v: Values) -> tree.Slice:
        parts = [part for part in v if part is not None]
        return tree.Slice(self.span(parts[0], parts[-1]), v[0], v[2], v[4] if len(v) > 3 else None)

    def on_stride(self, v: Values) -> tree.Slice:
        parts = [part for part in v if part is not None]
        return tree.Slice(self.span(parts[0], parts[-1]), v[0], None, v[2])

    # --- types ----------------------------------------------------------------------------

    def on_optional_type(self, v: Values) -> tree.OptionalType:
        return tree.OptionalType(self.span(v[0], v[1]), v[0])

    def on_tensor_type(self, v: Values) -> tree.TensorType:
        return tree.TensorType(self.span(v[0], v[5]), tuple(v[2]), v[4])

    def on_scalar_tensor_type(self, v: Values) -> tree.TypeExpr:
        span = self.span(v[0], v[4])
        self.problems.report(
            "E1103",
            "a tensor without axes is set aside for a later version",
            span,
            help=f"a single value has the type `{v[3].span.text}`",
        )
        return tree.BrokenType(span)

    def on_tuple_type(self, v: Values) -> tree.TupleType:
        rest = v[3] if len(v) > 4 else ()
        return tree.TupleType(self.span(v[0], v[-1]), (v[1], *rest))

    def on_array_type(self, v: Values) -> tree.ArrayType:
        return tree.ArrayType(self.span(v[0], v[4]), v[1], v[3])

    def on_named_type(self, v: Values) -> tree.NamedType:
        args, end = v[1] if v[1:] else (None, v[0][-1])
        return tree.NamedType(self.span(v[0][0], end), tuple(map(self.new_ident, v[0])), args)

    def on_optional_arg(self, v: Values) -> tree.TypeExpr:
        return tree.OptionalType(self.span(v[0], v[1]), self._named(v[0], v[0].span, None))

    def on_applied_arg(self, v: Values) -> tree.TypeExpr:
        args, end = v[1]
        return self._named(v[0], self.span(v[0], end), args)

    def on_optional_applied_arg(self, v: Values) -> tree.TypeExpr:
        inner = self.on_applied_arg(v[:2])
        return tree.OptionalType(self.span(inner, v[2]), inner)

    def on_optional_tensor_arg(self, v: Values) -> tree.TypeExpr:
        return tree.OptionalType(self.span(v[0], v[6]), self.on_tensor_type(v[:6]))

    def _named(
        self, expr: tree.Expr, span: Span, args: tuple[tree.TypeArg, ...] | None
    ) -> tree.TypeExpr:
        """The type that a dotted name, read as an expression, stands for."""
        path: list[tree.Ident] = []
        base = expr
        while isinstance(base, tree.Attribute):
            path.append(tree.Ident(base.name_span, base.name))
            base = base.base
        if isinstance(base, tree.Name):
            path.append(tree.Ident(base.span, base.name))
            return tree.NamedType(span, tuple(reversed(path)), args)
        self.error("expected the name of a type", expr.span, "this is an expression")
        return tree.BrokenType(span)


def report_reserved(problems: Problems, span: Span) -> None:
    """E1004 for the word at `span`."""
    problems.report(
        "E1004",
        f"`{span.text}` is reserved for a later version of the language",
        span,
        "not usable as a name",
        help=f"rename it, for example to `{span.text}_`",
    )
