"""Every kind of comment in every gap between tokens of every source of the repository.

    python -m tests.tools.comment_trial [WORD...]

formats each such text twice: the tree must stay as it was, every comment in its gap, and the second
time nothing may change. Some minutes; with words, only files whose path contains one of them.
`tests/fmt` tries a sample of the same cases.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from fmt.checks import CASES, check_comments, repository_files  # noqa: E402


def main() -> int:
    words = sys.argv[1:]
    failed = tried = 0
    started = time.process_time()
    for path in repository_files():
        name = str(path.relative_to(ROOT))
        if words and not any(word in name for word in words):
            continue
        for case in CASES:
            tried += 1
            try:
                check_comments(path, [case])
            except Exception as error:
                failed += 1
                text = str(error).strip().split(chr(10))[0]
                print(f"{name} {case}: {type(error).__name__} {text}", flush=True)
    seconds = time.process_time() - started
    print(f"{tried - failed} of {tried} texts formatted faithfully, {seconds:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
