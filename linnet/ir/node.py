"""Nodes of the Core IR, and the graph of one entry.

A graph is a DAG of immutable nodes compared by identity; a value used twice is one node.
It is pure: a state member enters as a STATE leaf and leaves through `Graph.updates`. All
root generics are numbers; what stays symbolic in the dims are the entry's own generics.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from linnet.dims import Clause, Dim
from linnet.ir.expr import Expr, Index
from linnet.ir.ops import Op


@dataclass(frozen=True)
class Origin:
    """Where a node comes from: file (as given), line and column from 1, the source name the
    value was bound to (`qkv`) and the member path of the block it ran in (`layers.3.attn`)."""

    file: str
    line: int
    column: int
    name: str = ""
    path: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True)
class TensorType:
    """Element type and dims; no dims: a scalar."""

    dtype: str
    dims: tuple[Dim, ...]

    @property
    def rank(self) -> int:
        return len(self.dims)


@dataclass(frozen=True)
class Attrs:
    """Base of the per-op records."""


@dataclass(frozen=True)
class Named(Attrs):
    """INPUT and ARG: the parameter's name. PARAM and STATE: the member's path."""

    name: str


@dataclass(frozen=True, eq=False)
class MapAttrs(Attrs):
    """MAP: one index an axis of the type, in order, and the element at that position."""

    indices: tuple[Index, ...]
    body: Expr


@dataclass(frozen=True, eq=False)
class CallAttrs(Attrs):
    """CALL: the op's body. `args` of the node stand for `function.parameters`, in order."""

    function: Function


@dataclass(frozen=True, eq=False)
class LoopAttrs(Attrs):
    """LOOP: `args` are the carried values' first values, then values both Functions read.
    `condition` and `body` take all of them; `body` gives the carried ones anew. The node's
    type is that of the first carried value; GET nodes pick one."""

    condition: Function
    body: Function
    carried: int


@dataclass(frozen=True)
class GetAttrs(Attrs):
    position: int


NO_ATTRS = Attrs()


@dataclass(frozen=True, eq=False)
class Node:
    op: Op
    args: tuple[Node, ...]
    type: TensorType
    attrs: Attrs = NO_ATTRS
    origin: Origin | None = None


@dataclass(frozen=True, eq=False)
class Function:
    """The meaning of an op for one binding of its generics, shared by all its calls.

    `op` is its identity (`std.nn.linear::linear`). `generics` binds its Dim generics to
    dims, its packs to tuples of dims, its dtype generics to names. `parameters` are ARG
    nodes for the arguments that exist, named as in the source: one that is `none` (an
    optional left out) is not among them, one known at compile time still is."""

    op: str
    generics: Mapping[str, Dim | tuple[Dim, ...] | str]
    parameters: tuple[Node, ...]
    results: tuple[Node, ...]
    origin: Origin | None = None

    @property
    def result(self) -> Node:
        """The only result (ops have one; the functions of a LOOP may have several)."""
        (node,) = self.results
        return node


@dataclass(frozen=True)
class Probe:
    """One call inside an entry whose values a graph gives as results. A method of the block at
    `path` that gave them, or (`op` not empty) an op or function that this method called;
    `origin` is the place of the call, which stands in a method of the block at `caller`. `values`
    and `arguments` are positions in `Graph.results`; arguments that are inputs or weights as they
    stand are left out."""

    path: str
    method: str
    op: str
    origin: Origin
    caller: str
    values: tuple[int, ...]
    arguments: tuple[int, ...]

    def __str__(self) -> str:
        where = f"{self.path}.{self.method}" if self.path else self.method
        return f"{where}: {self.op}" if self.op else where


@dataclass(frozen=True, eq=False)
class Graph:
    """One entry, ready for passes. `results` are the leaves of the result tuple in order;
    `updates` maps the path of each assigned state to its value when the entry ends.

    `sizes` names the entry's generics that stay symbolic; `clauses` is all that must hold
    for their actual values before a run: the `where` list, dims of unknown sign, constant
    indices.

    With `probes` (see `linnet.lower.probes`) only the first `own_results` results are the
    entry's own."""

    name: str
    inputs: tuple[Node, ...]
    results: tuple[Node, ...]
    updates: Mapping[str, Node]
    sizes: tuple[str, ...]
    clauses: tuple[Clause, ...]
    tuple_result: bool = False
    origin: Origin | None = None
    probes: tuple[Probe, ...] = ()
    own_results: int | None = None

    def outputs(self) -> tuple[Node, ...]:
        """All nodes something outside reads: results, then state updates by path."""
        return (*self.results, *(self.updates[path] for path in sorted(self.updates)))


@dataclass(frozen=True)
class ManifestEntry:
    """A member of the root block with all sizes bound. `kind` is param, buffer or state;
    `group` lists the paths that are present or absent together (an optional child)."""

    path: str
    kind: str
    type: TensorType
    optional: bool
    group: str = ""


@dataclass(frozen=True)
class Manifest:
    """Every param, buffer and state in declaration order, depth first, arrays by position."""

    entries: tuple[ManifestEntry, ...]
    by_path: Mapping[str, ManifestEntry] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_path", {e.path: e for e in self.entries})

    @property
    def weights(self) -> tuple[ManifestEntry, ...]:
        return tuple(e for e in self.entries if e.kind != "state")

    @property
    def states(self) -> tuple[ManifestEntry, ...]:
        return tuple(e for e in self.entries if e.kind == "state")


def toposort(roots: Iterable[Node]) -> Iterator[Node]:
    """Each node reachable from `roots` once, arguments before users, in a fixed order.

    Does not enter the bodies of Functions. Iterative: depth grows with the layers."""
    seen: set[int] = set()
    for root in roots:
        stack: list[tuple[Node, bool]] = [(root, False)]
        while stack:
            node, ready = stack.pop()
            if ready:
                yield node
            elif id(node) not in seen:
                seen.add(id(node))
                stack.append((node, True))
                stack.extend((arg, False) for arg in reversed(node.args))
