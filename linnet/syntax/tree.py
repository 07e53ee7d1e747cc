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
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal, TypeAlias

from linnet.diag import Source, Span

if TYPE_CHECKING:
    from linnet.syntax.tokens import Token

# --- bases ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """Anything that stands in source."""

    span: Span


@dataclass(frozen=True, eq=False, slots=True)
class Item(Node):
    """A declaration of a module or block. `doc` is the text of its documentation comment,
    without comment marks and common indentation; empty if there is none."""

    name: str
    name_span: Span
    public: bool
    doc: str


@dataclass(frozen=True, eq=False, slots=True)
class TypeExpr(Node):
    """A written type."""


@dataclass(frozen=True, eq=False, slots=True)
class Statement(Node):
    """One statement of a body."""


@dataclass(frozen=True, eq=False, slots=True)
class Pattern(Node):
    """The left side of a `let` or of a match arm, or the variable of a loop."""


@dataclass(frozen=True, eq=False, slots=True)
class Expr(Node):
    """An expression."""


@dataclass(frozen=True, eq=False, slots=True)
class Ident(Node):
    """A name with its place."""

    name: str


# --- file -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, slots=True)
class Comment(Node):
    """`text` is the comment as written, marks included. `doc` is true for `///` and `/** */`."""

    text: str
    doc: bool


@dataclass(frozen=True, eq=False, slots=True)
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


@dataclass(frozen=True, eq=False, slots=True)
class Pick(Node):
    """One imported item, `name` or `name as alias`."""

    name: str
    name_span: Span
    alias: Ident | None

    @property
    def local(self) -> str:
        """The name it is bound to in the importing module."""
        return self.name if self.alias is None else self.alias.name


@dataclass(frozen=True, eq=False, slots=True)
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


@dataclass(frozen=True, eq=False, slots=True)
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


@dataclass(frozen=True, eq=False, slots=True)
class Parameter(Node):
    name: str
    name_span: Span
    type: TypeExpr
    default: Expr | None


@dataclass(frozen=True, eq=False, slots=True)
class Field(Node):
    """A field of a struct or a named result of a kernel."""

    name: str
    name_span: Span
    type: TypeExpr


@dataclass(frozen=True, eq=False, slots=True)
class Body(Node):
    """Statements between braces; `span` includes the braces. `damaged` is true when a
    statement is missing or unreadable, for then a missing `return` proves nothing."""

    statements: tuple[Statement, ...]
    damaged: bool


@dataclass(frozen=True, eq=False, slots=True)
class Const(Item):
    type: TypeExpr | None
    value: Expr


@dataclass(frozen=True, eq=False, slots=True)
class Alias(Item):
    generics: tuple[Generic, ...]
    type: TypeExpr


