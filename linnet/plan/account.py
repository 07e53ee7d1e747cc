"""The account of a plan: what runs for each op, why, on what, and what that costs; as data.

In goes a unit's plan, and which call is meant where entries have sizes of their own. Out comes an
`Account`, which `explain` prints. Nothing is chosen here: conditions are read from the cards
and held against the sizes once more to say which decided.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from linnet.dims import Facts
from linnet.ir.node import CallAttrs, Named, Origin
from linnet.ir.ops import ITEM_SIZES
from linnet.plan.build import entry_facts
from linnet.plan.cards import Card, cards, misfit
from linnet.plan.cost import Call, Cost, Limits, call_of, formula, step_cost, total
from linnet.plan.types import (
    Argument,
    EntryPlan,
    Form,
    KernelInstance,
    KernelStep,
    LoopStep,
    PointerArgument,
    ScalarArgument,
    Step,
    UnitPlan,
    WhileStep,
    leaves,
)
from linnet.plan.views import product

LOOP = "loop "
_PLACE = re.compile(r"\.\d+(?=\.|$)")
_NUMBER = re.compile(r"_\d+$")


@dataclass(frozen=True)
class Operand:
    """How one operand reaches a kernel: its layout in words, its dtype, what it lies in ("weight",
    "state", ...; empty for a number) and its strides in elements but for the last."""

    name: str
    layout: str
    dtype: str
    space: str = ""
    strides: tuple[str, ...] = ()


@dataclass(frozen=True)
class Op:
    """One step. `where` is the member path of the block it ran in, `source` its place in the text;
    `kernel` None for a loop; `formula` its operations over the entry's sizes, nothing masked;
    `cost` None where no call is meant, and for the head of a `while`, which has none itself."""

    where: str
    source: str
    what: str
    kernel: KernelInstance | None
    depth: int
    parallel: bool
    reason: str
    formula: str
    cost: Cost | None
    operands: tuple[Operand, ...] = ()

    @property
    def alike(self) -> tuple[object, ...]:
        """Equal for steps that differ only in the number of their layer."""
        return (*folded(self.where, self.what), self.kernel, self.depth, self.parallel, self.cost)


@dataclass(frozen=True)
class Entry:
    """An entry's steps in running order; `call` is the one that costs are worked out for, and
    `cost` that of all of it. `refused` are ops that no kernel takes, with the reason."""

    name: str
    ops: tuple[Op, ...]
    call: Call | None
    cost: Cost | None
    conditions: tuple[str, ...]
    slots: tuple[str, ...]
    scratch: str
    refused: Mapping[str, str]


@dataclass(frozen=True)
class Instance:
    """A C function made of a card: with these operands, in so many steps."""

    kernel: KernelInstance
    operands: tuple[Operand, ...]
    steps: int


@dataclass(frozen=True)
class Choice:
    """A card that the unit uses. `passed` are cards for the same op that come before it, each with
    what it asks for in vain; `left` those that come after it, as they ask for less."""

    card: Card
    passed: tuple[str, ...]
    left: tuple[str, ...]
    instances: tuple[Instance, ...]


@dataclass(frozen=True)
class Account:
    unit: UnitPlan
    target: str
    numerics: str
    entries: tuple[Entry, ...]
    choices: tuple[Choice, ...]


@dataclass(frozen=True)
class Machine:
    """The limits of a machine on one thread and on all that are used."""

    one: Limits
    all: Limits

    def of(self, op: Op) -> Limits:
        return self.all if op.parallel else self.one


def account(
    unit: UnitPlan,
    target: str,
    numerics: str,
    sizes: Mapping[str, int] | None = None,
    position: int | None = None,
) -> Account:
    """The account of a unit for calls with these sizes; see `cost.call_of` for the rest.

    Raises UsageError for sizes that an entry refuses."""
    return Account(
        unit,
        target,
        numerics,
        tuple(_entry(plan, sizes or {}, position) for plan in unit.entries),
        tuple(_choices(unit)),
    )


def folded(where: str, what: str) -> tuple[str, str]:
    """The place and the name of a step without the number of its layer."""
    short = _NUMBER.sub("", what) if what.startswith(LOOP) else what
    return _PLACE.sub(".{i}", where), short


def step_place(step: Step) -> str:
    """The member path of the block a step ran in, or the value it makes outside of any."""
    origin = step.node.origin
    return origin.path if origin is not None and origin.path else step.writes.buffer.name


def step_name(step: KernelStep | LoopStep) -> str:
    """The kernel's C function, or the loop by the value it makes."""
    if isinstance(step, KernelStep):
        return step.kernel.symbol
    return f"{LOOP}{step.writes.buffer.name}"


