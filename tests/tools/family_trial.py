"""Random checkpoints of a family, each held against transformers.

    python -m tests.tools.family_trial llama --count 20 --seed 3 [--target scalar] [--only 7]

Draws configs that nobody chose: heads, grouped heads, widths and inner widths that fit no vector,
one to four layers, tied or not, biases, epsilons, rotary positions in their old and new form, other
activations; and ways to save them: f32, bf16 or f16, in one file or several, with a head or
without. transformers saves each and computes it in f32. Then for every checkpoint that loads:

    text-generation       logits of every entry within 2e-4, the greedy ids, the same bits
    embedding             within 1e-5, alone and in a batch the same bits
    image-classification  scores within 2e-4, alone and in a batch the same bits

A checkpoint that is refused is printed with the refusal, for a reader to judge; anything else that
goes wrong makes the exit code 1. The same seed draws the same checkpoints. Needs torch and
transformers.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from linnet import nest
from linnet.errors import LinnetError
from tests.acceptance.roads import decode_alone, prefill_then_decode, slots_then_rows
from tests.tools.make_family import randomise

TOLERANCE, NEAR = 2e-4, 1e-5
CLOSE_CALL = 1e-3
"""Between the two best logits: with less, either id is right."""
LENGTHS = (1, 5, 18)
STEPS = 32

GELUS = ["gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh", "gelu_python"]


@dataclass
class Drawn:
    """One checkpoint to be: the class of transformers that holds it, the arguments of its config,
    what is changed in the config.json afterwards, and how it is saved."""

    task: str
    auto: Any
    config: dict[str, Any]
    published: dict[str, Any] = field(default_factory=dict)
    drop: tuple[str, ...] = ()
    dtype: str = "float32"
    shard: str | None = None

    def __str__(self) -> str:
        extra = {"published": self.published, "drop": self.drop, "shard": self.shard}
        said = " ".join(f"{k}={v}" for k, v in extra.items() if v)
        return f"{self.auto.__name__} {self.dtype} {said} {json.dumps(self.config)}"


Draw = Callable[[random.Random], Drawn]


def saved(r: random.Random, drawn: Drawn) -> Drawn:
    drawn.dtype = r.choice(["float32", "float32", "bfloat16", "float16"])
    drawn.shard = r.choice([None, None, "9KB", "40KB"])
    return drawn


def sizes(r: random.Random) -> dict[str, Any]:
    return {
        "vocab_size": r.choice([31, 64, 97, 128, 131, 259]),
        "intermediate_size": r.choice([1, 7, 19, 33, 48, 61, 90, 129]),
        "num_hidden_layers": r.randint(1, 4),
        "max_position_embeddings": r.choice([64, 77, 128, 513]),
        "initializer_range": 0.1,
    }


def rotary(r: random.Random, drawn: Drawn, theta: str = "rope_theta") -> None:
    """Plain or stretched rotary positions, in the new form or in one of the old ones."""
    base = r.choice([50.0, 10000.0, 500000.0, 1e6, 10000])
    scaled: dict[str, Any] = {}
    if r.random() < 0.4:
        scaled = {"rope_type": "llama3", "factor": r.choice([2.0, 8.0, 32.0, 8])}
        scaled |= {
            "low_freq_factor": r.choice([1.0, 0.5, 1]),
            "high_freq_factor": r.choice([4.0, 4, 2.0]),
        }
        scaled["original_max_position_embeddings"] = r.choice([16, 32, 48])
    whole = {"rope_type": "default", "rope_theta": base, **scaled}
    drawn.config["rope_parameters"] = whole
    form = r.choice(["new", "old", "older"])
    if form != "new":
        drawn.drop = ("rope_parameters",)
        drawn.published = {theta: base, "rope_scaling": scaled or None}
        if form == "older" and scaled:
            kind = scaled.pop("rope_type")
            drawn.published["rope_scaling"] = {**scaled, "type": kind}


def llama_like(r: random.Random, model_type: str) -> Drawn:
    groups = r.choice([1, 1, 2, 3, 4])
    shared = r.choice([1, 2, 3, 4, 8]) if groups == 1 else r.choice([1, 2])
    config = sizes(r) | {
        "model_type": model_type,
        "num_attention_heads": groups * shared,
        "num_key_value_heads": groups,
        "head_dim": 2 * r.randint(1, 16),
        "hidden_size": groups * shared * r.randint(1, 64 // (groups * shared)),
        "rms_norm_eps": r.choice([1e-3, 1e-5, 1e-6, 1e-12]),
        "tie_word_embeddings": r.random() < 0.5,
    }
    if r.random() < 0.3:
        config["hidden_size"] = config["num_attention_heads"] * config["head_dim"]
        if model_type != "qwen3":
            del config["head_dim"]
    if model_type in ("llama", "qwen3"):
        config["attention_bias"] = r.random() < 0.4
    if model_type == "llama":
        config["mlp_bias"] = r.random() < 0.4
    if model_type == "mistral":
        config["sliding_window"] = 4 if r.random() < 0.1 else None
    if model_type.startswith("qwen"):
        config["use_sliding_window"] = r.random() < 0.1
    if r.random() < 0.08:
        config["hidden_act"] = r.choice(["gelu", "relu", "swish"])
    base_only = r.random() < 0.2
    auto = transformers.AutoModel if base_only else transformers.AutoModelForCausalLM
    drawn = Drawn("text-generation", auto, config)
    rotary(r, drawn)
    return saved(r, drawn)


def gpt_neox(r: random.Random) -> Drawn:
    heads, width = r.randint(1, 6), r.randint(2, 18)
    config = sizes(r) | {
        "model_type": "gpt_neox",
        "num_attention_heads": heads,
        "hidden_size": heads * width,
        "layer_norm_eps": r.choice([1e-3, 1e-5, 1e-12]),
        "hidden_act": r.choice([*GELUS, "relu"] if r.random() < 0.2 else GELUS),
        "use_parallel_residual": r.random() < 0.5,
        "attention_bias": r.random() < 0.6,
        "tie_word_embeddings": r.random() < 0.4,
    }
    pct, base = r.choice([0.1, 0.2, 0.25, 0.3, 0.5, 0.75, 1.0, 1]), r.choice([100.0, 10000, 1e5])
    config["rope_parameters"] = {
        "rope_type": "default",
        "rope_theta": base,
        "partial_rotary_factor": pct,
    }
    rotated = int(width * pct)
    if r.random() < 0.9 and (rotated % 2 or not rotated):
        return gpt_neox(r)
    auto = transformers.AutoModel if r.random() < 0.15 else transformers.AutoModelForCausalLM
    drawn = Drawn("text-generation", auto, config)
    if r.random() < 0.5:
        drawn.drop = ("rope_parameters",)
        drawn.published = {"rotary_pct": pct, "rotary_emb_base": base}
    return saved(r, drawn)


def gpt2(r: random.Random) -> Drawn:
    heads, width = r.randint(1, 6), r.randint(1, 18)
    config = {
        "model_type": "gpt2",
        "vocab_size": r.choice([31, 97, 131, 259]),
        "n_positions": r.choice([64, 77, 128]),
        "n_embd": heads * max(width, 8),
        "n_layer": r.randint(1, 4),
        "n_head": heads,
        "n_inner": r.choice([None, None, 7, 33, 90]),
        "activation_function": r.choice([*["gelu_new", "gelu_pytorch_tanh"] * 5, "gelu", "relu"]),
        "layer_norm_epsilon": r.choice([1e-5] * 9 + [1e-3]),
        "scale_attn_by_inverse_layer_idx": r.random() < 0.05,
        "tie_word_embeddings": r.random() < 0.95,
    }
    auto = transformers.AutoModel if r.random() < 0.3 else transformers.AutoModelForCausalLM
    return saved(r, Drawn("text-generation", auto, config))


def bert(r: random.Random) -> Drawn:
    heads, width = r.randint(1, 8), r.randint(1, 17)
    config = sizes(r) | {
        "model_type": "bert",
        "num_attention_heads": heads,
        "hidden_size": heads * width,
        "type_vocab_size": r.randint(1, 3),
        "layer_norm_eps": r.choice([1e-3, 1e-5, 1e-12]),
        "hidden_act": r.choice(["gelu"] * 8 + ["gelu_new", "relu"]),
    }
    autos = [
        "Model",
        "ModelForMaskedLM",
        "ModelForSequenceClassification",
        "ModelForTokenClassification",
    ]
    return saved(r, Drawn("embedding", getattr(transformers, f"Auto{r.choice(autos)}"), config))


def vit(r: random.Random) -> Drawn:
    heads, width = r.randint(1, 6), r.randint(1, 17)
    patch = r.choice([1, 3, 4, 5, 7, 8, 16])
    config = {
        "model_type": "vit",
        "hidden_size": heads * width,
        "num_attention_heads": heads,
        "num_hidden_layers": r.randint(1, 4),
        "intermediate_size": r.choice([1, 7, 19, 48, 61, 90]),
        "patch_size": patch,
        "image_size": patch * r.randint(1, 5)
        + (r.randint(0, patch - 1) if r.random() < 0.3 else 0),
        "num_channels": r.choice([1, 2, 3, 3, 4]),
        "qkv_bias": r.random() < 0.5,
        "layer_norm_eps": r.choice([1e-3, 1e-6, 1e-12]),
        "hidden_act": r.choice([*GELUS, "relu"] if r.random() < 0.2 else GELUS),
        "num_labels": r.choice([1, 2, 3, 10, 37]),
    }
    auto = transformers.AutoModelForImageClassification
    return saved(r, Drawn("image-classification", auto, config))


FAMILIES: dict[str, Draw] = {
    **{
        name: (lambda r, name=name: llama_like(r, name))
        for name in ("llama", "mistral", "qwen2", "qwen3")
    },
    "gpt-neox": gpt_neox,
    "gpt2": gpt2,
    "bert": bert,
    "vit": vit,
}

AUTO = {
    "text-generation": transformers.AutoModelForCausalLM,
    "embedding": transformers.AutoModel,
    "image-classification": transformers.AutoModelForImageClassification,
}


def write(drawn: Drawn, folder: Path, seed: int) -> Any:
    """Save the checkpoint, and give what transformers loads from it, in f32."""
    config = transformers.AutoConfig.for_model(**drawn.config)
    model = drawn.auto.from_config(config)
    randomise(model, seed)
    model.to(getattr(torch, drawn.dtype))
    options = {"max_shard_size": drawn.shard} if drawn.shard else {}
    model.save_pretrained(folder, **options)
    file = folder / "config.json"
    published = json.loads(file.read_text())
    for key in drawn.drop:
        published.pop(key, None)
    file.write_text(json.dumps(published | drawn.published))
    read = AUTO[drawn.task].from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager", local_files_only=True
    )
    return read.eval()


class Wrong(Exception):
    """An answer that is not that of transformers, or not the same everywhere."""


def near(found: np.ndarray, wanted: np.ndarray, tolerance: float, what: str) -> float:
    if found.shape != wanted.shape:
        raise Wrong(f"{what}: shape {found.shape}, wanted {wanted.shape}")
    far = float(np.abs(found - wanted).max(initial=0.0))
    if not far < tolerance:
        raise Wrong(f"{what}: off by {far}")
    return far


def alike(one: np.ndarray, other: np.ndarray, what: str) -> None:
    if one.tobytes() != other.tobytes():
        raise Wrong(f"{what}: other bits, off by {np.abs(one - other).max()}")


def greedy(reference: Any, prompt: Sequence[int]) -> tuple[list[int], np.ndarray]:
    """The ids transformers goes on with, and its logits over the whole text."""
    ids = [*prompt]
    for _ in range(STEPS):
        logits = reference(torch.tensor([ids])).logits[0].numpy()
        ids.append(int(logits[-1].argmax()))
    return ids[len(prompt) :], logits


def try_text(model: Any, reference: Any, draw: np.random.Generator) -> float:
    prompts = [draw.integers(0, reference.config.vocab_size, n).tolist() for n in LENGTHS]
    pairs = [(prompt, *greedy(reference, prompt)) for prompt in prompts]
    firsts, worst = [], 0.0
    for prompt, following, wanted in pairs:
        found = model.forward(np.array([[*prompt, *following[:-1]]], np.int32))[0]
        worst = max(worst, near(found, wanted, TOLERANCE, "forward"))
        after = found[len(prompt) - 1 :]
        best = np.sort(wanted[len(prompt) - 1 :], axis=-1)
        clear = best[:, -1] - best[:, -2] > CLOSE_CALL
        if not (after.argmax(-1) == following)[clear].all():
            raise Wrong("other ids")
        firsts.append(after)
    batch = int(model.generics["Batch"])
    if batch == 1:
        for (prompt, following, _), first in zip(pairs, firsts, strict=True):
            model.reset_state()
            alike(decode_alone(model, prompt, following), first, "decode")
            model.reset_state()
            cuts = [len(prompt) // 2] if len(prompt) > 1 else []
            alike(prefill_then_decode(model, prompt, following, cuts), first, "prefill")
            done = model.generate(prompt, max_new_tokens=STEPS, ignore_eos=True)
            if [*done.token_ids] != first.argmax(-1).tolist():
                raise Wrong("generate: other ids")
    order = [int(n) for n in draw.permutation(batch)]
    for chosen in [range(len(pairs))] if batch > 1 else [[n] for n in range(len(pairs))]:
        model.reset_state()
        rows = slots_then_rows(
            model, [pairs[n][0] for n in chosen], [pairs[n][1] for n in chosen], order
        )
        for n, row in zip(chosen, rows, strict=True):
            alike(row, firsts[n], "prefill_slots, decode_rows")
    return worst


def try_embedding(model: Any, reference: Any, draw: np.random.Generator) -> float:
    config = reference.config
    lengths = [1, 2, 7, 19, min(64, config.max_position_embeddings)]
    whole = (len(lengths), max(lengths))
    tokens = draw.integers(0, config.vocab_size, whole).astype(np.int32)
    kinds = draw.integers(0, config.type_vocab_size, whole).astype(np.int32)
    real = np.arange(whole[1]) < np.array(lengths)[:, None]
    names = {"input_ids": tokens, "token_type_ids": kinds, "attention_mask": real}
    hidden = reference(**{k: torch.tensor(v.astype(np.int64)) for k, v in names.items()})[0].numpy()
    means = np.stack(
        [h[:n].astype(np.float64).mean(0) for h, n in zip(hidden, lengths, strict=True)]
    )
    wanted = means / np.linalg.norm(means, axis=1, keepdims=True)
    found = model.call("embed", tokens, kinds, np.array(lengths, np.int32))
    worst = near(found, wanted.astype(np.float32), NEAR, "embed")
    for k, n in enumerate(lengths):
        one = model.call(
            "embed", tokens[k : k + 1, :n], kinds[k : k + 1, :n], np.array([n], np.int32)
        )
        alike(one[0], found[k], "embed alone")
        vectors = model.call(
            "forward", tokens[k : k + 1, :n], kinds[k : k + 1, :n], np.array([n], np.int32)
        )
        near(vectors[0], hidden[k, :n], TOLERANCE, "forward")
    lists = [tokens[k, :n].tolist() for k, n in enumerate(lengths)]
    together = model.embed(lists)
    for ids, vector in zip(lists, together, strict=True):
        alike(model.embed(ids), vector, "model.embed alone")
    return worst


def try_image(model: Any, reference: Any, draw: np.random.Generator) -> float:
    config = reference.config
    shape = (4, config.num_channels, config.image_size, config.image_size)
    pixels = draw.standard_normal(shape).astype(np.float32)
    wanted = reference(torch.tensor(pixels)).logits.numpy()
    found = model.call("classify", pixels)
    worst = near(found, wanted, TOLERANCE, "classify")
    for k in range(len(pixels)):
        alike(model.call("classify", pixels[k : k + 1])[0], found[k], "classify alone")
    return worst


TRIES = {
    "text-generation": try_text,
    "embedding": try_embedding,
    "image-classification": try_image,
}


def trial(family: str, seed: int, target: str) -> tuple[str, str]:
    """Draw, save, load and compare one checkpoint: what came of it, and more about it."""
    r = random.Random(f"{family} {seed}")
    drawn = FAMILIES[family](r)
    batch = {"Batch": r.choice([1, len(LENGTHS)])} if drawn.task == "text-generation" else {}
    named = r.random() < 0.3
    with tempfile.TemporaryDirectory() as made, torch.no_grad():
        folder = Path(made)
        try:
            reference = write(drawn, folder, seed)
        except Exception as error:
            return "not made", f"{drawn}\n    {type(error).__name__}: {str(error)[:300]}"
        threads = r.choice([1, 2, 3])
        options: dict[str, Any] = {"generics": batch, "target": target, "threads": threads}
        try:
            if named:
                model = nest.load(family, checkpoint=folder, offline=True, **options)
            else:
                model = nest.load(folder, offline=True, **options)
        except LinnetError as error:
            return "refused", f"{drawn}\n    {error}"
        with model:
            try:
                worst = TRIES[drawn.task](model, reference, np.random.default_rng(seed))
            except Wrong as wrong:
                return "WRONG", f"{drawn} {options}\n    {wrong}"
    return "right", f"{worst:.1e}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("families", nargs="+", choices=[*FAMILIES], metavar="FAMILY")
    parser.add_argument("--count", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="one checkpoint, by its number")
    parser.add_argument("--target", default="native")
    options = parser.parse_args()
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    counts: Counter[str] = Counter()
    for family in options.families:
        numbers = range(options.count) if options.only is None else [options.only]
        for number in numbers:
            try:
                outcome, more = trial(family, 1000 * options.seed + number, options.target)
            except Exception:
                outcome, more = "CRASHED", traceback.format_exc()
            counts[f"{family} {outcome}"] += 1
            print(f"{family} {number}: {outcome} {more}", flush=True)
    for outcome, count in sorted(counts.items()):
        print(f"{outcome}: {count}")
    return int(any("WRONG" in outcome or "CRASHED" in outcome for outcome in counts))


if __name__ == "__main__":
    sys.exit(main())
