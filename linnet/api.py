"""Compile, bind and call a source that is in no zoo: what `linnet.compile` gives.

In goes a `.linnet` file, with values for the generics of its root block; out comes a `Unit`, the
compiled code without weights. `Unit.bind` takes weights, as arrays by path or as a checkpoint,
and gives a `Program`, whose entries are called with numpy arrays. Compiled code is kept in the
cache, so the second time costs little.

A program follows the language to the letter: a run-time index outside its axis is clamped into
it. `bind(..., strict=True)` refuses such values, as the models of the zoo do.

What is not here: cards, config.json, tokenizers and text, which are `linnet.nest`'s.
"""

from __future__ import annotations

import keyword
import numbers
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from linnet import driver
from linnet.artifact import Entry, Parameter
from linnet.errors import UsageError
from linnet.nest import registry
from linnet.nest.bindings import Bindings, checked_bindings, load_bindings, tensor_names
from linnet.nest.card import CARD_FILE
from linnet.nest.model import EntryMethod
from linnet.nest.nearest import did_you_mean, nearest
from linnet.nest.settings import plain_constant

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from linnet.runtime.program import Program as BoundProgram
    from linnet.runtime.source import WeightSource


def compile(
    source: str | os.PathLike[str],
    root: str | None = None,
    generics: Mapping[str, int | str] | None = None,
    *,
    entries: str | Sequence[str] | None = None,
    target: str = "native",
    numerics: str = "equivalent",
    bind: Mapping[str, int] | None = None,
    constants: Mapping[str, int | float | bool | str] | None = None,
) -> Unit:
    """Parse, check and compile a file, or find the result in the cache.

    source: the `.linnet` file. root: its root block; needed only if several blocks have entries.
    generics: values for the root's generics that have no default: sizes as integers, dtypes as
    words (`"f32"`). entries: names of those to compile; all unless given.
    target: `native`, `neon`, `avx512`, `avx2` or `scalar`.
    numerics: `exact`, `equivalent` or `fast`.
    bind: fixed values for generics of the entries (`{"S": 8}`), which otherwise stay open.
    constants: other values for public constants of the file: numbers, booleans, and variants of
    an enum by name.

    Raises SourceError with the diagnostics if the file does not check, UsageError for arguments
    that do not fit it (ConstantError, a kind of it, for a constant that cannot have its value),
    ToolchainError if there is no C compiler that works.
    """
    names = (entries,) if isinstance(entries, str) else entries or ()
    if not isinstance(names, Sequence) or not all(isinstance(n, str) for n in names):
        raise UsageError(f"entries = {entries!r}: it must be a name or a list of names")
    request = driver.Request(
        source=_source_file(source),
        root=root,
        generics=_values(generics, "generics"),
        entries=tuple(names),
        target=target,
        numerics=numerics,
        bind=_values(bind, "bind"),
        constants={n: plain_constant(n, v) for n, v in _values(constants, "constants").items()},
    )
    return Unit(request)


def _source_file(source: object) -> Path:
    """The file to compile. Raises UsageError for what is none."""
    if not isinstance(source, str | os.PathLike):
        raise UsageError(f"a source is named by a string or a path, not {source!r}")
    name = os.fspath(source)
    path = Path(os.path.expanduser(name))
    if os.path.isfile(path):
        return path
    help = "give the path of a .linnet file"
    if not name:
        raise UsageError("no source file is named", help=help)
    if name in registry.names() or os.path.isfile(path / CARD_FILE):
        raise UsageError(
            f"{name} is a model, not a source file", help=f'load it with nest.load("{name}")'
        )
    if os.path.isdir(path):
        raise UsageError(f"{name} is a folder, not a source file", help=help)
    shown = name if len(name) <= 200 else f"{name[:197]}..."
    raise UsageError(f"no such file: {shown}", help=help)


