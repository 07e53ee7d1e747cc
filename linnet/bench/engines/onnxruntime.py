"""ONNX Runtime: a graph with its fused attention over caches that are written in place."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from linnet.bench.conversions import conversion
from linnet.bench.engine import Engine, Job, Prompts, need, only_f32

FILE = "model.onnx"


class ThisEngine(Engine):
    title = "ONNX Runtime"
    packages = ("onnxruntime", "onnx")

    def check(self) -> None:
        need("onnxruntime")
        need("onnx")

    def prepare(self, job: Job) -> None:
        only_f32(job)
        file = Path(job.folder) / FILE
        conversion(job.checkpoint, "onnxruntime").convert(Path(job.checkpoint), file)

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
