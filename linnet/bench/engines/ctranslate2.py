"""CTranslate2: its own format, its own generation loop."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from linnet.bench.conversions import conversion
from linnet.bench.engine import (
    Engine,
    Job,
    NotForThisModelError,
    NotInstalledError,
    Prompts,
    Run,
    need,
    only_f32,
)


class ThisEngine(Engine):
    title = "CTranslate2"
    packages = ("ctranslate2",)

    def check(self) -> None:
        need("ctranslate2")

    def prepare(self, job: Job) -> None:
        only_f32(job)
        try:
            conversion(job.checkpoint, "ctranslate2").convert(
                Path(job.checkpoint), Path(job.folder)
            )
        except NotForThisModelError:
            _convert(job)

    def load(self, job: Job) -> None:
        self._generator = need("ctranslate2").Generator(
            job.folder, device="cpu", compute_type="float32", intra_threads=job.threads
        )

    def run(self, prompts: Prompts, count: int) -> Run:
        rows = len(prompts)
        run = Run(time.monotonic(), [[] for _ in prompts])

        def took(step: Any) -> bool:
            run.ids[step.batch_id].append(step.token_id)
            if sum(map(len, run.ids)) == rows * (len(run.times) + 1):
                run.times.append(time.monotonic())
            return False

        self._generator.generate_batch(
            [[f"t{token}" for token in prompt] for prompt in prompts],
            max_length=count,
            min_length=count,
            sampling_topk=1,
            include_prompt_in_result=False,
            end_token=[],
            callback=took,
        )
        return run


class _Ids:
    """A tokenizer whose tokens are their own ids: ids are what is given and taken, and the texts
    of tokens only have to be different."""

    def __init__(self, config: Any) -> None:
        self._count = config.vocab_size
        end = config.eos_token_id
        end = end[0] if isinstance(end, list) and end else end
        self.eos_token = self.bos_token = self.unk_token = f"t{end or 0}"

    def get_vocab(self) -> dict[str, int]:
        return {f"t{k}": k for k in range(self._count)}


def _convert(job: Job) -> None:
    """The library's own conversion, by way of transformers, for models that it knows."""
    try:
        module = need("ctranslate2.converters.transformers")
        need("torch")
        config = need("transformers").AutoConfig.from_pretrained(job.checkpoint)
    except NotInstalledError as error:
        raise NotForThisModelError(
            f"there is no conversion for it here, and its own is not to be had: {error}"
        ) from error

    class Converter(module.TransformersConverter):  # type: ignore[misc, name-defined]
        def load_tokenizer(self, tokenizer_class: Any, name: str, **options: Any) -> Any:
            return _Ids(config)

    try:
        Converter(job.checkpoint).convert(job.folder, force=True)
    except ValueError as error:
        raise NotForThisModelError(
            f"its own conversion says: {str(error).split('(')[0]}"
        ) from error