def _values(given: object, what: str) -> dict[str, Any]:
    """Names with values; whole numbers of any kind as Python's."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise UsageError(f"{what} = {given!r}: it must be a dictionary of names and values")
    for name in given:
        if not isinstance(name, str):
            raise UsageError(f"{what}: {name!r} is no name")
    return {
        name: int(value)
        if isinstance(value, numbers.Integral) and not isinstance(value, bool)
        else value
        for name, value in given.items()
    }


class Unit:
    """A compiled source without weights. Made by `compile`; may be bound any number of times."""

    def __init__(self, request: driver.Request) -> None:
        self._request = request
        self._parameters = driver.manifest(request)
        self._artifact = driver.build(request).artifact

    def __repr__(self) -> str:
        return f"<linnet unit {self._artifact.name} for {self.target}: {', '.join(self.entries)}>"

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What has to be bound, in the order of the source. Of each: `path`, `dtype`, `dims`
        (its shape), and `optional`."""
        return self._parameters

    @property
    def entries(self) -> Mapping[str, Entry]:
        """The entries by name, with the dtypes and dims of their inputs and results."""
        return {entry.name: entry for entry in self._artifact.entries}

    @property
    def generics(self) -> Mapping[str, int | str]:
        """The values of the root's generics, defaults included."""
        return dict(self._artifact.generics)

    @property
    def constants(self) -> Mapping[str, int | float | bool | str]:
        """The constants that do not have the value the source declares."""
        return dict(self._artifact.constants)

    @property
    def target(self) -> str:
        """The instruction set compiled for; never `native`."""
        return self._artifact.target

    def explain(self) -> str:
        """The plan in words: kernels, packing, memory."""
        return self._artifact.explain

    def c(self) -> str:
        """The generated C, as one text."""
        return driver.generate(self._request).c

    def bind(
        self,
        weights: Mapping[str, ArrayLike] | str | os.PathLike[str] | None = None,
        bindings: Mapping[str, str] | str | os.PathLike[str] | None = None,
        *,
        threads: int | None = None,
        strict: bool = False,
    ) -> Program:
        """Give the unit its weights.

        weights: arrays by tensor name, or a checkpoint: a safetensors file or the folder of one.
        A checkpoint may hold other tensors too; among arrays each must have a place. Lists of
        numbers take the declared dtype, arrays must have it (or a half float for f32); a `bf16`
        parameter takes its bits as uint16. Arrays are used where they lie if the code
        wants them as they are, so do not change them afterwards.
        bindings: tensor names by parameter path, as a mapping or a JSON file of one; `{i}` stands
        for an array position. A path that it does not mention is its own tensor name.
        threads: how many compute; all that this process may use unless given.
        strict: refuse integer inputs that the program would clamp or drop.

        Raises CheckpointError, which lists every tensor that is missing or does not fit, and
        UsageError or CardError for the arguments themselves.
        """
        if not isinstance(strict, bool):
            raise UsageError(f"strict = {strict!r}: it must be true or false")
        source, where = self._source(weights)
        paths = [parameter.path for parameter in self._parameters]
        names = tensor_names(_bindings(bindings), paths, source.tensors)
        if isinstance(weights, Mapping):
            source = self._arrays(weights, names)
            self._check_names(weights, names)
        bound = driver.load(
            self._request, source, names, where=where, threads=threads, strict=strict
        )
        return Program(bound)

    def _source(
        self, weights: Mapping[str, ArrayLike] | str | os.PathLike[str] | None
    ) -> tuple[WeightSource, str]:
        """Where the weights come from, and what messages call it."""
        from linnet.runtime.checkpoint import open_checkpoint

        if weights is None or isinstance(weights, Mapping):
            return self._arrays(weights or {}, {}), "the given weights"
        if not isinstance(weights, str | os.PathLike):
            raise UsageError(
                f"weights must be arrays by name or the path of a checkpoint, not {weights!r}"
            )
        if not os.fspath(weights):
            raise UsageError("weights: the path of the checkpoint is empty")
        return open_checkpoint(Path(weights)), os.fspath(weights)

    def _check_names(self, weights: Mapping[str, ArrayLike], names: Mapping[str, str]) -> None:
        """Refuse arrays that no parameter takes: a name may be mistyped. What is missing is
        told first, by whoever binds."""
        if any(names[p.path] not in weights for p in self._parameters if not p.optional):
            return
        for name in weights:
            if name not in names.values():
                close = nearest(name, names.values())
                hint = f"; did you mean {close!r}?" if close else ""
                raise UsageError(f"weights: no parameter takes {name!r}{hint}")

    def _arrays(self, weights: Mapping[str, ArrayLike], names: Mapping[str, str]) -> WeightSource:
        """The given arrays; those of 16-bit words that stand for `bf16` are marked so."""
        import numpy as np

        from linnet.runtime.program import Arrays

        declared = {names.get(p.path, p.path): p.dtype for p in self._parameters}
        arrays: dict[str, NDArray[Any]] = {}
        for name, given in weights.items():
            if not isinstance(name, str):
                raise UsageError(f"weights: {name!r} is no name of a tensor")
            arrays[name] = _weight(name, given, declared.get(name))
        halves = {name for name, dtype in declared.items() if dtype == "bf16"}
        marked = {name for name in halves & arrays.keys() if arrays[name].dtype == np.uint16}
        return Arrays(arrays, bf16=frozenset(marked))


