"""Symbolic dimensions in normal form: a sum of integer coefficients times sorted products of atoms.

In: symbols, packs and integers, combined by `+ - *`, floor division, floor remainder, `min`
and `max`. Out: immutable `Dim` values; two that are the same polynomial over the same atoms
compare and hash equal. Only what holds for every size is simplified here (constant divisors,
identical operands); what needs facts about the sizes is `rewrite`'s job, and printing back into
numbers is `Dim.evaluate`. Arithmetic beyond i64, or past the size limits below, poisons a `Dim`:
it stays representable, and equals nothing, not even itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

from linnet.diag.frozen import frozen_value

I64_MIN, I64_MAX = -(2**63), 2**63 - 1
MAX_TERMS = 256  # a sum of more products is given up on
MAX_DEGREE = 64  # so is a product of more atoms
MAX_DEPTH = 24  # so is a quotient inside a quotient inside ... deeper than this
MAX_SIZE = 2000  # and whatever takes more atoms to write down


@frozen_value
class Sym:
    """A `Dim` generic, a size that is at least 0. Same name and uid: the same symbol."""

    name: str
    uid: int = 0


@frozen_value
class Pack:
    """A `*S: Shape` generic, any number of dimensions."""

    name: str
    uid: int = 0


@frozen_value
class Numel:
    """The element count of a pack, at least 0."""

    pack: Pack


@frozen_value
class Div:
    """`left / right`, rounded down. Undefined for sizes that make `right` zero."""

    left: Dim
    right: Dim


@frozen_value
class Mod:
    """`left % right`, with the sign of `right`. Undefined for sizes that make `right` zero."""

    left: Dim
    right: Dim


@frozen_value
class Min:
    """The smaller of two dimensions."""

    left: Dim
    right: Dim


@frozen_value
class Max:
    """The larger of two dimensions."""

    left: Dim
    right: Dim


Compound: TypeAlias = Div | Mod | Min | Max
Atom: TypeAlias = Sym | Numel | Compound
Monomial: TypeAlias = tuple[Atom, ...]
Term: TypeAlias = tuple[int, Monomial]


class Dim:
    """One dimension. Build it with `const`, `sym`, `numel` and the operators; never directly."""

    __slots__ = ("_hash", "_key", "_packs", "_symbols", "depth", "poisoned", "size", "terms")

    terms: tuple[Term, ...]
    """(coefficient, atoms) pairs, higher degrees first, the constant last; no zero coefficient."""
    poisoned: bool
    """True when the arithmetic left i64 or the size limits."""
    depth: int
    """Levels of quotients, remainders, minima and maxima inside one another."""
    size: int
    """Terms and atoms written out in full."""

    def __init__(self, terms: tuple[Term, ...], *, poisoned: bool = False) -> None:
        self.terms = terms
        self.depth, self.size = _extent(terms)
        self.poisoned = poisoned
        self._hash = 0 if poisoned else hash(terms)
        self._key: str | None = None
        self._symbols: frozenset[Sym] | None = None
        self._packs: frozenset[Pack] | None = None

    @staticmethod
    def const(n: int) -> Dim:
        """The dimension `n`; poisoned when `n` does not fit i64."""
        return _const(n)

    @staticmethod
    def sym(symbol: Sym) -> Dim:
        """The dimension that is `symbol`."""
        return _atom(symbol)

    @staticmethod
    def numel(pack: Pack) -> Dim:
        """The number of elements of `pack`, as one atom."""
        return _atom(Numel(pack))

    @staticmethod
    def of(atom: Atom) -> Dim:
        """The dimension that is `atom`, taken as it stands."""
        return _atom(atom)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Dim):
            return NotImplemented
        if self.poisoned or other.poisoned:
            return False
        return self is other or (self._hash == other._hash and self.terms == other.terms)

    def __hash__(self) -> int:
        return self._hash

    def __add__(self, other: Dim | int) -> Dim:
        return _linear(self, 1, as_dim(other))

    __radd__ = __add__

    def __sub__(self, other: Dim | int) -> Dim:
        return _linear(self, -1, as_dim(other))

    def __rsub__(self, other: int) -> Dim:
        return _linear(as_dim(other), -1, self)

    def __neg__(self) -> Dim:
        if self.poisoned:
            return self
        if any(c == I64_MIN for c, _ in self.terms):
            return POISONED
        return Dim(tuple((-c, product) for c, product in self.terms))

    def __mul__(self, other: Dim | int) -> Dim:
        right = as_dim(other)
        if self.poisoned or right.poisoned:
            return POISONED
        if len(self.terms) * len(right.terms) > 4 * MAX_TERMS:
            return POISONED
        sums: dict[Monomial, int] = {}
        for c, atoms in self.terms:
            for k, others in right.terms:
                product = times(atoms, others)
                sums[product] = sums.get(product, 0) + c * k
        return collect(sums)

    __rmul__ = __mul__

    def floordiv(self, divisor: Dim | int) -> Dim:
        """`self / divisor` rounded down; a divisor that may be zero stays representable."""
        right = as_dim(divisor)
        if self.poisoned or right.poisoned:
            return POISONED
        if right.is_const and right.value != 0:
            return _div_const(self, right.value)
        left, right = _without_common_content(self, right)
        return _compound(Div, left, right)

    def mod(self, divisor: Dim | int) -> Dim:
        """`self % divisor`, with the divisor's sign; a divisor that may be zero is kept."""
        right = as_dim(divisor)
        if self.poisoned or right.poisoned:
            return POISONED
        if right.is_const and right.value != 0:
            return _mod_const(self, right.value)
        scale = math.gcd(content(self), content(right))
        left, right = _without_common_content(self, right)
        return _compound(Mod, left, right) * max(scale, 1)

    def minimum(self, other: Dim | int) -> Dim:
        """The smaller of the two."""
        return _extreme(Min, self, as_dim(other))

    def maximum(self, other: Dim | int) -> Dim:
        """The larger of the two."""
        return _extreme(Max, self, as_dim(other))

    @property
    def is_const(self) -> bool:
        """Whether this is a number whatever the sizes are."""
        return not self.poisoned and (not self.terms or (len(self.terms) == 1 and self._bare()))

    @property
    def is_size(self) -> bool:
        """Whether it is plain from the spelling that this is never negative: no minus in it."""
        return not self.poisoned and all(
            c >= 0 and all(_is_size(atom) for atom in product) for c, product in self.terms
        )

    @property
    def value(self) -> int:
        """The number. Raises ValueError unless `is_const`."""
        if not self.is_const:
            raise ValueError(f"`{self}` is not a constant")
        return self.constant

    @property
    def constant(self) -> int:
        """The coefficient of the constant term, 0 when there is none."""
        return self.terms[-1][0] if self.terms and self._bare() else 0

    def _bare(self) -> bool:
        return not self.terms[-1][1]

    def atoms(self) -> frozenset[Atom]:
        """The atoms of the products, not those inside other atoms."""
        return frozenset(atom for _, product in self.terms for atom in product)

    def symbols(self) -> frozenset[Sym]:
        """Every symbol in it, at any depth."""
        if self._symbols is None:
            found: set[Sym] = set()
            for atom in self.atoms():
                if isinstance(atom, Sym):
                    found.add(atom)
                elif not isinstance(atom, Numel):
                    found |= atom.left.symbols() | atom.right.symbols()
            self._symbols = frozenset(found)
        return self._symbols

    def packs(self) -> frozenset[Pack]:
        """Every pack whose element count is in it, at any depth."""
        if self._packs is None:
            found: set[Pack] = set()
            for atom in self.atoms():
                if isinstance(atom, Numel):
                    found.add(atom.pack)
                elif not isinstance(atom, Sym):
                    found |= atom.left.packs() | atom.right.packs()
            self._packs = frozenset(found)
        return self._packs

    def substitute(
        self, mapping: Mapping[Sym, Dim], packs: Mapping[Pack, Dim] | None = None
    ) -> Dim:
        """Replace symbols by dimensions and packs by their element counts, at any depth."""
        counts = packs or {}

        def replace(atom: Atom) -> Dim:
            if isinstance(atom, Sym):
                return mapping.get(atom, None) or _atom(atom)
            if isinstance(atom, Numel):
                return counts.get(atom.pack, None) or _atom(atom)
            return rebuild(
                atom, atom.left.substitute(mapping, counts), atom.right.substitute(mapping, counts)
            )

        if self.symbols().isdisjoint(mapping) and self.packs().isdisjoint(counts):
            return self
        return self.rewrite(replace)

    def rewrite(self, replace: Callable[[Atom], Dim]) -> Dim:
        """The same polynomial with each top-level atom replaced by `replace(atom)`."""
        terms = self.terms
        if len(terms) == 1 and terms[0][0] == 1 and len(terms[0][1]) == 1:
            return replace(terms[0][1][0])  # by far the most usual dimension: one atom
        if self.poisoned or self.is_const:
            return self
        total = ZERO
        for coefficient, product in terms:
            term = _const(coefficient)
            for atom in product:
                term = term * replace(atom)
            total = total + term
        return total

    def evaluate(self, values: Mapping[Any, int]) -> int:
        """The size for actual values, keyed by `Sym` or by name (a pack's count by `*name`).

        Raises KeyError for a symbol without a value, ZeroDivisionError for a zero divisor and
        ValueError for a poisoned dimension.
        """
        if self.poisoned:
            raise ValueError("a dimension beyond the i64 range has no value")
        total = 0
        for coefficient, product in self.terms:
            for atom in product:
                coefficient *= _atom_value(atom, values)
            total += coefficient
        return total

    @property
    def key(self) -> str:
        """A text that orders dimensions, and tells different ones apart (uids included)."""
        if self._key is None:
            self._key = "+".join(
                f"{c}" + "".join(f"*{atom_key(a)}" for a in atoms) for c, atoms in self.terms
            )
        return self._key

    def __str__(self) -> str:
        if self.poisoned:
            return "<overflow>"
        # A leading minus reads badly: begin with the first positive term, if there is one.
        first = next((i for i, (c, _) in enumerate(self.terms) if c > 0), 0)
        ordered = self.terms[first : first + 1] + self.terms[:first] + self.terms[first + 1 :]
        text = ""
        for coefficient, product in ordered:
            size = _term_text(abs(coefficient), product)
            if not text:
                text = size if coefficient > 0 else _negated(size, coefficient, product)
            else:
                text += f" + {size}" if coefficient > 0 else f" - {size}"
        return text or "0"

    def __repr__(self) -> str:
        return f"Dim({self})"


