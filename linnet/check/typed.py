"""The typed tree: what the checker hands to the lowering.

Every name is resolved, every generic of a call is written out, literals carry the dtype
their context gave them, defaults are filled in, and index notation is explicit. Nothing in
here refers back to the syntax tree except by `span`.

Dimensions inside the body of a function are `Dim`s over the symbols of that function and of
the blocks around it. The lowering binds these symbols as it walks: a call binds the callee's
symbols to the (substituted) arguments that the call node carries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from linnet.check.types import DType, GenericArgument, GenericSymbol, Shape, Type
from linnet.diag import Span
from linnet.dims import Clause, Dim

# --- declarations -----------------------------------------------------------------------


@dataclass(frozen=True)
class GenericParam:
    """A generic of a function, block, alias or enum. `kind` is one of Dim, Shape, DType,
    Numeric, Integer, Float."""

    name: str
    kind: str
    symbol: GenericSymbol
    default: GenericArgument | None
    span: Span


@dataclass(eq=False)
class Variable:
    """A local, a parameter, a loop variable or a name bound by a pattern. Identity matters."""

    name: str
    type: Type
    span: Span
    mutable: bool = False


@dataclass(eq=False)
class Parameter:
    variable: Variable
    default: TExpr | None
    span: Span


@dataclass(eq=False)
class FunctionDecl:
    """An `fn`, `op` or `entry`, free or inside a block (then `block` is set).

    Declarations are filled in two steps (head, then body), so this record is mutable while
    the checker runs and left alone afterwards."""

    name: str
    module: str  # dotted, e.g. "std.nn.linear"
    kind: str  # "fn" | "op" | "entry"
    public: bool
    span: Span  # of the name
    doc: str
    block: BlockDecl | None = None
    generics: tuple[GenericParam, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    result: Type | None = None  # None: unit
    where: tuple[Clause, ...] = ()
    body: tuple[TStmt, ...] = ()
    ok: bool = True  # False: an error was reported inside

    @property
    def path(self) -> str:
        """Identity of an op: `std.nn.linear::linear`; methods: `module::Block.name`."""
        owner = f"{self.block.name}." if self.block is not None else ""
        return f"{self.module}::{owner}{self.name}"


@dataclass(eq=False)
class Member:
    """`kind` is "param", "buffer", "state" or "sub". A `sub`'s type is a Block, an
    Optional of a Block or an Array; the others' a Tensor or an Optional of a Tensor."""

    name: str
    kind: str
    type: Type
    span: Span
    doc: str = ""


@dataclass(eq=False)
class BlockDecl:
    name: str
    module: str
    public: bool
    span: Span
    doc: str
    generics: tuple[GenericParam, ...] = ()
    where: tuple[Clause, ...] = ()
    members: dict[str, Member] = field(default_factory=dict)  # in declaration order
    functions: dict[str, FunctionDecl] = field(default_factory=dict)
    outer: BlockDecl | None = None  # the block this one is nested in
    captured: int = 0  # how many leading generics are the outer block's

    @property
    def entries(self) -> tuple[FunctionDecl, ...]:
        return tuple(f for f in self.functions.values() if f.kind == "entry")


@dataclass(eq=False)
class EnumDecl:
    name: str
    module: str
    span: Span
    generics: tuple[GenericParam, ...]
    variants: tuple[str, ...]


@dataclass(eq=False)
class StructDecl:
    """`fields` by name, in declaration order, over the struct's own generics."""

    name: str
    module: str
    span: Span
    generics: tuple[GenericParam, ...] = ()
    fields: dict[str, Type] = field(default_factory=dict)


@dataclass(eq=False)
class ConstDecl:
    name: str
    module: str
    span: Span
    value: TExpr  # its type may be CompileTimeInt or FloatLiteral


@dataclass(eq=False)
class Program:
    """All that was declared in a file and in what it imports, by module."""

    root_module: str
    blocks: dict[str, dict[str, BlockDecl]]  # module -> name -> block (top level ones)
    functions: dict[str, dict[str, FunctionDecl]]
    constants: dict[str, dict[str, ConstDecl]]
    given: dict[str, int | float | bool | str] = field(default_factory=dict)
    """Constants of the root module that have this value in place of the declared one."""

    def roots(self) -> tuple[BlockDecl, ...]:
        """Blocks of the root file that have entries. In a file where none has any, the entries
        that stand in no block make up one without members."""
        blocks = tuple(b for b in self.blocks.get(self.root_module, {}).values() if b.entries)
        return blocks or self.loose

    @cached_property
    def loose(self) -> tuple[BlockDecl, ...]:
        """The entries of the root file that stand in no block, as one block named after the
        file's module; empty where there are none."""
        functions = self.functions.get(self.root_module, {})
        entries = {name: f for name, f in functions.items() if f.kind == "entry"}
        if not entries:
            return ()
        name = self.root_module.rpartition(".")[2]
        span = next(iter(entries.values())).span
        return (BlockDecl(name, self.root_module, True, span, "", functions=entries),)


