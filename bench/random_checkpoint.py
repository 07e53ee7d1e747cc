#!/usr/bin/env python3
"""Write a checkpoint of random weights for any entry of the zoo, at its full size.

    bench/random_checkpoint.py llama /tmp/weights [--dtype bf16] [--with lm_head.weight] [--seed 0]

The sizes are those of the entry's card, the tensors are those of its source: every required
parameter, and of the optional ones those that --with names. Values come in pieces, so a file of
any size needs little memory. Speed does not depend on them; the text they lead to means nothing.
The folder can then be given to `linnet bench`, `linnet profile` and `linnet explain`:

    linnet bench llama --checkpoint /tmp/weights --task decode_16 --task prefill_512
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet import driver
from linnet.artifact import Parameter
from linnet.bench.subject import Subject
from linnet.bench.weights import config_of
from linnet.errors import LinnetError

DTYPES = {"f32": ("F32", 4), "bf16": ("BF16", 2)}
"""What can be written: the file's name for it, and bytes of an element."""

PIECE = 1 << 22
"""Elements that are made at a time."""


def main() -> int:
    options = parsed()
    try:
        subject = Subject.find(options.model)
        size = write(subject, options.folder, options.dtype, tuple(options.extra), options.seed)
    except LinnetError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{options.folder}: {size / 1e9:.2f} GB in {options.dtype}")
    return 0


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", help="an entry of the zoo, or the folder of a card")
    parser.add_argument("folder", type=Path, help="where model.safetensors and config.json go")
    parser.add_argument("--dtype", choices=sorted(DTYPES), default="bf16")
    parser.add_argument(
        "--with", dest="extra", action="append", default=[], help="an optional parameter, by path"
    )
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def write(subject: Subject, folder: Path, dtype: str, extra: tuple[str, ...], seed: int) -> int:
    """Fill `folder`, which is made if need be; the bytes of all tensors."""
    names = subject.names()
    chosen = [p for p in driver.manifest(subject.request()) if not p.optional or p.path in extra]
    missing = set(extra) - {p.path for p in chosen}
    if missing:
        raise LinnetError(f"{subject.card.name} has no parameter `{min(missing)}`")
    kind, item = DTYPES[dtype]
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for parameter in chosen:
        end = offset + math.prod(parameter.dims) * item
        header[names[parameter.path]] = {
            "dtype": kind,
            "shape": list(parameter.dims),
            "data_offsets": [offset, end],
        }
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "model.safetensors").open("wb") as out:
        out.write(len(text).to_bytes(8, "little") + text)
        for parameter in chosen:
            for piece in values(parameter, seed):
                out.write(encoded(piece, dtype))
    config = json.dumps(config_of(subject), indent=2, sort_keys=True)
    (folder / "config.json").write_text(config + "\n", encoding="utf-8")
    return offset


def values(parameter: Parameter, seed: int) -> Iterator[npt.NDArray[np.float32]]:
    """A parameter's values in pieces. Matrices are scaled so that what goes through them keeps
    its size; vectors are small, those called `weight` (gains of norms) around 1."""
    draws = np.random.default_rng([seed, zlib.crc32(parameter.path.encode())])
    is_matrix = len(parameter.dims) >= 2
    spread = math.sqrt(6.0 / sum(parameter.dims[-2:])) if is_matrix else 0.1
    centre = 1.0 if not is_matrix and parameter.path.endswith("weight") else 0.0
    left = math.prod(parameter.dims)
    while left > 0:
        unit = draws.random(min(left, PIECE), dtype=np.float32)
        yield (unit * np.float32(2.0) - np.float32(1.0)) * np.float32(spread) + np.float32(centre)
        left -= len(unit)


def encoded(piece: npt.NDArray[np.float32], dtype: str) -> bytes:
    """The bytes of a file; a bf16 is the nearer of the two upper halves, the even one of a tie."""
    if dtype == "f32":
        return piece.tobytes()
    bits = piece.view(np.uint32)
    return (
        ((bits + np.uint32(0x7FFF) + ((bits >> 16) & np.uint32(1))) >> 16).astype("<u2").tobytes()
    )


if __name__ == "__main__":
    sys.exit(main())
