"""What a name can stand for, and the scopes that hold names.

An entity pairs a declaration of the syntax tree with what the checker knows about it so far.
Look-up order is the chain of scopes: locals, parameters, generics, blocks, module, prelude.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from linnet.check.typed import (
    BlockDecl,
    ConstDecl,
    EnumDecl,
    FunctionDecl,
    GenericParam,
    Member,
    StructDecl,
    Variable,
)
from linnet.check.types import SCALARS, Type
from linnet.diag import Span
from linnet.dims import Clause
from linnet.dims.facts import Facts
from linnet.syntax import tree

PRELUDE_FUNCTIONS = (
    *("cast", "reshape", "permute", "broadcast_to", "concat", "pad", "iota", "fill"),
    *("gather", "scatter", "cumsum", "exp", "log", "sqrt", "rsqrt", "sin", "cos", "tanh"),
    *("abs", "min", "max", "select", "shl", "shr"),
)
PRELUDE_TYPES = (*SCALARS, "Tensor", "Dim", "Shape", "DType", "Numeric", "Integer", "Float")
PRELUDE = frozenset((*PRELUDE_FUNCTIONS, *PRELUDE_TYPES))


@dataclass(eq=False)
class FunctionItem:
    """`scope` is where it was declared; `inner` holds its generics, `facts` its `where` list."""

    node: tree.Function
    decl: FunctionDecl
    module: ModuleScope
    scope: Scope
    inner: Scope
    block: BlockItem | None = None
    facts: Facts = field(default_factory=Facts)
    facts_broken: bool = False
    head_ok: bool = True
    sort = "function"


@dataclass(eq=False)
class BlockItem:
    """`names` holds its generics, methods and nested items; `inner`, below it, its members.
    Together they are one name space; types and `where` items cannot see members."""

    node: tree.Block
    decl: BlockDecl
    module: ModuleScope
    scope: Scope
    outer: BlockItem | None
    names: Scope
    inner: Scope
    facts: Facts = field(default_factory=Facts)
    facts_broken: bool = False
    head_ok: bool = True
    items: list[Item] = field(default_factory=list)  # nested, in declaration order
    members: list[tuple[tree.Member, Member]] = field(default_factory=list)
    sort = "block"


@dataclass(eq=False)
class EnumItem:
    node: tree.Enum
    decl: EnumDecl
    module: ModuleScope
    scope: Scope
    inner: Scope
    head_ok: bool = True
    sort = "enum"


@dataclass(frozen=True)
class Demand:
    """What the text of an alias demands of whoever uses it: the `where` item of `whose`, or,
    without `whose`, a positive divisor."""

    clause: Clause
    whose: str | None


@dataclass(eq=False)
class AliasItem:
    """`state` is "new", "busy" (being resolved) or "done"; `inner` holds its generics."""

    node: tree.Alias
    module: ModuleScope
    scope: Scope
    inner: Scope
    generics: tuple[GenericParam, ...] = ()
    demands: list[Demand] = field(default_factory=list)
    type: Type | None = None
    state: str = "new"
    head_ok: bool = True
    sort = "type alias"


@dataclass(eq=False)
class StructItem:
    """`demands` and `state` as for aliases; its fields stand in `decl`."""

    node: tree.Struct
    decl: StructDecl
    module: ModuleScope
    scope: Scope
    inner: Scope
    demands: list[Demand] = field(default_factory=list)
    state: str = "new"
    head_ok: bool = True
    sort = "struct"


@dataclass(eq=False)
class ConstItem:
    """`state` as for aliases; `decl` is None when the value is poisoned."""

    node: tree.Const
    module: ModuleScope
    scope: Scope
    decl: ConstDecl | None = None
    state: str = "new"
    block: BlockItem | None = None
    given: int | float | bool | str | None = None  # in place of the declared value
    sort = "constant"


@dataclass(eq=False)
class ModuleItem:
    """An imported module under its last segment."""

    scope: ModuleScope
    sort = "module"


@dataclass(eq=False)
class GenericItem:
    param: GenericParam

    @property
    def sort(self) -> str:
        kind = self.param.kind
        return {"Dim": "dimension", "Shape": "pack"}.get(kind, "dtype")


@dataclass(eq=False)
class MemberItem:
    """A member of a block, named from inside it."""

    member: Member
    block: BlockItem
    sort = "member"


@dataclass(eq=False)
class PreludeItem:
    name: str

    @property
    def sort(self) -> str:
        return "prelude function" if self.name in PRELUDE_FUNCTIONS else "type"


@dataclass(eq=False)
class Poison:
    """A name whose declaration went wrong: every use of it is silent."""

    sort = "unknown"


@dataclass(eq=False)
class PoisonItem(Poison):
    """An item that is damaged, or of a sort this compiler does not have; reported already."""

    node: tree.Item


Item = FunctionItem | BlockItem | EnumItem | StructItem | AliasItem | ConstItem | PoisonItem
Entity = Item | ModuleItem | GenericItem | MemberItem | PreludeItem | Poison | Variable


@dataclass(eq=False)
class Scope:
    """One layer of names."""

    parent: Scope | None
    names: dict[str, Entity] = field(default_factory=dict)

    def find(self, name: str) -> Entity | None:
        scope: Scope | None = self
        while scope is not None:
            entity = scope.names.get(name)
            if entity is not None:
                scope.mark(name)
                return entity
            scope = scope.parent
        return None

    def mark(self, name: str) -> None:
        """Note that `name` of this very scope is used."""

    def visible(self) -> dict[str, Entity]:
        """Every name that can be seen from here, inner ones first."""
        found: dict[str, Entity] = {}
        scope: Scope | None = self
        while scope is not None:
            for name, entity in scope.names.items():
                found.setdefault(name, entity)
            scope = scope.parent
        return found


@dataclass(eq=False)
class Import:
    """One name a `use` binds. `used` is set by the first look-up."""

    name: str
    span: Span
    used: bool = False


@dataclass(eq=False, kw_only=True)
class ModuleScope(Scope):
    """The items and imports of one file. `name` is its logical path (`std.nn.linear`)."""

    name: str
    tree: tree.Module
    items: dict[str, Item] = field(default_factory=dict)
    order: list[Item] = field(default_factory=list)  # duplicates included, as declared
    imports: dict[str, Import] = field(default_factory=dict)

    @property
    def damaged(self) -> bool:
        """Whether some of the file could not be read, so that a missing item proves nothing."""
        return self.tree.damaged

    def mark(self, name: str) -> None:
        if name in self.imports:
            self.imports[name].used = True


def prelude_scope() -> Scope:
    """The outermost scope."""
    return Scope(None, {name: PreludeItem(name) for name in sorted(PRELUDE)})
