"""Kernels on sizes that nobody chose for them, against sizes that fit: seconds an operation.

Small programs are compiled for sizes of both sorts and called in turn. For each number of rows a
line says how long a multiply-add takes with odd, prime and uncommon sizes, over how long it takes
with friendly ones of about as many weights. Minima over rounds in which all take their turn:
a busy machine disturbs both sides alike.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

import linnet

Array = npt.NDArray[np.float32]

ROWS = (1, 8, 512)
MOST = 1.25
"""The ratio from which on a size is called slow."""

PRODUCT = """\
module product

use std.nn.linear::{linear}

pub block Product<In: Dim, Out: Dim> {
    param weight: Tensor[Out, In; f32]
    param bias: Tensor[Out; f32]

    pub entry one(x: Tensor[1, In; f32]) -> Tensor[1, Out; f32] {
        return linear(x, weight, some(bias))
    }

    pub entry some_rows<S: Dim>(x: Tensor[S, In; f32]) -> Tensor[S, Out; f32]
    where S > 0 {
        return linear(x, weight, some(bias))
    }
}
"""

ATTENTION = """\
module mix

use std.nn.attention::{causal_mask, grouped_attention}

pub block Mix<H: Dim, Hk: Dim, K: Dim, D: Dim>
where Hk > 0, H % Hk == 0 {
    pub entry some_rows<Q: Dim>(
        query: Tensor[1, H, Q, D; f32],
        key: Tensor[1, Hk, K, D; f32],
        value: Tensor[1, Hk, K, D; f32]
    ) -> Tensor[1, H, Q, D; f32]
    where Q > 0, Q <= K {
        return grouped_attention(query, key, value, 0.1, some(causal_mask<Q, K>()))
    }
}
"""


@dataclass(frozen=True)
class Sizes:
    """Sizes of one program. `like` are the friendly ones it is compared with; None for those."""

    kernel: str
    generics: tuple[tuple[str, int], ...]
    like: Sizes | None = None

    @property
    def text(self) -> str:
        return ", ".join(f"{name} {size}" for name, size in self.generics)

    def __getitem__(self, name: str) -> int:
        return dict(self.generics)[name]

    def operations(self, rows: int) -> int:
        """Two a multiply-add; of attention those that its mask lets be."""
        if self.kernel == "linear":
            return 2 * rows * self["In"] * self["Out"]
        seen = rows * self["K"] - rows * (rows - 1) // 2
        return 4 * self["H"] * self["D"] * seen


def _product(inner: int, outer: int, like: Sizes | None = None) -> Sizes:
    return Sizes("linear", (("In", inner), ("Out", outer)), like)


def _mix(heads: int, key_heads: int, keys: int, size: int, like: Sizes | None = None) -> Sizes:
    named = (("H", heads), ("Hk", key_heads), ("K", keys), ("D", size))
    return Sizes("attention", named, like)


FRIENDLY_PRODUCT, FRIENDLY_MIX = _product(768, 3072), _mix(20, 20, 2048, 64)
FRIENDLY_GROUPS = _mix(20, 5, 2048, 64)
ALL: Sequence[Sizes] = (
    FRIENDLY_PRODUCT,
    _product(769, 3071, FRIENDLY_PRODUCT),
    _product(1021, 2053, FRIENDLY_PRODUCT),
    _product(2053, 1021, FRIENDLY_PRODUCT),
    _product(3079, 769, FRIENDLY_PRODUCT),
    FRIENDLY_MIX,
    _mix(20, 20, 2039, 64, FRIENDLY_MIX),
    _mix(16, 16, 2048, 80, FRIENDLY_MIX),
    _mix(10, 10, 2048, 128, FRIENDLY_MIX),
    _mix(18, 18, 2039, 71, FRIENDLY_MIX),
    FRIENDLY_GROUPS,
    _mix(16, 4, 2039, 80, FRIENDLY_GROUPS),
    _mix(12, 3, 2048, 128, FRIENDLY_GROUPS),
    _mix(16, 4, 2039, 71, FRIENDLY_GROUPS),
)
"""Products of about 2.4 million weights, and attention of 1280 numbers a key or about."""


@dataclass(frozen=True)
class Case:
    """One program on so many rows: how it is called, how much that is, and the times so far."""

    sizes: Sizes
    rows: int
    run: Callable[[], object]
    times: list[float] = field(default_factory=list)

    @property
    def per_operation(self) -> float:
        return min(self.times) / self.sizes.operations(self.rows)


@dataclass(frozen=True)
class Line:
    """A result: seconds an operation, and how many times those of the friendly sizes."""

    sizes: Sizes
    rows: int
    per_operation: float
    ratio: float

    @property
    def is_slow(self) -> bool:
        return self.ratio > MOST


def measure(
    sizes: Sequence[Sizes] = ALL,
    rows: Sequence[int] = ROWS,
    *,
    rounds: int = 15,
    threads: int = 1,
    say: Callable[[str], None] = lambda text: None,
) -> list[Line]:
    """A line for each of `sizes` that is compared with friendly ones, for each number of rows."""
    with programs(sizes, rows, threads) as cases:
        for number in range(rounds):
            say(f"round {number + 1} of {rounds}")
            for case in cases:
                case.times.append(_timed(case.run))
    return lines(cases)


def lines(cases: Sequence[Case]) -> list[Line]:
    known = {(case.sizes, case.rows): case.per_operation for case in cases}
    return [
        Line(case.sizes, case.rows, case.per_operation, case.per_operation / friendly)
        for case in cases
        if case.sizes.like is not None
        and (friendly := known.get((case.sizes.like, case.rows))) is not None
    ]


def _timed(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


@contextmanager
def programs(sizes: Sequence[Sizes], rows: Sequence[int], threads: int) -> Iterator[list[Case]]:
    """The programs with made weights and inputs, compiled and called once."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="linnet-bench-")))
        found: list[Case] = []
        for one in sizes:
            found += _cases(stack, folder, one, rows, threads)
        for case in found:
            case.run()
        yield found


