"""The numpy interpreter of the Core IR: the ground truth every other backend is held against."""

from __future__ import annotations

from linnet.interp.arrays import from_boundary, to_boundary
from linnet.interp.run import call_function, run

__all__ = ["call_function", "from_boundary", "run", "to_boundary"]