def _weight(name: str, given: ArrayLike, declared: str | None) -> NDArray[Any]:
    """One weight as an array in this machine's byte order; numbers written in Python become
    what is declared."""
    import numpy as np

    from linnet.runtime.boundary import NUMPY, fitted, is_literal

    try:
        array = np.asarray(given)
    except ValueError as error:
        raise UsageError(f"weight {name!r} is no array: {error}") from None
    if array.dtype.kind not in "biufc":
        raise UsageError(f"weight {name!r} holds no numbers: its dtype is {array.dtype}")
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    if declared is None or declared == "bf16" or not is_literal(given):
        return array
    wanted = NUMPY[declared]
    if (wanted.kind == "f" and array.dtype.kind in "iuf") or (
        wanted.kind in "iu" and array.dtype.kind in "iu"
    ):
        try:
            return fitted(array, wanted)
        except OverflowError as error:
            raise UsageError(
                f"weight {name!r}: the value {error} does not fit {declared}"
            ) from None
    return array


class Program:
    """A unit with its weights. Each entry is a method: `program.observe(x, 3)`.

    An entry that shares its name with something here (`state`, say) is reached by `call`. Calls
    from several threads wait for each other, because they share the state.
    """

    def __init__(self, bound: BoundProgram) -> None:
        self._bound = bound
        for name, entry in bound.entries.items():
            if not hasattr(type(self), name):
                setattr(self, name, EntryMethod(self, entry))

    def __getattr__(self, name: str) -> Any:
        # Reached only when there is no such attribute.
        entries = self._bound.entries if "_bound" in self.__dict__ else {}
        hint = "" if name.startswith("_") else did_you_mean(name, entries)
        raise AttributeError(f"the program has no entry or attribute {name!r}{hint}")

    def __repr__(self) -> str:
        return f"<linnet program {self._bound.artifact.name}: {', '.join(self._bound.entries)}>"

    @property
    def entries(self) -> Mapping[str, Entry]:
        """The entries by name, with the dtypes and dims of their inputs and results."""
        return self._bound.entries

    @property
    def ignored(self) -> tuple[str, ...]:
        """Tensors that were given and that no parameter takes."""
        return self._bound.binding.ignored

    @property
    def threads(self) -> int:
        """How many threads compute."""
        return self._bound.threads

    def call(self, entry: str, /, *args: Any, **named: Any) -> Any:
        """Run an entry on arrays, or on what numpy turns into one, by position or by name.
        A generic that no input determines is given by name too. Returns a new array, a numpy
        scalar, or a tuple of them.

        Raises UsageError, DTypeError or ShapeError before anything runs.
        """
        if not isinstance(entry, str) or entry not in self._bound.entries:
            raise UsageError(f"no entry {entry!r}{did_you_mean(str(entry), self._bound.entries)}")
        inputs, sizes = _arguments(self._bound.entries[entry], args, named)
        return self._bound.call(entry, inputs, sizes)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a bound program cannot be copied or pickled; bind the unit again")

    def reset_state(self) -> None:
        """Make all state zero, as after binding."""
        self._bound.reset_state()

    def state(self, path: str) -> NDArray[Any]:
        """A copy of a state member, by its path (`layers.0.seen`). Raises UsageError for a path
        that is none."""
        return self._bound.state(path)

    def set_state(self, path: str, value: ArrayLike) -> None:
        """Overwrite a state member. Raises UsageError for a path that is none, ShapeError for
        another shape."""
        self._bound.set_state(path, value)

    def explain(self) -> str:
        """The plan in words: kernels, packing, memory."""
        return self._bound.explain()

    def close(self) -> None:
        """End the threads and let go of the weights. Closing twice is fine."""
        self._bound.close()

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _bindings(given: Mapping[str, str] | str | os.PathLike[str] | None) -> Bindings | None:
    if given is None:
        return None
    if isinstance(given, Mapping):
        return checked_bindings(given, "bindings")
    if not isinstance(given, str | os.PathLike):
        raise UsageError(
            f"bindings must be tensor names by path, or a JSON file of them, not {given!r}"
        )
    return load_bindings(Path(given))


def _arguments(
    entry: Entry, args: Sequence[Any], named: Mapping[str, Any]
) -> tuple[list[Any], dict[str, int]]:
    """Split a call into its inputs in order and its sizes by name."""
    names = [argument.name for argument in entry.inputs]
    if len(args) > len(names):
        raise UsageError(f"{entry.name} takes {len(names)} inputs, not {len(args)}")
    given = dict(zip(names, args, strict=False))
    sizes: dict[str, int] = {}
    for name, value in named.items():
        plain = name.removesuffix("_")
        # `lambda` is a fine name in the language; Python writes it with an underscore.
        if name not in names and keyword.iskeyword(plain):
            name = plain
        if name in given:
            raise UsageError(f"{entry.name}: `{name}` is given twice")
        if name in names:
            given[name] = value
        elif name in entry.sizes:
            sizes[name] = value
        else:
            hint = did_you_mean(name, [*names, *entry.sizes])
            raise UsageError(f"{entry.name} has no parameter {name!r}{hint}")
    lost = [name for name in names if name not in given]
    if lost:
        raise UsageError(f"{entry.name}: no value is given for {', '.join(f'`{n}`' for n in lost)}")
    return [given[name] for name in names], sizes
