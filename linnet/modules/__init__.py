"""From a root file to the closed set of modules it needs."""

from __future__ import annotations

from linnet.modules.graph import ModuleGraph
from linnet.modules.load import load, read_source

__all__ = ["ModuleGraph", "load", "read_source"]