# --- expressions ------------------------------------------------------------------------
# Each has the type it has *after* its context was applied: a literal argument of an f32
# parameter is an f32 scalar.


@dataclass(frozen=True, eq=False)
class TExpr:
    type: Type
    span: Span


@dataclass(frozen=True, eq=False)
class Literal(TExpr):
    """A number or truth value. `type` is a Scalar, whose dtype may be a DTypeVar (the value
    is then rounded once that is bound), or FloatLiteral/CompileTimeInt in a constant."""

    value: int | float | bool


@dataclass(frozen=True, eq=False)
class DimValue(TExpr):
    """A compile-time integer used as a run-time scalar of `type`'s dtype."""

    dim: Dim


@dataclass(frozen=True, eq=False)
class VariableRef(TExpr):
    variable: Variable


@dataclass(frozen=True, eq=False)
class ConstRef(TExpr):
    """A use of a typed constant (`const EPS: f32 = 1e-6`); untyped ones become literals."""

    decl: ConstDecl


@dataclass(frozen=True, eq=False)
class SelfBlock(TExpr):
    """The block whose function is running; `type` is a Block over its own symbols."""


@dataclass(frozen=True, eq=False)
class MemberRef(TExpr):
    """`receiver.name`. The receiver is a block: SelfBlock, a MemberRef of a `sub`, an
    ArrayItem, or a VariableRef bound by `static for` or `match`."""

    receiver: TExpr
    member: Member


@dataclass(frozen=True, eq=False)
class ArrayItem(TExpr):
    """`layers[0]`: a child block at a compile-time position."""

    array: TExpr
    position: Dim


@dataclass(frozen=True, eq=False)
class Unary(TExpr):
    """`op` is one of `-`, `+`, `!`. Elementwise on tensors (`!` on scalars only)."""

    op: str
    operand: TExpr


@dataclass(frozen=True, eq=False)
class Binary(TExpr):
    """Elementwise with right-aligned broadcasting (packs match only themselves), or `&&`/`||`
    on scalars. Both operands have one dtype; comparisons give bool."""

    op: str
    left: TExpr
    right: TExpr


@dataclass(frozen=True, eq=False)
class Prelude(TExpr):
    """A call of a prelude function on value arguments only:
    exp log sqrt rsqrt sin cos tanh abs (1); min max shl shr (2); select (3)."""

    name: str
    arguments: tuple[TExpr, ...]


@dataclass(frozen=True, eq=False)
class Cast(TExpr):
    operand: TExpr  # to `type`'s dtype


@dataclass(frozen=True, eq=False)
class Reshape(TExpr):
    operand: TExpr  # to `type`'s axes


@dataclass(frozen=True, eq=False)
class Permute(TExpr):
    operand: TExpr
    axes: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class BroadcastTo(TExpr):
    operand: TExpr  # to `type`'s axes


@dataclass(frozen=True, eq=False)
class Concat(TExpr):
    """`axis` counts from the front when `from_end` is False, else from the back (0 = last)."""

    operands: tuple[TExpr, ...]
    axis: int
    from_end: bool


@dataclass(frozen=True, eq=False)
class CumSum(TExpr):
    """Running sums along one axis, which counts as that of `Concat`."""

    operand: TExpr
    axis: int
    from_end: bool


@dataclass(frozen=True, eq=False)
class Iota(TExpr):
    """`iota<T>(n)`; `type` says n and T."""


@dataclass(frozen=True, eq=False)
class Fill(TExpr):
    value: TExpr  # a scalar


@dataclass(frozen=True, eq=False)
class Call(TExpr):
    """A call of a function, op, entry or method.

    `generics` binds every generic of the callee (not those of its block: they follow from
    the receiver's type). `arguments` stand in parameter order, defaults included (a default
    is an expression over the callee's generics and is lowered in the callee's bindings, so
    None here means: use the parameter's default). `receiver` is set for methods."""

    function: FunctionDecl
    generics: Mapping[GenericSymbol, GenericArgument]
    arguments: tuple[TExpr | None, ...]
    receiver: TExpr | None


@dataclass(frozen=True, eq=False)
class If(TExpr):
    condition: TExpr
    then: TExpr
    otherwise: TExpr


@dataclass(frozen=True, eq=False)
class MatchOptional(TExpr):
    """`some_pattern` is what the some-arm binds (None for `_`, or where the catch-all takes it).
    `whole` is the name of a catch-all arm, bound to the optional itself."""

    scrutinee: TExpr
    some_pattern: Pattern | None
    some_body: TExpr
    none_body: TExpr
    whole: Variable | None = None


