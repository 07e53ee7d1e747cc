"""OpenVINO: a graph with its own attention over a state, which its CPU plugin fuses."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from linnet.bench.conversions import conversion
from linnet.bench.engine import Engine, Job, Prompts, need

FILE = "model.xml"


class ThisEngine(Engine):
    title = "OpenVINO"
    packages = ("openvino",)

    def check(self) -> None:
        need("openvino")

    def prepare(self, job: Job) -> None:
        file = Path(job.folder) / FILE
        conversion(job.checkpoint, "openvino").convert(Path(job.checkpoint), file)

    def load(self, job: Job) -> None:
        import numpy as np

        core = need("openvino").Core()
        settings = {
            "INFERENCE_NUM_THREADS": job.threads,
            "INFERENCE_PRECISION_HINT": job.precision,
            "KV_CACHE_PRECISION": job.precision,
            "PERFORMANCE_HINT": "LATENCY",
        }
        compiled = core.compile_model(str(Path(job.folder) / FILE), "CPU", settings)
        self._request = compiled.create_infer_request()
        self._pos = 0
        self._np = np

    def prefill(self, prompts: Prompts) -> Any:
        return self._likeliest(self._start(prompts))

    def decode(self, tokens: Any) -> Any:
        return self._likeliest(self._forward(tokens))

    def _likeliest(self, logits: Any) -> Any:
        return logits.argmax(axis=1)[:, None]

    def _start(self, prompts: Prompts) -> Any:
        self._request.reset_state()
        self._pos = 0
        return self._forward(self._np.array(prompts, self._np.int64))

    def _forward(self, tokens: Any) -> Any:
        """The logits after the last token of each row."""
        np = self._np
        rows, count = tokens.shape
        places = np.broadcast_to(np.arange(self._pos, self._pos + count), tokens.shape)
        self._pos += count
        found = self._request.infer(
            {
                "tokens": np.ascontiguousarray(tokens),
                "places": np.ascontiguousarray(places),
                "rows": np.arange(rows, dtype=np.int32),
            },
            share_outputs=True,
        )
        return found[0]

    def listed(self, tokens: Any) -> list[int]:
        found: list[int] = tokens[:, 0].tolist()
        return found

    def logits(self, prompt: Sequence[int]) -> Any:
        return self._start([prompt])[0]
