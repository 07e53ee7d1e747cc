#!/usr/bin/env python3
"""Write a checkpoint of random weights for any entry of the zoo, at its full size.

    bench/random_checkpoint.py llama weights [--dtype bf16] [--with head] [--seed 0]

The sizes are those of the entry's card, the tensors are those of its source: every required
parameter, and of the optional ones those that --with names. Speed does not depend on the values;
the text they lead to means nothing. The folder can then be given to `linnet bench`, `linnet
profile` and `linnet explain`:

    linnet bench llama --checkpoint weights --task decode_16 --task prefill_512
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from linnet.bench.subject import Subject
from linnet.bench.weights import MADE, write_checkpoint
from linnet.errors import LinnetError


def main() -> int:
    options = parsed()
    try:
        size = write_checkpoint(
            Subject.find(options.model),
            options.folder,
            options.seed,
            dtype=options.dtype,
            optional=options.optional,
        )
    except LinnetError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{options.folder}: {size / 1e9:.2f} GB in {options.dtype}")
    return 0


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", help="an entry of the zoo, or the folder of a card")
    parser.add_argument("folder", type=Path, help="where model.safetensors and config.json go")
    parser.add_argument("--dtype", choices=sorted(MADE), default="bf16")
    parser.add_argument(
        "--with", dest="optional", action="append", default=[], help="an optional parameter's path"
    )
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
