"""llama.cpp by way of llama-cpp-python: a GGUF file in f32 or bf16, keys and values in f32."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from linnet.bench.conversions import conversion
from linnet.bench.engine import Engine, Job, Prompts, need

FILE = "model.gguf"


class ThisEngine(Engine):
    title = "llama.cpp"
    packages = ("llama_cpp_python", "gguf")

    def check(self) -> None:
        need("llama_cpp")
        need("gguf")

    def prepare(self, job: Job) -> None:
        file = Path(job.folder) / FILE
        conversion(job.checkpoint, "llama_cpp").convert(Path(job.checkpoint), file, job.precision)

    def load(self, job: Job) -> None:
        self._api = need("llama_cpp")
        self._job = job
        api = self._api
        api.llama_backend_init()
        # Nothing is said about loading; errors still come back as null pointers.
        self._quiet = api.llama_log_callback(lambda level, words, data: None)
        api.llama_log_set(self._quiet, None)
        path = str(Path(job.folder) / FILE).encode()
        self._model = api.llama_model_load_from_file(path, api.llama_model_default_params())
        if not self._model:
            raise RuntimeError("llama.cpp refuses the converted file")
        self._vocabulary = api.llama_vocab_n_tokens(api.llama_model_get_vocab(self._model))
        self._context: Any = None
        self._rows = 0
        self._pos = 0
        self._open(1)

    def _open(self, rows: int) -> None:
        """A context for so many texts at once."""
        api = self._api
        if self._context is not None:
            api.llama_free(self._context)
        parameters = api.llama_context_default_params()
        parameters.n_ctx = self._job.context if rows == 1 else 128 * rows
        parameters.n_batch = max(self._job.context, 16 * rows)
        parameters.n_seq_max = rows
        parameters.n_threads = parameters.n_threads_batch = self._job.threads
        parameters.type_k = parameters.type_v = api.GGML_TYPE_F32
        self._context = api.llama_init_from_model(self._model, parameters)
        if not self._context:
            raise RuntimeError(f"llama.cpp makes no context for {rows} texts")
        self._rows = rows

    def prefill(self, prompts: Prompts) -> Any:
        if len(prompts) != self._rows:
            self._open(len(prompts))
        self._api.llama_memory_clear(self._api.llama_get_memory(self._context), True)
        self._pos = 0
        return self._step(prompts)

    def decode(self, tokens: Any) -> Any:
        return self._step([[token] for token in tokens])

    def _step(self, prompts: Prompts) -> list[int]:
        return [int(row.argmax()) for row in self._forward(prompts)]

    def _forward(self, prompts: Prompts) -> list[Any]:
        """The logits after the last token of each row, as views."""
        import numpy as np

        api, count = self._api, len(prompts[0])
        batch = api.llama_batch_init(len(prompts) * count, 0, 1)
        batch.n_tokens = len(prompts) * count
        lasts = []
        for row, prompt in enumerate(prompts):
            for k, token in enumerate(prompt):
                place = row * count + k
                batch.token[place], batch.pos[place] = token, self._pos + k
                batch.n_seq_id[place], batch.seq_id[place][0] = 1, row
                batch.logits[place] = k == count - 1
            lasts.append((row + 1) * count - 1)
        status = api.llama_decode(self._context, batch)
        api.llama_batch_free(batch)
        if status:
            raise RuntimeError(f"decoding ends with {status}")
        self._pos += count
        shape = (self._vocabulary,)
        return [
            np.ctypeslib.as_array(api.llama_get_logits_ith(self._context, last), shape)
            for last in lasts
        ]

    def logits(self, prompt: Sequence[int]) -> Any:
        self.prefill([prompt])
        self._api.llama_memory_clear(self._api.llama_get_memory(self._context), True)
        self._pos = 0
        return self._forward([prompt])[0].copy()
