#!/usr/bin/env python3
"""Compute what transformers makes of a random GPT-2 checkpoint, to hold our results against.

    make_references.py --checkpoint DIR --out FILE.npz

`DIR` is written by make_gpt2_checkpoint.py. Needs torch and transformers (extra `bench`); the
tests read the stored file and need neither. Stored, for three prompts of random ids:

    prompt<k>   int32[n]          the ids
    greedy<k>   int32[64 or what the context leaves]   argmax continuation, cache on
    margin<k>   float32           smallest gap between best and second-best logit on the way
    logits<k>   float32[n, 64]    logits at every position of the prompt, of 64 token ids
    columns     int32[64]         those ids
    last<k>     float32[Vocab]    all logits after the prompt's last token
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
from transformers import GPT2LMHeadModel

LENGTHS = (5, 33, 90)
STEPS = 64
COLUMNS = 64


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--checkpoint", required=True)
    parser.add_argument("--out", required=True)
    arguments = parser.parse_args()
    model = GPT2LMHeadModel.from_pretrained(
        arguments.checkpoint, dtype=torch.float32, attn_implementation="eager"
    )
    model.eval()
    vocab = model.config.vocab_size
    draw = np.random.default_rng(20)
    columns = np.sort(draw.choice(vocab, COLUMNS, replace=False)).astype(np.int32)
    stored: dict[str, np.ndarray] = {"columns": columns}
    room = model.config.n_positions
    for k, length in enumerate(min(n, room - 1) for n in LENGTHS):
        prompt = draw.integers(0, vocab, length).astype(np.int32)
        with torch.no_grad():
            logits = model(torch.tensor(prompt[None].astype(np.int64))).logits[0].numpy()
            greedy, margin = continuation(model, prompt, min(STEPS, room - length))
        stored |= {
            f"prompt{k}": prompt,
            f"greedy{k}": greedy,
            f"margin{k}": np.float32(margin),
            f"logits{k}": logits[:, columns],
            f"last{k}": logits[-1],
        }
        print(f"prompt {k}: {length} ids, margin {margin:.4f}, first {greedy[:6].tolist()}")
    np.savez_compressed(arguments.out, **stored)


def continuation(
    model: GPT2LMHeadModel, prompt: np.ndarray, steps: int
) -> tuple[np.ndarray, float]:
    """`steps` greedy ids and the smallest margin, with the key/value cache."""
    ids = torch.tensor(prompt[None].astype(np.int64))
    cache, found, margin = None, [], np.inf
    for _ in range(steps):
        out = model(ids, past_key_values=cache, use_cache=True)
        cache = out.past_key_values
        best = torch.topk(out.logits[0, -1], 2)
        margin = min(margin, float(best.values[0] - best.values[1]))
        found.append(int(best.indices[0]))
        ids = torch.tensor([[found[-1]]])
    return np.array(found, np.int32), margin


if __name__ == "__main__":
    main()
