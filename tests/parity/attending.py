"""Trials of the attention kernels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from parity.harness import Case, Kernel, Operand
from parity.trial import Trial, empty, near, normal, rng


def attention(form: str, rows: bool = False, grouped: bool = False, **consts: int) -> Kernel:
    name = ("grouped_" if grouped else "") + "attention" + ("_rows" if rows else "")
    operands = (
        *(Operand(n, "float", 4, "strided") for n in ("query", "key", "value")),
        Operand("scale", "float", 0, "scalar"),
        Operand("mask", "uint8_t", 3 if rows else 2, form),
    )
    generics = ("B", "H", "Hk", "Q", "K", "D") if grouped else ("B", "H", "Q", "K", "D")
    return Kernel(f"attention/{name}", generics, operands, tuple(consts.items()))


FULL, LENGTHS, DENSE = attention("absent"), attention("lengths"), attention("dense")
ROWS_LENGTHS, ROWS_DENSE = attention("lengths", rows=True), attention("dense", rows=True)
GROUPED = attention("lengths", grouped=True)
GROUPED_DENSE = attention("dense", rows=True, grouped=True)
FIXED = attention("lengths", H=2, D=64)
ATTENTION_SIZES = [  # B, H, Q, K, D
    (1, 1, 1, 1, 1), (2, 3, 1, 17, 5), (1, 2, 13, 13, 16), (1, 1, 27, 70, 33), (2, 1, 5, 0, 3),
    (1, 2, 0, 4, 8), (1, 1, 12, 9, 80),
]  # fmt: skip
KERNELS = (FULL, LENGTHS, DENSE, ROWS_LENGTHS, ROWS_DENSE, GROUPED, GROUPED_DENSE, FIXED)


def attention_trial(
    kernel: Kernel,
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    counts: np.ndarray | None,
    scale: float,
) -> Trial:
    """counts [B, Q]: how many keys each query sees; None for all."""
    b, h, queries, d = q.shape
    hk, keys = k.shape[1], k.shape[2]
    shape = (b, queries)
    lengths = np.full(shape, keys, np.int64) if counts is None else np.broadcast_to(counts, shape)
    mask = np.arange(keys) < lengths[:, :, None]
    want, size = attention_reference(q, k, v, mask, scale)
    # Queries lie as [B, Q, H, D], as a split of heads leaves them.
    query = np.ascontiguousarray(q.transpose(0, 2, 1, 3))
    strides = [queries * h * d, d, h * d]
    fixed = dict(kernel.consts)
    sizes = {"B": b, "H": h, "Hk": hk, "Q": queries, "K": keys, "D": d}
    numbers: list[int | float] = [sizes[g] for g in kernel.generics if g not in fixed]
    numbers += strides + [hk * keys * d, keys * d, d] * 2 + [float(scale)]
    arrays = [query, k, v]
    form = kernel.operands[-1].form
    if form == "lengths":
        arrays.append(np.ascontiguousarray(lengths, np.int64))
        numbers += [queries, 1]
    elif form == "dense":
        per_row = kernel.operands[-1].rank == 3
        arrays.append((mask if per_row else mask[0]).astype(np.uint8))
    case = Case(kernel, numbers, [*arrays, empty(b, h, queries, d)], scratch=112 * d)
    return Trial(case, near(kernel, want, size, K=keys, D=d))


def attention_reference(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray, scale: float
) -> tuple[np.ndarray, float]:
    group = q.shape[1] // k.shape[1]
    key, value = (np.repeat(a.astype(np.float64), group, axis=1) for a in (k, v))
    if k.shape[2] == 0:
        return np.zeros(q.shape), 1.0
    with np.errstate(invalid="ignore"):
        scores = np.einsum("bhqd,bhkd->bhqk", q.astype(np.float64), key) * scale
        scores = np.where(mask[:, None], scores, -1e30)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        want = np.einsum("bhqk,bhkd->bhqd", weights, value)
    return want, float(np.abs(v).max(initial=1e-30))


def heads(
    b: int, h: int, hk: int, q: int, k: int, d: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return normal(b, h, q, d), normal(b, hk, k, d), normal(b, hk, k, d)


def attention_trials() -> Iterator[Trial]:
    for b, h, q, k, d in ATTENTION_SIZES:
        qkv = heads(b, h, h, q, k, d)
        causal = np.clip(np.arange(q) + k - q + 1, 0, k)
        ragged = rng.integers(0, k + 1, (b, q))
        for kernel, counts in (
            (FULL, None),
            (LENGTHS, causal),
            (DENSE, causal),
            (ROWS_LENGTHS, ragged),
            (ROWS_DENSE, ragged),
        ):
            yield attention_trial(kernel, *qkv, counts, scale=d**-0.5)
    for kernel in (GROUPED, GROUPED_DENSE):
        yield attention_trial(
            kernel, *heads(2, 6, 2, 3, 19, 20), np.array([[3, 0, 19], [1, 2, 7]]), scale=0.3
        )
    # Seven heads share keys, as many of them as fit a block together; one query; a long prompt.
    for b, h, hk, q, k, d in [(2, 14, 2, 13, 70, 20), (1, 8, 1, 1, 130, 64), (1, 4, 2, 50, 60, 8)]:
        counts = np.clip(np.arange(q) + k - q + 1, 0, k)[None, :]
        for kernel in (GROUPED, GROUPED_DENSE):
            yield attention_trial(kernel, *heads(b, h, hk, q, k, d), counts, scale=0.3)
    yield attention_trial(FIXED, *heads(1, 2, 2, 30, 40, 64), np.arange(11, 41), scale=0.125)
    yield attention_trial(LENGTHS, *heads(1, 1, 1, 2, 40, 24), np.array([-5, 1000]), scale=0.2)
    q, k, v = heads(1, 2, 2, 3, 21, 16)
    yield attention_trial(LENGTHS, q * np.float32(40), k, v, np.array([1, 7, 21]), scale=1.0)
    # Scores far below -1e30: hidden keys then weigh more than visible ones.
    low = -np.abs(k) * np.float32(1e33)
    yield attention_trial(LENGTHS, np.abs(q), low, v, np.array([1, 7, 21]), scale=1.0)
    q[0, 1, 2, 3] = np.nan  # that query only
    yield attention_trial(LENGTHS, q, k, v, np.array([1, 7, 21]), scale=1.0)


def shared_keys() -> tuple[Case, list[Case]]:
    """Twelve heads that share two of keys, and each head alone with its keys."""
    q, k, v = heads(1, 12, 2, 5, 90, 20)
    counts = np.array([[3, 90, 64, 65, 0]])
    whole = attention_trial(GROUPED, q, k, v, counts, 0.2).case
    alone = [
        attention_trial(LENGTHS, q[:, i : i + 1], k[:, [i // 6]], v[:, [i // 6]], counts, 0.2).case
        for i in range(12)
    ]
    return whole, alone


def causal_block() -> tuple[Case, list[Case]]:
    """64 queries at once, the same with a dense mask, and queries alone, all of head size 64."""
    q, k, v = heads(1, 2, 2, 30, 40, 64)
    v[0, 0, 35] = np.inf  # seen by the later queries only
    counts = np.arange(11, 41)
    whole = attention_trial(FIXED, q, k, v, counts, 0.125).case
    alone = [
        attention_trial(FIXED, q[:, :, i : i + 1], k, v, counts[i : i + 1], 0.125).case
        for i in range(30)
    ]
    return whole, alone
