"""Every kernel on every instruction set: right, the same bits, whatever the rows and threads.

Reference values are computed by numpy in float64. Sizes are odd, prime, tiny and empty; values
are ordinary, huge and special. All cases of all kernels run in one program an instruction set.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from linnet.resources import folder
from parity.harness import Case, Kernel, Operand, build, same_bits

Check = Callable[[list[np.ndarray]], None]
rng = np.random.default_rng(7)


@dataclass(frozen=True)
class Trial:
    """A case and what must hold of the arrays afterwards (they come in parameter order)."""

    case: Case
    check: Check


def bound(kernel: Kernel, **generics: int) -> float:
    """The card's error bound for these sizes."""
    text = kernel.card["bound"]["equivalent"]  # type: ignore[index]
    return float(eval(text, {"__builtins__": {}}, generics))


def near(kernel: Kernel, want: np.ndarray, scale: np.ndarray | float, **generics: int) -> Check:
    """The last array is within the card's bound times `scale` of `want`; NaN where it is NaN."""
    limit = bound(kernel, **generics) * scale + 1e-44

    def check(arrays: list[np.ndarray]) -> None:
        got = arrays[-1].astype(np.float64).reshape(want.shape)
        with np.errstate(invalid="ignore"):
            ok = (np.abs(got - want) <= limit) | (got == want) | (np.isnan(got) & np.isnan(want))
            excess = np.where(ok, 0, np.abs(got - want) / limit)
        assert ok.all(), f"{kernel.symbol} {generics}: {np.nanmax(excess)} times the bound"

    return check


def normal(*shape: int, scale: float = 1.0) -> np.ndarray:
    return (rng.standard_normal(shape) * scale).astype(np.float32)


def empty(*shape: int) -> np.ndarray:
    """A result array; what a kernel leaves unwritten shows as NaN."""
    return np.full(shape, np.nan, np.float32)


# --- linear -------------------------------------------------------------------------------


def linear(bias: bool, **consts: int) -> Kernel:
    operands = (
        Operand("x", "float", 2, "rows"),
        Operand("weight", "float", 2, "packed"),
        Operand("bias", "float", 1, "dense" if bias else "absent"),
    )
    return Kernel("linear/linear", ("S", "In", "Out"), operands, tuple(consts.items()))


LINEAR = linear(True)
LINEAR_PLAIN = linear(False)
LINEAR_FIXED = linear(True, In=64, Out=192)
LINEAR_ROW = Kernel(
    "linear/linear_row",
    LINEAR.generics,
    (Operand("x", "float", 2), *LINEAR.operands[1:]),
    (("S", 1),),
)
LINEAR_HALVES = tuple(
    Kernel(
        path,
        LINEAR.generics,
        (kernel.operands[0], Operand("weight", "uint16_t", 2, "packed", half), LINEAR.operands[2]),
        kernel.consts,
        suffix=f"_{half}",
    )
    for half in ("bf16", "f16")
    for path, kernel in (("linear/linear", LINEAR), ("linear/linear_row", LINEAR_ROW))
)
LINEAR_SIZES = [  # rows, In, Out
    (0, 5, 3), (1, 1, 1), (1, 0, 5), (7, 0, 65), (1, 37, 64), (2, 64, 63), (3, 65, 65),
    (5, 3, 130), (6, 17, 64), (7, 17, 1), (11, 257, 67), (13, 300, 20), (98, 31, 65), (1, 300, 200),
    (200, 140, 1090),
]  # fmt: skip


