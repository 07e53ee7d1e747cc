"""Typed trees with bound generics to the Core IR: the last stage that knows the language."""

from __future__ import annotations

from linnet.lower.entry import lower_entry
from linnet.lower.manifest import bound_generics, manifest
from linnet.lower.op import lower_op

__all__ = ["bound_generics", "lower_entry", "lower_op", "manifest"]