def _is_size(atom: Atom) -> bool:
    if isinstance(atom, (Sym, Numel)):
        return True
    return atom.left.is_size and atom.right.is_size


def _extent(terms: tuple[Term, ...]) -> tuple[int, int]:
    """Depth and size of a sum of `terms`."""
    depth, size = 0, len(terms)
    for _, product in terms:
        for atom in product:
            size += 1
            if not isinstance(atom, (Sym, Numel)):
                depth = max(depth, 1 + atom.left.depth, 1 + atom.right.depth)
                size += atom.left.size + atom.right.size
    return depth, size


ZERO = Dim(())
POISONED = Dim((), poisoned=True)


def as_dim(value: Dim | int) -> Dim:
    """`value` as a dimension."""
    return _const(value) if isinstance(value, int) else value


@lru_cache(maxsize=4096)
def _const(n: int) -> Dim:
    if not I64_MIN <= n <= I64_MAX:
        return POISONED
    return Dim(((n, ()),)) if n else ZERO


@lru_cache(maxsize=16384)
def _atom(atom: Atom) -> Dim:
    return _limited(Dim(((1, (atom,)),)))


def _limited(dim: Dim) -> Dim:
    return POISONED if dim.depth > MAX_DEPTH or dim.size > MAX_SIZE else dim


