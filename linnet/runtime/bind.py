"""Which checkpoint tensor stands for which parameter, and whether it fits.

In: the manifest of a unit, the tensors of a source by name, and the names to look under. Out:
a `Binding`. Nothing is read but names, shapes and dtypes; all mismatches are reported together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Protocol

from linnet.artifact import Parameter
from linnet.errors import CheckpointError

WIDENED = {"f32": ("f32", "f16", "bf16")}
"""Which stored dtypes may stand for a declared one: a widening that loses nothing."""

NARROWED = {("f64", "f32"), ("f32", "f16"), ("f32", "bf16"), ("bf16", "f16"), ("f16", "bf16")}
"""Which stored and declared dtypes a conversion would reconcile, at a loss, so never unasked."""

SHOWN = 20
"""Mismatches listed in full; a wrong checkpoint would have hundreds."""


class Tensor(Protocol):
    """What is asked of a source's tensor."""

    @property
    def dtype(self) -> str: ...
    @property
    def shape(self) -> tuple[int, ...]: ...


@dataclass(frozen=True)
class Binding:
    """`names` maps the path of each parameter that is there to its tensor; `absent` are the
    optional ones that are not; `ignored` the tensors nobody asked for."""

    names: Mapping[str, str]
    absent: frozenset[str]
    ignored: tuple[str, ...]


def bind(
    manifest: Iterable[Parameter],
    tensors: Mapping[str, Tensor],
    names: Mapping[str, str],
    where: str,
    spare: Set[str] = frozenset(),
) -> Binding:
    """Pair parameters with tensors. `names` maps paths to tensor names (a path that is not in
    it stands for itself); `where` names the source in messages; `spare` are optional parameters
    that are left out, whether or not there is a tensor.

    Raises CheckpointError with every missing tensor, wrong shape and wrong dtype, and with both
    lists for an optional child of which only a part is there."""
    manifest = list(manifest)
    wanted = {p.path: names.get(p.path, p.path) for p in manifest}
    missing = [p for p in manifest if wanted[p.path] not in tensors or p.path in spare]
    problems = [*_missing(missing, manifest, wanted, tensors)]
    for parameter in manifest:
        name = wanted[parameter.path]
        if name in tensors:
            problems += _misfit(parameter, name, tensors[name])
    if problems:
        spares = sorted(set(tensors) - set(wanted.values())) if missing else []
        raise _error(problems, where, spares)
    absent = frozenset(p.path for p in missing)
    used = {name for path, name in wanted.items() if path not in absent}
    return Binding(
        names={path: name for path, name in wanted.items() if path not in absent},
        absent=absent,
        ignored=tuple(sorted(set(tensors) - used)),
    )


def _missing(
    missing: Sequence[Parameter],
    manifest: Sequence[Parameter],
    wanted: Mapping[str, str],
    tensors: Mapping[str, Tensor],
) -> list[str]:
    """Complaints about what is not there: required parameters, and halves of optional children."""
    gone = {p.path for p in missing}
    problems: list[str] = []
    for parameter in missing:
        if not parameter.optional and not parameter.group:
            # To look for a near name costs much more than all else here.
            near = tensors if len(problems) < SHOWN else ()
            problems.append(_not_found(parameter, wanted[parameter.path], near))
    groups = dict.fromkeys(p.group for p in manifest if p.group)
    for group in groups:
        required = [p for p in manifest if p.group == group and not p.optional]
        lost = [p.path for p in required if p.path in gone]
        found = [p.path for p in required if p.path not in gone]
        if lost and found:
            problems.append(
                f"`{group}` is optional as a whole, but only a part of it is there: "
                f"{_listed(found)} found, {_listed(lost)} missing"
            )
    return problems


def _not_found(parameter: Parameter, name: str, tensors: Iterable[str]) -> str:
    import difflib

    near = difflib.get_close_matches(name, list(tensors), n=1)
    hint = f" (the nearest name there is `{near[0]}`)" if near else ""
    title = f"`{parameter.path}`" if name == parameter.path else f"`{parameter.path}` (`{name}`)"
    return f"{title}: no such tensor; {parameter.dtype}{list(parameter.dims)} is needed{hint}"


def _misfit(parameter: Parameter, name: str, tensor: Tensor) -> list[str]:
    title = f"`{parameter.path}` (`{name}`)" if name != parameter.path else f"`{name}`"
    if tuple(tensor.shape) != parameter.dims:
        matrix = len(parameter.dims) == 2 and tuple(tensor.shape) == parameter.dims[::-1]
        hint = ": its axes are the other way round" if matrix else ""
        needs = f"the source needs {list(parameter.dims)}{hint}"
        return [f"{title}: shape {list(tensor.shape)}, {needs}"]
    if tensor.dtype not in WIDENED.get(parameter.dtype, (parameter.dtype,)):
        hint = "; convert it first" if (tensor.dtype, parameter.dtype) in NARROWED else ""
        return [f"{title}: dtype {tensor.dtype}, the source needs {parameter.dtype}{hint}"]
    return []


def _error(problems: Sequence[str], where: str, spares: Sequence[str]) -> CheckpointError:
    shown = [f"  {problem}" for problem in problems[:SHOWN]]
    if len(problems) > SHOWN:
        shown.append(f"  and {len(problems) - SHOWN} more")
    if spares:
        shown.append(f"  there, and asked for by nothing: {_listed(spares)}")
    count = f"{len(problems)} tensor{'s do' if len(problems) > 1 else ' does'} not fit"
    return CheckpointError(
        "\n".join([f"{where}: {count}", *shown]),
        help="check that the checkpoint is of this model, and the generics and bindings",
    )


def _listed(paths: Sequence[str]) -> str:
    shown = ", ".join(f"`{p}`" for p in paths[:4])
    return shown if len(paths) <= 4 else f"{shown} and {len(paths) - 4} more"
