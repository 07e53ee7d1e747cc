"""The steps of an entry and what flows between them, read off the checked source.

In go a checked root block and an entry; out comes a `Box`: steps in order, each with the values
it takes, the parameters it uses and the shape of what it gives. A call of a child block is a step
with a box of its own; methods of the same block are walked in place; ops and free functions are
single steps. Shapes are in the generics of the root block. Nothing is computed: an optional
parameter is taken to be there, and a choice on a constant is made by the constant.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from linnet.check import show
from linnet.check import typed as t
from linnet.check.substitute import Bindings
from linnet.check.types import Array, Block, Optional, Scalar, Tensor, Type
from linnet.lower.manifest import BlockValue, joined

LONGEST = 34
"""Characters of source text that a step shows."""


@dataclass(frozen=True)
class Chip:
    """A parameter, buffer or state that a step uses; `optional` ones may be missing."""

    kind: str
    name: str
    shape: str
    optional: bool = False
    written: bool = False


@dataclass(eq=False)
class Step:
    """`inputs` are the steps whose values it takes; `port` says for a step with an inner box
    which of the box's inputs each is. `shape` is that of the result."""

    title: str
    shape: str = ""
    kind: str = "op"  # "op" | "view" | "input" | "box"
    chips: list[Chip] = field(default_factory=list)
    inputs: list[Step] = field(default_factory=list)
    inner: Box | None = None


@dataclass(eq=False)
class Box:
    """A block's method, an entry or a loop. `times`: how often, where it is more than once."""

    title: str
    note: str = ""
    times: str = ""
    ports: list[Step] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    results: list[Step] = field(default_factory=list)


@dataclass(frozen=True)
class _Tuple:
    items: tuple[Value, ...]


@dataclass(frozen=True)
class _Used:
    """A parameter, or a view of one."""

    chip: Chip


Value = Step | _Tuple | _Used | BlockValue | None
"""None: a number, or nothing at all."""


def flow(
    root: t.BlockDecl, entry: str, constants: Mapping[str, Any] | None = None
) -> tuple[Box, frozenset[str]]:
    """The box of an entry, and the paths of the members that it uses. `constants` are values that
    a card gives to constants."""
    tracer = _Tracer(dict(constants or {}))
    function = root.functions[entry]
    block = BlockValue(root, "", Bindings())
    box = Box(f"{root.name}.{entry}")
    frame = _Frame(tracer, block, block.bindings, box)
    for parameter in function.parameters:
        port = Step(parameter.variable.name, frame.shape(parameter.variable.type), "input")
        box.ports.append(port)
        frame.names[parameter.variable] = port
    result = frame.body(function.body)
    box.results = list(dict.fromkeys(_steps(result)))
    return box, frozenset(tracer.used)


class _Tracer:
    def __init__(self, constants: dict[str, Any]) -> None:
        self.constants = constants
        self.states: dict[str, Value] = {}
        self.used: set[str] = set()


