"""Random weights of the right shapes, where the published ones are not on this machine.

In goes a subject and a folder; out comes a checkpoint there, in the Hugging Face layout: a
safetensors file with every required parameter of the manifest under its tensor name, and a
config.json that says what the card expects. The same seed gives the same bytes on every
machine: each tensor has a stream of its own (PCG64, keyed by seed and name), and its values are
made from the stream's integers by one multiplication and one addition.

Speed does not depend on the values of weights, as long as none is denormal. Text written with
them means nothing, but is as good as any for checking that engines agree.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet import driver
from linnet.artifact import Parameter
from linnet.bench.subject import Subject
from linnet.errors import UsageError
from linnet.nest.card import ConfigSource, Constant, Generic

MADE = {"f32": ("<f4", "F32"), "f16": ("<f2", "F16")}
"""Dtypes that weights are made in: numpy's name and the file's."""

VECTOR_SPREAD = 0.1


def write_checkpoint(subject: Subject, folder: Path, seed: int = 0) -> None:
    """Fill `folder`. Raises UsageError for a model with parameters of a dtype that is not made
    here."""
    names = subject.names()
    parameters = [p for p in driver.manifest(subject.request()) if not p.optional]
    unmade = [p for p in parameters if p.dtype not in MADE]
    if unmade:
        raise UsageError(
            f"no random weights for {subject.card.name}: `{unmade[0].path}` is {unmade[0].dtype}",
            help="give a checkpoint: --checkpoint DIR",
        )
    _write_safetensors(folder / "model.safetensors", parameters, names, seed)
    config = json.dumps(config_of(subject), indent=2, sort_keys=True)
    (folder / "config.json").write_text(config + "\n", encoding="utf-8")


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
    stream = np.random.PCG64(np.random.SeedSequence([seed, zlib.crc32(name.encode())]))
    raw = np.asarray(stream.random_raw(math.prod(parameter.dims)), np.uint64)
    unit = (raw >> np.uint64(40)).astype(np.float32)  # 24 bits: exact in f32
    unit *= np.float32(2**-23)
    unit -= np.float32(1.0)  # even over -1 .. 1
    if len(parameter.dims) >= 2:
        unit *= np.float32(math.sqrt(6.0 / sum(parameter.dims[-2:])))
    else:
        unit *= np.float32(VECTOR_SPREAD)
        if parameter.path.rpartition(".")[2] == "weight":
            unit += np.float32(1.0)
    return unit.reshape(parameter.dims)


def _write_safetensors(
    file: Path, parameters: list[Parameter], names: dict[str, str], seed: int
) -> None:
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for parameter in parameters:
        numpy_type, stored = MADE[parameter.dtype]
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
            name = names[parameter.path]
            values = random_tensor(parameter, name, seed)
            out.write(values.astype(MADE[parameter.dtype][0]).tobytes())
