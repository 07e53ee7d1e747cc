"""GPT-2 as an OpenVINO graph with its own attention over a state, which its CPU plugin fuses."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from linnet.bench.engine import need

from .checkpoint import Sizes, read


def convert(checkpoint: Path, file: Path) -> None:
    """Write the graph."""
    model = _Graph(*read(checkpoint)).model()
    need("openvino").save_model(model, str(file), compress_to_fp16=False)


class _Graph:
    """The model as an OpenVINO graph with keys and values as state."""

    def __init__(self, sizes: Sizes, tensors: Mapping[str, Any]) -> None:
        self._api = need("openvino")
        self._ops = need("openvino.opset15")
        self._sizes = sizes
        self._tensors = tensors
        self._assigned: list[Any] = []

    def model(self) -> Any:
        ops, kind = self._ops, self._api.Type
        tokens = self._input("tokens", [-1, -1], kind.i64)
        places = self._input("places", [-1, -1], kind.i64)
        rows = self._input("rows", [-1], kind.i32)
        self._rows = rows
        table = self._constant("wte.weight")
        x = ops.add(
            ops.gather(table, tokens, self._number(0)),
            ops.gather(self._constant("wpe.weight"), places, self._number(0)),
        )
        count = ops.gather(ops.shape_of(tokens, "i64"), self._number(0), self._number(0))
        self._count = ops.unsqueeze(count, self._number(0))
        for number in range(self._sizes.layers):
            x = self._layer(x, number)
        last = ops.gather(x, self._number(-1), self._number(1))
        logits = ops.matmul(self._norm(last, "ln_f"), table, False, True)
        result = ops.result(logits, name="logits")
        return self._api.Model([result], self._assigned, [tokens, places, rows], "model")

    def _layer(self, x: Any, number: int) -> Any:
        ops, name = self._ops, f"h.{number}"
        qkv = self._linear(self._norm(x, f"{name}.ln_1"), f"{name}.attn.c_attn")
        query, key, value = (
            self._heads(part) for part in ops.split(qkv, self._number(2), 3).outputs()
        )
        keys = self._remembered(key, f"key_{number}")
        values = self._remembered(value, f"value_{number}")
        mixed = ops.scaled_dot_product_attention(query, keys, values, causal=True)
        back = ops.transpose(mixed, self._list([0, 2, 1, 3]))
        joined = ops.reshape(back, self._list([0, 0, self._sizes.width]), True)
        x = ops.add(x, self._linear(joined, f"{name}.attn.c_proj"))
        inner = self._linear(self._norm(x, f"{name}.ln_2"), f"{name}.mlp.c_fc")
        inner = ops.gelu(inner, "tanh")
        return ops.add(x, self._linear(inner, f"{name}.mlp.c_proj"))

    def _heads(self, x: Any) -> Any:
        ops, heads = self._ops, self._sizes.heads
        width = self._sizes.width // heads
        cut = ops.reshape(x, self._list([0, 0, heads, width]), True)
        return ops.transpose(cut, self._list([0, 2, 1, 3]))

    def _remembered(self, new: Any, name: str) -> Any:
        """The state of that name with `new` at its end; the form that the plugin knows."""
        ops, heads = self._ops, self._sizes.heads
        width = self._sizes.width // heads
        info = need("openvino.op.util").VariableInfo()
        info.data_shape = self._api.PartialShape([-1, heads, -1, width])
        info.data_type = self._api.Type.f32
        info.variable_id = name
        variable = need("openvino.op.util").Variable(info)
        shape = ops.concat([self._count, self._list([heads, 0, width])], 0)
        nothing = ops.broadcast(ops.constant(0.0, self._api.Type.f32), shape)
        past = ops.gather(ops.read_value(nothing, variable), self._rows, self._number(0))
        whole = ops.concat([past, new], 2)
        self._assigned.append(ops.assign(whole, variable))
        return whole

    def _norm(self, x: Any, name: str) -> Any:
        ops = self._ops
        even = ops.mvn(x, self._list([-1]), True, self._sizes.epsilon, "inside_sqrt")
        scaled = ops.multiply(even, self._constant(f"{name}.weight"))
        return ops.add(scaled, self._constant(f"{name}.bias"))

    def _linear(self, x: Any, name: str) -> Any:
        ops = self._ops
        product = ops.matmul(x, self._constant(f"{name}.weight"), False, False)
        return ops.add(product, self._constant(f"{name}.bias"))

    def _input(self, name: str, shape: list[int], kind: Any) -> Any:
        found = self._ops.parameter(self._api.PartialShape(shape), kind, name=name)
        found.output(0).set_names({name})
        return found

    def _constant(self, name: str) -> Any:
        return self._ops.constant(self._tensors[name])

    def _number(self, value: int) -> Any:
        return self._ops.constant(value, self._api.Type.i64)

    def _list(self, values: list[int]) -> Any:
        return self._ops.constant(values, self._api.Type.i64)