class _Frame:
    """One walk of a function's body: what its names stand for, and the box that its steps go to."""

    def __init__(
        self, tracer: _Tracer, block: BlockValue | None, bindings: Bindings, box: Box
    ) -> None:
        self.tracer = tracer
        self.block = block
        self.bindings = bindings
        self.box = box
        self.names: dict[t.Variable, Value] = {}

    # Statements.

    def body(self, statements: Iterable[t.TStmt]) -> Value:
        for statement in statements:
            match statement:
                case t.Return(value=value):
                    return None if value is None else self.value(value)
                case t.Let(pattern=pattern, value=value):
                    self._bind(pattern, self.value(value, _name(pattern)))
                case t.Assign(target=target, value=value):
                    self._assign(target, self.value(value))
                case t.StaticForBlocks():
                    self._blocks(statement)
                case t.StaticForRange() | t.For():
                    count = self.bindings.dim(statement.stop - statement.start)
                    self._loop(f"for {statement.variable.name}", str(count), statement.body)
                case t.While():
                    self._loop("while", "as often as needed", statement.body)
        return None

    def _bind(self, pattern: t.Pattern, value: Value) -> None:
        if pattern.items is not None:
            parts = value.items if isinstance(value, _Tuple) else (value,) * len(pattern.items)
            for item, part in zip(pattern.items, parts, strict=False):
                self._bind(item, part)
        elif pattern.variable is not None:
            self.names[pattern.variable] = value

    def _assign(self, target: t.Variable | t.Member, value: Value) -> None:
        if isinstance(target, t.Variable):
            self.names[target] = value
            return
        assert self.block is not None
        self.tracer.states[self.block.member_path(target.name)] = value
        if isinstance(value, Step):
            value.chips = [
                dataclasses.replace(c, written=True) if c.name == target.name else c
                for c in value.chips
            ]

    def _blocks(self, loop: t.StaticForBlocks) -> None:
        """A loop over child blocks: one box that is there several times."""
        array = self._array(loop.array)
        if array is None:
            return
        name, item, times = array
        self.names[loop.variable] = item
        if len(loop.body) == 1:
            before = len(self.box.steps)
            self.body(loop.body)
            for step in self.box.steps[before:]:
                if step.inner is not None and step.inner.title == name:
                    step.inner.times = times
            return
        self._loop(f"for {loop.variable.name} in {name}", times, loop.body)

    def _array(self, expr: t.TExpr) -> tuple[str, BlockValue, str] | None:
        if not isinstance(expr, t.MemberRef) or not isinstance(expr.member.type, Array):
            return None
        owner = self.value(expr.receiver)
        assert isinstance(owner, BlockValue)
        path = owner.member_path(expr.member.name)
        item = owner.child(expr.member.type.item, f"{path}.{{i}}")
        return expr.member.name, item, str(owner.bindings.dim(expr.member.type.length))

    def _loop(self, title: str, times: str, body: tuple[t.TStmt, ...]) -> None:
        box = Box(title, times=times)
        step = Step(title, kind="box", inner=box)
        inner = _Frame(self.tracer, self.block, self.bindings, box)
        outside: dict[Step, Step] = {}
        inner.names = {v: self._entering(v.name, value, step, outside) for v, value in self._all()}
        inner.body(body)
        for variable, value in inner.names.items():
            old = self.names.get(variable)
            if isinstance(value, Step) and isinstance(old, Step) and value is not outside.get(old):
                box.results.append(value)
                step.shape = value.shape
                self.names[variable] = step
        used = {s for item in box.steps for s in item.inputs} | set(box.results)
        pairs = [(outer, port) for outer, port in outside.items() if port in used]
        step.inputs = [outer for outer, _ in pairs]
        box.ports = [port for _, port in pairs]
        if box.steps:
            self.box.steps.append(step)

    def _all(self) -> list[tuple[t.Variable, Value]]:
        return list(self.names.items())

    def _entering(self, name: str, value: Value, step: Step, outside: dict[Step, Step]) -> Value:
        """The value as the inside of a box sees it: by one of its ports."""
        if isinstance(value, Step):
            return outside.setdefault(value, Step(name, value.shape, "input"))
        if isinstance(value, _Tuple):
            parts = (self._entering(name, item, step, outside) for item in value.items)
            return _Tuple(tuple(parts))
        return value

    # Expressions.

    def value(self, expr: t.TExpr, name: str = "") -> Value:
        match expr:
            case t.VariableRef(variable=variable):
                return self.names.get(variable)
            case t.SelfBlock():
                return self.block
            case t.MemberRef():
                return self._member(expr)
            case t.ArrayItem(array=array, position=position):
                found = self._array(array)
                return None if found is None else self._item(found, str(position))
            case t.Call():
                return self._call(expr)
            case t.SomeExpr(inner=inner):
                return self.value(inner)
            case t.TupleExpr(items=items) | t.StructExpr(items=items):
                return _Tuple(tuple(self.value(item) for item in items))
            case t.FieldRef(base=base, position=position):
                whole = self.value(base)
                return whole.items[position] if isinstance(whole, _Tuple) else whole
            case t.MatchOptional():
                return self._optional(expr)
            case t.MatchEnum():
                return self._enum(expr)
            case t.Reshape(operand=operand) | t.Permute(operand=operand):
                return self._view(expr, operand, type(expr).__name__.lower())
            case t.BroadcastTo(operand=operand):
                return self._view(expr, operand, "broadcast")
            case t.Cast(operand=operand):
                return self._view(expr, operand, f"as {_dtype(self.bindings.type(expr.type))}")
            case t.Slice(operand=operand):
                return self._view(expr, operand, _short(expr.span.text))
            case t.Binary(op=op, left=left, right=right):
                return self._step(expr, op, [self.value(left), self.value(right)])
            case t.Unary(op=op, operand=operand):
                return self._step(expr, op, [self.value(operand)])
            case t.Prelude(name=word, arguments=arguments):
                return self._step(expr, word, [self.value(a) for a in arguments])
            case t.If(condition=condition, then=then, otherwise=otherwise):
                chosen = self._known(condition)
                if chosen is not None:
                    return self.value(then if chosen else otherwise)
        text = expr.span.text
        head = f"{name} = " if name and not text.startswith("let ") else ""
        title = _short(head + text.removeprefix("let "))
        return self._step(expr, title, list(self._parts(expr)))

    def _item(self, found: tuple[str, BlockValue, str], position: str) -> BlockValue:
        _, item, _ = found
        return BlockValue(item.decl, item.path.replace("{i}", position), item.bindings)

    def _parts(self, expr: Any) -> Iterator[Value]:
        """The values that an expression of index notation reads."""
        if isinstance(expr, t.VariableRef | t.MemberRef | t.Call):
            yield self.value(expr)
        elif isinstance(expr, tuple):
            for item in expr:
                yield from self._parts(item)
        elif dataclasses.is_dataclass(expr) and isinstance(expr, t.TExpr | t.TStmt | t.Pattern):
            for item in dataclasses.fields(expr):
                if item.name not in ("type", "span"):
                    yield from self._parts(getattr(expr, item.name))

    def _member(self, expr: t.MemberRef) -> Value:
        owner = self.value(expr.receiver)
        assert isinstance(owner, BlockValue)
        member, path = expr.member, owner.member_path(expr.member.name)
        kind = member.type.inner if isinstance(member.type, Optional) else member.type
        if isinstance(kind, Block):
            return owner.child(kind, path)
        if isinstance(kind, Array):
            return None
        self.tracer.used.add(path)
        if member.kind == "state" and isinstance(self.tracer.states.get(path), Step):
            return self.tracer.states[path]
        shape = _shape(owner.bindings.type(kind))
        return _Used(Chip(member.kind, member.name, shape, isinstance(member.type, Optional)))

    def _call(self, expr: t.Call) -> Value:
        function = expr.function
        arguments = [None if a is None else self.value(a) for a in expr.arguments]
        if function.block is None:
            return self._step(expr, function.name, arguments)
        own = expr.receiver is None or isinstance(expr.receiver, t.SelfBlock)
        block = self.block if own or expr.receiver is None else self.value(expr.receiver)
        assert isinstance(block, BlockValue)
        bindings = Bindings()
        for param in function.generics:
            bindings.bind(param.symbol, self.bindings.argument(expr.generics[param.symbol]))
        bindings = joined(block.bindings, bindings)
        if own:
            frame = _Frame(self.tracer, block, bindings, self.box)
            frame.names = _named(function, arguments)
            return frame.body(function.body)
        return self._child(expr, block, bindings, arguments)

    def _child(
        self, expr: t.Call, block: BlockValue, bindings: Bindings, arguments: list[Value]
    ) -> Value:
        """A call of another block: a step with a box of its own."""
        function = expr.function
        last = block.path.removesuffix(".{i}").rpartition(".")[2]
        box = Box(last, note=f"{block.decl.name}.{function.name}")
        step = Step(last, kind="box", inner=box)
        frame = _Frame(self.tracer, block, bindings, box)
        outside: dict[Step, Step] = {}
        named = _named(function, arguments)
        frame.names = {
            variable: self._entering(variable.name, value, step, outside)
            for variable, value in named.items()
        }
        result = frame.body(function.body)
        step.inputs, box.ports = list(outside), list(outside.values())
        box.results = list(dict.fromkeys(_steps(result)))
        if not box.results and not box.steps:
            return None
        step.shape = ", ".join(s.shape for s in box.results)
        self.box.steps.append(step)
        return _outside(result, step)

    def _optional(self, expr: t.MatchOptional) -> Value:
        scrutinee = self.value(expr.scrutinee)
        if scrutinee is None:
            return self.value(expr.none_body)
        if expr.some_pattern is not None:
            self._bind(expr.some_pattern, scrutinee)
        if expr.whole is not None:
            self.names[expr.whole] = scrutinee
        return self.value(expr.some_body)

    def _enum(self, expr: t.MatchEnum) -> Value:
        variant = self._variant(expr.scrutinee)
        if variant is not None:
            return self.value(expr.bodies[variant])
        arms = [self.value(body) for body in dict.fromkeys(expr.bodies)]
        return self._step(expr, f"one of {len(arms)}", arms)

    def _variant(self, expr: t.TExpr) -> int | None:
        if isinstance(expr, t.EnumValue):
            return expr.variant
        if not isinstance(expr, t.ConstRef):
            return None
        given = self.tracer.constants.get(expr.decl.name)
        variants = getattr(getattr(expr.type, "decl", None), "variants", ())
        if given in variants:
            return int(variants.index(given))
        return self._variant(expr.decl.value)

    def _known(self, expr: t.TExpr) -> bool | None:
        """What a condition on constants comes to."""
        match expr:
            case t.Literal(value=bool() as value):
                return value
            case t.Unary(op="!", operand=operand):
                inner = self._known(operand)
                return None if inner is None else not inner
            case t.ConstRef(decl=decl):
                given = self.tracer.constants.get(decl.name)
                return given if isinstance(given, bool) else self._known(decl.value)
        return None

    def _view(self, expr: t.TExpr, operand: t.TExpr, title: str) -> Value:
        value = self.value(operand)
        if isinstance(value, Step) and isinstance(expr.type, Scalar | Tensor):
            return self._add(Step(title, self.shape(expr.type), "view", inputs=[value]))
        return value

    def _step(self, expr: t.TExpr, title: str, values: list[Value]) -> Value:
        """A step of its own for a tensor; numbers that depend on no tensor are none."""
        inputs = list(dict.fromkeys(s for value in values for s in _steps(value)))
        chips = list(dict.fromkeys(c for value in values for c in _chips(value)))
        if isinstance(expr.type, Scalar) and not chips and not _of_tensors(inputs):
            return None
        shape = self.shape(expr.type)
        return self._add(Step(title, shape, chips=chips, inputs=_of_tensors(inputs) or inputs))

    def _add(self, step: Step) -> Step:
        self.box.steps.append(step)
        return step

    def shape(self, type: Type) -> str:
        return _shape(self.bindings.type(type))