def panels(weight: np.ndarray) -> np.ndarray:
    """[Out, In] as [ceil(Out / 64)][In][64]."""
    rows, columns = weight.shape
    padded = np.zeros((-(-rows // 64) * 64, columns), np.float32)
    padded[:rows] = weight
    return np.ascontiguousarray(padded.reshape(-(-rows // 64), 64, columns).transpose(0, 2, 1))


def halved(values: np.ndarray, half: str) -> np.ndarray:
    """The bits of values that a half float holds exactly."""
    if half == "f16":
        return values.astype(np.float16).view(np.uint16)
    return (values.view(np.uint32) >> 16).astype(np.uint16)


def rounded(values: np.ndarray, half: str) -> np.ndarray:
    """The nearest (or a near) value that a half float holds."""
    if half == "f16":
        return values.astype(np.float16).astype(np.float32)
    return (values.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


def linear_trial(
    kernel: Kernel, x: np.ndarray, weight: np.ndarray, bias: np.ndarray, pad: int
) -> Trial:
    rows, inner, outer = x.shape[0], x.shape[1], weight.shape[0]
    wide = np.full((rows, inner + pad), np.nan, np.float32)  # a row stride that is not the width
    wide[:, :inner] = x
    has_bias = kernel.operands[2].form != "absent"
    with np.errstate(over="ignore", invalid="ignore"):
        want = x.astype(np.float64) @ weight.T.astype(np.float64)
        scale = np.abs(x).astype(np.float64) @ np.abs(weight).T.astype(np.float64)
        if has_bias:
            want, scale = want + bias, scale + np.abs(bias)
    fixed = dict(kernel.consts)
    numbers = [n for g, n in (("S", rows), ("In", inner), ("Out", outer)) if g not in fixed]
    packed = panels(weight)
    if kernel.operands[1].ctype == "uint16_t":
        packed = halved(packed, kernel.operands[1].half)
    arrays = [wide, packed, *([bias] if has_bias else []), empty(rows, outer)]
    strides = [inner + pad] if kernel.operands[0].form == "rows" else []
    return Trial(
        Case(kernel, [*numbers, *strides], arrays),
        near(kernel, want, scale, S=rows, In=inner, Out=outer),
    )


def linear_trials() -> Iterator[Trial]:
    for rows, inner, outer in LINEAR_SIZES:
        x, weight, bias = normal(rows, inner), normal(outer, inner), normal(outer)
        yield linear_trial(LINEAR, x, weight, bias, pad=3)
        yield linear_trial(LINEAR_PLAIN, x * np.float32(1e18), weight, bias, pad=0)
        if rows == 1:
            yield linear_trial(LINEAR_ROW, x, weight, bias, pad=0)
        for kernel in LINEAR_HALVES:
            if rows == 1 or not kernel.consts:
                held = rounded(weight, kernel.operands[1].half)
                yield linear_trial(kernel, x, held, bias, pad=0)
    x, weight, bias = normal(9, 64), normal(192, 64), normal(192)
    yield linear_trial(LINEAR_FIXED, x, weight, bias, pad=0)
    x[4, 7] = np.nan  # in that row only
    yield linear_trial(LINEAR_FIXED, x, weight, bias, pad=0)


ROWS = normal(25, 300), normal(65, 300), normal(65)


def linear_rows() -> tuple[Case, list[Case]]:
    """All rows at once, and each run of rows alone."""
    x, weight, bias = ROWS
    whole = linear_trial(LINEAR, x, weight, bias, pad=0).case
    parts = [x[i : i + n] for n in (1, 2, 3, 4, 5, 6, 7, 8) for i in (0, 25 - n)]
    return whole, [linear_trial(LINEAR, part, weight, bias, pad=1).case for part in parts]


# --- rows: softmax, norms, activations, rotations, embedding ----------------------------------

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


# --- attention ----------------------------------------------------------------------------


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
ATTENTION = (FULL, LENGTHS, DENSE, ROWS_LENGTHS, ROWS_DENSE, GROUPED, GROUPED_DENSE, FIXED)


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


# --- cache --------------------------------------------------------------------------------

CACHE = Operand("cache", "float", 4, "in place")
VALUE = Operand("value", "float", 4, "strided")
AT = Operand("at", "int32_t", 0, "scalar")
WRITE_AT = Kernel("cache/write_at", ("B", "H", "S", "D"), (CACHE, VALUE, AT))
WRITE_ROWS = Kernel(
    "cache/write_rows", ("B", "H", "S", "D"), (CACHE, VALUE, Operand("at", "int32_t", 1))
)
WRITE_SPAN = Kernel("cache/write_span", ("B", "H", "S", "N", "D"), (CACHE, VALUE, AT))
SLOTS = Operand("slots", "int32_t", 1)
WRITE_SLOTS = Kernel("cache/write_slots", ("B", "H", "S", "M", "N", "D"), (CACHE, VALUE, SLOTS, AT))
SLOT = Operand("slot", "int32_t", 0, "scalar")
WRITE_SLOT = Kernel("cache/write_slot", ("B", "H", "S", "N", "D"), (CACHE, VALUE, SLOT, AT))
WRITES = (WRITE_AT, WRITE_ROWS, WRITE_SPAN, WRITE_SLOTS, WRITE_SLOT)


def cache_trial(
    kernel: Kernel, n: int, rows: list[int], ats: list[int], extra: list[np.ndarray]
) -> Trial:
    """Vector [i, h, j] of the value goes to cache[rows[i], h, ats[i] + j], where that exists."""
    b, h, s, d = 3, 2, 7, 5
    cache = normal(b, h, s, d)
    # Values lie as [M, N, H, D].
    value = normal(len(rows), n, h, d)
    want = cache.copy()
    for i, (row, at) in enumerate(zip(rows, ats, strict=True)):
        for j in range(n):
            if 0 <= row < b and 0 <= at + j < s:
                want[row, :, at + j] = value[i, j]
    sizes = {"B": b, "H": h, "S": s, "M": len(rows), "N": n, "D": d}
    numbers = [sizes[g] for g in kernel.generics] + [n * h * d, d, h * d]
    numbers += [rows[0]] * (kernel is WRITE_SLOT) + [ats[0]] * (
        kernel.operands[-1].form == "scalar"
    )

    def check(arrays: list[np.ndarray]) -> None:
        assert np.array_equal(arrays[0], want), (kernel.symbol, rows, ats)

    return Trial(Case(kernel, numbers, [cache, value, *extra]), check)


def cache_trials() -> Iterator[Trial]:
    far = 2**31 - 1
    for at in (0, 3, 6, 7, -1, far, -far - 1):
        yield cache_trial(WRITE_AT, 1, [0, 1, 2], [at] * 3, [])
        for n in (1, 3, 9):
            yield cache_trial(WRITE_SPAN, n, [0, 1, 2], [at] * 3, [])
            for rows in ([2, 0], [1, 1], [3, -1]):
                slots = np.array(rows, np.int32)
                yield cache_trial(WRITE_SLOTS, n, rows, [at] * 2, [slots])
                yield cache_trial(WRITE_SLOT, n, rows[:1], [at], [])
    for ats in ([0, 3, 6], [7, -1, 2], [far, -far - 1, 1]):
        yield cache_trial(WRITE_ROWS, 1, [0, 1, 2], ats, [np.array(ats, np.int32)])


# --- running them -------------------------------------------------------------------------

KERNELS = (
    LINEAR,
    LINEAR_PLAIN,
    LINEAR_FIXED,
    LINEAR_ROW,
    *LINEAR_HALVES,
    SOFTMAX,
    *ACTIVATIONS,
    NORM,
    NORM_PLAIN,
    RMS_NORM,
    ROPE,
    ROPE_ROWS,
    *EMBEDDINGS,
    *ATTENTION,
    *WRITES,
)
TRIALS = [
    *linear_trials(), *softmax_trials(), *activation_trials(), *norm_trials(),
    *rms_norm_trials(), *rope_trials(), *embedding_trials(), *attention_trials(), *cache_trials(),
]  # fmt: skip
GROUPS = [linear_rows(), shared_keys(), causal_block()]
CASES = [t.case for t in TRIALS] + [c for whole, parts in GROUPS for c in (whole, *parts)]
Results = Callable[[str, int], list[list[np.ndarray]]]


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    programs = {}
    done: dict[tuple[str, int], list[list[np.ndarray]]] = {}

    def get(isa: str, threads: int) -> list[list[np.ndarray]]:
        if isa not in programs:
            programs[isa] = build(tmp_path_factory.mktemp("kernels"), isa, KERNELS, "kernels")
        if (isa, threads) not in done:
            done[isa, threads] = programs[isa].run(CASES, threads)
        return done[isa, threads]

    return get


def test_values_are_within_the_bounds_of_the_cards(isa: str, results: Results) -> None:
    for trial, arrays in zip(TRIALS, results(isa, 1), strict=False):
        trial.check(arrays)


def test_every_isa_gives_the_same_bits(isa: str, results: Results) -> None:
    for case, mine, reference in zip(CASES, results(isa, 1), results("scalar", 1), strict=True):
        assert all(map(same_bits, mine, reference)), (case.function.symbol, case.numbers)


def test_threads_do_not_change_bits(isa: str, results: Results) -> None:
    for case, one, three in zip(CASES, results(isa, 1), results(isa, 3), strict=True):
        assert all(map(same_bits, one, three)), (case.function.symbol, case.numbers)


def test_rows_of_a_product_do_not_depend_on_their_company(isa: str, results: Results) -> None:
    whole, parts = linear_rows()
    at = len(TRIALS)
    outputs = [arrays[-1] for arrays in results(isa, 1)[at : at + 1 + len(parts)]]
    for part in outputs[1:]:
        n = len(part)
        starts = [
            i for i in range(len(outputs[0]) - n + 1) if same_bits(outputs[0][i : i + n], part)
        ]
        assert starts, f"{n} rows alone differ from the same rows among {whole.numbers[0]}"


def test_a_head_alone_gives_the_bits_it_has_in_a_group(isa: str, results: Results) -> None:
    outputs = [arrays[-1] for arrays in results(isa, 1)[-31 - 13 : -31]]
    for i, alone in enumerate(outputs[1:]):
        assert same_bits(outputs[0][:, i : i + 1], alone), i


def test_a_query_alone_gives_the_bits_it_has_in_a_block(isa: str, results: Results) -> None:
    outputs = [arrays[-1] for arrays in results(isa, 1)[-31:]]
    for i, alone in enumerate(outputs[1:]):
        assert same_bits(outputs[0][:, :, i : i + 1], alone), i
        assert np.isinf(alone[0, 0]).any() == (i + 11 > 35)


def test_a_prefix_mask_gives_the_bits_of_the_dense_mask(isa: str, results: Results) -> None:
    by_kernel: dict[Kernel, list[np.ndarray]] = {}
    for trial, arrays in zip(TRIALS, results(isa, 1), strict=False):
        by_kernel.setdefault(trial.case.function, []).append(arrays[-1])  # type: ignore[arg-type]
    for lengths, dense in ((LENGTHS, DENSE), (ROWS_LENGTHS, ROWS_DENSE)):
        for a, b in zip(by_kernel[lengths], by_kernel[dense], strict=False):
            assert same_bits(a, b)


def test_every_card_has_a_parity_test() -> None:
    cards = {f"{p.parent.name}/{p.stem}" for p in (folder("codegen") / "kernels").glob("*/*.toml")}
    assert cards == {k.path for k in KERNELS}
