"""A wrong program for every code, the same repaired, and how to state what was missing.

Plain data beside `codes`, for `linnet explain` and the documentation. A test checks every program:
the wrong one gives exactly its code, the repaired one nothing.
"""

from __future__ import annotations

from linnet.diag.example import Example
from linnet.diag.examples_names import NAMES
from linnet.diag.examples_rules import RULES
from linnet.diag.examples_types import TYPES

EXAMPLES: dict[str, Example] = {**NAMES, **TYPES, **RULES}
