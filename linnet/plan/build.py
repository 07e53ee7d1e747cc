"""Turn one entry's graph into steps over buffers.

In running order, every node gets a place: a leaf has one, a move of data becomes a view
where strides can say it, a call becomes a kernel step, and what is left becomes a loop.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

from linnet.dims import Dim, Facts, Sym
from linnet.ir.expr import Apply, Load, Reduce, walk
from linnet.ir.node import (
    CallAttrs,
    Function,
    GetAttrs,
    Graph,
    MapAttrs,
    Named,
    Node,
    toposort,
)
from linnet.ir.ops import Op
from linnet.passes import pipeline
from linnet.plan import views
from linnet.plan.cards import Card, Match, evaluate, match, size_values
from linnet.plan.epilogues import join_epilogues
from linnet.plan.lengths import prefix_lengths
from linnet.plan.memory import larger, plan_memory
from linnet.plan.order import Order, identity, order, peel
from linnet.plan.packing import (
    can_pack,
    dense_order,
    needed_orders,
    packed_order,
    param_view,
    stored_order,
)
from linnet.plan.rounds import Rounds, rounds
from linnet.plan.rows import only_row
from linnet.plan.tables import PACKED, Tables
from linnet.plan.types import (
    Argument,
    Buffer,
    EntryPlan,
    Form,
    KernelInstance,
    KernelStep,
    LoopStep,
    PointerArgument,
    ScalarArgument,
    ScratchArgument,
    SizeArgument,
    Space,
    Step,
    UnitPlan,
    View,
    WhileStep,
    leaves,
    written,
)
from linnet.plan.work import share_work


def plan_unit(
    name: str, graphs: list[Graph], policy: str, stored: Mapping[str, str] | None = None
) -> UnitPlan:
    """Plan all entries of a unit; weights, states and kernels are shared between them.

    `stored` maps parameters declared f32 that the checkpoint holds in bf16 or f16 to that."""
    halves = dict(stored or {})
    prepared = [_prepare(graph, policy) for graph in graphs]
    everything = [part for entry in prepared for part in entry.parts()]
    wanted = [o for p in everything for o in needed_orders(p.graph, p.cards, p.facts, halves)]
    tables = Tables(frozenset(wanted), halves)
    entries = [_plan_entry(entry, tables) for entry in prepared]
    kernels = [s.kernel for e in entries for s in leaves(e.steps) if isinstance(s, KernelStep)]
    return UnitPlan(
        name=name,
        entries=entries,
        weights=list(tables.weights),
        states=list(tables.states.values()),
        kernels=list(dict.fromkeys(kernels)),
    )


@dataclass(frozen=True)
class _Prepared:
    """An entry, or a part of a loop, whose kernels are chosen. `matches` is by the id of a call's
    function, `loops` by that of a LOOP."""

    graph: Graph
    facts: Facts
    matches: Mapping[int, Match]
    loops: Mapping[int, _Loop]
    refused: Mapping[str, str]

    @property
    def cards(self) -> dict[int, Card | None]:
        return {key: found.card for key, found in self.matches.items()}

    def parts(self) -> Iterator[_Prepared]:
        """This, and all that is in its loops."""
        yield self
        for loop in self.loops.values():
            yield from loop.condition.parts()
            yield from loop.body.parts()


@dataclass(frozen=True)
class _Loop:
    rounds: Rounds
    condition: _Prepared
    body: _Prepared


def _prepare(graph: Graph, policy: str) -> _Prepared:
    """Choose kernels and run the passes."""
    facts = entry_facts(graph)
    matches: dict[int, Match] = {}
    refused: dict[str, str] = {}

    def keep(call: Node) -> bool:
        assert isinstance(call.attrs, CallAttrs)
        key = id(call.attrs.function)
        if key not in matches:
            matches[key] = match(call, facts, policy)
        card, reason = matches[key].card, matches[key].reason
        if card is not None and can_pack(call, card, facts):
            return True
        if card is not None:
            reason = f"{card.name}: a weight it wants laid out at load is no matrix of a parameter"
        refused[call.attrs.function.op] = reason
        return False

    graph = pipeline.run(graph, keep)
    found = {id(n): rounds(n, graph) for n in toposort(graph.outputs()) if n.op is Op.LOOP}
    loops = {
        key: _Loop(parts, _prepare(parts.condition, policy), _prepare(parts.body, policy))
        for key, parts in found.items()
    }
    return _Prepared(graph, facts, matches, loops, refused)


def _plan_entry(entry: _Prepared, tables: Tables) -> EntryPlan:
    """Place every node, join steps, share the work, plan the memory."""
    plan = _Planner(entry, tables).plan()
    plan.steps = _finished(plan.steps)
    plan_memory(plan, entry.facts)
    for part in entry.parts():
        plan.refused.update(part.refused)
    return plan


def _finished(steps: list[Step], live: Set[int] = frozenset()) -> list[Step]:
    """Steps as they will run. `live` are buffers (by id) that are read elsewhere."""
    return share_work(join_epilogues(_without_dead(steps, live)))


def entry_facts(graph: Graph) -> Facts:
    """What holds for the sizes once the call boundary has let them in."""
    return Facts(graph.clauses, (Sym(size) for size in graph.sizes))


class _Planner:
    """Places the nodes of one graph, in running order."""

    def __init__(self, entry: _Prepared, tables: Tables) -> None:
        graph = entry.graph
        self.facts = entry.facts
        self.matches = entry.matches
        self.loops = entry.loops
        self.tables = tables
        cards = {id(n): card for n in _calls(graph) if (card := self._match(n).card) is not None}
        self.order: Order = order(graph, cards)
        self.graph = self.order.graph
        self.plan_ = EntryPlan(self.graph, [], [], [])
        self.places: dict[int, View] = {}
        self.homes: dict[int, Buffer] = {}
        # Nothing may be called like a member or a size, which are variables of the entry too.
        members = [tables.name(path, suffix) for path in _members(graph) for suffix in ("", PACKED)]
        self.names: dict[str, int] = dict.fromkeys([*members, *graph.sizes], 1)
        self.scalars: dict[int, Node] = {}  # rank-0 maps, computed where they are used
        self.lengths: dict[int, Node | None] = {}
        self.carried: dict[int, tuple[View, ...]] = {}  # by LOOP

    def _match(self, call: Node) -> Match:
        assert isinstance(call.attrs, CallAttrs)
        return self.matches[id(call.attrs.function)]

    def plan(self) -> EntryPlan:
        self._place_inputs()
        self._place_results()
        for node in self.order.nodes:
            if id(node) in self.order.homes:
                self.homes[id(node)] = self._state(self.order.homes[id(node)], node)
            self._place(node)
        return self.plan_

    # --- placing ------------------------------------------------------------------------

    def _place_inputs(self) -> None:
        for position, node in enumerate(self.graph.inputs):
            assert isinstance(node.attrs, Named)
            buffer = self._buffer(node, Space.INPUT, name=node.attrs.name, index=position)
            self.plan_.inputs.append(buffer)
            self.places[id(node)] = views.dense(buffer)

    def _place_results(self) -> None:
        for position, node in enumerate(self.graph.results):
            base = peel(node)
            name = base.origin.name if base.origin is not None and base.origin.name else "result"
            buffer = self._buffer(base, Space.RESULT, name=name, index=position)
            self.plan_.results.append(buffer)
            self.homes[id(base)] = buffer

    def _place(self, node: Node) -> None:
        match node.op:
            case Op.INPUT | Op.PARAM:
                pass  # a weight is laid out when it is asked for
            case Op.STATE:
                assert isinstance(node.attrs, Named)
                self.places[id(node)] = views.dense(self._state(node.attrs.name, node))
            case Op.RESHAPE:
                self._place_reshape(node)
            case Op.MAP:
                self._place_map(node)
            case Op.CALL:
                self._call(node)
            case Op.LOOP:
                self._while(node)
            case Op.GET:
                assert isinstance(node.attrs, GetAttrs)
                self.places[id(node)] = self.carried[id(node.args[0])][node.attrs.position]
            case Op.ARG:
                raise AssertionError("a parameter of a function outside it")

    def _place_reshape(self, node: Node) -> None:
        (arg,) = node.args
        if param_view(node, self.facts) is not None:
            return  # as with the weight itself
        if not arg.type.dims and id(arg) in self.scalars:
            self.view(arg)
        view = views.reshaped(self.view(arg), node.type.dims)
        if view is None:
            copy = views.dense(self._copy(arg, "its rows must lie side by side"))
            view = views.reshaped(copy, node.type.dims)
            assert view is not None
        self.places[id(node)] = view

    def _place_map(self, node: Node) -> None:
        assert isinstance(node.attrs, MapAttrs)
        forced = id(node) in self.order.copies or id(node) in self.homes
        if forced or not self._is_lazy(node):
            self._loop(node, "no kernel: a loop over its elements")

    def _is_lazy(self, node: Node) -> bool:
        """Moves and small scalars cost nothing until somebody asks for them."""
        assert isinstance(node.attrs, MapAttrs)
        if not node.type.dims:
            reduces = any(isinstance(e, Reduce) for e in walk(node.attrs.body))
            if not reduces and not any(self._may_change(arg) for arg in node.args):
                self.scalars[id(node)] = node
                return True
            return False
        if isinstance(node.attrs.body, Load):
            if param_view(node, self.facts) is not None:
                return True
            base = node.args[node.attrs.body.operand]
            if param_view(base, self.facts) is not None:
                return False
            view = views.mapped(node.attrs, self.view(base), self.facts)
            if view is not None:
                self.places[id(node)] = view
                return True
        return False

    def _may_change(self, node: Node) -> bool:
        """Whether what a node stands for is memory that a later step may overwrite."""
        place = self.places.get(id(node))
        return place is not None and self._is_kept(place.buffer)

    def _is_kept(self, buffer: Buffer) -> bool:
        return buffer.space is Space.STATE

    def view(self, node: Node) -> View:
        """Where a node's elements are; computes them now if that was put off."""
        place = self.places.get(id(node))
        if place is not None:
            return place
        match node.op:
            case Op.PARAM:
                place = views.dense(self._dense_weight(node))
            case Op.MAP if not node.type.dims:
                self._loop(node, "a scalar that a loop reads")
                return self.places[id(node)]
            case Op.MAP:
                assert isinstance(node.attrs, MapAttrs)
                mapped = views.mapped(node.attrs, self.view(node.args[0]), self.facts)
                assert mapped is not None
                place = mapped
            case Op.RESHAPE:
                moved = views.reshaped(self.view(node.args[0]), node.type.dims)
                assert moved is not None
                place = moved
            case _:
                raise AssertionError(f"{node.op} has no place")
        self.places[id(node)] = place
        return place

    def _dense_weight(self, node: Node) -> Buffer:
        return self.tables.weight(dense_order(node), node.type.dims)

    def _state(self, path: str, node: Node) -> Buffer:
        """Where the state at `path` is; `node` has its type."""
        leaf = Node(Op.STATE, (), node.type, Named(path), node.origin)
        return self.tables.state(leaf)

    # --- steps --------------------------------------------------------------------------

    def _loop(self, node: Node, reason: str) -> Buffer:
        assert isinstance(node.attrs, MapAttrs)
        operands = tuple(self.view(arg) for arg in node.args)
        buffer = self.homes.get(id(node)) or self._buffer(node, Space.ARENA)
        place = views.dense(buffer)
        step = LoopStep(
            indices=node.attrs.indices,
            body=node.attrs.body,
            operands=operands,
            writes=place,
            node=node,
            reason=reason,
            row=only_row(node.attrs.indices, node.attrs.body, operands, place),
        )
        self.plan_.steps.append(step)
        self.places[id(node)] = place
        return buffer

    def _copy(self, node: Node, reason: str) -> Buffer:
        move = identity(node)
        return self._loop(move, reason)

    def _call(self, node: Node) -> None:
        assert isinstance(node.attrs, CallAttrs)
        match_ = self._match(node)
        card = match_.card
        assert card is not None
        function = node.attrs.function
        sizes = size_values(function.generics)
        consts = tuple(
            (name, dim.value)
            for name, dim in sizes.items()
            if dim.is_const and name not in card.runtime
        )
        fixed = {name for name, _ in consts}
        free = tuple(name for name in sizes if name not in fixed)
        arguments: list[Argument] = [SizeArgument(sizes[name]) for name in free]
        reads: list[View] = []
        forms: list[Form] = []
        given = _given(node, function)
        overwritten: View | None = None
        layout: str
        argument: Argument
        for operand in card.operands:
            arg = given.get(operand.name)
            if arg is None:
                forms.append(Form(operand.name, "absent"))
                continue
            if operand.name == card.in_place:
                target = self._overwritten(node, arg)
                overwritten = target.view
                layout, argument = "dense", target
            else:
                layout, argument = self._operand(arg, operand.layouts)
            strides = len(argument.strides) if isinstance(argument, PointerArgument) else 0
            forms.append(Form(operand.name, layout, _dtype(argument, arg), strides))
            arguments.append(argument)
            reads += _read_by(argument)
        if overwritten is None:
            buffer = self.homes.get(id(node)) or self._buffer(node, Space.ARENA)
            writes = views.dense(buffer)
            arguments.append(PointerArgument(writes))
        else:
            writes = overwritten
        if card.scratch is not None:
            floats = evaluate(card.scratch, function.generics)
            arguments.append(ScratchArgument(floats))
            self.plan_.scratch = larger(self.plan_.scratch, floats * 4, self.facts)
        instance = KernelInstance(card, consts, free, tuple(forms), node.type.dtype)
        self.plan_.steps.append(
            KernelStep(instance, tuple(arguments), tuple(reads), writes, node, match_.reason)
        )
        self.places[id(node)] = writes

    def _overwritten(self, call: Node, arg: Node) -> PointerArgument:
        """The memory an in-place kernel writes: the state itself, or a copy of the operand."""
        if id(call) in self.order.in_place:
            return PointerArgument(self.view(arg))
        home = self.homes.get(id(call))
        move = identity(arg)
        if home is not None:
            self.homes[id(move)] = home
        return PointerArgument(views.dense(self._loop(move, "the old value is still needed")))

    # --- loops --------------------------------------------------------------------------

    def _while(self, node: Node) -> None:
        loop = self.loops[id(node)]
        given = {name: self.view(arg) for name, arg in loop.rounds.given}
        paths = loop.rounds.carried
        carried = {
            path: self._first(arg, path) for path, arg in zip(paths, node.args, strict=False)
        }
        live = {id(buffer) for buffer in carried.values()}
        condition = _RoundPlanner(loop.condition, self, carried, given).plan()
        (more,) = condition.results
        body = _RoundPlanner(loop.body, self, carried, given).plan()
        for part in (condition, body):
            self.plan_.scratch = larger(self.plan_.scratch, part.scratch, self.facts)
        self.carried[id(node)] = tuple(views.dense(buffer) for buffer in carried.values())
        step = WhileStep(
            condition=tuple(_finished(condition.steps, {id(more)})),
            test=views.dense(more),
            body=tuple(_finished(body.steps, live)),
            carried=self.carried[id(node)],
            node=node,
            reason="as often as the data says",
        )
        self.plan_.steps.append(step)

    def _first(self, arg: Node, path: str) -> Buffer:
        """Memory for a carried value, with its first one in it."""
        made_here = isinstance(arg.attrs, MapAttrs) and not arg.args
        first = dataclasses.replace(arg) if made_here else identity(arg)
        name = path.partition(".")[2].replace(".", "_")
        self.homes[id(first)] = self._buffer(arg, Space.ARENA, name=name)
        return self._loop(first, "what a loop begins with")

    # --- operands -----------------------------------------------------------------------

    def _operand(self, arg: Node, layouts: tuple[str, ...]) -> tuple[str, Argument]:
        """The first layout that fits without moving data; else a copy for the first that can
        take one."""
        free = not all(layout.startswith("packed:") for layout in layouts)
        for layout in layouts:
            if layout.startswith("packed:"):
                argument: Argument | None = self._packed(arg, layout.removeprefix("packed:"), free)
            elif layout == "stored":
                argument = self._stored(arg)
            else:
                argument = self._as_layout(arg, layout)
            if argument is not None:
                return "dense" if layout == "stored" else layout.split(":")[0], argument
        layout = next(form for form in layouts if form in ("dense", "rows", "strided"))
        copy = views.dense(self._copy(arg, f"the kernel wants it {layout}"))
        self.places[id(arg)] = copy
        argument = self._as_layout(arg, layout)
        assert argument is not None
        return layout, argument

    def _as_layout(self, arg: Node, layout: str) -> Argument | None:
        if layout == "scalar":
            return self._scalar(arg)
        if layout == "lengths":
            return self._lengths(arg)
        view = self.view(arg)
        if layout == "dense" and views.is_dense(view):
            return PointerArgument(view)
        if layout == "rows":
            stride = views.row_stride(view)
            return None if stride is None else PointerArgument(view, (stride,))
        if layout == "strided" and views.last_contiguous(view):
            return PointerArgument(view, view.strides[:-1])
        return None

    def _packed(self, arg: Node, function: str, free: bool) -> PointerArgument | None:
        """A weight laid out for the kernel at load. A kernel with a choice (`free`) takes it
        only where the unit holds it anyway."""
        order = packed_order(arg, function, self.facts, self.tables.stored)
        if order is None or (free and order not in self.tables.wanted):
            return None
        return PointerArgument(views.dense(self.tables.weight(order, arg.type.dims)))

    def _stored(self, arg: Node) -> PointerArgument | None:
        """A whole parameter, in the half float that the checkpoint has it in."""
        order = stored_order(arg, self.tables.stored) if arg.op is Op.PARAM else None
        if order is None:
            return None
        return PointerArgument(views.dense(self.tables.weight(order, arg.type.dims)))

    def _scalar(self, arg: Node) -> ScalarArgument:
        if id(arg) in self.scalars and isinstance(arg.attrs, MapAttrs):
            operands = tuple(self.view(a) for a in arg.args)
            return ScalarArgument(arg.attrs.body, operands)
        return ScalarArgument(Load(arg.type.dtype, 0, ()), (self.view(arg),))

    def _lengths(self, mask: Node) -> PointerArgument | None:
        if id(mask) not in self.lengths:
            lengths = prefix_lengths(mask)
            self.lengths[id(mask)] = lengths
            if lengths is not None:
                self._loop(lengths, "a mask that is a prefix, as a number of keys")
        lengths = self.lengths[id(mask)]
        if lengths is None:
            return None
        view = self.places[id(lengths)]
        strides = view.strides if lengths.type.rank == 2 else (Dim.const(0), *view.strides)
        return PointerArgument(view, strides)

    # --- buffers ------------------------------------------------------------------------

    def _buffer(self, node: Node, space: Space, name: str | None = None, index: int = -1) -> Buffer:
        wanted = name or (node.origin.name if node.origin is not None else "") or _by_content(node)
        return Buffer(
            self._unique(wanted), space, node.type.dtype, node.type.dims, index, node.origin
        )

    def _unique(self, name: str) -> str:
        count = self.names.get(name, 0)
        free = name
        while free in self.names:
            free, count = f"{name}_{count}", count + 1
        self.names[name] = count or 1
        self.names.setdefault(free, 1)
        return free


