"""Random questions to the prover, every answer checked against brute force.

    python -m tests.tools.prover_trial --queries 200000 --seed 1

A question is a list of facts and a claim. Two sorts are asked in turn: *wild* ones, random
expressions over `+ - * / % min max`, and *ledger* ones, of the kinds that the language reference
lists (section 8.5) with random sizes, spellings and side facts, each true by construction or
spoilt on purpose. Expressions are kept as trees and evaluated here, over all sizes 0 to 8 and a
sample of larger ones, by code that shares nothing with `linnet.dims`. It counts

    unsound       proved, and false for some sizes that satisfy the facts
    refuted       sizes reported that satisfy the facts and do not break the claim
    insufficient  a proposed `where` item under which the claim is not proved, or false
    impossible    a proposed `where` item that no sizes satisfy together with the facts
    missed        a true claim of a ledger kind that is not proved

and exits with 1 unless the first four are zero and at least 97 % of the true ledger claims are
proved. The same seed asks the same questions.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from linnet.dims import (
    Clause,
    Dim,
    Facts,
    Proved,
    Refuted,
    Sym,
    parse_clause,
    prove,
    suggest,
)

NAMES = ("A", "B", "C", "H", "N")
"""At most four of them in one question: all sizes 0 to 8 are 6,561 assignments."""

Tree = int | str | tuple[str, "Tree", "Tree"]
"""A number, a symbol, or an operator with its operands."""
Item = tuple[str, Tree, Tree]
"""A comparison of two trees."""

BUILD: dict[str, Callable[[Dim, Dim], Dim]] = {
    "+": Dim.__add__,
    "-": Dim.__sub__,
    "*": Dim.__mul__,
    "/": Dim.floordiv,
    "%": Dim.mod,
    "min": Dim.minimum,
    "max": Dim.maximum,
}
COMPARE: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


@dataclass(frozen=True)
class Question:
    """Facts, a claim, and the ledger kind it was made after (None for a wild one)."""

    facts: tuple[Item, ...]
    claim: Item
    kind: str | None = None

    def __str__(self) -> str:
        given = ", ".join(map(item_text, self.facts)) or "(none)"
        return f"[{self.kind or 'wild'}] {given} |- {item_text(self.claim)}"


@dataclass
class Tally:
    """What a trial counted, and the questions behind its failures."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[str, Question, str]] = field(default_factory=list)
    true: Counter[str] = field(default_factory=Counter)
    proved: Counter[str] = field(default_factory=Counter)
    missed: list[Question] = field(default_factory=list)

    def fail(self, sort: str, question: Question, detail: str = "") -> None:
        self.counts[sort] += 1
        self.failures.append((sort, question, detail))

    @property
    def rate(self) -> float:
        """The share of the true ledger claims that were proved."""
        return self.proved.total() / max(1, self.true.total())


# --- evaluation, independent of linnet.dims ---------------------------------------------------


def tree_text(tree: Tree) -> str:
    if not isinstance(tree, tuple):
        return str(tree) if not isinstance(tree, int) or tree >= 0 else f"({tree})"
    op, left, right = tree
    if op in ("min", "max"):
        return f"{op}({tree_text(left)}, {tree_text(right)})"
    return f"({tree_text(left)} {op} {tree_text(right)})"


def item_text(item: Item) -> str:
    return f"{tree_text(item[1])} {item[0]} {tree_text(item[2])}"


