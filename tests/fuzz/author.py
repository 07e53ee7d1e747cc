"""Writes random programs that the checker must accept, from a seed.

Out: the text of some ops, and of a block with one or two entries. Bodies are chains of `let`s,
`var`s, index notation, moves, calls, loops and assignments to state over tensors of all dtypes;
their dims are sums and products of the entry's sizes `A` and `B`, the block's `N`, and small
numbers. Functions whose results are approximations (`exp`, …) are left out, so that values can
be compared exactly.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from linnet.dims import Dim, Facts, Sym, is_positive

FLOATS = ("f32", "f64", "f16", "bf16")
INTS = ("i32", "i64", "i8", "u8", "u32", "i16", "u64", "u16")
ONE, TWO = Dim.const(1), Dim.const(2)
SIZES = {name: Dim.sym(Sym(name)) for name in ("A", "B", "N")}
FACTS = Facts((), (Sym(name) for name in SIZES))

Dims = tuple[Dim, ...]
CACHE: Dims = (ONE, TWO, SIZES["N"] + 1, TWO)


@dataclass(frozen=True)
class Var:
    """A value in scope: its name, dtype and dims; `var` if it may be assigned."""

    name: str
    dtype: str
    dims: Dims
    var: bool = False


@dataclass(frozen=True)
class Op:
    """A function of the block's module, by concrete types."""

    name: str
    parameters: tuple[Var, ...]
    dtype: str
    dims: Dims


def type_text(dtype: str, dims: Dims) -> str:
    return f"Tensor[{', '.join(map(str, dims))}; {dtype}]" if dims else dtype


def type_of(v: Var) -> tuple[str, Dims]:
    return v.dtype, v.dims


