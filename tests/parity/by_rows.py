"""Trials of kernels that take a row, a vector or an element at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from parity.harness import Case, Kernel, Operand
from parity.products import halved, panels, rounded
from parity.trial import Trial, empty, near, normal

SOFTMAX = Kernel("softmax/softmax", ("S", "N"), (Operand("x", "float", 2, "rows"),))
GELU, GELU_ERF, SILU = ACTIVATIONS = tuple(
    Kernel(f"activations/{name}", ("S",), (Operand("x", "float", 1),))
    for name in ("gelu", "gelu_erf", "silu")
)
RMS_NORM = Kernel(
    "norm/rms_norm",
    ("S", "H"),
    (
        Operand("x", "float", 2, "rows"),
        Operand("weight", "float", 1),
        Operand("eps", "float", 0, "scalar"),
    ),
)
NORM = Kernel(
    "norm/layer_norm",
    ("S", "H"),
    (
        Operand("x", "float", 2, "rows"),
        Operand("weight", "float", 1),
        Operand("bias", "float", 1),
        Operand("eps", "float", 0, "scalar"),
    ),
)
NORM_PLAIN = Kernel(
    NORM.path,
    NORM.generics,
    (*NORM.operands[:2], Operand("bias", "float", 1, "absent"), NORM.operands[3]),
)
EMBEDDINGS = tuple(
    Kernel(
        "embedding/embedding",
        ("S", "Vocab", "H"),
        (Operand("ids", "int32_t", 1), Operand("table", ctype, 2, form, half)),
        suffix=f"_{half}" if ctype == "uint16_t" else "",
    )
    for form in ("dense", "packed")
    for ctype, half in (("float", ""), ("uint16_t", "bf16"), ("uint16_t", "f16"))
)


def softmax_trials() -> Iterator[Trial]:
    for rows, n, scale in [
        (0, 3, 1),
        (1, 1, 1),
        (3, 5, 4),
        (2, 16, 30),
        (5, 17, 1e30),
        (4, 131, 9),
        (9, 31, 90),
    ]:
        x = normal(rows, n, scale=scale)
        if n > 4:
            x[0, 1], x[0, 3] = -np.inf, -1e30
        yield softmax_trial(x)
    special = normal(4, 21)
    special[0, 20], special[1, 3], special[2, :] = np.nan, np.inf, -np.inf
    yield softmax_trial(special)


def softmax_trial(x: np.ndarray) -> Trial:
    rows, n = x.shape
    with np.errstate(invalid="ignore"):
        e = np.exp((x - x.max(axis=1, keepdims=True)).astype(np.float64))  # the body's f32 step
        want = e / e.sum(axis=1, keepdims=True)
    return Trial(
        Case(SOFTMAX, [rows, n, n], [x, empty(rows, n)]), near(SOFTMAX, want, want, S=rows, N=n)
    )


def gelu_of(x: np.ndarray) -> np.ndarray:
    inner = x + 0.044715 * x**3
    return x / (1 + np.exp(-2 * 0.7978845608 * inner))  # nothing cancels in this form


def gelu_erf_of(x: np.ndarray) -> np.ndarray:
    """By the error function; at the infinities the limits, 0 and infinity."""
    shares = np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in x.reshape(-1).tolist()])
    return np.where(np.isneginf(x), 0.0, x * shares.reshape(x.shape))


def silu_of(x: np.ndarray) -> np.ndarray:
    return x / (1 + np.exp(-x))


def activation_trials() -> Iterator[Trial]:
    special = [0, 1e-40, 1e-20, 1, 5, 9, 13, 15, 45, 70, 88.8, 1e4, 3e38, np.inf, np.nan]
    half = np.array(special, np.float32)
    # Each value once at every position of a vector.
    x = np.concatenate([np.roll(np.concatenate([half, -half]), i) for i in range(16)])
    definitions = {GELU: gelu_of, GELU_ERF: gelu_erf_of, SILU: silu_of}
    for kernel, definition in definitions.items():
        for values in (x, normal(4099, scale=3), normal(1), normal(0), normal(15)):
            wide = values.astype(np.float64)
            with np.errstate(all="ignore"):
                want = definition(wide)
            check = near(kernel, want, np.abs(wide), S=values.size)
            yield Trial(Case(kernel, [values.size], [values, empty(values.size)]), check)


def norm_trials() -> Iterator[Trial]:
    for kernel in (NORM, NORM_PLAIN):
        for rows, h, scale in [
            (0, 3, 1),
            (1, 1, 1),
            (3, 5, 1),
            (6, 16, 1e-4),
            (5, 33, 1e15),
            (2, 129, 7),
        ]:
            x, weight, bias = normal(rows, h, scale=scale), normal(h), normal(h)
            x += np.float32(scale)
            wide = x.astype(np.float64)
            centred = wide - wide.mean(axis=1, keepdims=True)
            inverse = 1 / np.sqrt((centred**2).mean(axis=1, keepdims=True) + np.float32(1e-5))
            want = centred * inverse * weight
            size = (np.abs(wide) + np.abs(wide).max(initial=0)) * inverse * np.abs(weight)
            has_bias = kernel is NORM
            if has_bias:
                want, size = want + bias, size + np.abs(bias)
            arrays = [x, weight, *([bias] if has_bias else []), empty(rows, h)]
            case = Case(kernel, [rows, h, h, 1e-5], arrays)
            yield Trial(case, near(kernel, want, size, S=rows, H=h))


def rms_norm_trials() -> Iterator[Trial]:
    for rows, h, scale in [
        (0, 3, 1),
        (1, 1, 1),
        (3, 5, 1),
        (6, 16, 1e-4),
        (5, 33, 1e15),
        (2, 129, 7),
    ]:
        x, weight = normal(rows, h + 2, scale=scale), normal(h)  # rows of a wider matrix
        wide = x[:, :h].astype(np.float64)
        inverse = 1 / np.sqrt((wide**2).mean(axis=1, keepdims=True) + np.float32(1e-6))
        want = wide * inverse * weight
        case = Case(RMS_NORM, [rows, h, h + 2, 1e-6], [x, weight, empty(rows, h)])
        yield Trial(case, near(RMS_NORM, want, np.abs(want), S=rows, H=h))
    x = normal(3, 40)
    x[0, 7], x[1, 39] = np.nan, np.inf
    with np.errstate(invalid="ignore"):
        # An infinite mean square: what is finite becomes 0, the infinity itself NaN.
        want = np.where(np.isinf(x), np.nan, np.float64(0)) * np.ones(40)
        want[0] = np.nan
        want[2] = x[2] / np.sqrt((x[2].astype(np.float64) ** 2).mean() + np.float32(1e-6))
    case = Case(RMS_NORM, [3, 40, 40, 1e-6], [x, np.ones(40, np.float32), empty(3, 40)])
    yield Trial(case, near(RMS_NORM, want, np.abs(want), S=3, H=40))


ROPE, ROPE_ROWS = (
    Kernel(
        f"rope/{name}",
        ("B", "H", "S", "D"),
        (
            Operand("x", "float", 4, "strided"),
            Operand(f"cos_{table}", "float", rank, "strided"),
            Operand(f"sin_{table}", "float", rank, "strided"),
        ),
    )
    for name, table, rank in (("rope", "table", 2), ("rope_rows", "rows", 3))
)


def rope_trials() -> Iterator[Trial]:
    for b, h, s, d in [(1, 1, 1, 2), (2, 3, 5, 6), (1, 4, 17, 64), (3, 2, 1, 34), (0, 2, 3, 4)]:
        x = normal(b, s, h, d + 3)  # heads side by side, a part of each is turned
        if x.size:
            x.reshape(-1)[0], x.reshape(-1)[d // 2] = np.inf, np.nan
        part = x[..., :d].transpose(0, 2, 1, 3)
        turned = np.concatenate([-part[..., d // 2 :], part[..., : d // 2]], axis=-1)
        strides = [s * h * (d + 3), d + 3, h * (d + 3)]
        for kernel, shape in ((ROPE, (s, d)), (ROPE_ROWS, (b, s, d))):
            cosines, sines = normal(*shape), normal(*shape)
            both = [t if t.ndim == 2 else t[:, None] for t in (cosines, sines)]
            with np.errstate(invalid="ignore"):
                want = part * both[0] + turned * both[1]  # in f32, as the body has it
            steps = [d] if kernel is ROPE else [s * d, d]
            numbers = [b, h, s, d, *strides, *steps, *steps]
            case = Case(kernel, numbers, [x, cosines, sines, empty(b, h, s, d)])
            yield Trial(case, near(kernel, want.astype(np.float64), 0.0))


def embedding_trials() -> Iterator[Trial]:
    table = normal(67, 5)
    ids = np.array([0, 66, 3, 3, -1, 67, 2**31 - 1, -(2**31), 64] * 5, np.int32)
    for kernel in EMBEDDINGS:
        operand = kernel.operands[1]
        held = table if operand.ctype == "float" else rounded(table, operand.half)
        stored = panels(held) if operand.form == "packed" else held
        if operand.ctype != "float":
            stored = halved(stored, operand.half)
        case = Case(kernel, [ids.size, 67, 5], [ids, stored, empty(ids.size, 5)])
        yield Trial(case, near(kernel, held[np.clip(ids, 0, 66)], 0.0))


KERNELS = (SOFTMAX, *ACTIVATIONS, NORM, NORM_PLAIN, RMS_NORM, ROPE, ROPE_ROWS, *EMBEDDINGS)


def trials() -> Iterator[Trial]:
    yield from softmax_trials()
    yield from activation_trials()
    yield from norm_trials()
    yield from rms_norm_trials()
    yield from rope_trials()
    yield from embedding_trials()