def atom_key(atom: Atom) -> str:
    """A text that orders atoms: symbols, element counts, then compounds."""
    if isinstance(atom, Sym):
        return f"0{atom.name}#{atom.uid}"
    if isinstance(atom, Numel):
        return f"1{atom.pack.name}#{atom.pack.uid}"
    return f"{_RANK[type(atom)]}({atom.left.key},{atom.right.key})"


_RANK = {Div: 2, Mod: 3, Min: 4, Max: 5}


def times(left: Monomial, right: Monomial) -> Monomial:
    """The sorted product of two sorted products."""
    if not left or not right:
        return left or right
    return tuple(sorted(left + right, key=atom_key))


def term_order(product: Monomial) -> tuple[int, tuple[str, ...]]:
    """Sort key of terms: higher degree first, then by atoms."""
    return -len(product), tuple(atom_key(a) for a in product)


def collect(sums: Mapping[Monomial, int]) -> Dim:
    """The dimension with these coefficients, in normal form. The only way to a new sum."""
    products = [product for product, c in sums.items() if c]
    if len(products) > MAX_TERMS:
        return POISONED
    if len(products) > 1:
        products.sort(key=term_order)
    for product in products:
        if not I64_MIN <= sums[product] <= I64_MAX or len(product) > MAX_DEGREE:
            return POISONED
    return _limited(Dim(tuple((sums[p], p) for p in products)))


