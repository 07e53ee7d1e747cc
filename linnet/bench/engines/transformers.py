"""PyTorch by way of transformers: the family's reference, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linnet.bench.engine import BF16, F32, Engine, Job, Prompts, need


class ThisEngine(Engine):
    title = "transformers (torch)"
    packages = ("torch", "transformers")

    def check(self) -> None:
        need("torch")
        need("transformers")

    def load(self, job: Job) -> None:
        self._torch = need("torch")
        self._torch.set_num_threads(job.threads)
        self._model = load_model(job)
        self._cache: Any = None

    def prefill(self, prompts: Prompts) -> Any:
        self._cache = None
        return self._step(self._torch.tensor(prompts))

    def decode(self, tokens: Any) -> Any:
        return self._step(tokens)

    def _step(self, tokens: Any) -> Any:
        return self._forward(tokens).argmax(dim=-1, keepdim=True)

    def _forward(self, tokens: Any) -> Any:
        """The logits after the last token of each row."""
        with self._torch.inference_mode():
            out = self._model(
                input_ids=tokens, past_key_values=self._cache, use_cache=True, logits_to_keep=1
            )
        self._cache = out.past_key_values
        return out.logits[:, -1]

    def listed(self, tokens: Any) -> list[int]:
        found: list[int] = tokens[:, 0].tolist()
        return found

    def logits(self, prompt: Sequence[int]) -> Any:
        self._cache = None
        return self._forward(self._torch.tensor([prompt]))[0].float().numpy()


def load_model(job: Job) -> Any:
    """The checkpoint as a torch module in the job's precision."""
    need("transformers").logging.set_verbosity_error()
    auto = need("transformers").AutoModelForCausalLM
    dtype = {F32: need("torch").float32, BF16: need("torch").bfloat16}[job.precision]
    return auto.from_pretrained(job.checkpoint, dtype=dtype).eval()
