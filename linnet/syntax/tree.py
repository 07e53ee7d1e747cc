"""The syntax tree: what a `.linnet` file says, before anything is known about its names.

All nodes are frozen and compared by identity. Each has `span`, the characters it covers;
each name that a diagnostic may have to point at has a place of its own, either as `name_span`
beside `name` or as an `Ident`. Parentheses leave no node: the span of what they enclose
includes them, and `Module.tokens` keeps every token for tools that need the exact text.

The tree covers the whole grammar, later stages included, so that the checker can answer
"not yet" (E2190) in place of a syntax error. What could not be read is present as
`DamagedItem`, `DamagedStatement` or `Broken`: it has been reported, and whatever it would
have declared is to be treated as poisoned, silently.

Nesting of brackets is bounded by the parser, so recursion over the tree is safe, with one
exception: chains of one left-associative operator (`1 + 1 + …`) are as deep on their left as
they are long. Walk those with `chain`, and whole trees with `walk`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Literal, TypeAlias

from linnet.diag import Source, Span
from linnet.diag.frozen import frozen

if TYPE_CHECKING:
    from linnet.syntax.tokens import Token

# --- bases ------------------------------------------------------------------------------


@frozen
class Node:
    """Anything that stands in source."""

    span: Span


@frozen
class Item(Node):
    """A declaration of a module or block. `doc` is the text of its documentation comment,
    without comment marks and common indentation; empty if there is none."""

    name: str
    name_span: Span
    public: bool
    doc: str


@frozen
class TypeExpr(Node):
    """A written type."""


@frozen
class Statement(Node):
    """One statement of a body."""


@frozen
class Pattern(Node):
    """The left side of a `let` or of a match arm, or the variable of a loop."""


@frozen
class Expr(Node):
    """An expression."""


@frozen
class Ident(Node):
    """A name with its place."""

    name: str


# --- file -------------------------------------------------------------------------------


@frozen
class Comment(Node):
    """`text` is the comment as written, marks included. `doc` is true for `///` and `/** */`."""

    text: str
    doc: bool


@frozen
class Module(Node):
    """One file. `path` is what stands after `module`, empty if the line is missing (E1102).

    `comments` and `tokens` are in order of appearance. `damaged` is true when some part could
    not be read; the parts themselves are marked too."""

    source: Source
    path: tuple[Ident, ...]
    doc: str
    uses: tuple[Use, ...]
    items: tuple[Item, ...]
    comments: tuple[Comment, ...]
    tokens: tuple[Token, ...]
    damaged: bool

    @property
    def name(self) -> str:
        """The dotted name after `module`."""
        return ".".join(part.name for part in self.path)


@frozen
class Pick(Node):
    """One imported item, `name` or `name as alias`."""

    name: str
    name_span: Span
    alias: Ident | None

    @property
    def local(self) -> str:
        """The name it is bound to in the importing module."""
        return self.name if self.alias is None else self.alias.name


@frozen
class Use(Node):
    """`use path`, `use path::pick` or `use path::{picks}`. `picks` is None when the module
    itself is imported, under the last segment of its path. A path that starts with `self` or
    `super` has been reported; it leads nowhere."""

    path: tuple[Ident, ...]
    picks: tuple[Pick, ...] | None

    @property
    def path_span(self) -> Span:
        return self.path[0].span.to(self.path[-1].span)

    @property
    def path_text(self) -> str:
        return ".".join(part.name for part in self.path)


# --- items ------------------------------------------------------------------------------


@frozen
class Generic(Node):
    """`[*]name: kind [= default]`. `kind` is one of `GENERIC_KINDS`, or the wrong word as
    written when the parser has reported it."""

    name: str
    name_span: Span
    kind: str
    kind_span: Span
    pack: bool
    default: TypeArg | None


GENERIC_KINDS: tuple[str, ...] = ("Dim", "Shape", "DType", "Numeric", "Integer", "Float")


@frozen
class Parameter(Node):
    name: str
    name_span: Span
    type: TypeExpr
    default: Expr | None


@frozen
class Field(Node):
    """A field of a struct or a named result of a kernel."""

    name: str
    name_span: Span
    type: TypeExpr


@frozen
class Body(Node):
    """Statements between braces; `span` includes the braces. `damaged` is true when a
    statement is missing or unreadable, for then a missing `return` proves nothing."""

    statements: tuple[Statement, ...]
    damaged: bool


@frozen
class Const(Item):
    type: TypeExpr | None
    value: Expr


@frozen
class Alias(Item):
    generics: tuple[Generic, ...]
    type: TypeExpr


@frozen
class Struct(Item):
    generics: tuple[Generic, ...]
    fields: tuple[Field, ...]


@frozen
class Enum(Item):
    generics: tuple[Generic, ...]
    variants: tuple[Ident, ...]


@frozen
class KernelRef(Node):
    """`kernel name<args>` after the result of an op."""

    name: str
    name_span: Span
    type_args: tuple[TypeArg, ...] | None


@frozen
class Grad(Node):
    """`grad(result, gradient) { … }` after a body."""

    result: Ident
    gradient: Ident
    body: Body


@frozen
class Function(Item):
    """An `fn`, `op` or `entry`, of a module or a block. `where` items are comparisons."""

    kind: Literal["fn", "op", "entry"]
    generics: tuple[Generic, ...]
    parameters: tuple[Parameter, ...]
    result: TypeExpr | None
    where: tuple[Expr, ...]
    body: Body
    kernel: KernelRef | None
    grad: Grad | None


@frozen
class KernelHint(Node):
    """`warps(n)` or `stages(n)` in the head of a kernel."""

    kind: Literal["warps", "stages"]
    value: Expr


@frozen
class Kernel(Item):
    generics: tuple[Generic, ...]
    parameters: tuple[Parameter, ...]
    results: tuple[Field, ...]
    grid: tuple[Expr, ...]
    hints: tuple[KernelHint, ...]
    where: tuple[Expr, ...]
    body: Body | None


@frozen
class Member(Item):
    """A member of a block: `kind name: type [= default]`. Members are never `public`."""

    kind: Literal["param", "buffer", "state", "sub"]
    type: TypeExpr
    default: Expr | None


@frozen
class Block(Item):
    """`members` holds `Member`s and nested items, in order."""

    generics: tuple[Generic, ...]
    where: tuple[Expr, ...]
    members: tuple[Item, ...]


@frozen
class DamagedItem(Item):
    """An item or member that could not be read. `name` is empty if not even that is known."""


# --- types ------------------------------------------------------------------------------


@frozen
class NamedType(TypeExpr):
    """`path` or `path<args>`; scalars are named types too. `args` is None without brackets."""

    path: tuple[Ident, ...]
    args: tuple[TypeArg, ...] | None

    @property
    def name(self) -> str:
        return ".".join(part.name for part in self.path)


@frozen
class TensorType(TypeExpr):
    """`Tensor[dims; dtype]` with at least one dimension or pack."""

    dims: tuple[Expr | Pack, ...]
    dtype: NamedType


@frozen
class TupleType(TypeExpr):
    elements: tuple[TypeExpr, ...]


@frozen
class ArrayType(TypeExpr):
    """`[element; size]`."""

    element: TypeExpr
    size: Expr


@frozen
class OptionalType(TypeExpr):
    """`inner?`."""

    inner: TypeExpr


@frozen
class BrokenType(TypeExpr):
    """A type whose error has been reported."""


# A generic argument. A word alone (`H`, `f32`, a pack) is a `Name`, a dotted one an
# `Attribute`; a `TypeExpr` stands here only when the text can be nothing else.
TypeArg: TypeAlias = "TypeExpr | Expr"

# --- statements -------------------------------------------------------------------------


@frozen
class Let(Statement):
    pattern: Pattern
    type: TypeExpr | None
    value: Expr


@frozen
class IndexLet(Statement):
    """`let name[outputs] = value` in index notation. A `Pack` among the outputs is `*s`."""

    name: str
    name_span: Span
    outputs: tuple[Ident | Pack, ...]
    value: Expr


@frozen
class Var(Statement):
    name: str
    name_span: Span
    type: TypeExpr | None
    value: Expr


@frozen
class Assign(Statement):
    name: str
    name_span: Span
    value: Expr


@frozen
class MemberAssign(Statement):
    """`kid.member = value`: well-formed, and refused by the checker in every case."""

    target: Attribute
    value: Expr


@frozen
class Return(Statement):
    value: Expr | None


@frozen
class StaticFor(Statement):
    """`static for pattern in subject { … }`, or `subject .. stop` with a range."""

    pattern: Pattern
    subject: Expr
    stop: Expr | None
    body: Body


@frozen
class While(Statement):
    condition: Expr
    body: Body


@frozen
class Yield(Statement):
    value: Expr


@frozen
class ForStatement(Statement):
    """A counted loop that stands alone."""

    loop: For


@frozen
class CallStatement(Statement):
    """A call that stands alone: only in kernels, elsewhere the parser has reported it."""

    call: Call


@frozen
class DamagedStatement(Statement):
    """A statement that could not be read. `names` are those it would have bound."""

    names: tuple[Ident, ...]


# --- patterns ---------------------------------------------------------------------------


@frozen
class NamePattern(Pattern):
    """A name to bind, or `_`, which binds nothing. In a `match` on an enum, a variant."""

    name: str


@frozen
class TuplePattern(Pattern):
    elements: tuple[Pattern, ...]


@frozen
class SomePattern(Pattern):
    inner: Pattern


@frozen
class NonePattern(Pattern):
    """`none`."""


# --- expressions ------------------------------------------------------------------------


@frozen
class If(Expr):
    condition: Expr
    then: Expr
    otherwise: Expr


@frozen
class Arm(Node):
    pattern: Pattern
    value: Expr


@frozen
class Match(Expr):
    subject: Expr
    arms: tuple[Arm, ...]


@frozen
class For(Expr):
    """`for variable in start .. stop { … }`."""

    variable: Ident
    start: Expr
    stop: Expr
    body: Body


BinaryOp: TypeAlias = Literal[
    "||", "&&", "==", "!=", "<", "<=", ">", ">=", "|", "^", "&", "+", "-", "*", "/", "%"
]


@frozen
class Binary(Expr):
    """`left op right`, left-associative. See `chain` for long ones."""

    op: BinaryOp
    op_span: Span
    left: Expr
    right: Expr


@frozen
class Unary(Expr):
    op: Literal["!", "-", "+"]
    operand: Expr


@frozen
class Argument(Node):
    """`value` or `name = value`."""

    name: Ident | None
    value: Expr


@frozen
class Call(Expr):
    """`callee<type_args>(args)`; `type_args` is None without angle brackets."""

    callee: Expr
    type_args: tuple[TypeArg, ...] | None
    args: tuple[Argument, ...]


@frozen
class Pack(Node):
    """`*name`: a pack of dimensions in a shape, or a pack index."""

    name: str
    name_span: Span


@frozen
class Slice(Node):
    """`start : stop : step`, each part optional."""

    start: Expr | None
    stop: Expr | None
    step: Expr | None


@frozen
class Dots(Node):
    """`...` among index components."""


Component: TypeAlias = "Expr | Pack | Slice | Dots"


@frozen
class Index(Expr):
    """`base[components]`, in index notation or outside it."""

    base: Expr
    components: tuple[Component, ...]


@frozen
class Attribute(Expr):
    """`base.name`."""

    base: Expr
    name: str
    name_span: Span


@frozen
class Name(Expr):
    name: str


@frozen
class Int(Expr):
    """An integer literal, between 0 and 2**63 - 1. `text` is its spelling."""

    value: int
    text: str


@frozen
class Float(Expr):
    """A float literal. `value` is the nearest f64, `text` its spelling."""

    value: float
    text: str


@frozen
class Bool(Expr):
    value: bool


@frozen
class String(Expr):
    """A string literal; `value` has its escapes replaced."""

    value: str


@frozen
class NoneLiteral(Expr):
    """`none`."""


@frozen
class Some(Expr):
    value: Expr


@frozen
class Tuple(Expr):
    elements: tuple[Expr, ...]


@frozen
class ShapeLiteral(Expr):
    """`[a, b, …]`, maybe empty."""

    elements: tuple[Expr, ...]


@frozen
class Reduction(Expr):
    """`kind<accumulator>[indices] body`."""

    kind: Literal["sum", "prod", "max", "min", "any", "all"]
    accumulator: Ident | None
    indices: tuple[Ident, ...]
    body: Expr


@frozen
class Broken(Expr):
    """An expression whose error has been reported, such as a malformed number."""


# --- walking ----------------------------------------------------------------------------


def chain(expr: Binary) -> tuple[Expr, tuple[Binary, ...]]:
    """Unroll the left spine of a binary expression.

    Returns the leftmost operand and the `Binary` nodes from the innermost to `expr` itself:
    for `a + b - c` that is `a` and the nodes of `+` and `-`. Each node's `right` is the next
    operand. Takes no stack, however long the chain is."""
    spine = [expr]
    left = expr.left
    while isinstance(left, Binary):
        spine.append(left)
        left = left.left
    spine.reverse()
    return left, tuple(spine)


def children(node: Node) -> Iterator[Node]:
    """The nodes directly below `node`, in the order of their fields (which is source order
    but for heads and bodies that the grammar separates)."""
    for name in _child_fields(type(node)):
        value = getattr(node, name)
        if isinstance(value, Node):
            yield value
        elif isinstance(value, tuple):
            yield from (part for part in value if isinstance(part, Node))


def walk(node: Node) -> Iterator[Node]:
    """`node` and everything below it, parents before children, without recursion."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting.extend(reversed(tuple(children(current))))


_LEAF_FIELDS = frozenset({"span", "name_span", "op_span", "kind_span", "source", "tokens"})
_CHILD_FIELDS: dict[type[Node], tuple[str, ...]] = {}


def _child_fields(kind: type[Node]) -> tuple[str, ...]:
    names = _CHILD_FIELDS.get(kind)
    if names is None:
        names = tuple(field.name for field in fields(kind) if field.name not in _LEAF_FIELDS)
        _CHILD_FIELDS[kind] = names
    return names
