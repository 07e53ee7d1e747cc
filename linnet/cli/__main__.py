"""`python -m linnet.cli`: the same as the `linnet` command."""

from __future__ import annotations

from linnet.cli import main

main()
