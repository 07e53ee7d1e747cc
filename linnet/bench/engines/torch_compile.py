"""PyTorch with its compiler: decoding compiled over a cache of fixed size, prompts eager."""

from __future__ import annotations

from typing import Any

from linnet.bench.engine import Engine, Job, Prompts, Run, need
from linnet.bench.engines.transformers import load_model

WARM_UP = 4
"""Tokens of a text that is not timed, in which the compiler does its work."""


class ThisEngine(Engine):
    title = "torch.compile (static cache)"
    packages = ("torch", "transformers")

    def check(self) -> None:
        need("torch")
        need("transformers")

    def load(self, job: Job) -> None:
        self._torch = need("torch")
        self._torch.set_num_threads(job.threads)
        self._model = load_model(job)
        self._context = job.context
        self._compiled = self._torch.compile(self._model, mode="default", dynamic=False)
        self._cache: Any = None
        self._pos = 0
        self._warm: set[int] = set()

    def run(self, prompts: Prompts, count: int) -> Run:
        if count > 1 and len(prompts) not in self._warm:  # compiled at the first steps
            self._warm.add(len(prompts))
            super().run(prompts, WARM_UP)
        return super().run(prompts, count)

    def prefill(self, prompts: Prompts) -> Any:
        static = need("transformers").StaticCache
        self._cache = static(config=self._model.config, max_cache_len=self._context)
        self._pos = 0
        return self._step(self._model, self._torch.tensor(prompts))

    def decode(self, tokens: Any) -> Any:
        return self._step(self._compiled, tokens)

    def _step(self, model: Any, tokens: Any) -> Any:
        torch = self._torch
        count = tokens.shape[1]
        places = torch.arange(self._pos, self._pos + count)
        self._pos += count
        with torch.inference_mode():
            out = model(
                input_ids=tokens,
                position_ids=places[None],
                past_key_values=self._cache,
                use_cache=True,
                logits_to_keep=1,
            )
        return out.logits[:, -1].argmax(dim=-1, keepdim=True)

    def listed(self, tokens: Any) -> list[int]:
        found: list[int] = tokens[:, 0].tolist()
        return found