def _entry(plan: EntryPlan, sizes: Mapping[str, int], position: int | None) -> Entry:
    call = call_of(plan.graph, sizes, position)
    return Entry(
        name=plan.graph.name,
        ops=tuple(_ops(plan.steps, call, 0)),
        call=call,
        cost=None if call is None else total(plan, call),
        conditions=tuple(clause.text for clause in plan.graph.clauses),
        slots=tuple(str(size) for size in plan.slots),
        scratch=str(plan.scratch),
        refused=dict(plan.refused),
    )


def _ops(steps: Iterable[Step], call: Call | None, depth: int) -> Iterator[Op]:
    for step in steps:
        if isinstance(step, WhileStep):
            carried = ", ".join(view.buffer.name for view in step.carried)
            yield Op(
                step_place(step),
                _source(step.node.origin),
                f"while, carrying {carried}",
                None,
                depth,
                step.parallel,
                step.reason,
                "",
                None,
            )
            yield from _ops((*step.condition, *step.body), call, depth + 1)
        else:
            kernel = step.kernel if isinstance(step, KernelStep) else None
            yield Op(
                step_place(step),
                _source(step.node.origin),
                step_name(step),
                kernel,
                depth,
                step.parallel,
                step.reason,
                str(formula(step)),
                None if call is None else step_cost(step, call),
                tuple(_operands(step)) if isinstance(step, KernelStep) else (),
            )


def _source(origin: Origin | None) -> str:
    return "" if origin is None else str(origin)


def _operands(step: KernelStep) -> Iterator[Operand]:
    given = [a for a in step.arguments if isinstance(a, PointerArgument | ScalarArgument)]
    forms = [form for form in step.kernel.forms if form.layout != "absent"]
    for form, argument in zip(forms, given, strict=False):
        yield _operand(step.kernel.card, form, argument)


def _operand(card: Card, form: Form, argument: Argument) -> Operand:
    if not isinstance(argument, PointerArgument):
        return Operand(form.operand, "by value", form.dtype)
    return Operand(
        form.operand,
        _layout(card, form),
        form.dtype,
        argument.view.buffer.space.value,
        tuple(str(stride) for stride in argument.strides),
    )


def _layout(card: Card, form: Form) -> str:
    """The layout, and for a packed one by which function."""
    operand = card.operand(form.operand)
    packers = [] if operand is None else [w for w in operand.layouts if w.startswith("packed:")]
    if form.layout != "packed" or not packers:
        return form.layout
    half = "_16" if form.dtype in ("bf16", "f16") else ""
    return f"packed by {packers[0].removeprefix('packed:')}{half}"


def _choices(unit: UnitPlan) -> Iterator[Choice]:
    """The cards of a unit in the order in which they first run."""
    steps: dict[KernelInstance, list[tuple[KernelStep, Facts]]] = {}
    for plan in unit.entries:
        facts = entry_facts(plan.graph)
        for step in leaves(plan.steps):
            if isinstance(step, KernelStep):
                steps.setdefault(step.kernel, []).append((step, facts))
    for card in dict.fromkeys(kernel.card for kernel in steps):
        own = {kernel: found for kernel, found in steps.items() if kernel.card is card}
        rivals = [other for other in cards() if other.op == card.op]
        at = rivals.index(card)
        yield Choice(
            card,
            tuple(dict.fromkeys(_passed(rivals[:at], own.values()))),
            tuple(other.name for other in rivals[at + 1 :]),
            tuple(
                Instance(kernel, tuple(_operands(found[0][0])), len(found))
                for kernel, found in own.items()
            ),
        )


def _passed(
    earlier: Iterable[Card], steps: Iterable[list[tuple[KernelStep, Facts]]]
) -> Iterator[str]:
    for found in steps:
        for step, facts in found:
            assert isinstance(step.node.attrs, CallAttrs)
            for card in earlier:
                miss = misfit(card, step.node.attrs.function.generics, facts)
                if miss is not None:
                    yield f"{card.name}: {miss}"


def states(unit: UnitPlan) -> dict[tuple[str, str, str], tuple[int, int]]:
    """States by folded path, dtype and dims: how many, and their bytes together."""
    found: dict[tuple[str, str, str], tuple[int, int]] = {}
    for node in unit.states:
        assert isinstance(node.attrs, Named)
        dims = ", ".join(str(dim) for dim in node.type.dims)
        key = (folded(node.attrs.name, "")[0], node.type.dtype, f"[{dims}]")
        count, size = found.get(key, (0, 0))
        own = ITEM_SIZES[node.type.dtype] * product(node.type.dims).value
        found[key] = (count + 1, size + own)
    return found
