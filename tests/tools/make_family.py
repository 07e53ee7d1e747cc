#!/usr/bin/env python3
"""Make the small random checkpoints of the family tests, and what transformers makes of them.

    make_family.py FAMILY...

`tests/families/FAMILY.json` lists the configs. Each becomes the folder
`tests/data/families/FAMILY-<n>` as `save_pretrained` writes it, with `references.npz` beside the
weights: the inputs, and the results of transformers in f32 for them. Needs torch and transformers
(extra `bench`); the tests read the folders and need neither.

The weights are not the training-time N(0, 0.02), with which every answer is nearly the same:
matrices keep the scale of what they map, norms and biases differ from 1 and 0, so that a loader
which forgets or swaps one is noticed. A config whose greedy choices are close calls, or always
the same, is drawn again.

A family file:

    { "model_type": "llama",          the name transformers knows the config class by
      "entry": "llama",               the entry of the zoo
      "task": "text-generation",      one of TASKS below
      "inputs": { ... },              what the task draws its inputs from
      "configs": [ { "about": "what is special", "dtype": "float32",
                     "class": "...",              of transformers, if the task's is not meant
                     "config": { ... },           for the config class
                     "published": { ... },        keys to write over in config.json: older forms
                     "drop": [ ... ],             keys to take out of it
                     "preprocessor": { ... } } ] }   preprocessor_config.json, of models of images
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

TESTS = Path(__file__).parents[1]
FAMILIES = TESTS / "families"
DATA = TESTS / "data" / "families"
REFERENCES = "references.npz"
PREPROCESSOR = "preprocessor_config.json"

Arrays = dict[str, np.ndarray]

STEPS = 32
LEAST_MARGIN = 0.01
"""Between the best and the second logit, at every step of the greedy text."""
DRAWS = 400


class Unfit(Exception):
    """These weights do not tell a right program from a wrong one well enough."""


@dataclass(frozen=True)
class Task:
    """How a model for a task is made, and what is stored of it.

    `refer` takes the model in f32, the family's inputs and a source of chance, and gives the
    inputs and results by name. It raises Unfit for weights that should be drawn again."""

    auto: type
    refer: Callable[[Any, Mapping[str, Any], np.random.Generator], Arrays]


def text_generation(model: Any, inputs: Mapping[str, Any], draw: np.random.Generator) -> Arrays:
    """prompt<k> i32[n], logits<k> f32[n, Vocab], greedy<k> i32[32] for prompts of `lengths`."""
    stored: Arrays = {}
    for k, length in enumerate(inputs["lengths"]):
        prompt = draw.integers(0, model.config.vocab_size, length).astype(np.int32)
        stored[f"prompt{k}"] = prompt
        stored[f"logits{k}"] = model(_batch(prompt)).logits[0].numpy()
        stored[f"greedy{k}"] = _continuation(model, prompt)
    return stored


def _continuation(model: Any, prompt: np.ndarray) -> np.ndarray:
    """The greedy ids after `prompt`, from the whole text so far each time."""
    ids = prompt.tolist()
    for _ in range(STEPS):
        best = torch.topk(model(_batch(np.array(ids))).logits[0, -1], 2)
        margin = float(best.values[0] - best.values[1])
        if margin < LEAST_MARGIN:
            raise Unfit(f"a margin of {margin:.4f}")
        ids.append(int(best.indices[0]))
    found = np.array(ids[len(prompt) :], np.int32)
    if len(set(found.tolist())) < STEPS // 4:
        raise Unfit("always the same ids")
    return found


def _batch(ids: np.ndarray) -> torch.Tensor:
    return torch.tensor(ids[None].astype(np.int64))


def embedding(model: Any, inputs: Mapping[str, Any], draw: np.random.Generator) -> Arrays:
    """tokens<k> and kinds<k> i32[n] for texts of `lengths`; hidden<k> f32[n, H], the last layer's
    vectors, and embedding<k> f32[H], their mean over its norm: all from one padded batch."""
    stored: Arrays = {}
    lengths = inputs["lengths"]
    kinds = model.config.type_vocab_size
    whole = (len(lengths), max(lengths))
    tokens, types = draw.integers(0, model.config.vocab_size, whole), draw.integers(0, kinds, whole)
    real = np.arange(whole[1]) < np.array(lengths)[:, None]
    arrays = {"input_ids": tokens, "token_type_ids": types, "attention_mask": real.astype(np.int64)}
    hidden = model(**{name: torch.tensor(array) for name, array in arrays.items()})[0].numpy()
    for k, length in enumerate(lengths):
        mean = hidden[k, :length].astype(np.float64).mean(axis=0)
        stored[f"tokens{k}"] = tokens[k, :length].astype(np.int32)
        stored[f"kinds{k}"] = types[k, :length].astype(np.int32)
        stored[f"hidden{k}"] = hidden[k, :length]
        stored[f"embedding{k}"] = (mean / np.linalg.norm(mean)).astype(np.float32)
    return stored


def image_classification(
    model: Any, inputs: Mapping[str, Any], draw: np.random.Generator
) -> Arrays:
    """image<k> u8[h, w, C] of `sizes`; pixels<k> f32[C, Size, Size], the same as transformers
    prepares them by Pillow; logits<k> f32[Classes]."""
    import PIL.Image
    from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil

    prepare = ViTImageProcessorPil.from_pretrained(model.name_or_path)
    stored: Arrays = {}
    for k, (height, width) in enumerate(inputs["sizes"]):
        image = _picture(height, width, model.config.num_channels, draw)
        picture = PIL.Image.fromarray(image.squeeze(2) if image.shape[2] == 1 else image)
        pixels = prepare(picture, return_tensors="np")
        pixels = np.stack(pixels["pixel_values"]).astype(np.float32)
        logits = model(torch.tensor(pixels)).logits
        best = torch.topk(logits[0], 2).values
        if float(best[0] - best[1]) < LEAST_MARGIN:
            raise Unfit(f"a margin of {float(best[0] - best[1]):.4f}")
        stored[f"image{k}"], stored[f"pixels{k}"] = image, pixels[0]
        stored[f"logits{k}"] = logits[0].numpy()
    if len({int(stored[f"logits{k}"].argmax()) for k in range(len(inputs["sizes"]))}) == 1:
        raise Unfit("always the same class")
    return stored


def _picture(height: int, width: int, channels: int, draw: np.random.Generator) -> np.ndarray:
    """Waves of another length and direction in each channel, and some noise."""
    y, x = np.mgrid[0 : 1 : height * 1j, 0 : 1 : width * 1j][..., None]
    a, b, c = draw.uniform(-9, 9, (3, channels))
    waves = np.sin(a * x + b * y + c) + 0.2 * draw.standard_normal((height, width, channels))
    return np.clip(127.5 * (waves + 1), 0, 255).astype(np.uint8)


TASKS = {
    "text-generation": Task(transformers.AutoModelForCausalLM, text_generation),
    "embedding": Task(transformers.AutoModel, embedding),
    "image-classification": Task(
        transformers.AutoModelForImageClassification, image_classification
    ),
}


def references(folder: Path, family: Mapping[str, Any], seed: int) -> Arrays:
    """What transformers makes of the checkpoint in `folder`, in f32."""
    task = TASKS[family["task"]]
    model = task.auto.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager", local_files_only=True
    )
    model.eval()
    with torch.no_grad():
        return task.refer(model, family["inputs"], np.random.default_rng(seed))


def randomise(model: Any, seed: int) -> None:
    """Fill all weights. Parameters that are neither of a linear map, a convolution, a table nor
    a norm (a class token, positions) get a spread of 0.5. Tables beside that of tokens get 1.5:
    with faint positions, the greedy text of a tied head ends in one id."""
    chance = torch.Generator().manual_seed(seed)

    def bell(like: torch.Tensor, spread: float, mean: float = 0.0) -> torch.Tensor:
        return mean + spread * torch.randn(like.shape, generator=chance)

    head = getattr(model, "get_output_embeddings", lambda: None)()
    tokens = getattr(model, "get_input_embeddings", lambda: None)()
    for module in model.modules():
        for name, weight in module.named_parameters(recurse=False):
            if name == "bias":
                weight.data = bell(weight, 0.2)
            elif isinstance(module, torch.nn.Embedding):
                # Small: a tied head would mostly answer with the last id it was given.
                small = 2.0 / weight.shape[1] ** 0.5
                weight.data = bell(weight, small if module is tokens else 1.5)
            elif isinstance(module, torch.nn.Linear | torch.nn.Conv2d):
                inputs = weight[0].numel()
                weight.data = bell(weight, (3.0 if module is head else 1.4) / inputs**0.5)
            elif weight.ndim == 1:
                weight.data = bell(weight, 0.15, mean=1.0)
            else:
                weight.data = bell(weight, 0.5)
    if getattr(model.config, "tie_word_embeddings", False):
        model.tie_weights()


def write(folder: Path, family: Mapping[str, Any], described: Mapping[str, Any], seed: int) -> None:
    """The checkpoint and its references. Raises Unfit."""
    config = transformers.AutoConfig.for_model(family["model_type"], **described["config"])
    if "class" in described:
        model = getattr(transformers, described["class"])(config)
    else:
        model = TASKS[family["task"]].auto.from_config(config, attn_implementation="eager")
    randomise(model, seed)
    shutil.rmtree(folder, ignore_errors=True)
    model.to(getattr(torch, described.get("dtype", "float32"))).save_pretrained(folder)
    _publish(folder / "config.json", described)
    if "preprocessor" in described:
        (folder / PREPROCESSOR).write_text(json.dumps(described["preprocessor"], indent=2) + "\n")
    found = references(folder, family, seed)
    np.savez_compressed(folder / REFERENCES, seed=np.int64(seed), **found)


def _publish(file: Path, described: Mapping[str, Any]) -> None:
    config = json.loads(file.read_text(encoding="utf-8"))
    for key in described.get("drop", []):
        del config[key]
    config |= described.get("published", {})
    file.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("families", nargs="+", metavar="FAMILY")
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)  # the models are so small that others only get in each other's way
    for name in parser.parse_args().families:
        family = json.loads((FAMILIES / f"{name}.json").read_text(encoding="utf-8"))
        for n, described in enumerate(family["configs"], start=1):
            folder = DATA / f"{name}-{n}"
            for seed in range(1000 * n, 1000 * n + DRAWS):
                try:
                    write(folder, family, described, seed)
                except Unfit as unfit:
                    print(f"{folder.name}: seed {seed}: {unfit}", flush=True)
                else:
                    break
            else:
                raise SystemExit(f"{folder.name}: no seed gives weights that are fit")
            size = sum(file.stat().st_size for file in folder.iterdir())
            print(f"{folder.name}: seed {seed}, {size // 1000} kB, {described['about']}")


if __name__ == "__main__":
    main()
