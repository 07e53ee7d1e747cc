"""What transformers makes of inputs: run as a program of its own, by whichever Python has it.

One JSON object comes on stdin, one goes to stdout; whatever libraries print goes to stderr. This
file imports nothing of the project, so that the other Python needs none of its packages.

    {"task": "text-generation", "checkpoint": DIR, "prompts": [[ids]], "counts": [n]}
        -> {"ids": [[ids]], "ends": [ids that end a text], "stack": "transformers 5.24.0, ..."}
    {"task": "embedding", "checkpoint": DIR, "texts": ["..."]}
        -> {"vectors": [[numbers]], "stack": ...}
    {"task": "image-classification", "checkpoint": DIR, "images": [FILE], "top": 5}
        -> {"classes": [[[label, score]]], "stack": ...}

`{"missing": "..."}` says that a library is not installed, `{"error": "..."}` that one failed.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module, metadata
from typing import Any


def main() -> None:
    out = sys.stdout
    sys.stdout = sys.stderr
    request = json.load(sys.stdin)
    out.write(json.dumps(answer(request)) + "\n")
    out.flush()


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The answer to one request; an error becomes one that says so."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    try:
        torch, transformers = map(import_module, ("torch", "transformers"))
    except ImportError as error:
        return {"missing": str(error)}
    transformers.logging.set_verbosity_error()
    tasks = {
        "text-generation": _generation,
        "embedding": _embedding,
        "image-classification": _classification,
    }
    try:
        with torch.inference_mode():
            found: dict[str, Any] = tasks[request["task"]](torch, transformers, request)
    except Exception as error:  # whatever a foreign library raises is the answer
        return {"error": f"{type(error).__name__}: {error}"}
    return found


def _stack(more: str) -> str:
    versions = [f"{name} {metadata.version(name)}" for name in ("transformers", "torch")]
    return ", ".join([*versions, "f32", more])


def _generation(torch: Any, transformers: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Greedy, a token at a time, with the whole text each time: nothing but the forward pass."""
    model = transformers.AutoModelForCausalLM.from_pretrained(
        request["checkpoint"], dtype=torch.float32, attn_implementation="eager"
    ).eval()
    ends = model.generation_config.eos_token_id
    ends = ends if isinstance(ends, list) else [] if ends is None else [ends]
    results = []
    for prompt, count in zip(request["prompts"], request["counts"], strict=True):
        ids = list(prompt)
        for _ in range(count):
            logits = model(input_ids=torch.tensor([ids]), use_cache=False).logits
            ids.append(int(logits[0, -1].argmax()))
            if ids[-1] in ends:
                break
        results.append(ids[len(prompt) :])
    return {"ids": results, "ends": ends, "stack": _stack("eager attention")}


def _embedding(torch: Any, transformers: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Each text alone, pooled as the checkpoint's files for sentence embeddings say, else as the
    mean over all tokens; normalised unless they say otherwise."""
    folder = request["checkpoint"]
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager"
    ).eval()
    mode, normalised = _pooling(folder)
    vectors = []
    for text in request["texts"]:
        hidden = model(**tokenizer(text, return_tensors="pt", truncation=True)).last_hidden_state[0]
        vector = hidden[0] if mode == "cls" else hidden.mean(dim=0)
        if normalised:
            vector = torch.nn.functional.normalize(vector, dim=0)
        vectors.append(_plain(vector))
    words = f"{mode} pooling" + (", normalised" if normalised else "")
    return {"vectors": vectors, "stack": _stack(words)}


def _pooling(folder: str) -> tuple[str, bool]:
    modules = _read(os.path.join(folder, "modules.json"))
    if not isinstance(modules, list):
        return "mean", True
    paths = {str(m.get("type", "")).rpartition(".")[2]: m.get("path", "") for m in modules}
    config = _read(os.path.join(folder, paths.get("Pooling", ""), "config.json"))
    if not isinstance(config, dict) or "Pooling" not in paths:
        return "mean", "Normalize" in paths
    return ("cls" if config.get("pooling_mode_cls_token") else "mean"), "Normalize" in paths


def _read(file: str) -> Any:
    try:
        with open(file, encoding="utf-8") as data:
            return json.load(data)
    except (OSError, ValueError):
        return None


def _classification(torch: Any, transformers: Any, request: dict[str, Any]) -> dict[str, Any]:
    open_image = import_module("PIL.Image").open
    folder = request["checkpoint"]
    processor = transformers.AutoImageProcessor.from_pretrained(folder, use_fast=False)
    model = transformers.AutoModelForImageClassification.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager"
    ).eval()
    results = []
    for file in request["images"]:
        pixels = processor(open_image(file).convert("RGB"), return_tensors="pt")
        scores = model(**pixels).logits[0].double().softmax(dim=0)
        values, places = scores.topk(min(request["top"], len(scores)))
        labels = [model.config.id2label[int(n)] for n in places]
        results.append([list(pair) for pair in zip(labels, values.tolist(), strict=True)])
    return {"classes": results, "stack": _stack("eager attention")}


def _plain(vector: Any) -> list[float]:
    """Numbers of f32 in the shortest form that gives them back."""
    return [float(f"{x:.9g}") for x in vector.tolist()]


if __name__ == "__main__":
    main()