def value(tree: Tree, sizes: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The value for every assignment, and where it is defined (no divisor is zero)."""
    if isinstance(tree, int):
        shape = next(iter(sizes.values())).shape
        return np.full(shape, tree, np.int64), np.ones(shape, bool)
    if isinstance(tree, str):
        return sizes[tree], np.ones(sizes[tree].shape, bool)
    (a, defined), (b, also) = value(tree[1], sizes), value(tree[2], sizes)
    defined = defined & also
    match tree[0]:
        case "+":
            return a + b, defined
        case "-":
            return a - b, defined
        case "*":
            return a * b, defined
        case "min":
            return np.minimum(a, b), defined
        case "max":
            return np.maximum(a, b), defined
        case op:
            safe = np.where(b == 0, 1, b)
            return (a // safe if op == "/" else a % safe), defined & (b != 0)


def truth(item: Item, sizes: dict[str, np.ndarray]) -> np.ndarray:
    """Where the comparison holds; it does not where a divisor is zero."""
    (a, defined), (b, also) = value(item[1], sizes), value(item[2], sizes)
    return COMPARE[item[0]](a, b) & defined & also


def tree_of(dim: Dim) -> Tree:
    """The printed form of a dimension as a tree, by reading its structure."""
    total: Tree | None = None
    for coefficient, product in dim.terms:
        term: Tree = coefficient
        for atom in product:
            if isinstance(atom, Sym):
                factor: Tree = atom.name
            else:
                op = {"Div": "/", "Mod": "%", "Min": "min", "Max": "max"}[type(atom).__name__]
                factor = (op, tree_of(atom.left), tree_of(atom.right))
            term = ("*", term, factor)
        total = term if total is None else ("+", total, term)
    return 0 if total is None else total


def names_in(*items: Item) -> list[str]:
    found: set[str] = set()

    def visit(tree: Tree) -> None:
        if isinstance(tree, str):
            found.add(tree)
        elif isinstance(tree, tuple):
            visit(tree[1])
            visit(tree[2])

    for _, left, right in items:
        visit(left)
        visit(right)
    return sorted(found)


_GRIDS: dict[int, np.ndarray] = {}


def _grid(count: int) -> np.ndarray:
    """All sizes 0 to 8, then larger ones: random, and multiples of one another."""
    if count not in _GRIDS:
        small = np.array(list(itertools.product(range(9), repeat=count)), np.int64)
        small = small.reshape(-1, count)
        source = np.random.default_rng(7)
        large = source.integers(0, 40, (2000, count))
        base = source.integers(1, 7, (3000, 1))
        factors = source.choice([1, 1, 2, 3, 4, 6, 8, 12], (3000, count))
        related = base * factors * source.choice([1, 2, 3], (3000, count))
        _GRIDS[count] = np.concatenate([small, large, related])
    return _GRIDS[count]


def assignments(names: Sequence[str]) -> dict[str, np.ndarray]:
    grid = _grid(max(1, len(names)))
    return {name: grid[:, i] for i, name in enumerate(names or ["A"])}


# --- questions --------------------------------------------------------------------------------


class Maker:
    """Makes questions from one source of randomness."""

    def __init__(self, source: random.Random) -> None:
        self.source = source

    def question(self, wild: bool) -> Question:
        return self.wild() if wild else self.ledger()

    def wild(self) -> Question:
        names = self.source.sample(NAMES, self.source.choice([1, 2, 2, 3]))
        facts = [self._fact(names) for _ in range(self.source.choice([0, 1, 1, 2, 3]))]
        return Question(tuple(facts), self._comparison(names))

    def _tree(self, names: Sequence[str], leaves: int) -> Tree:
        if leaves <= 1:
            return self.source.choice(names) if self.source.random() < 0.7 else self._number()
        left = self.source.randint(1, leaves - 1)
        op = self.source.choice("+-*/%+-*/%") if self.source.random() < 0.85 else None
        op = op or self.source.choice(["min", "max"])
        return op, self._tree(names, left), self._tree(names, leaves - left)

    def _number(self) -> int:
        return self.source.choice([-2, -1, 0, 1, 1, 2, 2, 3, 4, 8])

    def _comparison(self, names: Sequence[str]) -> Item:
        op = self.source.choice(["==", "==", "!=", "<", "<=", ">", ">="])
        return (
            op,
            self._tree(names, self.source.randint(1, 4)),
            self._tree(names, self.source.randint(1, 3)),
        )

    def _fact(self, names: Sequence[str]) -> Item:
        name = self.source.choice(names)
        match self.source.randrange(6):
            case 0 | 1:
                return (
                    self.source.choice([">", "<=", ">=", "=="]),
                    name,
                    self.source.randint(0, 4),
                )
            case 2 | 3:
                divisor = self._tree(names, self.source.choice([1, 1, 2]))
                return ("==", ("%", self._tree(names, self.source.choice([1, 1, 2])), divisor), 0)
            case 4:
                return (self.source.choice(["<=", "<", "=="]), name, self._tree(names, 2))
            case _:
                return self._comparison(names)

    # Ledger kinds: each returns facts and a claim that follows from them.

    def ledger(self) -> Question:
        kind = self.source.choice(list(KINDS))
        names = list(NAMES)
        self.source.shuffle(names)
        facts, claim = KINDS[kind](self, names)
        if self.source.random() < 0.15 and facts:  # often false then; the grid tells
            facts.pop(self.source.randrange(len(facts)))
        elif self.source.random() < 0.15:
            facts.append(("<=", self.source.choice(names[:3]), self.source.choice(names[:3])))
        elif self.source.random() < 0.1:
            facts.append((">", self.source.choice(names[:3]), self.source.randint(0, 2)))
        self.source.shuffle(facts)
        facts = [f for f in facts if f[1] != f[2]]
        if len(names_in(*facts, claim)) > 4:
            return self.ledger()
        return Question(tuple(facts), claim, kind)

    def factor(self, name: str) -> Tree:
        """One more factor of both sides, or 1."""
        return self.source.choice([name, 1, 1, 2, 3, ("*", 2, name)])

    def divisor(self, name: str) -> tuple[Tree, list[Item]]:
        """A divisor and the fact that it is positive."""
        if self.source.random() < 0.3:
            return self.source.choice([2, 3, 4, 8]), []
        fact = self.source.choice(
            [(">", name, 0), (">=", name, 1), ("!=", name, 0), (">", name, 1), ("<", 0, name)]
        )
        return name, [fact]

    def dividend(self, name: str, other: str) -> Tree:
        choices: list[Tree] = [name, name, name, ("-", name, 1), ("*", name, other)]
        return self.source.choice([*choices, ("+", name, other)])

    def product(self, *factors: Tree) -> Tree:
        """A product of the factors in random order and bracketing."""
        rest = list(factors)
        self.source.shuffle(rest)
        while len(rest) > 1:
            i = self.source.randrange(len(rest) - 1)
            rest[i : i + 2] = [("*", rest[i], rest[i + 1])]
        return rest[0]

    def claim(self, left: Tree, right: Tree) -> Item:
        if self.source.random() < 0.5:
            left, right = right, left
        return (self.source.choice(["==", "==", "==", "<=", ">="]), left, right)


Made = tuple[list[Item], Item]


def multiple(x: Tree, d: Tree) -> Item:
    return ("==", ("%", x, d), 0)


def _fold(m: Maker, n: list[str]) -> Made:
    d, facts = m.divisor(n[1])
    x = m.dividend(n[0], n[2])
    f = m.factor(n[2])
    return [*facts, multiple(x, d)], m.claim(m.product(f, d, ("/", x, d)), m.product(f, x))


def _fold_twice(m: Maker, n: list[str]) -> Made:
    d, facts = m.divisor(n[2])
    quotients = m.product(("/", n[0], d), d, ("/", n[1], d), d)
    claim = m.claim(quotients, m.product(n[0], n[1]))
    return [*facts, multiple(n[0], d), multiple(n[1], d)], claim


def _nested(m: Maker, n: list[str]) -> Made:
    d, facts = m.divisor(n[1])
    e, more = m.divisor(n[2])
    inner: Tree = ("/", n[0], d)
    given = [*facts, *more, multiple(n[0], d), multiple(inner, e)]
    if m.source.random() < 0.5:
        return given, m.claim(m.product(e, ("/", inner, e)), inner)
    return given, m.claim(m.product(e, d, ("/", inner, e)), n[0])


def _quotient_of_quotients(m: Maker, n: list[str]) -> Made:
    x, k, p = n[0], n[1], n[2]
    low: Tree = ("/", k, p)
    high: Tree = ("/", x, p)
    given: list[Item] = [multiple(x, p), multiple(k, p), (">", low, 0), multiple(high, low)]
    return given, m.claim(m.product(low, ("/", high, low)), high)


def _thirds(m: Maker, n: list[str]) -> Made:
    parts = m.source.randint(2, 6)
    first = m.source.randint(0, parts - 1)
    last = m.source.randint(first, parts + 1)
    size = ("*", parts, n[0])
    extent: Tree = ("-", ("min", ("*", last, n[0]), size), ("*", first, n[0]))
    extent = m.source.choice([extent, ("max", extent, 0)])
    return [], m.claim(extent, ("*", min(last, parts) - first, n[0]))


def _halves(m: Maker, n: list[str]) -> Made:
    d, facts = m.divisor(n[1])
    x = m.dividend(n[0], n[2])
    half: Tree = ("/", x, d)
    match m.source.randrange(4):
        case 0:
            return facts, m.claim(("+", half, ("-", x, half)), x)
        case 1:
            return facts, m.claim(("+", ("*", d, half), ("%", x, d)), x)
        case 2:
            return [multiple(n[0], 2)], m.claim(("-", n[0], ("/", n[0], 2)), ("/", n[0], 2))
        case _:
            return [multiple(n[0], 2)], m.claim(
                ("/", ("+", ("-", n[0], m.source.choice([0, 1])), 1), 2), ("/", n[0], 2)
            )


def _constants(m: Maker, n: list[str]) -> Made:
    c = m.source.choice([2, 3, 4, 8, 16])
    r = m.source.randrange(c)
    x: Tree = ("+", ("*", c, n[0]), r)
    if m.source.random() < 0.5:
        x = ("+", r, ("*", c, ("+", n[0], n[1])))
        return [], m.claim(("/", x, c), ("+", n[1], n[0]))
    return [], m.source.choice([m.claim(("/", x, c), n[0]), m.claim(("%", x, c), r)])


def _by_symbol(m: Maker, n: list[str]) -> Made:
    d, facts = m.divisor(n[1])
    x = m.product(d, n[0])
    match m.source.randrange(3):
        case 0:
            return facts, m.claim(("/", x, d), n[0])
        case 1:
            return facts, m.claim(("%", x, d), 0)
        case _:
            scaled = m.product(n[0], d, n[2])
            return facts, m.claim(("/", scaled, d), ("*", n[2], n[0]))


def _convolution(m: Maker, n: list[str]) -> Made:
    k = m.source.choice([1, 3, 5, 7])
    if m.source.random() < 0.5:
        out: Tree = ("+", ("/", ("-", ("+", n[0], k - 1), k), 1), 1)
        return [], m.claim(out, n[0])
    s = m.source.choice([2, 3, 4])
    pad = m.source.randint(0, 3)
    times = m.source.choice([1, s])
    out = ("+", ("/", ("-", ("+", ("*", times, n[0]), 2 * pad), k), s), 1)
    same: Tree = ("/", ("+", ("*", times, n[0]), 2 * pad - k + s), s)
    if times == s:
        same = ("+", n[0], (2 * pad - k + s) // s)
    return [], m.claim(out, same)


def _pinned(m: Maker, n: list[str]) -> Made:
    c = m.source.choice([1, 2, 4])
    given: list[Item] = [multiple(n[0], n[1]), ("==", n[1], c)]
    return given, m.claim(("*", c, ("/", n[0], n[1])), n[0])


def _equality(m: Maker, n: list[str]) -> Made:
    c = m.source.choice([2, 8, 32])
    given: list[Item] = [("==", n[0], ("*", c, n[1]))]
    match m.source.randrange(3):
        case 0:
            return given, m.claim(("*", n[0], n[2]), m.product(c, n[1], n[2]))
        case 1:
            return given, m.claim(("/", n[0], c), n[1])
        case _:
            return given, m.claim(("%", n[0], c), 0)


def _products(m: Maker, n: list[str]) -> Made:
    left, right = ("*", n[0], n[1]), ("*", n[2], n[3])
    f = m.source.choice([1, 2, 3])
    return [("==", left, right)], m.claim(m.product(f, n[3], n[2]), m.product(n[1], n[0], f))


def _chain(m: Maker, n: list[str]) -> Made:
    length = m.source.randint(2, 4)
    steps = [m.source.randint(0, 2) for _ in range(length - 1)]
    given: list[Item] = []
    for i, step in enumerate(steps):
        op = m.source.choice(["<=", "<"])
        steps[i] += op == "<"
        left: Tree = n[i] if step == 0 else ("+", n[i], step)
        given.append((op, left, n[i + 1]))
    slack = m.source.randint(0, sum(steps))
    low: Tree = n[0] if slack == 0 else ("+", n[0], slack)
    last = n[length - 1]
    match m.source.randrange(4):
        case 0:
            return given, ("<=", low, last)
        case 1:
            return given, (">=", last, low)
        case 2:
            return given, m.claim(("max", last, n[0]), last)
        case _:
            return given, m.claim(("min", last, n[0]), n[0])


def _ranges(m: Maker, n: list[str]) -> Made:
    c = m.source.randint(1, 8)
    given: list[Item] = [(">", n[1], 0), ("<=", n[1], c)]
    match m.source.randrange(5):
        case 0:
            return given, ("<", ("%", n[0], n[1]), c)
        case 1:
            return given, ("<", n[1], c + 1)
        case 2:
            return given, ("!=", n[1], 0)
        case 3:
            return given, (">=", ("%", n[0], n[1]), 0)
        case _:
            return given, ("<=", ("/", n[0], n[1]), n[0])


def _extent(m: Maker, n: list[str]) -> Made:
    k = m.source.randint(2, 8)
    start = m.source.randint(0, k)
    size: Tree = ("-", ("min", k, n[0]), start)
    return [(">=", n[0], k)], m.claim(m.source.choice([size, ("max", size, 0)]), k - start)


def _positive_quotient(m: Maker, n: list[str]) -> Made:
    given: list[Item] = [(">", n[1], 0)]
    if m.source.random() < 0.5:
        return [*given, multiple(n[0], n[1]), (">", n[0], 0)], (">", ("/", n[0], n[1]), 0)
    return [*given, (">=", n[0], n[1])], (">=", ("/", n[0], n[1]), 1)


def _linear(m: Maker, n: list[str]) -> Made:
    """An identity of polynomials: both sides are one product of sums, multiplied out or not."""
    a, b = m.source.randint(0, 3), m.source.randint(0, 3)
    left = m.product(("+", n[0], a), ("+", n[1], b))
    right: Tree = ("+", ("*", n[0], n[1]), ("*", b, n[0]))
    right = ("+", right, ("+", ("*", a, n[1]), a * b))
    return [], m.claim(left, right)


KINDS: dict[str, Callable[[Maker, list[str]], Made]] = {
    "fold": _fold,
    "fold twice": _fold_twice,
    "nested quotient": _nested,
    "quotient of quotients": _quotient_of_quotients,
    "parts": _thirds,
    "halves": _halves,
    "constant divisor": _constants,
    "symbolic divisor": _by_symbol,
    "convolution": _convolution,
    "pinned divisor": _pinned,
    "equality": _equality,
    "equal products": _products,
    "chain": _chain,
    "range": _ranges,
    "slice": _extent,
    "positive quotient": _positive_quotient,
    "polynomial": _linear,
}


# --- the trial --------------------------------------------------------------------------------

SYMBOLS = {name: Dim.sym(Sym(name)) for name in NAMES}


def dim_of(tree: Tree) -> Dim:
    if isinstance(tree, int):
        return Dim.const(tree)
    if isinstance(tree, str):
        return SYMBOLS[tree]
    return BUILD[tree[0]](dim_of(tree[1]), dim_of(tree[2]))


def clause_of(item: Item) -> Clause:
    return Clause.of(item[0], dim_of(item[1]), dim_of(item[2]))


def item_of(clause: Clause) -> Item:
    return clause.op, tree_of(clause.left), tree_of(clause.right)


def split_items(text: str) -> list[str]:
    """The items of a suggestion: split at commas outside parentheses."""
    items, depth, start = [], 0, 0
    for i, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            items.append(text[start:i].strip())
            start = i + 1
    return [*items, text[start:].strip()]


def ask(question: Question, tally: Tally) -> None:
    """Put one question to the prover and check everything it says."""
    given = [clause_of(f) for f in question.facts]
    claim = clause_of(question.claim)
    names = names_in(*question.facts, question.claim)
    sizes = assignments(names)
    allowed = np.ones(_grid(max(1, len(names))).shape[0], bool)
    for clause in given:
        allowed &= truth(item_of(clause), sizes)
    _check_construction(question, claim, sizes, tally)
    outcome = truth(item_of(claim), sizes)
    true = bool(outcome[allowed].all())
    facts = Facts(given, [Sym(n) for n in NAMES])
    verdict = prove(claim, facts)
    tally.counts["asked"] += 1
    tally.counts[type(verdict).__name__.lower()] += 1
    if isinstance(verdict, Proved) and not true:
        at = int(np.argmax(allowed & ~outcome))
        tally.fail("unsound", question, str({n: int(sizes[n][at]) for n in names}))
    if isinstance(verdict, Refuted):
        _check_refutation(question, verdict, tally)
    if question.kind is not None and true and allowed.any():
        tally.true[question.kind] += 1
        if isinstance(verdict, Proved):
            tally.proved[question.kind] += 1
        else:
            tally.missed.append(question)
    if not isinstance(verdict, Proved):
        _check_suggestion(question, claim, facts, allowed, tally)


def _check_construction(
    question: Question, claim: Clause, sizes: dict[str, np.ndarray], tally: Tally
) -> None:
    """The normal form has the value of what was written, wherever that is defined."""
    for tree, dim in zip(question.claim[1:], (claim.left, claim.right), strict=True):
        if dim.poisoned:
            continue
        (a, defined), (b, also) = value(tree, sizes), value(tree_of(dim), sizes)
        if not (also >= defined).all() or not (a == b)[defined].all():
            tally.fail("normal form", question, f"{tree_text(tree)} became {dim}")


def _check_refutation(question: Question, verdict: Refuted, tally: Tally) -> None:
    named = {name: verdict.example.get(name, 0) for name in NAMES}
    sizes = {name: np.array([n], np.int64) for name, n in named.items()}
    breaks = not truth(item_of(clause_of(question.claim)), sizes)[0]
    # Facts that share no symbol with the claim have no say in it, nor sizes in the example.
    near = (f for f in map(clause_of, question.facts) if names_in(item_of(f)))
    near = (f for f in near if set(names_in(item_of(f))) <= verdict.example.keys())
    if not (breaks and all(truth(item_of(f), sizes)[0] for f in near)):
        tally.fail("refuted", question, str(verdict.example))


def _check_suggestion(
    question: Question, claim: Clause, facts: Facts, allowed: np.ndarray, tally: Tally
) -> None:
    text = suggest(claim, facts)
    if text is None:
        return
    tally.counts["suggested"] += 1
    items = [parse_clause(item, SYMBOLS) for item in split_items(text)]
    names = names_in(*question.facts, question.claim)
    sizes = assignments(names)
    both = allowed.copy()
    for item in items:
        both &= truth(item_of(item), sizes)
    more = Facts([*facts.clauses, *items], [Sym(n) for n in NAMES])
    if not isinstance(prove(claim, more), Proved):
        tally.fail("insufficient", question, f"`{text}` is not enough for a proof")
    elif not truth(item_of(claim), sizes)[both].all():
        tally.fail("insufficient", question, f"under `{text}` it is false for some sizes")
    if allowed.any() and not both.any() and not _satisfied_further_out(more.clauses, names):
        tally.fail("impossible", question, f"`{text}`")


def _satisfied_further_out(clauses: Sequence[Clause], names: Sequence[str]) -> bool:
    """Whether some sizes satisfy all clauses, looked for far beyond the usual grid."""
    limit = {0: 2, 1: 4000, 2: 1500, 3: 100}.get(len(names), 22)
    axes = np.meshgrid(*[np.arange(limit)] * max(1, len(names)), indexing="ij")
    sizes = {name: axis.ravel() for name, axis in zip(names or ["A"], axes, strict=True)}
    allowed = np.ones(axes[0].size, bool)
    for clause in clauses:
        allowed &= truth(item_of(clause), sizes)
    return bool(allowed.any())


def run(queries: int, seed: int, say: Callable[[str], None] | None = None) -> Tally:
    """Ask `queries` questions, a third of them wild."""
    tally = Tally()
    maker = Maker(random.Random(seed))
    for i in range(queries):
        known = len(tally.failures)
        ask(maker.question(wild=i % 3 == 0), tally)
        for sort, question, detail in tally.failures[known:] if say is not None else ():
            say(f"{sort}: {question}   {detail}")
        if say is not None and (i + 1) % 5000 == 0:
            say(f"{i + 1} asked, {len(tally.failures)} failures, {tally.rate:.2%} proved")
    return tally


def report(tally: Tally, shown: int) -> str:
    lines = [f"{name:>12}  {count}" for name, count in sorted(tally.counts.items())]
    lines.append(f"true claims of ledger kinds: {tally.true.total()}, proved {tally.rate:.2%}")
    lines += [
        f"{kind:>24}  {tally.proved[kind]} of {total}" for kind, total in tally.true.most_common()
    ]
    lines += [f"{sort}: {q}   {detail}" for sort, q, detail in tally.failures[:shown]]
    lines += [f"missed: {q}" for q in tally.missed[:shown]]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--queries", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=20, help="failures and misses to print")
    options = parser.parse_args()
    tally = run(options.queries, options.seed, lambda text: print(text, file=sys.stderr))
    print(report(tally, options.show))
    return 1 if tally.failures or tally.rate < 0.97 else 0


if __name__ == "__main__":
    sys.exit(main())
