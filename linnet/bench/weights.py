"""Random weights of the right shapes, where the published ones are not on this machine.

In goes a subject and a folder; out comes a checkpoint there, in the Hugging Face layout: a
safetensors file with every required parameter of the manifest under its tensor name (of the
optional ones those that are asked for), and a config.json that says what the card expects. Values
are made and written in pieces, so a file of any size needs little memory. The same seed gives the
same bytes on every machine: each tensor has a stream of its own (PCG64, keyed by seed and name),
and its values are made from the stream's integers by one multiplication and one addition.

Speed does not depend on the values of weights, as long as none is denormal. Text written with
them means nothing, but is as good as any for checking that engines agree.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet import driver
from linnet.artifact import Parameter
from linnet.bench.subject import Subject
from linnet.errors import UsageError
from linnet.nest.card import ConfigSource, Constant, Generic

MADE = {"f32": ("<f4", "F32"), "f16": ("<f2", "F16"), "bf16": ("<u2", "BF16")}
"""Dtypes that weights are made in: numpy's name (of the bits for bf16) and the file's."""

PIECE = 1 << 22
"""Elements that are made at a time."""

VECTOR_SPREAD = 0.1


def write_checkpoint(
    subject: Subject,
    folder: Path,
    seed: int = 0,
    *,
    dtype: str | None = None,
    optional: Collection[str] = (),
) -> int:
    """Fill `folder`; the bytes of all tensors. `dtype`: what parameters declared f32 are held in,
    if not in f32 (f16 or bf16). `optional`: the optional parameters to write, by their paths.

    Raises UsageError for a parameter of a dtype that is not made here, or an unknown path."""
    names = subject.names()
    manifest = driver.manifest(subject.request())
    missing = set(optional) - {p.path for p in manifest}
    if missing:
        raise UsageError(f"{subject.card.name} has no parameter `{min(missing)}`")
    parameters = [p for p in manifest if not p.optional or p.path in optional]
    held = {p.path: dtype if dtype and p.dtype == "f32" else p.dtype for p in parameters}
    unmade = [path for path, one in held.items() if one not in MADE]
    if unmade:
        raise UsageError(
            f"no random weights for {subject.card.name}: `{unmade[0]}` is {held[unmade[0]]}",
            help="give a checkpoint: --checkpoint DIR",
        )
    folder.mkdir(parents=True, exist_ok=True)
    size = _write_safetensors(folder / "model.safetensors", parameters, held, names, seed)
    config = json.dumps(config_of(subject), indent=2, sort_keys=True)
    (folder / "config.json").write_text(config + "\n", encoding="utf-8")
    return size


def config_of(subject: Subject) -> dict[str, Any]:
    """A config.json that fits the card: the values it expects, and its generics by their keys."""
    values: dict[str, Any] = {}
    for expectation in subject.card.expect.values():
        if expectation.equals is not None:
            expectation.key.put(values, expectation.equals.value(subject.generics))
        elif expectation.values:
            expectation.key.put(values, expectation.values[0])
    for name, source in subject.card.config_generics.items():
        source.key.put(values, _held(subject.generics[name], source, subject.generics))
    for name, value in subject.settings.constants.items():
        if name in subject.card.config_constants:
            constant = subject.card.config_constants[name]
            constant.key.put(values, _stored(value, constant.values))
    if subject.card.text and subject.card.text.end_of_text_id is not None:
        end = min(subject.card.text.end_of_text_id, subject.vocabulary - 1)
        values |= {"bos_token_id": end, "eos_token_id": end}
    return values


def _held(size: Generic, source: ConfigSource, generics: Mapping[str, Generic]) -> Any:
    """What config.json holds where a generic has this size: itself, a share, or so many names."""
    if not isinstance(size, int):
        return size
    if source.of is not None:
        return size / source.of.value(generics)
    return {str(n): f"LABEL_{n}" for n in range(size)} if source.count else size


def _stored(value: Constant, values: Mapping[str, Constant] | None) -> Constant:
    """What config.json holds where a constant has this value."""
    return next((key for key, one in (values or {}).items() if one == value), value)


def random_tensor(parameter: Parameter, name: str, seed: int) -> npt.NDArray[np.float32]:
    """The values of one parameter. Matrices are scaled so that what goes through them keeps its
    size (Glorot); vectors are small, those called `weight` (gains of norms) around 1."""
    return np.concatenate(list(_pieces(parameter, name, seed))).reshape(parameter.dims)


def _pieces(parameter: Parameter, name: str, seed: int) -> Iterator[npt.NDArray[np.float32]]:
    """The same one after the other, `PIECE` at most at a time; one piece at least."""
    stream = np.random.PCG64(np.random.SeedSequence([seed, zlib.crc32(name.encode())]))
    is_matrix = len(parameter.dims) >= 2
    spread = math.sqrt(6.0 / sum(parameter.dims[-2:])) if is_matrix else VECTOR_SPREAD
    is_gain = not is_matrix and parameter.path.rpartition(".")[2] == "weight"
    count = math.prod(parameter.dims)
    for start in range(0, max(count, 1), PIECE):
        raw = np.asarray(stream.random_raw(min(count - start, PIECE)), np.uint64)
        unit = (raw >> np.uint64(40)).astype(np.float32)  # 24 bits: exact in f32
        unit *= np.float32(2**-23)
        unit -= np.float32(1.0)  # even over -1 .. 1
        unit *= np.float32(spread)
        yield unit + np.float32(1.0) if is_gain else unit


def _write_safetensors(
    file: Path,
    parameters: list[Parameter],
    held: Mapping[str, str],
    names: Mapping[str, str],
    seed: int,
) -> int:
    """Write the tensors; `held` is the dtype of each by path. The bytes of all of them."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for parameter in parameters:
        numpy_type, stored = MADE[held[parameter.path]]
        size = math.prod(parameter.dims) * np.dtype(numpy_type).itemsize
        header[names[parameter.path]] = {
            "dtype": stored,
            "shape": list(parameter.dims),
            "data_offsets": [offset, offset + size],
        }
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with file.open("wb") as out:
        out.write(len(text).to_bytes(8, "little") + text)
        for parameter in parameters:
            for piece in _pieces(parameter, names[parameter.path], seed):
                out.write(_encoded(piece, held[parameter.path]))
    return offset


def _encoded(values: npt.NDArray[np.float32], dtype: str) -> bytes:
    """The bytes of a file. Of the two bf16 around a value the nearer, of a tie the even one."""
    if dtype != "bf16":
        return values.astype(MADE[dtype][0]).tobytes()
    bits = values.view(np.uint32)
    return ((bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)) >> 16).astype(MADE[dtype][0]).tobytes()