@dataclass(frozen=True, eq=False)
class MatchEnum(TExpr):
    """One body a variant, in the enum's order, after catch-alls were expanded: the variants of a
    catch-all have the same body. `whole` is the name of the catch-all, bound to the value."""

    scrutinee: TExpr
    bodies: tuple[TExpr, ...]
    whole: Variable | None = None


@dataclass(frozen=True, eq=False)
class EnumValue(TExpr):
    variant: int


@dataclass(frozen=True, eq=False)
class TupleExpr(TExpr):
    items: tuple[TExpr, ...]


@dataclass(frozen=True, eq=False)
class StructExpr(TExpr):
    """`items` stand in the order of the fields' declaration, `order` says in which they were
    written and are computed."""

    items: tuple[TExpr, ...]
    order: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class FieldRef(TExpr):
    """A field of a struct, by its position in the declaration."""

    base: TExpr
    position: int


@dataclass(frozen=True, eq=False)
class SomeExpr(TExpr):
    inner: TExpr


@dataclass(frozen=True, eq=False)
class NoneExpr(TExpr):
    pass


# --- slices (outside index notation) ----------------------------------------------------


@dataclass(frozen=True)
class KeepAxes:
    """`...` or axes without a component: the operand's axes [first, last) are kept whole."""

    first: int
    last: int


@dataclass(frozen=True)
class RangeAxis:
    """`start:stop:step` on one axis; the result's axis has `extent` elements."""

    axis: int
    start: Dim
    step: int
    extent: Dim


@dataclass(frozen=True)
class FixedAxis:
    """A compile-time position; the axis goes away."""

    axis: int
    position: Dim


@dataclass(frozen=True, eq=False)
class RuntimeAxis:
    """A run-time integer position, clamped into the axis; the axis goes away."""

    axis: int
    position: TExpr


SliceComponent = KeepAxes | RangeAxis | FixedAxis | RuntimeAxis


@dataclass(frozen=True, eq=False)
class Slice(TExpr):
    """`axis` numbers of the components index `operand.type.axes` (a pack is one entry)."""

    operand: TExpr
    components: tuple[SliceComponent, ...]  # in axis order, covering every axis


# --- index notation ---------------------------------------------------------------------


@dataclass(eq=False)
class IndexVar:
    """One index: a plain one runs over `domain` (a Dim), a pack index over a Shape."""

    name: str
    domain: Dim | Shape
    span: Span


@dataclass(frozen=True, eq=False)
class Access(TExpr):
    """`base[...]` inside index notation: a scalar. A component is an index variable (plain or
    pack), or an integer expression (clamped into its axis at run time)."""

    base: TExpr
    components: tuple[IndexVar | TExpr, ...]


@dataclass(frozen=True, eq=False)
class Reduce(TExpr):
    """`kind` is sum prod max min any all; the accumulator has `accumulator` as its dtype."""

    kind: str
    accumulator: DType
    indices: tuple[IndexVar, ...]
    body: TExpr


@dataclass(frozen=True, eq=False)
class Comprehension(TExpr):
    """`let y[o, *s] = body` as a value: a tensor of the outputs' domains in order."""

    outputs: tuple[IndexVar, ...]
    body: TExpr


@dataclass(frozen=True, eq=False)
class Scan(TExpr):
    """`for i in a..b { …  yield v }` as a value: what each round yields, stacked along a new
    first axis; of a tuple each part."""

    loop: For
    value: TExpr


# --- patterns and statements ------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Pattern:
    """A Variable to bind, None for `_`, or a tuple of patterns."""

    variable: Variable | None
    items: tuple[Pattern, ...] | None = None


@dataclass(frozen=True, eq=False)
class TStmt:
    span: Span


@dataclass(frozen=True, eq=False)
class Let(TStmt):
    """`let`, `var` and indexed `let`."""

    pattern: Pattern
    value: TExpr


@dataclass(frozen=True, eq=False)
class Assign(TStmt):
    """To a `var`, or to a state member of the function's own block."""

    target: Variable | Member
    value: TExpr


@dataclass(frozen=True, eq=False)
class Return(TStmt):
    value: TExpr | None


@dataclass(frozen=True, eq=False)
class StaticForBlocks(TStmt):
    """`static for layer in layers`: `variable` is each child block in order."""

    variable: Variable
    array: TExpr
    body: tuple[TStmt, ...]


@dataclass(frozen=True, eq=False)
class StaticForRange(TStmt):
    """`static for i in a..b`: `variable` is an i64 scalar."""

    variable: Variable
    start: Dim
    stop: Dim
    body: tuple[TStmt, ...]


@dataclass(frozen=True, eq=False)
class For(TStmt):
    """A counted loop of run time: `variable` is an i64 scalar, from `start` to before `stop`."""

    variable: Variable
    start: Dim
    stop: Dim
    body: tuple[TStmt, ...]


@dataclass(frozen=True, eq=False)
class While(TStmt):
    condition: TExpr
    body: tuple[TStmt, ...]
