"""ONNX Runtime: a graph with its fused attention over caches that are written in place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from linnet.bench.engine import Engine, Job, NotForThisModelError, Prompts, need, only_f32
from linnet.bench.gpt2_weights import Sizes, read

FILE = "model.onnx"


class ThisEngine(Engine):
    title = "ONNX Runtime"
    packages = ("onnxruntime", "onnx")

    def check(self) -> None:
        need("onnxruntime")
        need("onnx")

    def prepare(self, job: Job) -> None:
        only_f32(job)
        sizes, tensors = read(Path(job.checkpoint))
        if sizes.width // sizes.heads % 8:
            raise NotForThisModelError("its fused attention takes heads of a multiple of 8")
        need("onnx").save(_Graph(sizes, tensors).model(), str(Path(job.folder) / FILE))

    def load(self, job: Job) -> None:
        import numpy as np

        runtime = need("onnxruntime")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = job.threads
        options.inter_op_num_threads = 1
        self._session = runtime.InferenceSession(
            str(Path(job.folder) / FILE), options, providers=["CPUExecutionProvider"]
        )
        self._value = runtime.OrtValue.ortvalue_from_numpy
        self._context = job.context
        self._caches: dict[str, Any] = {}
        self._rows = 0
        self._pos = 0
        self._np = np

    def prefill(self, prompts: Prompts) -> Any:
        tokens = self._np.array(prompts, self._np.int64)
        if len(prompts) != self._rows:
            self._rows = len(prompts)
            shapes = {i.name: i.shape for i in self._session.get_inputs()}
            self._caches = {
                name: self._value(
                    self._np.zeros((self._rows, shape[1], self._context, shape[3]), "f4")
                )
                for name, shape in shapes.items()
                if name.startswith("past_")
            }
        self._pos = 0
        return self._step(tokens)

    def decode(self, tokens: Any) -> Any:
        return self._step(tokens)

    def _step(self, tokens: Any) -> Any:
        return self._forward(tokens).argmax(axis=1)[:, None]

    def _forward(self, tokens: Any) -> Any:
        """The logits after the last token of each row."""
        np = self._np
        rows, count = tokens.shape
        end = self._pos + count
        binding = self._session.io_binding()
        for name, array in {
            "tokens": tokens,
            "places": np.broadcast_to(np.arange(self._pos, end), tokens.shape).copy(),
            "last": np.full(rows, end - 1, np.int32),
            "total": np.array(end, np.int32),
        }.items():
            binding.bind_cpu_input(name, array)
        for name, cache in self._caches.items():
            binding.bind_ortvalue_input(name, cache)
            binding.bind_ortvalue_output(name.replace("past_", "present_"), cache)
        binding.bind_output("logits")
        self._session.run_with_iobinding(binding)
        self._pos = end
        return binding.get_outputs()[-1].numpy()

    def listed(self, tokens: Any) -> list[int]:
        found: list[int] = tokens[:, 0].tolist()
        return found

    def logits(self, prompt: Sequence[int]) -> Any:
        self.prefill([prompt])
        self._pos = 0
        return self._forward(self._np.array([prompt], self._np.int64))[0]


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
