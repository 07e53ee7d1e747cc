#!/usr/bin/env python3
"""How fast are kernels on sizes that no model was tuned for? Against friendly sizes, in turn.

    bench/sizes.py [--kernel linear|attention] [--threads 1] [--rounds 15] [--json]

Products with odd and prime sizes, heads of 71, 80 and 128, grouped heads, prime numbers of keys;
for one row, 8 and 512. Ends with 1 when a time for each operation is more than 1.25 times that of
the friendly sizes. That the results are right is for tests/parity/test_sizes.py.
"""

from __future__ import annotations

import argparse
import json
import sys

from linnet.bench import sizes
from linnet.errors import LinnetError


def main() -> int:
    options = parsed()
    chosen = [one for one in sizes.ALL if options.kernel in (None, one.kernel)]
    try:
        found = sizes.measure(
            chosen,
            rounds=options.rounds,
            threads=options.threads,
            say=lambda text: print(text, file=sys.stderr),
        )
    except LinnetError as error:
        sys.exit(f"error: {error}")
    if options.json:
        lines = [
            {
                "kernel": line.sizes.kernel,
                "sizes": dict(line.sizes.generics),
                "rows": line.rows,
                "seconds_an_operation": line.per_operation,
                "ratio": line.ratio,
            }
            for line in found
        ]
        print(json.dumps({"threads": options.threads, "lines": lines}, indent=2))
    else:
        print("\n".join(sizes.text(found, options.threads)))
    return 1 if any(line.is_slow for line in found) else 0


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--kernel", choices=("linear", "attention"), help="only this one")
    parser.add_argument("--threads", type=int, default=1, help="threads to compute with")
    parser.add_argument("--rounds", type=int, default=15, help="how often all take their turn")
    parser.add_argument("--json", action="store_true", help="write one JSON document to stdout")
    options = parser.parse_args()
    if options.threads < 1 or options.rounds < 1:
        parser.error("--threads and --rounds are numbers from 1 on")
    return options


if __name__ == "__main__":
    sys.exit(main())
