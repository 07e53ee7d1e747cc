"""Runs `forward` with random weights and compares it with the same in numpy."""

from pathlib import Path

import numpy as np

import linnet

unit = linnet.compile(
    Path(__file__).parent / "src" / "lib.linnet",
    generics={"In": 4, "Hidden": 8, "Out": 2},
)
draw = np.random.default_rng(0)
weights = {p.path: draw.standard_normal(p.dims, np.float32) for p in unit.parameters}
net = unit.bind(weights)

x = draw.standard_normal((3, 4), np.float32)
y = net.forward(x)
print(y)

hidden = np.maximum(x @ weights["up.weight"].T + weights["up.bias"], 0)
wanted = hidden @ weights["down.weight"].T + weights["down.bias"]
print("largest difference from numpy:", f"{np.abs(y - wanted).max():.0e}")