class _RoundPlanner(_Planner):
    """Places the nodes of a loop's condition or body: its states are the values that the loop
    carries, its inputs are places outside."""

    def __init__(
        self,
        part: _Prepared,
        outer: _Planner,
        carried: Mapping[str, Buffer],
        given: Mapping[str, View],
    ) -> None:
        super().__init__(part, outer.tables)
        self.names = outer.names
        self._carried = carried
        self._given = given

    def _place_inputs(self) -> None:
        for node in self.graph.inputs:
            assert isinstance(node.attrs, Named)
            self.places[id(node)] = self._given[node.attrs.name]

    def _place_results(self) -> None:
        for node in self.graph.results:
            buffer = self._buffer(node, Space.ARENA, name="more")
            self.plan_.results.append(buffer)
            self.homes[id(peel(node))] = buffer

    def _state(self, path: str, node: Node) -> Buffer:
        return self._carried[path]

    def _is_kept(self, buffer: Buffer) -> bool:
        return any(buffer is carried for carried in self._carried.values())


def _members(graph: Graph) -> list[str]:
    leaves = [n for n in toposort(graph.outputs()) if n.op in (Op.PARAM, Op.STATE)]
    return [n.attrs.name for n in leaves if isinstance(n.attrs, Named)]


def _without_dead(steps: list[Step], live: Set[int]) -> list[Step]:
    """Drop steps whose working memory nobody reads (a mask that became lengths)."""
    kept: list[Step] = []
    read = set(live)
    for step in reversed(steps):
        buffers = [view.buffer for view in written(step)]
        if all(b.space is Space.ARENA and id(b) not in read for b in buffers):
            continue
        read.update(id(view.buffer) for view in step.reads)
        kept.append(step)
    return kept[::-1]


def _calls(graph: Graph) -> list[Node]:
    return [n for n in toposort(graph.outputs()) if n.op is Op.CALL]


def _given(node: Node, function: Function) -> dict[str, Node]:
    names = [p.attrs.name for p in function.parameters if isinstance(p.attrs, Named)]
    return dict(zip(names, node.args, strict=True))


def _dtype(argument: Argument, arg: Node) -> str:
    return argument.view.buffer.dtype if isinstance(argument, PointerArgument) else arg.type.dtype


def _read_by(argument: Argument) -> tuple[View, ...]:
    match argument:
        case PointerArgument(view=view):
            return (view,)
        case ScalarArgument(operands=operands):
            return operands
    return ()


def _by_content(node: Node) -> str:
    """A name for a value that the source gives none: after what is done last to make it."""
    if not isinstance(node.attrs, MapAttrs):
        return node.op.value
    match node.attrs.body:
        case Apply(fn=fn):
            return fn
        case Reduce(kind=kind):
            return kind
        case Load():
            return "copy"
    return "value"