def _named(function: t.FunctionDecl, arguments: list[Value]) -> dict[t.Variable, Value]:
    pairs = zip(function.parameters, arguments, strict=True)
    return {parameter.variable: value for parameter, value in pairs}


def _outside(result: Value, step: Step) -> Value:
    if isinstance(result, _Tuple):
        return _Tuple(tuple(_outside(item, step) for item in result.items))
    return step if isinstance(result, Step) else result


def _steps(value: Value) -> Iterator[Step]:
    if isinstance(value, Step):
        yield value
    elif isinstance(value, _Tuple):
        for item in value.items:
            yield from _steps(item)


def _chips(value: Value) -> Iterator[Chip]:
    if isinstance(value, _Used):
        yield value.chip
    elif isinstance(value, _Tuple):
        for item in value.items:
            yield from _chips(item)


def _of_tensors(steps: list[Step]) -> list[Step]:
    """Without scalars, such as positions, which would cross the whole drawing."""
    return [step for step in steps if step.shape.startswith(("[", "("))]


def _shape(type: Type) -> str:
    match type:
        case Tensor(_, axes):
            return show.axes(axes)
        case Scalar(dtype):
            return show.dtype(dtype)
        case Optional(inner):
            return _shape(inner)
    items = getattr(type, "items", ())
    return f"({', '.join(_shape(item) for item in items)})" if items else ""


def _dtype(type: Type) -> str:
    return show.dtype(type.dtype) if isinstance(type, Scalar | Tensor) else "it is"


def _name(pattern: t.Pattern) -> str:
    return pattern.variable.name if pattern.variable is not None else ""


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def members(block: t.BlockDecl, within: str = "") -> Iterator[str]:
    """The paths of all params, buffers and states of a block, `{i}` for array positions."""
    for member in block.members.values():
        path = f"{within}.{member.name}" if within else member.name
        kind = member.type.inner if isinstance(member.type, Optional) else member.type
        if isinstance(kind, Array):
            yield from members(kind.item.decl, f"{path}.{{i}}")
        elif isinstance(kind, Block):
            yield from members(kind.decl, path)
        else:
            yield path
