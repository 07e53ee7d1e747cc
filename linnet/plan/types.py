"""What a plan is made of. Everything the emitter prints is decided here, nothing later.

A plan is a list of steps over buffers. Each step is run by all threads together, with a
barrier after it. Sizes are dims over the entry's symbolic sizes; they end as C expressions.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from linnet.dims import Dim
from linnet.ir.expr import Expr, Index
from linnet.ir.node import Graph, Node, Origin
from linnet.plan.cards import Card


class Space(enum.Enum):
    """Where a buffer lives."""

    ARENA = "arena"  # working memory of one call
    INPUT = "input"  # the caller's array
    RESULT = "result"  # the array handed back
    WEIGHT = "weight"  # a parameter, laid out at load
    STATE = "state"  # kept between calls


@dataclass(eq=False)
class Buffer:
    """A block of memory. `index` is its place in the pointer table of its space (for ARENA:
    its slot, set by the memory planner). `dims` are what a reader should see in a comment."""

    name: str
    space: Space
    dtype: str
    dims: tuple[Dim, ...]
    index: int = -1
    origin: Origin | None = None


@dataclass(frozen=True)
class View:
    """A tensor in a buffer: element (i0, i1, …) is at offset + Σ i_k * strides[k], in elements."""

    buffer: Buffer
    dims: tuple[Dim, ...]
    offset: Dim
    strides: tuple[Dim, ...]


@dataclass(frozen=True)
class WeightOrder:
    """How a parameter must lie in memory. `layout` is "dense" or the name of a packing
    function; `args` are the numbers it takes; `size` is in bytes."""

    path: str
    dtype: str
    layout: str
    args: tuple[int, ...]
    size: int
    offset: int = 0  # of the view's first element in the parameter


@dataclass(frozen=True)
class Form:
    """How an operand reaches a kernel: its layout ("absent" when it is left out), its element
    type, and how many strides follow the pointer."""

    operand: str
    layout: str
    dtype: str = ""
    strides: int = 0


@dataclass(frozen=True)
class KernelInstance:
    """One C function made from a kernel template. Equal instances are emitted once a unit.

    `consts` are op generics fixed at compile time, `sizes` those passed as int64 arguments,
    `forms` has every operand of the card, in the op's order."""

    card: Card
    consts: tuple[tuple[str, int], ...]
    sizes: tuple[str, ...]
    forms: tuple[Form, ...]
    result: str  # dtype of the result
    epilogue: tuple[str, ...] = ()  # "residual", or the name of an activation

    @property
    def symbol(self) -> str:
        """Readable, and different for different instances of a card in most cases; the
        emitter numbers those that meet."""
        parts = [self.card.name, *(str(value) for _, value in self.consts)]
        parts += [f.layout for f in self.forms if f.layout == "lengths"]
        parts += sorted({f.dtype for f in self.forms if f.dtype in ("bf16", "f16")})
        parts += self.epilogue
        parts += [f"no_{f.operand}" for f in self.forms if f.layout == "absent"]
        return "_".join(parts)


@dataclass(frozen=True)
class SizeArgument:
    value: Dim


@dataclass(frozen=True)
class PointerArgument:
    """The first element of a view, then the strides listed."""

    view: View
    strides: tuple[Dim, ...] = ()


@dataclass(frozen=True, eq=False)
class ScalarArgument:
    """A scalar by value: an expression over rank-0 views."""

    value: Expr
    operands: tuple[View, ...]


@dataclass(frozen=True)
class ScratchArgument:
    """This worker's slice of scratch memory; `floats` is how many f32 it must hold."""

    floats: Dim


Argument = SizeArgument | PointerArgument | ScalarArgument | ScratchArgument


@dataclass(frozen=True, eq=False)
class KernelStep:
    kernel: KernelInstance
    arguments: tuple[Argument, ...]
    reads: tuple[View, ...]
    writes: View
    node: Node
    reason: str
    parallel: bool = True  # shared by the threads; set by `work`


@dataclass(frozen=True, eq=False)
class LoopStep:
    """A plain loop nest: `writes[indices] = body`. With `row` only one position of one index is
    visited, if it lies inside: everywhere else the body is what is there already."""

    indices: tuple[Index, ...]
    body: Expr
    operands: tuple[View, ...]
    writes: View
    node: Node
    reason: str
    parallel: bool = True
    row: tuple[Index, Expr] | None = None

    @property
    def visited(self) -> tuple[Index, ...]:
        """The indices that the nest runs over."""
        return tuple(i for i in self.indices if self.row is None or i is not self.row[0])

    @property
    def reads(self) -> tuple[View, ...]:
        return self.operands


@dataclass(frozen=True, eq=False)
class WhileStep:
    """`while`: run `condition`, and while it leaves a true in `test`, run `body`. `carried` are
    the values that the body overwrites; they have their first ones when the step begins."""

    condition: tuple[Step, ...]
    test: View
    body: tuple[Step, ...]
    carried: tuple[View, ...]
    node: Node
    reason: str
    parallel: bool = True

    @property
    def reads(self) -> tuple[View, ...]:
        """Everything a round reads, inside and outside the loop."""
        inner = (view for step in leaves([self]) for view in step.reads)
        return (*inner, self.test, *self.carried)

    @property
    def writes(self) -> View:
        """The first of the carried values, which gives the loop its name."""
        return self.carried[0]


Step = KernelStep | LoopStep | WhileStep


def written(step: Step) -> tuple[View, ...]:
    """All that later steps may read of a step."""
    return step.carried if isinstance(step, WhileStep) else (step.writes,)


def leaves(steps: Iterable[Step]) -> Iterator[KernelStep | LoopStep]:
    """All steps, those of loops in their places: the condition, then the body."""
    for step in steps:
        if isinstance(step, WhileStep):
            yield from leaves((*step.condition, *step.body))
        else:
            yield step


@dataclass(eq=False)
class EntryPlan:
    """One entry, ready to print. `slots` are the sizes in bytes of the arena's pieces."""

    graph: Graph
    steps: list[Step]
    inputs: list[Buffer]
    results: list[Buffer]
    slots: list[Dim] = field(default_factory=list)
    scratch: Dim = field(default_factory=lambda: Dim.const(0))
    refused: dict[str, str] = field(default_factory=dict)  # ops that no kernel takes -> why


@dataclass(eq=False)
class UnitPlan:
    """All entries of a unit and the tables they share."""

    name: str
    entries: list[EntryPlan]
    weights: list[WeightOrder]
    states: list[Node]
    kernels: list[KernelInstance]
