"""The call boundary of an entry: everything is checked here, so that the C checks nothing.

In: an entry's description and the caller's arrays. Out: arrays ready to be pointed at, and the
value of every size. Sizes come from the shapes of the inputs, or by name where no input tells.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.artifact import Argument, ClauseInfo, Entry, ValueRange
from linnet.dims import Clause, Dim, Sym, parse
from linnet.errors import DTypeError, ShapeError, UsageError

NUMPY = {
    "bool": np.dtype(np.bool_),
    "f16": np.dtype("<f2"),
    "bf16": np.dtype("<u2"),
    "f32": np.dtype("<f4"),
    "f64": np.dtype("<f8"),
    "i8": np.dtype("<i1"),
    "i16": np.dtype("<i2"),
    "i32": np.dtype("<i4"),
    "i64": np.dtype("<i8"),
    "u8": np.dtype("<u1"),
    "u16": np.dtype("<u2"),
    "u32": np.dtype("<u4"),
    "u64": np.dtype("<u8"),
}
"""How each element type crosses; bf16 as its bits in uint16."""

_WORD = re.compile(r"[A-Za-z_]\w*")
Array = npt.NDArray[Any]


class Boundary:
    """The checks of one entry, prepared once. `strict`: also refuse integer values that the
    program would clamp or drop (token ids beyond the vocabulary, positions beyond a cache)."""

    def __init__(self, entry: Entry, generics: Mapping[str, int | str], strict: bool) -> None:
        self.entry = entry
        self.generics = generics
        self.strict = strict
        symbols = {name: Dim.sym(Sym(name)) for name in entry.sizes}
        self._parse: Callable[[str], Dim] = lambda text: parse(text, symbols)
        self.inputs = [tuple(self._parse(t) for t in a.dims) for a in entry.inputs]
        self.results = [tuple(self._parse(t) for t in a.dims) for a in entry.results]
        self.clauses = [(info, self._clause(info)) for info in entry.clauses]
        self.ranges = [(r, self._parse(r.low), self._parse(r.high)) for r in entry.ranges]
        self.positions = {a.name: k for k, a in enumerate(entry.inputs)}
        self._accepted: dict[tuple[int, ...], dict[str, int]] = {}

    def _clause(self, info: ClauseInfo) -> Clause:
        return Clause(info.op, self._parse(info.left), self._parse(info.right), info.text)

    def admit(
        self, arguments: Sequence[Any], named: Mapping[str, int]
    ) -> tuple[list[Array], dict[str, int]]:
        """Check a call. Raises UsageError, DTypeError or ShapeError; otherwise gives the arrays
        (contiguous, of the declared dtype) and the sizes by name."""
        entry = self.entry
        if len(arguments) != len(entry.inputs):
            raise UsageError(
                f"{entry.name} takes {_count(len(entry.inputs), 'input')} "
                f"({', '.join(_declared(a) for a in entry.inputs)}), not {len(arguments)}"
            )
        arrays = [
            self._array(argument, given)
            for argument, given in zip(entry.inputs, arguments, strict=True)
        ]
        sizes = self._sizes(arrays, named)
        if self.strict:
            for item, low, high in self.ranges:
                self._check_range(item, low, high, arrays[self.positions[item.name]], sizes)
        return arrays, sizes

    # --- arrays ---------------------------------------------------------------------------

    def _array(self, argument: Argument, given: Any) -> Array:
        wanted = NUMPY[argument.dtype]
        if _is_ready(given, wanted, len(argument.dims)):
            ready: Array = given
            return ready
        try:
            array = np.asarray(given)
        except ValueError as error:
            raise ShapeError(f"{self._title(argument)}: rows of different lengths") from error
        if array.dtype == object and _whole_numbers(array):
            array = self._fitted(argument, array, wanted)
        if array.dtype == object or array.dtype.kind in "USOMmVc":
            raise DTypeError(f"{self._title(argument)}, not {_shown(given, array)}")
        if array.ndim != len(argument.dims):
            raise ShapeError(
                f"{self._title(argument)}: an array of {_count(len(argument.dims), 'axis')} "
                f"is needed, this one has {array.ndim} (shape {list(array.shape)})"
            )
        if array.dtype != wanted:
            array = self._converted(argument, array, given, wanted)
        return np.require(array, requirements=["C", "A"])

    def _converted(
        self, argument: Argument, array: Array, given: Any, wanted: np.dtype[Any]
    ) -> Array:
        """Any integer dtype for an integer input whose values fit; numbers written in Python
        for any; nothing else."""
        literal = is_literal(given)
        if array.size == 0 and literal:
            return array.astype(wanted)
        whole = wanted.kind in "iu" and argument.dtype != "bf16"
        if whole and array.dtype.kind in "iu":
            return self._fitted(argument, array, wanted)
        if literal and wanted.kind == "f" and array.dtype.kind in "iuf":
            return self._fitted(argument, array, wanted)
        if wanted.kind == array.dtype.kind == "f" and array.dtype.itemsize == wanted.itemsize:
            return array.astype(wanted)
        help = None
        if argument.dtype == "bf16":
            help = "bf16 crosses as its bits, an array of uint16"
        elif not literal:
            help = f"convert it: {argument.name}.astype(numpy.{wanted.name})"
        elif whole:
            help = "give whole numbers"
        raise DTypeError(f"{self._title(argument)}, not {_shown(given, array)}", help=help)

    def _fitted(self, argument: Argument, array: Array, wanted: np.dtype[Any]) -> Array:
        try:
            return fitted(array, wanted)
        except OverflowError as error:
            raise DTypeError(f"{self._title(argument)}: the value {error} does not fit") from None

    def _title(self, argument: Argument) -> str:
        return f"{self.entry.name}: `{argument.name}` is declared {_type(argument)}"

    # --- sizes ----------------------------------------------------------------------------

    def _sizes(self, arrays: Sequence[Array], named: Mapping[str, int]) -> dict[str, int]:
        key = (*(n for a in arrays for n in a.shape), *named.values())
        if not named and key in self._accepted:
            return self._accepted[key]
        sizes = self._read_sizes(arrays, named)
        for argument, dims, array in zip(self.entry.inputs, self.inputs, arrays, strict=True):
            self._check_shape(argument, dims, array, sizes)
        for info, clause in self.clauses:
            if not clause.holds(sizes):
                raise ShapeError(self._violation(info, sizes))
        if not named and len(self._accepted) < 4096:
            self._accepted[key] = sizes
        return sizes

    def _read_sizes(self, arrays: Sequence[Array], named: Mapping[str, int]) -> dict[str, int]:
        sizes: dict[str, int] = {}
        for name, value in named.items():
            if name not in self.entry.sizes:
                raise UsageError(f"{self.entry.name} has no generic `{name}`")
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
                raise UsageError(f"{self.entry.name}: `{name}` must be a size, not {value!r}")
            sizes[name] = int(value)
        for dims, array in zip(self.inputs, arrays, strict=True):
            for dim, length in zip(dims, array.shape, strict=True):
                name = str(dim)
                if name in self.entry.sizes:
                    sizes.setdefault(name, length)
        lost = [name for name in self.entry.sizes if name not in sizes]
        if lost:
            raise UsageError(
                f"{self.entry.name}: no input determines {', '.join(f'`{n}`' for n in lost)}",
                help=f"give it by name: {lost[0]}=…",
            )
        return sizes

    def _check_shape(
        self, argument: Argument, dims: tuple[Dim, ...], array: Array, sizes: Mapping[str, int]
    ) -> None:
        for axis, (dim, length) in enumerate(zip(dims, array.shape, strict=True)):
            try:
                wanted = dim.evaluate(sizes)
            except ZeroDivisionError:
                wanted = -1
            if wanted != length:
                known = "" if dim.is_const else f" ({dim} with {_values(sizes)})"
                raise ShapeError(
                    f"{self._title(argument)}: axis {axis} must have {wanted} elements{known}, "
                    f"this array has shape {list(array.shape)}"
                )

    def _violation(self, info: ClauseInfo, sizes: Mapping[str, int]) -> str:
        values: dict[str, int | str] = {}
        known = {**self.generics, **sizes}
        for word in _WORD.findall(info.text):
            if word in known:
                values[word] = known[word]
        shown = ", ".join(f"{name} = {value}" for name, value in values.items())
        return (
            f"{self.entry.name}: `{info.text}` does not hold for these inputs"
            f"\n  where {info.text}    {info.place}" + (f"   ({shown})" if shown else "")
        )

    # --- values ---------------------------------------------------------------------------

    def _check_range(
        self, item: ValueRange, low: Dim, high: Dim, array: Array, sizes: Mapping[str, int]
    ) -> None:
        if array.size == 0:
            return
        first, last = low.evaluate(sizes), high.evaluate(sizes) - 1
        if array.size == 1:  # a token, a position: most calls, and a reduction takes a while
            smallest = largest = int(array.item())
        else:
            smallest, largest = int(array.min()), int(array.max())
        if smallest < first or largest > last:
            bad = smallest if smallest < first else largest
            allowed = f"must lie in {first} .. {last}" if first <= last else "can have no value"
            raise ShapeError(
                f"{self.entry.name}: `{item.name}` holds {bad}; it {allowed}, "
                f"because {item.reason}    {item.place}"
            )
        if item.distinct and array.size != len(np.unique(array)):
            values, counts = np.unique(array, return_counts=True)
            raise ShapeError(
                f"{self.entry.name}: `{item.name}` holds {int(values[counts > 1][0])} more than "
                f"once; its values must be distinct    {item.place}"
            )


def _is_ready(given: Any, wanted: np.dtype[Any], axes: int) -> bool:
    """Whether there is nothing to convert or to copy. An array of a subclass takes the long way."""
    return (
        type(given) is np.ndarray
        and given.dtype == wanted
        and given.ndim == axes
        and given.flags.carray
    )


def is_literal(given: Any) -> bool:
    """Numbers written in Python, or a single number of numpy's: they have no array's dtype."""
    return isinstance(given, np.generic) or not hasattr(given, "dtype")


def fitted(array: Array, wanted: np.dtype[Any]) -> Array:
    """Numbers as an array of `wanted`; for floats the nearest. Raises OverflowError,
    which holds the value, for one that is beyond what `wanted` can hold."""
    if wanted.kind in "iu" and array.size:
        bounds = np.iinfo(wanted)
        smallest, largest = int(array.min()), int(array.max())
        if smallest < bounds.min or largest > bounds.max:
            raise OverflowError(_number(smallest if smallest < bounds.min else largest))
        return array.astype(wanted)
    if array.dtype == object:
        try:
            array = array.astype(np.float64)
        except OverflowError:
            raise OverflowError(_number(max((int(n) for n in array.flat), key=abs))) from None
    with np.errstate(over="ignore"):
        result: Array = array.astype(wanted)
    lost = np.isinf(result) & np.isfinite(array)
    if lost.any():
        raise OverflowError(repr(array[lost].flat[0].item()))
    return result


def _number(value: int) -> str:
    return str(value) if value.bit_length() < 256 else f"of {value.bit_length():,} bits"


def _whole_numbers(array: Array) -> bool:
    """Whether these are Python integers that no integer dtype of numpy's holds."""
    return array.size > 0 and all(type(item) is int for item in array.flat)


def _shown(given: Any, array: Array) -> str:
    """What was given, for messages."""
    if given is None:
        return "None"
    if isinstance(given, str | bytes):
        return f"text ({array.dtype})"
    if isinstance(given, float | int):
        return f"{given!r} ({array.dtype})"
    if array.dtype == object:
        odd = next((i for i in array.flat if not isinstance(i, int | float)), None)
        return f"{type(given).__name__} that holds {type(odd).__name__}"[:80]
    return str(array.dtype)


def _type(argument: Argument) -> str:
    return f"{argument.dtype}[{', '.join(argument.dims)}]" if argument.dims else argument.dtype


def _declared(argument: Argument) -> str:
    return f"{argument.name}: {_type(argument)}"


def _values(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in sizes.items())


def _count(number: int, noun: str) -> str:
    plural = {"axis": "axes"}.get(noun, noun + "s")
    return f"{number} {noun if number == 1 else plural}"
