#!/usr/bin/env python3
"""Store the tables of rotary positions as transformers makes them, also at large positions.

    make_rotary.py

Writes tests/data/families/rotary.npz: `places` i32[N], and for each case of CASES
`<case>.cos`, `<case>.sin` f32[N, D]. Needs torch and transformers (extra `bench`).
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

FILE = Path(__file__).parents[1] / "data" / "families" / "rotary.npz"
PLACES = [0, 1, 2, 3, 100, 1023, 4095, 8000, 8191, 32767, 131071]

LLAMA3 = {
    "rope_type": "llama3",
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
CASES = {
    "plain": (64, {"rope_type": "default", "rope_theta": 10000.0}),
    "wide": (128, {"rope_type": "default", "rope_theta": 1000000.0}),
    "odd": (22, {"rope_type": "default", "rope_theta": 5000.0}),
    "scaled": (64, {**LLAMA3, "rope_theta": 500000.0, "factor": 32.0}),
    "scaled-wide": (128, {**LLAMA3, "rope_theta": 500000.0, "factor": 8.0}),
}


def main() -> None:
    stored: dict[str, np.ndarray] = {"places": np.array(PLACES, np.int32)}
    for name, (width, parameters) in CASES.items():
        config = LlamaConfig(
            hidden_size=width, num_attention_heads=1, head_dim=width, rope_parameters=parameters,
            max_position_embeddings=131072,
        )  # fmt: skip
        rotary = LlamaRotaryEmbedding(config)
        cos, sin = rotary(torch.zeros(1), torch.tensor([PLACES]))
        stored[f"{name}.cos"], stored[f"{name}.sin"] = cos[0].numpy(), sin[0].numpy()
    cases = {name: {"width": width, **parameters} for name, (width, parameters) in CASES.items()}
    np.savez_compressed(FILE, cases=np.array(json.dumps(cases)), **stored)


if __name__ == "__main__":
    main()
