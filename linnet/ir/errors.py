"""The one exception of the Core IR: a broken invariant, which is our bug and not a user's."""

from __future__ import annotations


class BrokenIR(AssertionError):
    """A node, expression or graph that breaks the rules of `verify`, or IR text that does not
    parse. Deliberately no `LinnetError`: it must reach us with its traceback."""
