"""Plain loop nests: one C function for each different loop of a unit.

In: a LoopStep. Out: the C text of its function, with `@name@` where the name goes. A value is
computed in the outermost loop that determines it, and once; nothing is reordered, so results
are those of the definition. Equal loops of different layers become one function.

The outer axes are shared by the threads: all axes but the last are counted as rows, and a
claimed chunk is some rows, or a piece of the last axis when there is only one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence, Set
from dataclasses import dataclass, field

from linnet.dims import Dim, Facts, Sym, is_nonnegative, is_positive
from linnet.emit import spell
from linnet.emit.names import Names, identifier, wrapped
from linnet.ir.expr import (
    Apply,
    Const,
    DimConst,
    Expr,
    Index,
    IndexRef,
    Load,
    Reduce,
    children,
    walk,
)
from linnet.passes.bounds import inside
from linnet.passes.guards import guards
from linnet.passes.share import expr_key
from linnet.plan.types import LoopStep, View
from linnet.plan.views import ONE, ZERO, affine, product

CHUNK = 2048
"""Elements a thread takes at a time, so that claiming costs nothing beside them."""

WIDTH = 98

LONG = 60
"""Characters from which on an expression gets a line of its own."""


@dataclass
class _Block:
    """One loop body (or the function's): statements, the loop nested in it, what follows."""

    head: str = ""
    lines: list[str | _Block] = field(default_factory=list)
    inner: _Block | None = None
    tail: list[str] = field(default_factory=list)

    def print(self, indent: int) -> list[str]:
        pad = "  " * indent
        out: list[str] = []
        nested = [*self.lines, *([self.inner] if self.inner is not None else []), *self.tail]
        for item in nested:
            if isinstance(item, _Block):
                out += [f"{pad}{item.head} {{", *item.print(indent + 1), f"{pad}}}"]
            else:
                out.append(pad + item)
        return out


def loop_key(step: LoopStep) -> Hashable:
    """Equal for two loops that one C function can run."""
    views = tuple(_view_key(v) for v in (*step.operands, step.writes))
    row = None if step.row is None else step.indices.index(step.row[0])
    return (expr_key(step.body, step.indices), views, step.parallel, row)


def _view_key(view: View) -> Hashable:
    return (view.buffer.dtype, view.dims, view.strides)


def loop_sizes(step: LoopStep) -> tuple[str, ...]:
    """The entry's sizes that the function of this loop reads, sorted."""
    dims: list[Dim] = [i.domain for i in step.indices]
    for view in (*step.operands, step.writes):
        dims += [*view.dims, *view.strides]
    for expr in walk(step.body):
        if isinstance(expr, DimConst):
            dims.append(expr.dim)
        elif isinstance(expr, Reduce):
            dims += [i.domain for i in expr.indices]
    symbols: set[Sym] = set()
    for dim in dims:
        symbols |= dim.symbols()
    return tuple(sorted(s.name for s in symbols))


def loop_function(step: LoopStep, facts: Facts) -> str:
    """Write the function of a loop step. Parameters: the worker (if the step is shared), the
    sizes (`loop_sizes`), the operands, the result."""
    return _Writer(step, facts).text()


class _Writer:
    """Writes one loop function. `block_of` says in which loop each index is known; an
    expression belongs into the deepest loop of the indices it depends on."""

    def __init__(self, step: LoopStep, facts: Facts) -> None:
        self.step = step
        self.facts = facts
        self.names = Names()
        self.sizes = loop_sizes(step)
        for name in self.sizes:
            self.names.fresh(name)
        self.result = self.names.fresh("out")
        self.pointers = [self.names.fresh(v.buffer.name) for v in step.operands]
        self.index_names: dict[Index, str] = {}
        self.root = _Block()
        self.block_of: dict[Index, _Block] = {}
        self.depth: dict[int, int] = {id(self.root): 0}
        self.free: dict[int, frozenset[Index]] = {}
        self.texts: dict[int, str] = {}
        self.guards = {
            key: guard for key, guard in guards(step.body).items() if self._goes_forward(key)
        }
        self.on_a_side = _loads_on_sides(step.body)
        self.pinned: dict[int, set[int]] = {}
        self.temporaries = 0

    def text(self) -> str:
        step = self.step
        outer = self.root
        if step.row is not None:
            outer = self.block_of[step.row[0]] = self._open(self.root, "")
        if step.parallel and step.visited:
            self._shared_nest(outer, step.visited)
        else:
            self._nest(outer, step.visited)
        self._free_indices()
        self._reduction_loops()
        self._expressions()
        if step.row is not None:
            self._stand_still(outer, *step.row)
        at = tuple(IndexRef("i64", index) for index in step.indices)
        target = f"{self.result}[{self._offset(step.writes, at)}]"
        value = spell.store(self.texts[id(step.body)], step.writes.buffer.dtype)
        block = self._block(frozenset(step.indices))
        block.tail += _assignment(target, value, WIDTH - 2 * (self.depth[id(block)] + 1))
        return "\n".join([self._head(), *self.root.print(1), "}"])

    def _head(self) -> str:
        step = self.step
        parameters = ["struct worker *w"] if step.parallel else []
        parameters += [f"int64_t {identifier(name)}" for name in self.sizes]
        parameters += [
            f"const {spell.MEMORY[v.buffer.dtype]} *{name}"
            for v, name in zip(step.operands, self.pointers, strict=True)
        ]
        parameters.append(f"{spell.MEMORY[step.writes.buffer.dtype]} *{self.result}")
        return wrapped("static void @name@(" + ", ".join(parameters) + ") {")

    # --- loops --------------------------------------------------------------------------

    def _stand_still(self, block: _Block, index: Index, place: Expr) -> None:
        """Visit one position of `index`, if it lies inside its axis."""
        name, text = self._index_name(index), self.texts[id(place)]
        size = spell.size(index.domain)
        self.root.lines.append(f"const int64_t {name} = (int64_t)({text});")
        block.head = f"if ({name} >= 0 && {name} < {size})"

    def _shared_nest(self, outer: _Block, indices: Sequence[Index]) -> None:
        *leading, last = indices
        rows = product(tuple(i.domain for i in leading))
        if rows == ONE:
            self._share_elements(outer, leading, last)
            return
        width = last.domain.value if last.domain.is_const else CHUNK
        grain = max(1, CHUNK // max(1, width))
        outer.lines.append(f"const int64_t rows = {spell.size(rows)};")
        if grain == 1:
            body = self._open(outer, "for (int64_t row; (row = claim(w, rows)) >= 0;)")
        else:
            chunks = _chunks(rows, grain, "rows")
            claim = self._open(outer, f"for (int64_t c; (c = claim(w, {chunks})) >= 0;)")
            claim.lines.append(f"const int64_t hi = ln_min_i64(rows, (c + 1) * {grain});")
            body = self._open(claim, f"for (int64_t row = c * {grain}; row < hi; ++row)")
        self._split_row(body, leading)
        self._nest(body, (last,))

    def _split_row(self, block: _Block, leading: list[Index]) -> None:
        """Give each leading index its part of the number `row`."""
        real = [index for index in leading if index.domain != ONE]
        for number, index in enumerate(leading):
            text = "0"
            if index in real:
                below = product(tuple(i.domain for i in leading[number + 1 :]))
                text = "row" if below == ONE else f"row / {spell.factor(spell.size(below))}"
                if index is not real[0]:
                    text += f" % {spell.factor(spell.size(index.domain))}"
            block.lines.append(f"const int64_t {self._index_name(index)} = {text};")
            self.block_of[index] = block

    def _share_elements(self, outer: _Block, leading: list[Index], last: Index) -> None:
        """There is one row only, so pieces of it are shared."""
        for index in leading:
            outer.lines.append(f"const int64_t {self._index_name(index)} = 0;")
            self.block_of[index] = outer
        size, name = spell.size(last.domain), self._index_name(last)
        chunks = _chunks(last.domain)
        claim = self._open(outer, f"for (int64_t c; (c = claim(w, {chunks})) >= 0;)")
        claim.lines.append(f"const int64_t hi = ln_min_i64({size}, (c + 1) * {CHUNK});")
        head = f"for (int64_t {name} = c * {CHUNK}; {name} < hi; ++{name})"
        self.block_of[last] = self._open(claim, head)

    def _nest(self, outer: _Block, indices: Iterable[Index]) -> None:
        """Loops over `indices` inside `outer`, the first outermost."""
        block = outer
        for index in indices:
            block = self._open(block, self._loop_head(index))
            self.block_of[index] = block

    def _open(self, outer: _Block, head: str) -> _Block:
        outer.inner = _Block(head)
        self.depth[id(outer.inner)] = self.depth[id(outer)] + 1
        return outer.inner

    def _loop_head(self, index: Index) -> str:
        name = self._index_name(index)
        return f"for (int64_t {name} = 0; {name} < {spell.size(index.domain)}; ++{name})"

    def _index_name(self, index: Index) -> str:
        if index not in self.index_names:
            self.index_names[index] = self.names.fresh(index.name)
        return self.index_names[index]

    # --- where each expression belongs ----------------------------------------------------

    def _free_indices(self) -> None:
        for expr in walk(self.step.body):
            free: frozenset[Index] = frozenset()
            for child in children(expr):
                free |= self.free[id(child)]
            if isinstance(expr, IndexRef):
                free = frozenset({expr.index})
            elif isinstance(expr, Reduce):
                free -= set(expr.indices)
            self.free[id(expr)] = free

    def _block(self, free: frozenset[Index]) -> _Block:
        blocks = [self.block_of[index] for index in free]
        return max(blocks, key=lambda block: self.depth[id(block)], default=self.root)

    def _reduction_loops(self) -> None:
        """Blocks for the loops of reductions, outer reductions first."""
        self.loops: dict[int, tuple[_Block, _Block]] = {}
        for expr in reversed(list(walk(self.step.body))):
            if not isinstance(expr, Reduce):
                continue
            outer = self._block(self.free[id(expr)])
            first: _Block | None = None
            block = outer
            for index in expr.indices:
                inner = _Block(self._loop_head(index))
                self.depth[id(inner)] = self.depth[id(block)] + 1
                self.block_of[index] = inner
                if first is None:
                    first = inner
                else:
                    block.inner = inner
                block = inner
            assert first is not None
            self.loops[id(expr)] = (first, block)

    # --- expressions ------------------------------------------------------------------------

    def _expressions(self) -> None:
        """Texts of all expressions, operands first; statements go where they belong."""
        order = list(walk(self.step.body))
        uses: dict[int, list[_Block]] = {id(e): [] for e in order}
        for expr in order:
            here = self.loops[id(expr)][1] if isinstance(expr, Reduce) else self._home(expr)
            for child in children(expr):
                uses[id(child)].append(here)
        uses[id(self.step.body)].append(self._block(frozenset(self.step.indices)))
        for expr in order:
            text = self._reduce(expr) if isinstance(expr, Reduce) else self._spell(expr)
            home = self._home(expr)
            stays = self._must_stay(expr) or expr is self.step.body
            named = id(expr) in self.on_a_side or _keeps_name(expr, text, uses[id(expr)], home)
            if named and not stays:
                text = self._temporary(expr.dtype, text, home)
            self.texts[id(expr)] = text

    def _goes_forward(self, load: int) -> bool:
        """Whether a load (by id) walks through memory upwards, as far as can be seen. One that
        walks backwards is never left inside a `?:`, where gcc 12 gets it wrong (-O3, AVX2: a
        masked load of a short inner loop is not reversed)."""
        expr = next(e for e in walk(self.step.body) if id(e) == load)
        assert isinstance(expr, Load)
        steps: dict[Index, Dim] = {}
        for position, stride in zip(expr.at, self.step.operands[expr.operand].strides, strict=True):
            found = affine(position)
            if found is None:
                return False
            for index, step in found[1].items():
                steps[index] = steps.get(index, ZERO) + step * stride
        return all(is_nonnegative(step, self.facts) for step in steps.values())

    def _must_stay(self, expr: Expr) -> bool:
        """Whether a value may only be computed where it stands: on a side of a select (by id in
        `pinned`) whose condition keeps a load in it inside its axis."""
        pins = self.pinned.setdefault(id(expr), set())
        for child in children(expr):
            pins |= self.pinned[id(child)]
        pins.discard(id(expr))
        return bool(pins)

    def _is_inside(self, load: Load, position: Expr, dim: Dim) -> bool:
        """Whether a position needs no clamp. A load that owes that to a guard is pinned."""
        if inside(position, dim, self.facts):
            return True
        guard = self.guards.get(id(load))
        if guard is None or not inside(position, dim, self.facts, guard.bounds):
            return False
        self.pinned.setdefault(id(load), set()).add(id(guard.select))
        return True

    def _home(self, expr: Expr) -> _Block:
        return self._block(self.free[id(expr)])

    def _temporary(self, dtype: str, text: str, block: _Block) -> str:
        name = self.names.fresh(f"t{self.temporaries}")
        self.temporaries += 1
        block.lines.append(f"const {spell.VALUE[dtype]} {name} = {spell.bare(text)};")
        return name

    def _spell(self, expr: Expr) -> str:
        match expr:
            case Const(value=value):
                return spell.constant(value, expr.dtype)
            case DimConst(dim=dim):
                return spell.cast(spell.factor(spell.size(dim)), "i64", expr.dtype)
            case IndexRef(index=index):
                return self._index_name(index)
            case Load(operand=operand, at=at):
                return self._load(expr, operand, at)
            case Apply(fn=fn, args=args):
                texts = [self.texts[id(arg)] for arg in args]
                return spell.apply(fn, expr.dtype, args[0].dtype, texts)
        raise AssertionError(type(expr).__name__)

    def _load(self, expr: Load, operand: int, at: tuple[Expr, ...]) -> str:
        view = self.step.operands[operand]
        clamped = [
            (position, dim)
            for dim, position in zip(view.dims, at, strict=True)
            if not self._is_inside(expr, position, dim)
        ]
        outside = {id(position) for position, _ in clamped}
        element = f"{self.pointers[operand]}[{self._offset(view, at, outside)}]"
        text = spell.load(element, view.buffer.dtype)
        sizes = dict.fromkeys(dim for _, dim in clamped if not is_positive(dim, self.facts))
        if not sizes:
            return text
        some = " && ".join(f"{spell.factor(spell.size(dim))} > 0" for dim in sizes)
        return f"({some} ? {text} : 0)"

    def _offset(self, view: View, at: tuple[Expr, ...], outside: Set[int] = frozenset()) -> str:
        """Where the element at `at` is; positions in `outside` (by id) are clamped first."""
        fixed = ZERO
        terms: list[str] = []
        for position, dim, stride in zip(at, view.dims, view.strides, strict=True):
            if stride == ZERO or dim == ONE:
                continue
            if isinstance(position, DimConst | Const) and id(position) not in outside:
                start = position.dim if isinstance(position, DimConst) else int(position.value)
                fixed = fixed + stride * start
                continue
            text = self.texts.get(id(position)) or self._spell(position)
            if id(position) in outside:
                text = f"ln_index({spell.bare(text)}, {spell.size(dim)})"
            step = spell.factor(spell.size(stride))
            terms.append(spell.bare(text) if stride == ONE else f"{spell.factor(text)} * {step}")
        if fixed != ZERO:
            terms.append(spell.size(fixed))
        return " + ".join(terms) if terms else "0"

    def _reduce(self, expr: Reduce) -> str:
        """The loop that computes a reduction, placed where its value is first known."""
        outer = self._home(expr)
        first, last = self.loops[id(expr)]
        name = self.names.fresh(expr.kind)
        start = spell.neutral(expr.kind, expr.dtype)
        outer.lines.append(f"{spell.VALUE[expr.dtype]} {name} = {spell.bare(start)};")
        step = spell.combine(expr.kind, expr.dtype, name, self.texts[id(expr.body)])
        last.tail.append(f"{name} = {spell.bare(step)};")
        outer.lines.append(first)
        return name


def _loads_on_sides(body: Expr) -> frozenset[int]:
    """Loads (by id) that only a side of some select reads. They are made before it: no harm
    comes of it, and a loop without conditional loads is one that compilers can vectorise."""
    return frozenset(
        id(inner)
        for expr in walk(body)
        if isinstance(expr, Apply) and expr.fn == "select"
        for side in expr.args[1:]
        for inner in walk(side)
        if isinstance(inner, Load)
    )


def _assignment(target: str, value: str, room: int) -> list[str]:
    """A statement, on two lines where one has no room."""
    whole = f"{target} = {value};"
    return [whole] if len(whole) <= room else [f"{target} =", f"    {value};"]


def _chunks(count: Dim, grain: int = CHUNK, name: str = "") -> str:
    """How many pieces of `grain` there are in `count`, which may have a name."""
    if count.is_const:
        return str(-(-count.value // grain))
    return f"({name or spell.size(count)} + {grain - 1}) / {grain}"


def _keeps_name(expr: Expr, text: str, uses: list[_Block], home: _Block) -> bool:
    """Whether a value is worth a variable: read twice, read inside a deeper loop, or long."""
    if isinstance(expr, Const | DimConst | IndexRef | Reduce):
        return False
    return len(uses) > 1 or any(block is not home for block in uses) or len(text) > LONG