@dataclass(frozen=True, eq=False, slots=True)
class Struct(Item):
    generics: tuple[Generic, ...]
    fields: tuple[Field, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Enum(Item):
    generics: tuple[Generic, ...]
    variants: tuple[Ident, ...]


@dataclass(frozen=True, eq=False, slots=True)
class KernelRef(Node):
    """`kernel name<args>` after the result of an op."""

    name: str
    name_span: Span
    type_args: tuple[TypeArg, ...] | None


@dataclass(frozen=True, eq=False, slots=True)
class Grad(Node):
    """`grad(result, gradient) { … }` after a body."""

    result: Ident
    gradient: Ident
    body: Body


@dataclass(frozen=True, eq=False, slots=True)
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


@dataclass(frozen=True, eq=False, slots=True)
class KernelHint(Node):
    """`warps(n)` or `stages(n)` in the head of a kernel."""

    kind: Literal["warps", "stages"]
    value: Expr


@dataclass(frozen=True, eq=False, slots=True)
class Kernel(Item):
    generics: tuple[Generic, ...]
    parameters: tuple[Parameter, ...]
    results: tuple[Field, ...]
    grid: tuple[Expr, ...]
    hints: tuple[KernelHint, ...]
    where: tuple[Expr, ...]
    body: Body | None


@dataclass(frozen=True, eq=False, slots=True)
class Member(Item):
    """A member of a block: `kind name: type [= default]`. Members are never `public`."""

    kind: Literal["param", "buffer", "state", "sub"]
    type: TypeExpr
    default: Expr | None


@dataclass(frozen=True, eq=False, slots=True)
class Block(Item):
    """`members` holds `Member`s and nested items, in order."""

    generics: tuple[Generic, ...]
    where: tuple[Expr, ...]
    members: tuple[Item, ...]


@dataclass(frozen=True, eq=False, slots=True)
class DamagedItem(Item):
    """An item or member that could not be read. `name` is empty if not even that is known."""


# --- types ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, slots=True)
class NamedType(TypeExpr):
    """`path` or `path<args>`; scalars are named types too. `args` is None without brackets."""

    path: tuple[Ident, ...]
    args: tuple[TypeArg, ...] | None

    @property
    def name(self) -> str:
        return ".".join(part.name for part in self.path)


@dataclass(frozen=True, eq=False, slots=True)
class TensorType(TypeExpr):
    """`Tensor[dims; dtype]` with at least one dimension or pack."""

    dims: tuple[Expr | Pack, ...]
    dtype: NamedType


@dataclass(frozen=True, eq=False, slots=True)
class TupleType(TypeExpr):
    elements: tuple[TypeExpr, ...]


@dataclass(frozen=True, eq=False, slots=True)
class ArrayType(TypeExpr):
    """`[element; size]`."""

    element: TypeExpr
    size: Expr


@dataclass(frozen=True, eq=False, slots=True)
class OptionalType(TypeExpr):
    """`inner?`."""

    inner: TypeExpr


@dataclass(frozen=True, eq=False, slots=True)
class BrokenType(TypeExpr):
    """A type whose error has been reported."""


# A generic argument. A word alone (`H`, `f32`, a pack) is a `Name`, a dotted one an
# `Attribute`; a `TypeExpr` stands here only when the text can be nothing else.
TypeArg: TypeAlias = "TypeExpr | Expr"

# --- statements -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, slots=True)
class Let(Statement):
    pattern: Pattern
    type: TypeExpr | None
    value: Expr


@dataclass(frozen=True, eq=False, slots=True)
class IndexLet(Statement):
    """`let name[outputs] = value` in index notation. A `Pack` among the outputs is `*s`."""

    name: str
    name_span: Span
    outputs: tuple[Ident | Pack, ...]
    value: Expr


@dataclass(frozen=True, eq=False, slots=True)
class Var(Statement):
    name: str
    name_span: Span
    type: TypeExpr | None
    value: Expr


@dataclass(frozen=True, eq=False, slots=True)
class Assign(Statement):
    name: str
    name_span: Span
    value: Expr


@dataclass(frozen=True, eq=False, slots=True)
class MemberAssign(Statement):
    """`kid.member = value`: well-formed, and refused by the checker in every case."""

    target: Attribute
    value: Expr


@dataclass(frozen=True, eq=False, slots=True)
class Return(Statement):
    value: Expr | None


@dataclass(frozen=True, eq=False, slots=True)
class StaticFor(Statement):
    """`static for pattern in subject { … }`, or `subject .. stop` with a range."""

    pattern: Pattern
    subject: Expr
    stop: Expr | None
    body: Body


@dataclass(frozen=True, eq=False, slots=True)
class While(Statement):
    condition: Expr
    body: Body


@dataclass(frozen=True, eq=False, slots=True)
class Yield(Statement):
    value: Expr


@dataclass(frozen=True, eq=False, slots=True)
class ForStatement(Statement):
    """A counted loop that stands alone."""

    loop: For


@dataclass(frozen=True, eq=False, slots=True)
class CallStatement(Statement):
    """A call that stands alone: only in kernels, elsewhere the parser has reported it."""

    call: Call


@dataclass(frozen=True, eq=False, slots=True)
class DamagedStatement(Statement):
    """A statement that could not be read. `names` are those it would have bound."""

    names: tuple[Ident, ...]


# --- patterns ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, slots=True)
class NamePattern(Pattern):
    """A name to bind, or `_`, which binds nothing. In a `match` on an enum, a variant."""

    name: str


@dataclass(frozen=True, eq=False, slots=True)
class TuplePattern(Pattern):
    elements: tuple[Pattern, ...]


@dataclass(frozen=True, eq=False, slots=True)
class SomePattern(Pattern):
    inner: Pattern


@dataclass(frozen=True, eq=False, slots=True)
class NonePattern(Pattern):
    """`none`."""


# --- expressions ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, slots=True)
class If(Expr):
    condition: Expr
    then: Expr
    otherwise: Expr


@dataclass(frozen=True, eq=False, slots=True)
class Arm(Node):
    pattern: Pattern
    value: Expr


@dataclass(frozen=True, eq=False, slots=True)
class Match(Expr):
    subject: Expr
    arms: tuple[Arm, ...]


@dataclass(frozen=True, eq=False, slots=True)
class For(Expr):
    """`for variable in start .. stop { … }`."""

    variable: Ident
    start: Expr
    stop: Expr
    body: Body


BinaryOp: TypeAlias = Literal[
    "||", "&&", "==", "!=", "<", "<=", ">", ">=", "|", "^", "&", "+", "-", "*", "/", "%"
]


@dataclass(frozen=True, eq=False, slots=True)
class Binary(Expr):
    """`left op right`, left-associative. See `chain` for long ones."""

    op: BinaryOp
    op_span: Span
    left: Expr
    right: Expr


@dataclass(frozen=True, eq=False, slots=True)
class Unary(Expr):
    op: Literal["!", "-", "+"]
    operand: Expr


@dataclass(frozen=True, eq=False, slots=True)
class Argument(Node):
    """`value` or `name = value`."""

    name: Ident | None
    value: Expr


@dataclass(frozen=True, eq=False, slots=True)
class Call(Expr):
    """`callee<type_args>(args)`; `type_args` is None without angle brackets."""

    callee: Expr
    type_args: tuple[TypeArg, ...] | None
    args: tuple[Argument, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Pack(Node):
    """`*name`: a pack of dimensions in a shape, or a pack index."""

    name: str
    name_span: Span


@dataclass(frozen=True, eq=False, slots=True)
class Slice(Node):
    """`start : stop : step`, each part optional."""

    start: Expr | None
    stop: Expr | None
    step: Expr | None


@dataclass(frozen=True, eq=False, slots=True)
class Dots(Node):
    """`...` among index components."""


Component: TypeAlias = "Expr | Pack | Slice | Dots"


@dataclass(frozen=True, eq=False, slots=True)
class Index(Expr):
    """`base[components]`, in index notation or outside it."""

    base: Expr
    components: tuple[Component, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Attribute(Expr):
    """`base.name`."""

    base: Expr
    name: str
    name_span: Span


@dataclass(frozen=True, eq=False, slots=True)
class Name(Expr):
    name: str


@dataclass(frozen=True, eq=False, slots=True)
class Int(Expr):
    """An integer literal, between 0 and 2**63 - 1. `text` is its spelling."""

    value: int
    text: str


@dataclass(frozen=True, eq=False, slots=True)
class Float(Expr):
    """A float literal. `value` is the nearest f64, `text` its spelling."""

    value: float
    text: str


@dataclass(frozen=True, eq=False, slots=True)
class Bool(Expr):
    value: bool


@dataclass(frozen=True, eq=False, slots=True)
class String(Expr):
    """A string literal; `value` has its escapes replaced."""

    value: str


@dataclass(frozen=True, eq=False, slots=True)
class NoneLiteral(Expr):
    """`none`."""


@dataclass(frozen=True, eq=False, slots=True)
class Some(Expr):
    value: Expr


@dataclass(frozen=True, eq=False, slots=True)
class Tuple(Expr):
    elements: tuple[Expr, ...]


@dataclass(frozen=True, eq=False, slots=True)
class ShapeLiteral(Expr):
    """`[a, b, …]`, maybe empty."""

    elements: tuple[Expr, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Reduction(Expr):
    """`kind<accumulator>[indices] body`."""

    kind: Literal["sum", "prod", "max", "min", "any", "all"]
    accumulator: Ident | None
    indices: tuple[Ident, ...]
    body: Expr


@dataclass(frozen=True, eq=False, slots=True)
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
