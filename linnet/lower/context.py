"""What one lowering knows as a whole, whichever function is being walked.

Leaves (one node a path), the current value of each state, the Functions made so far, the
conditions to be settled at the entry boundary, and which weights the checkpoint lacks.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from linnet.check.typed import Member
from linnet.diag import Span
from linnet.dims import Clause, Dim, Facts, holds
from linnet.ir import build as ir
from linnet.ir.node import Function, Manifest, Node, Origin
from linnet.lower.manifest import BlockValue, member_type
from linnet.lower.problems import origin_of, source_error


@dataclass(eq=False)
class Context:
    manifest: Manifest
    absent: frozenset[str]
    facts: Facts
    """The entry's clauses, over the sizes that stay symbolic."""
    leaves: dict[str, Node] = field(default_factory=dict)
    states: dict[str, Node] = field(default_factory=dict)
    """Values of assigned states; one that is not here still has its first value."""
    functions: dict[Hashable, Function] = field(default_factory=dict)
    clauses: list[Clause] = field(default_factory=list)
    """Conditions on sizes found on the way, each once."""
    _normal: dict[Dim, Dim] = field(default_factory=dict)

    def is_absent(self, path: str) -> bool:
        """Whether an optional param, buffer or sub at `path` has no value: a child is absent as
        soon as a weight it requires is."""
        if path in self.absent:
            return True
        return any(e.group == path and e.path in self.absent for e in self.manifest.entries)

    def leaf(self, block: BlockValue, member: Member) -> Node:
        """The node of a param, buffer or state of `block`, as the entry finds it."""
        path = block.member_path(member.name)
        if path not in self.leaves:
            make = ir.state if member.kind == "state" else ir.param
            origin = origin_of(member.span, member.name, block.path)
            self.leaves[path] = make(path, member_type(block, member), origin)
        return self.leaves[path]

    def state(self, block: BlockValue, member: Member) -> Node:
        """What a state holds at this point of the program."""
        path = block.member_path(member.name)
        return self.states[path] if path in self.states else self.leaf(block, member)

    def dim(self, dim: Dim, span: Span) -> Dim:
        """A dimension of a value in normal form under the entry's clauses. Its sign, if the
        checker left it open, becomes a condition of the entry."""
        if dim not in self._normal:
            normal = self.facts.normalise(dim) if not dim.is_const else dim
            if normal.is_const and normal.value < 0:
                raise source_error("E2208", f"this dimension is {normal.value}", span)
            self.require(Clause.of(">=", normal, 0, origin_of(span)))
            self._normal[dim] = normal
        return self._normal[dim]

    def inside(self, position: Dim, axis: Dim, span: Span) -> None:
        """Demand 0 <= position < axis for a compile-time index."""
        for clause in (
            Clause.of(">=", position, 0, origin_of(span)),
            Clause.of("<", position, axis, origin_of(span)),
        ):
            if clause.left.is_const and clause.right.is_const and not clause.holds({}):
                message = f"index {position} lies outside an axis of {axis}"
                raise source_error("E2209", message, span)
            self.require(clause)

    def require(self, clause: Clause) -> None:
        """Note a condition that does not follow from what is known."""
        if clause not in self.clauses and not holds(clause, self.facts):
            self.clauses.append(clause)

    def snapshot(self) -> dict[str, Node]:
        return dict(self.states)


def at_site(span: Span, site: Origin | None, name: str, path: str) -> Origin:
    """Where a node comes from: `span`, or the place outside the library that led there."""
    if site is None:
        return origin_of(span, name, path)
    return Origin(site.file, site.line, site.column, name, path)
