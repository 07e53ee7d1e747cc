"""What the entries of a unit share: weights, states, and the names of their buffers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from linnet.dims import Dim
from linnet.ir.node import Named, Node
from linnet.plan.types import Buffer, Space, WeightOrder

PACKED = "_packed"


@dataclass
class Tables:
    """In order of first use. `wanted` are the packed weights some kernel of the unit cannot do
    without; a kernel with a choice takes one of these rather than a layout of its own. `stored`
    maps parameters that the checkpoint holds in bf16 or f16 to that dtype: where they are
    packed they stay in it, and kernels widen as they read."""

    wanted: frozenset[WeightOrder] = frozenset()
    stored: Mapping[str, str] = field(default_factory=dict)
    weights: dict[WeightOrder, Buffer] = field(default_factory=dict)
    states: dict[str, Node] = field(default_factory=dict)
    state_buffers: dict[str, Buffer] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    def weight(self, order: WeightOrder, dims: tuple[Dim, ...]) -> Buffer:
        """The buffer of a weight in a layout."""
        if order not in self.weights:
            name = self.name(order.path, self._suffix(order))
            self.weights[order] = Buffer(name, Space.WEIGHT, order.dtype, dims, len(self.weights))
        return self.weights[order]

    def _suffix(self, order: WeightOrder) -> str:
        """Tells the layouts of one weight apart; a weight and its transpose may both be packed."""
        if order.layout == "dense":
            return ""
        packed = [o for o in self.weights if o.path == order.path and o.layout != "dense"]
        return f"{PACKED}_{len(packed) + 1}" if packed else PACKED

    def state(self, node: Node) -> Buffer:
        """The buffer of a STATE leaf."""
        assert isinstance(node.attrs, Named)
        path = node.attrs.name
        if path not in self.states:
            self.states[path] = node
            self.state_buffers[path] = Buffer(
                self.name(path),
                Space.STATE,
                node.type.dtype,
                node.type.dims,
                len(self.state_buffers),
            )
        return self.state_buffers[path]

    def name(self, path: str, suffix: str = "") -> str:
        """The name of a member's buffer: its path, told apart from `a.b` where it is `a_b`."""
        name = path.replace(".", "_") + suffix
        while self.names.setdefault(name, path + suffix) != path + suffix:
            name += "_"
        return name
