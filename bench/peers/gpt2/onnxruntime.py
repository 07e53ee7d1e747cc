"""GPT-2 as an ONNX graph with ONNX Runtime's fused attention over caches written in place."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from linnet.bench.engine import NotForThisModelError, need

from .checkpoint import Sizes, read


def convert(checkpoint: Path, file: Path) -> None:
    """Write the graph. Raises NotForThisModelError for heads that the attention does not take."""
    sizes, tensors = read(checkpoint)
    if sizes.width // sizes.heads % 8:
        raise NotForThisModelError("its fused attention takes heads of a multiple of 8")
    need("onnx").save(_Graph(sizes, tensors).model(), str(file))


class _Graph:
    """The model as an ONNX graph: one prompt or one step a row, logits of the last place."""

    def __init__(self, sizes: Sizes, tensors: Mapping[str, Any]) -> None:
        self._onnx = need("onnx")
        self._helper = need("onnx.helper")
        self._kind = need("onnx").TensorProto
        self._sizes = sizes
        self._tensors = tensors
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def model(self) -> Any:
        import numpy as np

        sizes, helper, kind = self._sizes, self._helper, self._kind
        self._constant("minus_one", np.array(-1, np.int64))
        for name in ("wte.weight", "wpe.weight"):
            self._constant(name, self._tensors[name])
        tokens = self._op("Gather", ["wte.weight", "tokens"])
        x = self._op("Add", [tokens, self._op("Gather", ["wpe.weight", "places"])])
        for number in range(sizes.layers):
            x = self._layer(x, number)
        x = self._op("Gather", [x, "minus_one"], axis=1)
        self._op("Gemm", [self._norm(x, "ln_f"), "wte.weight"], out=["logits"], transB=1)
        width = sizes.width // sizes.heads
        cache = ["rows", sizes.heads, "context", width]
        pairs = [f"{what}_{n}" for n in range(sizes.layers) for what in ("key", "value")]
        info = helper.make_tensor_value_info
        inputs = [
            info("tokens", kind.INT64, ["rows", "count"]),
            info("places", kind.INT64, ["rows", "count"]),
            info("last", kind.INT32, ["rows"]),
            info("total", kind.INT32, []),
            *(info(f"past_{name}", kind.FLOAT, cache) for name in pairs),
        ]
        outputs = [
            *(info(f"present_{name}", kind.FLOAT, cache) for name in pairs),
            info("logits", kind.FLOAT, ["rows", sizes.vocabulary]),
        ]
        graph = helper.make_graph(self._nodes, "model", inputs, outputs, self._constants)
        versions = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=versions, ir_version=10)

    def _layer(self, x: str, number: int) -> str:
        sizes, name = self._sizes, f"h.{number}"
        qkv = self._linear(self._norm(x, f"{name}.ln_1"), f"{name}.attn.c_attn")
        parts = [f"{name}.{part}" for part in ("query", "key", "value")]
        self._op("Split", [qkv], out=parts, axis=2, num_outputs=3)
        self._op(
            "GroupQueryAttention",
            [*parts, f"past_key_{number}", f"past_value_{number}", "last", "total"],
            out=[f"{name}.mixed", f"present_key_{number}", f"present_value_{number}"],
            domain="com.microsoft",
            num_heads=sizes.heads,
            kv_num_heads=sizes.heads,
        )
        x = self._op("Add", [x, self._linear(f"{name}.mixed", f"{name}.attn.c_proj")])
        inner = self._linear(self._norm(x, f"{name}.ln_2"), f"{name}.mlp.c_fc")
        inner = self._op("Gelu", [inner], approximate="tanh")
        return self._op("Add", [x, self._linear(inner, f"{name}.mlp.c_proj")])

    def _norm(self, x: str, name: str) -> str:
        given = [x, *self._parameters(name)]
        return self._op("LayerNormalization", given, axis=-1, epsilon=self._sizes.epsilon)

    def _linear(self, x: str, name: str) -> str:
        weight, bias = self._parameters(name)
        return self._op("Add", [self._op("MatMul", [x, weight]), bias])

    def _parameters(self, name: str) -> list[str]:
        names = [f"{name}.weight", f"{name}.bias"]
        for each in names:
            self._constant(each, self._tensors[each])
        return names

    def _constant(self, name: str, array: Any) -> None:
        self._constants.append(need("onnx.numpy_helper").from_array(array, name))

    def _op(
        self,
        kind: str,
        given: list[str],
        *,
        out: list[str] | None = None,
        domain: str = "",
        **attributes: Any,
    ) -> str:
        """Add a node; the name of its first result."""
        results = out or [f"{kind.lower()}_{len(self._nodes)}"]
        node = self._helper.make_node(kind, given, results, domain=domain, **attributes)
        self._nodes.append(node)
        return results[0]