@dataclass
class Author:
    """Writes one block. `number` tells its names apart from those of the module's others."""

    number: int
    random: random.Random
    scope: list[Var] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    states: list[Var] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)
    indent: int = 2
    fresh: int = 0
    alike: bool = False
    """Few types and many states, so that values meet often: who is overwritten when?"""

    # --- the block ------------------------------------------------------------------------

    def block(self) -> str:
        self.alike = self.random.random() < 0.5
        text = [line for _ in range(self.random.randint(0, 2)) for line in self.op()]
        members = [self.some_var(f"w{k}", root=True) for k in range(self.random.randint(0, 2))]
        count = self.random.randint(2, 4) if self.alike else self.random.randint(0, 3)
        states = [self.some_var(f"s{k}", root=True) for k in range(count)]
        members = [v for v in members if v.dims]
        states = [Var(v.name, v.dtype, v.dims, True) for v in states if v.dims]
        if self.random.random() < 0.3:
            states.append(Var("cache", "f32", CACHE, True))
        self.states = states
        text += [f"pub block P{self.number}<N: Dim> {{"]
        text += [f"    param {v.name}: {type_text(v.dtype, v.dims)}" for v in members]
        text += [f"    state {v.name}: {type_text(v.dtype, v.dims)}" for v in states]
        for name in ("first", "second")[: self.random.randint(1, 2)]:
            self.scope = [*members, *states]
            text += ["", *self.entry(name)]
        return "\n".join([*text, "}"])

    def entry(self, name: str) -> list[str]:
        self.lines, self.indent = [], 2
        inputs = [Var("x", self.dtype(), (SIZES["A"], SIZES["B"]))]
        inputs += [self.some_var(f"x{k}") for k in range(self.random.randint(1, 3))]
        inputs += [Var("k", self.random.choice(INTS), ()), Var("c", "bool", ())]
        self.scope += inputs
        for _ in range(self.random.randint(3, 9)):
            self.statement()
        made = [v for v in self.scope if v.name.startswith("t")]
        results = made[-self.random.randint(1, 6) :] or [inputs[0]]
        listed = ", ".join(f"{v.name}: {type_text(v.dtype, v.dims)}" for v in inputs)
        types = [type_text(v.dtype, v.dims) for v in results]
        values = [v.name for v in results]
        if len(results) > 1:
            types, values = [f"({', '.join(types)})"], [f"({', '.join(values)})"]
        head = f"    pub entry {name}<A: Dim, B: Dim>({listed})"
        return [f"{head} -> {types[0]} {{", *self.lines, f"        return {values[0]}", "    }"]

    def op(self) -> list[str]:
        """A function with an identity. Its sizes are generics, given at each call."""
        self.lines, self.indent = [], 1
        given = [Var("k", self.random.choice(INTS), ())]
        given += [self.some_var(f"a{k}") for k in range(self.random.randint(1, 3))]
        self.scope = list(given)
        for _ in range(self.random.randint(1, 4)):
            self.random.choice((self.let, self.move, self.notation, self.variable))()
        last = self.scope[-1]
        name = f"f{self.number}_{len(self.ops)}"
        kind = self.random.choice(("op", "fn"))
        self.ops.append(Op(name, tuple(given), last.dtype, last.dims))
        listed = ", ".join(f"{v.name}: {type_text(v.dtype, v.dims)}" for v in given)
        head = f"{kind} {name}<A: Dim, B: Dim, N: Dim>({listed})"
        result = type_text(last.dtype, last.dims)
        return [f"{head} -> {result} {{", *self.lines, f"    return {last.name}", "}", ""]

    def line(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    # --- choices --------------------------------------------------------------------------

    def dtype(self) -> str:
        if self.alike and self.random.random() < 0.8:
            return "f32"
        pool = ("f32", "f32", "i32", "bool", self.random.choice(FLOATS), self.random.choice(INTS))
        return self.random.choice(pool)

    def dim(self, *, root: bool = False) -> Dim:
        names = ("N",) if root else ("A", "B", "N")
        plain = SIZES[self.random.choice(names)]
        number = Dim.const(self.random.randint(1, 4))
        return self.random.choice((plain, plain, plain + number, number, plain * 2))

    def some_var(self, name: str, *, root: bool = False) -> Var:
        dims = tuple(self.dim(root=root) for _ in range(self.random.choice((0, 1, 1, 2, 2, 3))))
        if self.alike and root:
            dims = self.random.choice(((SIZES["N"],), (SIZES["N"], SIZES["N"])))
        return Var(name, self.dtype(), dims)

    def name(self) -> str:
        self.fresh += 1
        return f"t{self.fresh}"

    def picked(self, *, dtype: str | None = None, tensor: bool = False) -> Var | None:
        fits = [v for v in self.scope if (dtype in (None, v.dtype)) and (v.dims or not tensor)]
        return self.random.choice(fits) if fits else None

    # --- statements -----------------------------------------------------------------------

    def statement(self) -> None:
        kinds = [self.let, self.let, self.move, self.move, self.notation, self.notation]
        if self.alike:
            kinds += [self.assignment, self.assignment, self.exchange, self.kept, self.kept]
        kinds += [self.variable, self.assignment, self.assignment, self.loop, self.call]
        self.random.choice(kinds)()

    def call(self) -> None:
        if self.ops:
            op = self.random.choice(self.ops)
            values = [self.value(p.dtype, p.dims, 1) for p in op.parameters]
            self.bind(f"{op.name}<A, B, N>({', '.join(values)})", op.dtype, op.dims)

    def bind(self, text: str, dtype: str, dims: Dims) -> None:
        name = self.name()
        annotated = f": {type_text(dtype, dims)}" if self.random.random() < 0.3 else ""
        self.line(f"let {name}{annotated} = {text}")
        self.scope.append(Var(name, dtype, dims))

    def let(self) -> None:
        like = self.random.choice(self.scope)
        dtype = self.dtype()
        self.bind(self.value(dtype, like.dims, 3), dtype, like.dims)

    def variable(self) -> None:
        like = self.random.choice(self.scope)
        name = self.name()
        self.line(f"var {name} = {self.value(like.dtype, like.dims, 2)}")
        self.scope.append(Var(name, like.dtype, like.dims, True))

    def assignment(self) -> None:
        targets = [v for v in self.scope if v.var]
        if targets:
            target = self.random.choice([*targets, *self.states])
            if target.name == "cache" and self.random.random() < 0.7:
                row = self.value("f32", (ONE, TWO, ONE, TWO), 2)
                self.line(f"cache = write_at({self.cache()}, {row}, {self.value('i32', (), 1)})")
                return
            if self.alike and target.dims and self.random.random() < 0.5:
                self.line(f"{target.name} = {self.element_by_element(target)}")
                return
            self.line(f"{target.name} = {self.value(target.dtype, target.dims, 3)}")

    def element_by_element(self, target: Var) -> str:
        """The name of a value of the target's type, written in index notation: each element
        from others of the same tensors, here, there, and in reverse."""
        name = self.name()
        indices = {f"i{k}": dim for k, dim in enumerate(target.dims)}
        self.line(f"let {name}[{', '.join(indices)}] = {self.covering(target.dtype, indices)}")
        return name

    def exchange(self) -> None:
        """Two variables or states of one type change places."""
        targets = [v for v in self.scope if v.var]
        pairs = [(a, b) for a in targets for b in targets if a != b and type_of(a) == type_of(b)]
        if pairs:
            one, two = self.random.choice(pairs)
            old = self.name()
            self.line(f"let {old} = {one.name}")
            self.line(f"{one.name} = {two.name}")
            self.line(f"{two.name} = {old}")
            self.scope.append(Var(old, one.dtype, one.dims))

    def kept(self) -> None:
        """What a state holds now, seen whole or through a move, for later."""
        if self.states:
            state = self.random.choice(self.states)
            form = self.random.randrange(3)
            if form == 0:
                self.bind(state.name, state.dtype, state.dims)
            elif form == 1:
                element = f"{state.name}[{', '.join('k' for _ in state.dims)}]"
                if state.dtype in FLOATS:
                    element = f"({element} * 0.1)"
                self.bind(element, state.dtype, ())
            else:
                text, dims = self.random.choice((self.permuted, self.reshaped, self.sliced))(state)
                self.bind(text, state.dtype, dims)

    def cache(self) -> str:
        """What a cache write starts from; mostly the state itself, so that it is in place."""
        alike = [v.name for v in self.scope if v.dtype == "f32" and v.dims == CACHE]
        return self.random.choice(("cache", "cache", *alike))

    def loop(self) -> None:
        """A few rounds, written out by the compiler or counted at run time."""
        targets = [v for v in self.scope if v.var]
        if not targets or self.indent > 3:
            return
        counter = self.name()
        form = self.random.randrange(3)
        if form == 0:
            self.line(f"static for {counter} in 0..{self.random.randint(0, 3)} {{")
        elif form == 1:
            self.line(f"static for {counter} in {self.random.choice('01')}..{self.dim()} {{")
        else:
            self.line(f"var {counter}: i64 = 0")
            test = self.value("bool", (), 2)
            more = self.random.choice(("", f" && {test}", f" && !{test}"))
            self.line(f"while {counter} < {self.random.randint(0, 4)}{more} {{")
        outer, self.indent = len(self.scope), self.indent + 1
        self.scope.append(Var(counter, "i64", ()))
        for _ in range(self.random.randint(1, 2)):
            self.random.choice((self.let, self.move, self.notation, self.call))()
            self.random.choice((self.assignment, self.assignment, self.loop))()
        if form == 2:
            self.line(f"{counter} = {counter} + 1")
        del self.scope[outer:]
        self.indent -= 1
        self.line("}")

    # --- whole values ---------------------------------------------------------------------

    def value(self, dtype: str, dims: Dims, depth: int) -> str:
        """An expression of exactly this type."""
        same = [v for v in self.scope if v.dtype == dtype and v.dims == dims]
        if depth <= 0 or self.random.random() < (0.4 if self.alike and same else 0.15):
            return self.random.choice(same).name if same else self.made(dtype, dims)
        form = self.random.randrange(10)
        if form == 0:
            other = self.random.choice((*FLOATS, *INTS, "bool"))
            return f"cast<{dtype}>({self.value(other, dims, depth - 1)})"
        if form == 1:
            condition = self.value("bool", self.narrower(dims), depth - 2)
            parts = [self.value(dtype, dims, depth - 1), self.value(dtype, dims, depth - 2)]
            return f"select({condition}, {', '.join(parts)})"
        if form == 2 and not dims:
            condition = self.value("bool", (), depth - 2)
            one, two = (self.value(dtype, dims, depth - 1) for _ in range(2))
            return f"(if {condition} {{ {one} }} else {{ {two} }})"
        if form == 3 and same:
            return self.random.choice(same).name
        return self.computed(dtype, dims, depth)

    def computed(self, dtype: str, dims: Dims, depth: int) -> str:
        left = self.value(dtype, dims, depth - 1) if dtype != "bool" else ""
        right_dims = self.narrower(dims)
        if dtype == "bool":
            if self.random.random() < 0.5:
                one, two = self.value("bool", dims, depth - 1), self.value("bool", right_dims, 0)
                return f"({one} {self.random.choice('&|^')} {two})"
            own = self.random.choice((*FLOATS, *INTS))
            one, two = self.value(own, dims, depth - 1), self.value(own, right_dims, depth - 2)
            return f"({one} {self.random.choice(('<', '<=', '>', '>=', '==', '!='))} {two})"
        if self.random.random() < 0.2:
            return self.unary(dtype, left)
        literal = self.random.random() < 0.3
        right = self.literal(dtype) if literal else self.value(dtype, right_dims, depth - 2)
        if self.random.random() < 0.5 and not literal:
            left, right = right, left
        return self.binary(dtype, left, right)

    def unary(self, dtype: str, text: str) -> str:
        if dtype in FLOATS:
            return self.random.choice((f"(-{text})", f"abs({text})", f"sqrt({text})"))
        return self.random.choice((f"(-{text})", f"abs({text})", f"({text} + 1)"))

    def binary(self, dtype: str, left: str, right: str) -> str:
        names = ["min", "max"]
        if dtype in INTS:
            names += ["shl", "shr"]
        if self.random.random() < 0.25:
            called = self.random.choice(names)
            # The sign of a zero that min or max gives is not defined: drop it.
            plus = " + 0.0" if dtype in FLOATS else ""
            return f"({called}({left}, {right}){plus})"
        signs = "+-*/%&|^" if dtype in INTS else "+-*/+-*%"
        return f"({left} {self.random.choice(signs)} {right})"

    def narrower(self, dims: Dims) -> Dims:
        """Dims that broadcast to `dims`."""
        if not dims or self.random.random() < 0.5:
            return dims
        cut = dims[self.random.randint(0, len(dims)) :]
        return tuple(ONE if self.random.random() < 0.2 else d for d in cut)

    def literal(self, dtype: str) -> str:
        if dtype == "bool":
            return self.random.choice(("true", "false"))
        if dtype in FLOATS:
            return self.random.choice(("0.5", "2.0", "-1.25", "3.0", "0.1", "1e-3"))
        return self.random.choice(("1", "2", "3", "7", "5"))

    def made(self, dtype: str, dims: Dims) -> str:
        """A value from nothing, or from one of another dtype."""
        if not dims:
            if dtype == "bool":
                return f"(k == {self.random.randint(0, 3)})"
            return self.random.choice(
                (f"cast<{dtype}>(k)", f"cast<{dtype}>({self.literal(dtype)})")
            )
        shape = f"[{', '.join(map(str, dims))}]"
        if len(dims) == 1 and dtype != "bool" and self.random.random() < 0.4:
            return f"iota<{dtype}>({dims[0]})"
        alike = [v for v in self.scope if v.dims == dims]
        if alike and self.random.random() < 0.6:
            return f"cast<{dtype}>({self.random.choice(alike).name})"
        return f"fill<{dtype}>({shape}, {self.literal(dtype)})"

    # --- moves ----------------------------------------------------------------------------

    def move(self) -> None:
        source = self.picked(tensor=True)
        if source is None:
            return
        forms = (self.permuted, self.reshaped, self.sliced, self.sliced, self.joined, self.spread)
        text, dims = self.random.choice(forms)(source)
        if self.random.random() < 0.3 and source.dtype != "bool":
            text = f"({text} {self.random.choice('+*-')} {self.literal(source.dtype)})"
        self.bind(text, source.dtype, dims)

    def permuted(self, v: Var) -> tuple[str, Dims]:
        axes = list(range(len(v.dims)))
        self.random.shuffle(axes)
        listed = ", ".join(map(str, axes))
        return f"permute({v.name}, [{listed}])", tuple(v.dims[a] for a in axes)

    def reshaped(self, v: Var) -> tuple[str, Dims]:
        dims = list(v.dims)
        if len(dims) > 1 and self.random.random() < 0.6:
            at = self.random.randrange(len(dims) - 1)
            dims[at : at + 2] = [dims[at] * dims[at + 1]]
        else:
            dims.insert(self.random.randint(0, len(dims)), ONE)
        known = [d for d in self.all_dims() if not d.is_const]
        for at, dim in enumerate(dims):  # take a product apart again, another way
            for first in known:
                for second in (*known, Dim.const(2)):
                    if dim == first * second and self.random.random() < 0.5:
                        dims[at : at + 1] = [first, second]
                        return self.shaped(v, dims)
        return self.shaped(v, dims)

    def shaped(self, v: Var, dims: Sequence[Dim]) -> tuple[str, Dims]:
        return f"reshape({v.name}, [{', '.join(map(str, dims))}])", tuple(dims)

    def all_dims(self) -> list[Dim]:
        return list(dict.fromkeys(d for v in self.scope for d in v.dims))

    def sliced(self, v: Var) -> tuple[str, Dims]:
        parts, dims = [], []
        for dim in v.dims:
            text, kept = self.range_of(dim)
            parts.append(text)
            dims += [kept] if kept is not None else []
        while parts and parts[-1] == ":" and len(parts) > 1 and self.random.random() < 0.5:
            parts.pop()
        return f"{v.name}[{', '.join(parts)}]", tuple(dims)

    def range_of(self, dim: Dim) -> tuple[str, Dim | None]:
        """One component of a slice, and the axis it leaves."""
        fixed = min((c for c, atoms in dim.terms if not atoms), default=0)
        form = self.random.randrange(7)
        if form == 0 and is_positive(dim, FACTS):
            return self.random.choice(("0", str(dim - 1))), None
        if form == 1:
            scalars = [v.name for v in self.scope if not v.dims and v.dtype in INTS]
            if scalars:
                return self.random.choice(scalars), None
        if form == 2 and fixed > 0:
            start = self.random.randint(0, fixed)
            return f"{start}:", dim - start
        if form == 3 and fixed > 0:
            stop = self.random.randint(0, fixed)
            return self.random.choice((f":{stop}", f"0:{stop}")), Dim.const(stop)
        if form == 4 and dim.is_const:
            step, start = self.random.randint(1, 3), self.random.randint(0, dim.value)
            count = max(0, -(-(dim.value - start) // step))
            return f"{start}::{step}", Dim.const(count)
        if form == 5 and dim.terms and all(c % 2 == 0 for c, _ in dim.terms):
            half = dim.floordiv(Dim.const(2))
            return self.random.choice((("::2", half), ("1::2", half), (f"{half}:", half)))
        return ":", dim

    def joined(self, v: Var) -> tuple[str, Dims]:
        axis = self.random.randrange(len(v.dims))
        others = [
            o
            for o in self.scope
            if o.dtype == v.dtype
            and len(o.dims) == len(v.dims)
            and all(
                a == b for k, (a, b) in enumerate(zip(o.dims, v.dims, strict=True)) if k != axis
            )
        ]
        parts = [v, *(self.random.choice(others) for _ in range(self.random.randint(1, 2)))]
        total = parts[0].dims[axis]
        for part in parts[1:]:
            total = total + part.dims[axis]
        dims = (*v.dims[:axis], total, *v.dims[axis + 1 :])
        shown = axis if self.random.random() < 0.7 else axis - len(v.dims)
        return f"concat({', '.join(p.name for p in parts)}, axis = {shown})", dims

    def spread(self, v: Var) -> tuple[str, Dims]:
        dims = tuple(self.dim() if d == ONE and self.random.random() < 0.7 else d for d in v.dims)
        dims = (*(self.dim() for _ in range(self.random.randint(0, 1))), *dims)
        return f"broadcast_to({v.name}, [{', '.join(map(str, dims))}])", dims

    # --- index notation -------------------------------------------------------------------

    def notation(self) -> None:
        known = self.all_dims()
        if not known:
            return
        outputs = {f"i{k}": self.random.choice(known) for k in range(self.random.randint(0, 3))}
        dtype = self.dtype()
        body = self.covering(dtype, outputs)
        if not outputs:
            self.bind(body, dtype, ())
            return
        name = self.name()
        self.line(f"let {name}[{', '.join(outputs)}] = {body}")
        self.scope.append(Var(name, dtype, tuple(outputs.values())))

    def covering(self, dtype: str, outputs: dict[str, Dim]) -> str:
        """An element that depends on all outputs, as it must."""
        used: set[str] = set()
        body = self.element(dtype, dict(outputs), used, 3)
        for index, dim in outputs.items():
            if index not in used:
                body = self.mentioning(dtype, body, index, dim)
        return body

    def mentioning(self, dtype: str, body: str, index: str, dim: Dim) -> str:
        """`body`, made to depend on an index."""
        place = f"iota<i64>({dim})[{index}]"
        if dtype == "bool":
            return f"({body} ^ ({place} > 1))"
        return f"({body} + cast<{dtype}>({place}))"

    def element(self, dtype: str, indices: dict[str, Dim], used: set[str], depth: int) -> str:
        """A scalar expression in which loop variables may index."""
        form = self.random.randrange(10)
        if depth <= 0 or form < 3:
            fits = [v for v in self.scope if v.dtype == dtype]
            if fits:
                return self.access(self.random.choice(fits), indices, used, depth)
            other = self.random.choice(self.scope)
            return f"cast<{dtype}>({self.access(other, indices, used, depth)})"
        if form == 3:
            return self.reduction(dtype, indices, used, depth)
        if form == 4:
            condition = self.element("bool", indices, used, depth - 2)
            one, two = (self.element(dtype, indices, used, depth - 1) for _ in range(2))
            if self.random.random() < 0.5:
                return f"select({condition}, {one}, {two})"
            return f"(if {condition} {{ {one} }} else {{ {two} }})"
        if form == 5:
            other = self.random.choice((*FLOATS, *INTS, "bool"))
            return f"cast<{dtype}>({self.element(other, indices, used, depth - 1)})"
        if dtype == "bool":
            own = self.random.choice((*FLOATS, *INTS, "bool"))
            one, two = (self.element(own, indices, used, depth - 1) for _ in range(2))
            if own == "bool":
                return f"({one} {self.random.choice(('&&', '||', '^', '=='))} {two})"
            return f"({one} {self.random.choice(('<', '<=', '>', '>=', '==', '!='))} {two})"
        left = self.element(dtype, indices, used, depth - 1)
        if self.random.random() < 0.2:
            return self.unary(dtype, left)
        if self.random.random() < 0.3:
            return self.binary(dtype, left, self.literal(dtype))
        return self.binary(dtype, left, self.element(dtype, indices, used, depth - 1))

    def reduction(self, dtype: str, indices: dict[str, Dim], used: set[str], depth: int) -> str:
        known = self.all_dims()
        count = 1 if self.random.random() < 0.7 else 2
        own: dict[str, Dim] = {}
        for _ in range(count):
            self.fresh += 1
            own[f"r{self.fresh}"] = self.random.choice(known)
        kinds = ("any", "all") if dtype == "bool" else ("sum", "sum", "prod", "min", "max")
        inside: set[str] = set()
        body = self.element(dtype, {**indices, **own}, inside, depth - 1)
        for index, dim in own.items():
            if index not in inside:
                body = self.mentioning(dtype, body, index, dim)
        used |= inside - set(own)
        kind = self.random.choice(kinds)
        typed = f"<{dtype}>" if self.random.random() < 0.2 else ""
        text = f"({kind}{typed}[{', '.join(own)}] {body})"
        if kind in ("min", "max") and dtype in FLOATS:
            return f"({text} + 0.0)"
        return text

    def access(self, v: Var, indices: dict[str, Dim], used: set[str], depth: int) -> str:
        if not v.dims:
            return v.name
        return f"{v.name}[{', '.join(self.position(d, indices, used, depth) for d in v.dims)}]"

    def position(self, dim: Dim, indices: dict[str, Dim], used: set[str], depth: int) -> str:
        fits = [name for name, domain in indices.items() if domain == dim]
        if fits and self.random.random() < 0.85:
            index = self.random.choice(fits)
            used.add(index)
            return index
        if indices and self.random.random() < 0.6:
            index, domain = self.random.choice(list(indices.items()))
            used.add(index)
            place = f"iota<i64>({domain})[{index}]"
            shift = self.random.choice(("", " + 1", " - 2", " * 2", f" + {dim}"))
            return self.random.choice((f"{place}{shift}", f"{dim} - 1 - {place}"))
        if is_positive(dim, FACTS) and self.random.random() < 0.3:
            return self.random.choice(("0", str(dim - 1)))
        if depth > 0:
            return self.element(self.random.choice(INTS), indices, used, depth - 2)
        scalars = [o.name for o in self.scope if not o.dims and o.dtype in INTS]
        return self.random.choice(scalars)


HEAD = "module fuzz\n\nuse std.nn.cache::{write_at}"


def module(seed: int, count: int) -> str:
    """A module of `count` blocks."""
    blocks = [Author(k, random.Random(seed * 100_003 + k)).block() for k in range(count)]
    return "\n\n".join([HEAD, *blocks]) + "\n"