def _linear(left: Dim, sign: int, right: Dim) -> Dim:
    """`left + sign * right`."""
    if left.poisoned or right.poisoned:
        return POISONED
    if not right.terms:
        return left
    sums = {product: c for c, product in left.terms}
    for c, product in right.terms:
        sums[product] = sums.get(product, 0) + sign * c
    return collect(sums)


def content(dim: Dim) -> int:
    """The greatest common divisor of all coefficients, 0 for the zero dimension."""
    return math.gcd(*(c for c, _ in dim.terms))


def exact_quotient(dim: Dim, n: int) -> Dim:
    """`dim / n` for an `n` that divides every coefficient."""
    return collect({product: c // n for c, product in dim.terms})


def rebuild(atom: Compound, left: Dim, right: Dim) -> Dim:
    """The operation of `atom` on other operands."""
    if isinstance(atom, Div):
        return left.floordiv(right)
    if isinstance(atom, Mod):
        return left.mod(right)
    return left.minimum(right) if isinstance(atom, Min) else left.maximum(right)


def _compound(kind: type[Compound], left: Dim, right: Dim) -> Dim:
    if left.poisoned or right.poisoned:
        return POISONED
    return _atom(kind(left, right))


def _extreme(kind: type[Min] | type[Max], left: Dim, right: Dim) -> Dim:
    gap = left - right
    if gap.poisoned:
        return POISONED
    if gap.is_const:  # the order of the two does not depend on sizes
        return left if (gap.value <= 0) == (kind is Min) else right
    if right.key < left.key:
        left, right = right, left
    return _compound(kind, left, right)


def _without_common_content(left: Dim, right: Dim) -> tuple[Dim, Dim]:
    scale = math.gcd(content(left), content(right))
    if scale <= 1:
        return left, right
    return exact_quotient(left, scale), exact_quotient(right, scale)


def _div_const(dim: Dim, n: int) -> Dim:
    """`dim / n` for a number `n != 0`: multiples come out, the constant keeps 0 <= r < n."""
    if dim.poisoned:
        return POISONED
    if dim.is_const:
        return _const(dim.value // n)
    if n < 0:
        return _div_const(-dim, -n)
    whole: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for c, product in dim.terms:
        if c % n == 0:
            whole[product] = c // n
        elif not product:
            whole[product], rest[product] = divmod(c, n)
        else:
            rest[product] = c
    scale = math.gcd(n, *(c for product, c in rest.items() if product))
    # (g*y + c) / (g*m) is (y + c/g) / m, rounding down at each step.
    inner = collect({product: c // scale for product, c in rest.items()})
    if scale == n:
        return collect(whole) + inner
    if inner.is_const:
        return collect(whole) + inner.value // (n // scale)
    return collect(whole) + _compound(Div, inner, _const(n // scale))


def _mod_const(dim: Dim, n: int) -> Dim:
    """`dim % n` for a number `n != 0`: coefficients are reduced to 0 <= c < n."""
    if dim.poisoned:
        return POISONED
    if dim.is_const:
        return _const(dim.value % n)
    if n < 0:
        return -_mod_const(-dim, -n)
    rest = {product: c % n for c, product in dim.terms}
    scale = math.gcd(n, *(c for product, c in rest.items() if product))
    # (g*y + c) % (g*m) is g * ((y + c/g) % m) + c % g.
    low = rest.get((), 0) % scale
    inner = collect({product: c // scale for product, c in rest.items()})
    if inner.is_const or scale == n:
        return _const(low + scale * (inner.value % (n // scale)) if inner.is_const else low)
    return _compound(Mod, inner, _const(n // scale)) * scale + low


def _atom_value(atom: Atom, values: Mapping[Any, int]) -> int:
    if isinstance(atom, Sym):
        return values[atom] if atom in values else values[atom.name]
    if isinstance(atom, Numel):
        return values[atom.pack] if atom.pack in values else values[f"*{atom.pack.name}"]
    left, right = atom.left.evaluate(values), atom.right.evaluate(values)
    if isinstance(atom, Div):
        return left // right
    if isinstance(atom, Mod):
        return left % right
    return min(left, right) if isinstance(atom, Min) else max(left, right)


def _term_text(coefficient: int, product: Monomial) -> str:
    if len(product) == 1 and coefficient == 1:
        return _atom_text(product[0])
    factors = [] if coefficient == 1 and product else [str(coefficient)]
    for atom in product:
        text = _atom_text(atom)
        factors.append(f"({text})" if isinstance(atom, (Div, Mod)) else text)
    return " * ".join(factors)


def _negated(size: str, coefficient: int, product: Monomial) -> str:
    """`-` binds closer than `/` and `%`: what it stands before must not begin with an operand."""
    divided = coefficient == -1 and len(product) == 1 and isinstance(product[0], (Div, Mod))
    return f"-({size})" if divided else f"-{size}"


def _atom_text(atom: Atom) -> str:
    if isinstance(atom, Sym):
        return atom.name
    if isinstance(atom, Numel):
        return f"numel({atom.pack.name})"
    if isinstance(atom, (Min, Max)):
        return f"{'min' if isinstance(atom, Min) else 'max'}({atom.left}, {atom.right})"
    sign = "/" if isinstance(atom, Div) else "%"
    return f"{_operand_text(atom.left)} {sign} {_operand_text(atom.right)}"


def _operand_text(dim: Dim) -> str:
    """An operand of `/` or `%`: in parentheses unless it is one word, number or call."""
    text = str(dim)
    simple = dim.is_const and dim.value >= 0
    if len(dim.terms) == 1 and dim.terms[0][0] == 1 and len(dim.terms[0][1]) == 1:
        simple = not isinstance(dim.terms[0][1][0], (Div, Mod))
    return text if simple else f"({text})"


def product_of(dims: Iterable[Dim]) -> Dim:
    """The product of `dims`, 1 for none: the element count of a shape."""
    total = _const(1)
    for dim in dims:
        total = total * dim
    return total
