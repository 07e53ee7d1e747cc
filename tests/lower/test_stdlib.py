"""Ops of the standard library, by their bodies, against numpy."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from linnet import resources
from linnet.check import check_file
from linnet.check.typed import FunctionDecl
from linnet.errors import ShapeError, UsageError
from linnet.interp import call_function
from linnet.ir.numbers import round_float
from linnet.lower import lower_op

RNG = np.random.default_rng(11)


@cache
def op(module: str, name: str) -> FunctionDecl:
    folder = resources.folder("stdlib")
    inside = folder / "nn" / f"{module}.linnet"
    result = check_file(inside if inside.is_file() else folder / f"{module}.linnet")
    assert result.program is not None, [d.message for d in result.problems]
    return result.program.functions[result.program.root_module][name]


def run(
    module: str, name: str, generics: dict[str, object], *args: object, without: str = ""
) -> np.ndarray:
    left_out = without.split()
    function = lower_op(op(module, name), {"T": "f32", **generics}, left_out)  # type: ignore[dict-item]
    (value,) = call_function(function, args)
    return value


def f32(*shape: int, scale: float = 1.0) -> np.ndarray:
    return (RNG.normal(size=shape) * scale).astype(np.float32)


def bf16_bits(x: np.ndarray) -> np.ndarray:
    """Rounded to bf16 by adding half of the last place that stays; good enough for inputs."""
    return ((x.view(np.uint32) + 0x8000) >> 16).astype(np.uint16)


def bf16(bits: np.ndarray) -> np.ndarray:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def test_linear() -> None:
    x, w, b = f32(2, 3, 16), f32(5, 16), f32(5)
    sizes = {"S": (2, 3), "In": 16, "Out": 5}
    assert np.allclose(run("linear", "linear", sizes, x, w, b), x @ w.T + b, atol=1e-5)
    assert np.allclose(run("linear", "linear", sizes, x, w, without="bias"), x @ w.T, atol=1e-5)
    alone = run("linear", "linear", {"S": (), "In": 16, "Out": 5}, x[0, 0], w, b)
    assert np.allclose(alone, x[0, 0] @ w.T + b, atol=1e-5)


def test_linear_in_bf16_rounds_each_step() -> None:
    x, w = bf16_bits(f32(1, 40)), bf16_bits(f32(1, 40))
    total = 0.0
    for a, b in zip(bf16(x)[0].tolist(), bf16(w)[0].tolist(), strict=True):
        total = round_float(total + round_float(a * b, "bf16"), "bf16")
    got = run(
        "linear", "linear", {"S": (1,), "In": 40, "Out": 1, "T": "bf16"}, x, w, without="bias"
    )
    assert got.dtype == np.uint16
    assert bf16(got)[0, 0] == total


def test_embedding() -> None:
    table = f32(7, 4)
    ids = np.array([[0, 6, 3]], np.int32)
    got = run("embedding", "embedding", {"S": (1, 3), "Vocab": 7, "H": 4}, ids, table)
    assert np.array_equal(got, table[ids])


def test_layer_norm_and_rms_norm() -> None:
    x, w, b = f32(3, 32, scale=40) + 7, f32(32), f32(32)
    wide = x.astype(np.float64)
    level = (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 1e-5)
    sizes = {"S": (3,), "H": 32}
    eps = np.float32(1e-5)
    assert np.allclose(run("norm", "layer_norm", sizes, x, w, b, eps), level * w + b, atol=1e-4)
    assert np.allclose(
        run("norm", "layer_norm", sizes, x, w, eps, without="bias"), level * w, atol=1e-4
    )
    rms = wide / np.sqrt((wide * wide).mean(-1, keepdims=True) + 1e-5) * w
    assert np.allclose(run("norm", "rms_norm", sizes, x, w, eps), rms, atol=1e-4)


def test_group_norm() -> None:
    x, w, b = f32(2, 6, 3, 2), f32(6), f32(6)
    sizes = {"B": 2, "C": 6, "H": 3, "W": 2, "Groups": 2}
    parts = x.reshape(2, 2, 18).astype(np.float64)
    level = (parts - parts.mean(-1, keepdims=True)) / np.sqrt(parts.var(-1, keepdims=True) + 1e-6)
    expected = level.reshape(x.shape) * w[:, None, None] + b[:, None, None]
    got = run("norm", "group_norm", sizes, x, w, b, np.float32(1e-6))
    assert np.allclose(got, expected, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("gelu", lambda x: 0.5 * x * (1 + math.tanh(0.7978845608 * (x + 0.044715 * x**3)))),
        ("gelu_erf", lambda x: 0.5 * x * (1 + math.erf(x / math.sqrt(2)))),
        ("relu", lambda x: max(x, 0.0)),
        ("sigmoid", lambda x: 1 / (1 + math.exp(-x))),
        ("silu", lambda x: x / (1 + math.exp(-x))),
    ],
)
def test_activations(name: str, reference: object) -> None:
    x = np.linspace(-9, 9, 101, dtype=np.float32)
    expected = [reference(float(v)) for v in x]  # type: ignore[operator]
    assert np.allclose(run("activations", name, {"S": (101,)}, x), expected, atol=2e-6)


def _softmax(x: np.ndarray) -> np.ndarray:
    raised = np.exp(x - x.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


def test_softmax() -> None:
    x = f32(4, 9, scale=30)
    x[0] = -1e30
    got = run("softmax", "softmax", {"S": (4,), "N": 9}, x)
    assert np.allclose(got, _softmax(x.astype(np.float64)), atol=1e-6)
    assert np.allclose(got[0], 1 / 9)


def _attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray) -> np.ndarray:
    scores = np.einsum("bhqd,bhkd->bhqk", q, k).astype(np.float64) * 0.5
    return np.einsum("bhqk,bhkd->bhqd", _softmax(np.where(mask, scores, -1e30)), v)


def test_attention() -> None:
    q, k, v = f32(2, 3, 4, 8), f32(2, 3, 6, 8), f32(2, 3, 6, 8)
    sizes = {"B": 2, "H": 3, "Q": 4, "K": 6, "D": 8}
    scale = np.float32(0.5)
    mask = run("attention", "causal_mask", {"Q": 4, "K": 6})
    assert np.array_equal(mask, np.tri(4, 6, 2, dtype=bool))
    mask[0] = False
    got = run("attention", "attention", sizes, q, k, v, scale, mask)
    assert np.allclose(got, _attention(q, k, v, mask), atol=1e-5)
    free = run("attention", "attention", sizes, q, k, v, scale, without="mask")
    assert np.allclose(free, _attention(q, k, v, np.True_), atol=1e-5)
    rows = RNG.random((2, 4, 6)) > 0.4
    got = run("attention", "attention_rows", sizes, q, k, v, scale, rows)
    assert np.allclose(got, _attention(q, k, v, rows[:, None]), atol=1e-5)


def test_grouped_attention() -> None:
    q, k, v = f32(1, 6, 4, 8), f32(1, 2, 5, 8), f32(1, 2, 5, 8)
    sizes = {"B": 1, "H": 6, "Hk": 2, "Q": 4, "K": 5, "D": 8}
    got = run("attention", "grouped_attention", sizes, q, k, v, np.float32(0.5), without="mask")
    repeated = (np.repeat(t, 3, axis=1) for t in (k, v))
    assert np.allclose(got, _attention(q, *repeated, np.True_), atol=1e-5)
    with pytest.raises(ShapeError, match="`H % Hk == 0`"):
        lower_op(op("attention", "grouped_attention"), {**sizes, "H": 5, "T": "f32"})
    with pytest.raises(UsageError, match="needs a value for `K`"):
        lower_op(op("attention", "causal_mask"), {"Q": 3})


CACHE = f32(3, 2, 5, 4)
SIZES = {"B": 3, "H": 2, "S": 5, "D": 4}


@pytest.mark.parametrize("at", [0, 4, 5, -1, 2**31 - 1, -(2**31)])
def test_write_at(at: int) -> None:
    value = f32(3, 2, 1, 4)
    expected = CACHE.copy()
    if 0 <= at < 5:
        expected[:, :, at] = value[:, :, 0]
    assert np.array_equal(run("cache", "write_at", SIZES, CACHE, value, at), expected)


@pytest.mark.parametrize("at", [0, 2, 3, 5, -2, -3, 2**31 - 1, -(2**31)])
def test_write_span(at: int) -> None:
    value = f32(3, 2, 3, 4)
    expected = CACHE.copy()
    for k in range(3):
        if 0 <= at + k < 5:
            expected[:, :, at + k] = value[:, :, k]
    got = run("cache", "write_span", {**SIZES, "N": 3}, CACHE, value, at)
    assert np.array_equal(got, expected)


def test_write_rows() -> None:
    value, at = f32(3, 2, 1, 4), np.array([4, 7, 0], np.int32)
    expected = CACHE.copy()
    expected[0, :, 4], expected[2, :, 0] = value[0, :, 0], value[2, :, 0]
    assert np.array_equal(run("cache", "write_rows", SIZES, CACHE, value, at), expected)


def test_write_slots() -> None:
    value, slots = f32(2, 2, 3, 4), np.array([2, 5], np.int32)
    expected = CACHE.copy()
    expected[2, :, 1:4] = value[0]
    got = run("cache", "write_slots", {**SIZES, "M": 2, "N": 3}, CACHE, value, slots, 1)
    assert np.array_equal(got, expected)


def test_write_tokens() -> None:
    value = f32(1, 2, 4, 4)
    rows, at = np.array([2, 0, 2, 1], np.int32), np.array([4, 1, 4, 9], np.int32)
    expected = CACHE.copy()
    for p in range(3):
        expected[rows[p], :, at[p]] = value[0, :, p]
    got = run("cache", "write_tokens", {**SIZES, "P": 4}, CACHE, value, rows, at)
    assert np.array_equal(got, expected)


def test_rope_turns_pairs_of_coordinates() -> None:
    x, angle = f32(2, 3, 5, 4), f32(5, 2)
    cos, sin = np.cos(np.tile(angle, 2)), np.sin(np.tile(angle, 2))
    plane = x[..., :2] + 1j * x[..., 2:]
    turned = plane * np.exp(1j * angle)
    expected = np.concatenate([turned.real, turned.imag], -1)
    sizes = {"B": 2, "H": 3, "S": 5, "D": 4}
    assert np.allclose(run("rope", "rope", sizes, x, cos, sin), expected, atol=1e-5)
    rows = [np.stack([t, t[::-1]]) for t in (cos, sin)]
    got = run("rope", "rope_rows", sizes, x, *rows)
    assert np.allclose(got[0], expected[0], atol=1e-5)
    back = run("rope", "rope", sizes, x, cos[::-1], sin[::-1])
    assert np.array_equal(got[1], back[1])


def test_rope_rates_are_rounded_step_by_step() -> None:
    rates = run("rope", "rope_rates", {"D": 12}, np.float32(5000.0))
    exponent = np.arange(0, 12, 2, dtype=np.float32) / np.float32(12)
    power = (5000.0 ** exponent.astype(np.float64)).astype(np.float32)
    assert rates.tobytes() == (np.float32(1) / power).tobytes()


def test_swiglu() -> None:
    x, gate, up, down = f32(2, 6), f32(9, 6), f32(9, 6), f32(6, 9)
    raised = x @ gate.T
    expected = (raised / (1 + np.exp(-raised)) * (x @ up.T)) @ down.T
    got = run("mlp", "swiglu", {"S": (2,), "H": 6, "Inner": 9}, x, gate, up, down)
    assert np.allclose(got, expected, atol=1e-4)


def test_argmax_takes_the_first_and_nan_as_largest() -> None:
    x = np.array([[1, 7, 7, -2], [np.nan, 9, np.nan, 0], [-np.inf] * 4], np.float32)
    assert run("decoding", "argmax", {"S": (3,), "N": 4}, x).tolist() == [1, 0, 0]
    whole = np.array([3, -5, 3], np.int64)
    assert run("decoding", "argmax", {"S": (), "N": 3, "T": "i64"}, whole) == 0
    assert run("decoding", "argmax", {"S": (2,), "N": 0}, f32(2, 0)).tolist() == [0, 0]


def _windows(x: np.ndarray, k: tuple[int, ...], step: tuple[int, ...]) -> np.ndarray:
    axes = tuple(range(2, x.ndim))
    views = np.lib.stride_tricks.sliding_window_view(x, k, axes)  # type: ignore[call-overload]
    return np.asarray(views[(slice(None), slice(None), *(slice(None, None, s) for s in step))])


@pytest.mark.parametrize(("stride", "pad"), [(1, 0), (2, 1), (3, 2)])
def test_convolutions(stride: int, pad: int) -> None:
    x, w, b = f32(2, 3, 7, 6), f32(4, 3, 3, 3), f32(4)
    sizes = {"B": 2, "Cin": 3, "Cout": 4, "H": 7, "W": 6, "K": 3, "Stride": stride, "Pad": pad}
    padded = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    expected = np.einsum("bchwij,ocij->bohw", _windows(padded, (3, 3), (stride, stride)), w)
    got = run("conv", "conv2d", sizes, x, w, b)
    assert np.allclose(got, expected + b[:, None, None], atol=1e-5)
    bare = run("conv", "conv2d", sizes, x, w, without="bias")
    assert np.allclose(bare, expected, atol=1e-5)

    narrow = f32(4, 3, 2, 5)
    rect = {"B": 2, "Cin": 3, "Cout": 4, "H": 7, "W": 6, "KH": 2, "KW": 5, "StrideH": stride}
    rect |= {"StrideW": 1, "PadH": pad, "PadW": 0}
    padded = np.pad(x, ((0, 0), (0, 0), (pad, pad), (0, 0)))
    expected = np.einsum("bchwij,ocij->bohw", _windows(padded, (2, 5), (stride, 1)), narrow)
    got = run("conv", "conv2d_rect", rect, x, narrow, without="bias")
    assert np.allclose(got, expected, atol=1e-5)

    signal, taps = f32(2, 3, 9), f32(4, 3, 3)
    line = {"B": 2, "Cin": 3, "Cout": 4, "L": 9, "K": 3, "Stride": stride, "Pad": pad}
    padded = np.pad(signal, ((0, 0), (0, 0), (pad, pad)))
    expected = np.einsum("bclk,ock->bol", _windows(padded, (3,), (stride,)), taps)
    got = run("conv", "conv1d", line, signal, taps, b)
    assert np.allclose(got, expected + b[:, None], atol=1e-5)


def test_pooling_and_resizing() -> None:
    x = f32(2, 3, 7, 6)
    sizes = {"B": 2, "C": 3, "H": 7, "W": 6}
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-1e30)
    expected = _windows(padded, (3, 3), (2, 2)).max((-1, -2))
    got = run("pool", "max_pool2d", {**sizes, "K": 3, "Stride": 2, "Pad": 1}, x)
    assert np.array_equal(got, expected)
    mean = run("pool", "global_average_pool2d", sizes, x)
    assert np.allclose(mean, x.mean((2, 3)), atol=1e-6)
    wide = run("resize", "upsample_nearest2d", {**sizes, "Scale": 3}, x)
    assert np.array_equal(wide, x.repeat(3, 2).repeat(3, 3))


def test_products() -> None:
    a, b = f32(4, 5), f32(5, 3)
    assert np.allclose(run("linalg", "matmul", {"M": 4, "K": 5, "N": 3}, a, b), a @ b, atol=1e-5)
    assert np.isclose(run("linalg", "dot", {"N": 5}, a[0], a[1]), a[0] @ a[1], atol=1e-5)
    outer = run("linalg", "outer", {"M": 5, "N": 3}, a[0], b[0])
    assert np.array_equal(outer, np.outer(a[0], b[0]))
    stack, other = f32(2, 3, 4, 5), f32(2, 3, 5, 2)
    sizes = {"B": (2, 3), "M": 4, "K": 5, "N": 2}
    assert np.allclose(
        run("linalg", "batched_matmul", sizes, stack, other), stack @ other, atol=1e-5
    )
    flags = np.array([[True, False]])
    turned = run("linalg", "transpose", {"M": 1, "N": 2, "T": "bool"}, flags)
    assert turned.tolist() == [[True], [False]]


def test_parallel_ops_have_nothing_to_exchange_on_one_device() -> None:
    x = f32(2, 3)
    assert np.array_equal(run("parallel", "all_reduce", {"S": (2, 3)}, x), x)
    assert np.array_equal(run("parallel", "shared", {"S": (2, 3)}, x), x)
    assert np.array_equal(run("parallel", "all_gather", {"R": 2, "N": 3, "Shards": 1}, x), x)
    both = run("parallel", "all_gather", {"R": 2, "N": 3, "Shards": 2}, x)
    assert np.array_equal(both, np.concatenate([x, x], 1))


def words(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@pytest.mark.parametrize(
    ("key", "counter", "expected"),
    [  # the known answers that come with the generator's reference code
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF,) * 2, (0xFFFFFFFF,) * 2, (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ],
)
def test_threefry(key: tuple[int, int], counter: tuple[int, int], expected: object) -> None:
    got = run("random", "threefry2x32", {"N": 1}, words(*key), words(*counter)[None])
    assert tuple(got[0].tolist()) == expected


def test_random_numbers() -> None:
    key = words(0, 0)
    split = run("random", "split", {"N": 2}, key).tolist()
    assert split == [[1797259609, 2579123966], [928981903, 3453687069]]
    drawn = run("random", "bits", {"N": 2}, key).tolist()
    assert drawn == [a ^ b for a, b in split]
    even = run("random", "uniform", {"N": 4000}, words(1, 2))
    assert even.min() >= 0
    assert even.max() < 1
    assert abs(even.mean() - 0.5) < 0.02
    two = run("random", "uniform", {"N": 2}, key)
    assert two.tolist() == [(bits >> 9) / 2**23 for bits in drawn]
    assert np.array_equal(
        run("random", "fold_in", {}, words(7, 9), -1),
        run("random", "threefry2x32", {"N": 1}, words(7, 9), words(0, 2**32 - 1)[None])[0],
    )
    normal = run("random", "normal", {"N": 4000}, words(3, 4))
    assert abs(normal.mean()) < 0.06
    assert abs(normal.std() - 1) < 0.05


def test_categorical_follows_the_probabilities() -> None:
    share = np.array([0.5, 0.2, 0.3])
    logits = np.tile(np.log(share), (4000, 1)).astype(np.float32)
    got = run("random", "categorical", {"B": 4000, "V": 3}, words(5, 6), logits)
    counts = np.bincount(got, minlength=3) / 4000
    assert np.abs(counts - share).max() < 0.03
    certain = np.array([[0, 1e9, 0]], np.float32)
    assert run("random", "categorical", {"B": 1, "V": 3}, words(5, 6), certain).tolist() == [1]