def _cases(
    stack: ExitStack, folder: Path, sizes: Sizes, rows: Sequence[int], threads: int
) -> Iterator[Case]:
    file = folder / f"{sizes.kernel}.linnet"
    file.write_text(PRODUCT if sizes.kernel == "linear" else ATTENTION, encoding="utf-8")
    unit = linnet.compile(file, generics=dict(sizes.generics))
    draws = np.random.default_rng(0)
    shapes = {parameter.path: parameter.dims for parameter in unit.parameters}
    weights = {path: _made(draws, *dims) for path, dims in shapes.items()}
    program = stack.enter_context(unit.bind(weights, threads=threads))
    for count in rows:
        entry = "one" if count == 1 and sizes.kernel == "linear" else "some_rows"
        yield Case(sizes, count, _call(program, entry, inputs(draws, sizes, count)))


def _call(program: linnet.Program, entry: str, arrays: Sequence[Array]) -> Callable[[], object]:
    return lambda: getattr(program, entry)(*arrays)


def inputs(draws: np.random.Generator, sizes: Sizes, rows: int) -> list[Array]:
    """Arrays for a call of one of the programs."""
    if sizes.kernel == "linear":
        return [_made(draws, rows, sizes["In"])]
    size = sizes["D"]
    cached = (1, sizes["Hk"], sizes["K"], size)
    return [_made(draws, 1, sizes["H"], rows, size), _made(draws, *cached), _made(draws, *cached)]


def _made(draws: np.random.Generator, *shape: int) -> Array:
    return draws.standard_normal(shape, dtype=np.float32)


def text(found: Sequence[Line], threads: int) -> list[str]:
    """The lines of a report."""
    from linnet.bench.report import aligned

    rows: list[Sequence[str]] = [("kernel", "sizes", "against", "rows", "GFLOP/s", "ratio", "")]
    for line in found:
        assert line.sizes.like is not None
        rows.append(
            (
                line.sizes.kernel,
                line.sizes.text,
                line.sizes.like.text,
                str(line.rows),
                f"{1e-9 / line.per_operation:.1f}",
                f"{line.ratio:.2f}",
                "slow" if line.is_slow else "",
            )
        )
    slow = sum(line.is_slow for line in found)
    noun = "thread" if threads == 1 else "threads"
    return [
        *aligned(rows, left=3),
        "",
        f"{threads} {noun}; ratio: time an operation over that of the sizes it stands against; "
        f"{slow} of {len(found)} above {MOST:g}",
    ]
