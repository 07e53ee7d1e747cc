"""The portable scalar functions: right within their bounds, and the same bits everywhere."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from parity.harness import ISAS, Case, Loop, build, same_bits, why_not

SPECIAL = [
    0.0,
    1e-45,
    1e-40,
    1.2e-38,
    1e-20,
    1e-8,
    1e-4,
    0.1,
    0.25,
    0.5,
    0.7,
    1.0,
    1.5,
    2.0,
    3.14159274,
]
SPECIAL += [
    9.0,
    13.0,
    15.0,
    20.0,
    45.0,
    70.0,
    88.72,
    88.8,
    89.5,
    103.0,
    104.5,
    1e4,
    1e10,
    3e38,
    np.inf,
]
ULP = {"exp": 1.0, "tanh": 3.0, "log": 1.0, "sin": 1.0, "cos": 1.0, "sqrt": 0.5, "rsqrt": 1.5}


def floats(dtype: type) -> np.ndarray:
    rng = np.random.default_rng(1)
    special = np.array(SPECIAL, dtype)
    with np.errstate(over="ignore"):
        spread = (10.0 ** rng.uniform(-44, 39, 2000)).astype(dtype)
        if dtype is np.float64:
            spread = np.concatenate([spread, 10.0 ** rng.uniform(-320, 308, 1000)])
    near = rng.uniform(0, 12, 4000).astype(dtype)
    half = np.concatenate([special, spread, near, rng.uniform(0, 100, 1001).astype(dtype)])
    return np.concatenate([half, -half, np.array([np.nan], dtype)])


NAMES = {np.float32: ("f32", "float"), np.float64: ("f64", "double")}
UNARY = [
    (
        name,
        dtype,
        Loop(
            f"loop_{name}_{NAMES[dtype][0]}",
            NAMES[dtype][1],
            (NAMES[dtype][1],),
            f"ln_{name}_{NAMES[dtype][0]}(a)",
        ),
    )
    for name in ULP
    for dtype in NAMES
]
INTS = {
    f"{s}{b}": (f"{'u' if s == 'u' else ''}int{b}_t", np.dtype(f"{s}{b // 8}"))
    for s in "iu"
    for b in (8, 16, 32, 64)
}
BINARY = [
    Loop(f"loop_{op}_{t}", c, (c, c), f"ln_{op}_{t}(a, b)")
    for op in ("div", "rem", "shl", "shr", "min", "max")
    for t, (c, _) in INTS.items()
]
FLOAT_BINARY = [
    Loop(f"loop_{op}_{t}", c, (c, c), f"ln_{op}_{t}(a, b)")
    for op in ("min", "max")
    for t, c in (("f32", "float"), ("f64", "double"))
]
CASTS = [
    Loop(f"loop_{t}_from_{f}", c, (cf,), f"ln_{t}_from_{f}(a)")
    for t, (c, _) in INTS.items()
    for f, cf in (("f32", "float"), ("f64", "double"))
]
HALVES = [
    Loop(f"loop_{a}_from_{b}", ca, (cb,), f"ln_{a}_from_{b}(a)")
    for a, ca, b, cb in (
        ("f32", "float", "f16", "uint16_t"),
        ("f32", "float", "bf16", "uint16_t"),
        ("f16", "uint16_t", "f32", "float"),
        ("bf16", "uint16_t", "f32", "float"),
        ("f16", "uint16_t", "f64", "double"),
        ("bf16", "uint16_t", "f64", "double"),
    )
]
FUNCTIONS = [loop for _, _, loop in UNARY] + BINARY + FLOAT_BINARY + CASTS + HALVES


def integers(dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    info = np.iinfo(dtype)
    edge = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 7, 8, 15, 16, 31, 32, 63, 64]
    edge += [-1, -2, -8] if info.min < 0 else []
    values = np.array([v for v in edge if info.min <= v <= info.max], dtype)
    a, b = np.meshgrid(values, values)
    return a.ravel(), b.ravel()


def cases() -> list[Case]:
    out = []
    for _, dtype, loop in UNARY:
        x = floats(dtype)
        out.append(Case(loop, [x.size], [x, np.empty_like(x)]))
    for loop in BINARY:
        a, b = integers(INTS[loop.symbol.split("_")[2]][1])
        out.append(Case(loop, [a.size], [a, b, np.empty_like(a)]))
    for loop in FLOAT_BINARY:
        v = np.array(
            [np.nan, -np.inf, -1.0, 0.0, 2.0, np.inf],
            np.float32 if "f32" in loop.symbol else np.float64,
        )
        a, b = (g.ravel() for g in np.meshgrid(v, v))
        out.append(Case(loop, [a.size], [a, b, np.empty_like(a)]))
    for loop in CASTS:
        x = floats(np.float32 if loop.operands[0] == "float" else np.float64)
        out.append(Case(loop, [x.size], [x, np.empty(x.size, INTS[loop.symbol.split("_")[1]][1])]))
    every = np.arange(65536, dtype=np.uint16)
    for loop in HALVES:
        x = every if loop.operands[0] == "uint16_t" else half_ties(loop.operands[0])
        kind = np.float32 if loop.result == "float" else np.uint16
        out.append(Case(loop, [x.size], [x, np.empty(x.size, kind)]))
    return out


def half_ties(ctype: str) -> np.ndarray:
    """Numbers at, just below and just above the middle between neighbours of f16 and bf16."""
    dtype = np.float32 if ctype == "float" else np.float64
    exact = np.arange(0, 0x7C00, 37, dtype=np.uint16).view(np.float16).astype(np.float64)
    exact = np.concatenate(
        [
            exact,
            (np.arange(0, 0x7F00, 41, dtype=np.uint32) << 16)
            .astype(np.uint32)
            .view(np.float32)
            .astype(np.float64),
        ]
    )
    middle = exact * (1 + 2.0**-9)
    middle = np.concatenate([middle, exact * (1 + 2.0**-12), exact + 2.0**-25])
    values = np.concatenate(
        [
            exact,
            middle,
            np.nextafter(middle, 0),
            np.nextafter(middle, 1e300),
            [65519.99, 65520.0, 65504.0, 1e300, np.inf, np.nan],
        ]
    )
    with np.errstate(over="ignore"):
        return np.concatenate([values, -values]).astype(dtype)


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[list[np.ndarray]]]:
    done: dict[str, list[list[np.ndarray]]] = {}

    def get(isa: str) -> list[list[np.ndarray]]:
        if isa not in done:
            folder = tmp_path_factory.mktemp("math")
            done[isa] = build(folder, isa, FUNCTIONS, "math").run(cases())
        return done[isa]

    return get


def exact(name: str, x: np.ndarray) -> np.ndarray:
    wide = x.astype(np.longdouble if x.dtype == np.float64 else np.float64)
    with np.errstate(all="ignore"):
        if name == "rsqrt":
            return 1 / np.sqrt(wide)
        if name in ("sin", "cos"):
            return np.where(np.isfinite(x), getattr(np, name)(x.astype(np.float64)), np.nan)
        return getattr(np, name)(wide)


def test_functions_are_within_their_bounds(
    results: Callable[[str], list[list[np.ndarray]]],
) -> None:
    for (name, dtype, _), (x, got) in zip(UNARY, results("scalar"), strict=False):
        want = exact(name, x)
        bound = ULP[name] if dtype is np.float32 else 3.0
        with np.errstate(all="ignore"):
            rounded = want.astype(dtype)
            unit = np.spacing(np.abs(rounded)).astype(want.dtype)
            error = np.abs(got.astype(want.dtype) - want) / unit
        plain = np.isfinite(rounded)
        assert np.array_equal(got[~plain], rounded[~plain], equal_nan=True), (name, dtype)
        worst = np.argmax(np.where(plain, error, 0))
        assert error[worst] <= bound, (name, dtype, x[worst], got[worst], want[worst])


def test_zero_keeps_its_sign_and_tanh_stays_within_one(
    results: Callable[[str], list[list[np.ndarray]]],
) -> None:
    by_name = {(n, d): r for (n, d, _), r in zip(UNARY, results("scalar"), strict=False)}
    for dtype in NAMES:
        x, tanh = by_name["tanh", dtype]
        assert np.array_equal(np.signbit(tanh[x == 0]), np.signbit(x[x == 0]))
        assert np.nanmax(np.abs(tanh)) == 1
        x, sin = by_name["sin", dtype]
        assert np.array_equal(np.signbit(sin[x == 0]), np.signbit(x[x == 0]))


def test_every_isa_gives_the_same_bits(
    isa: str, results: Callable[[str], list[list[np.ndarray]]]
) -> None:
    for case, mine, reference in zip(cases(), results(isa), results("scalar"), strict=True):
        assert same_bits(mine[-1], reference[-1]), case.function


def test_integers_never_trap(results: Callable[[str], list[list[np.ndarray]]]) -> None:
    for case, (a, b, got) in zip(
        cases()[len(UNARY) :], results("scalar")[len(UNARY) :], strict=False
    ):
        if case.function not in BINARY:
            break
        op, dtype = case.function.symbol.split("_")[1], a.dtype
        width = dtype.itemsize * 8
        for x, y, z in zip(a.tolist(), b.tolist(), got.tolist(), strict=True):
            far = not 0 <= y < width
            want = {
                "div": lambda x=x, y=y: (
                    0 if y == 0 else abs(x) // abs(y) * (1 if x * y >= 0 else -1)
                ),
                "rem": lambda x=x, y=y: 0 if y == 0 else abs(x) % abs(y) * (1 if x >= 0 else -1),
                "shl": lambda x=x, y=y, far=far: 0 if far else x << y,
                "shr": lambda x=x, y=y, far=far: (-1 if x < 0 else 0) if far else x >> y,
                "min": lambda x=x, y=y: min(x, y),
                "max": lambda x=x, y=y: max(x, y),
            }[op]()
            wrapped = int(
                np.array(want & (2**width - 1), np.uint64).astype(f"u{width // 8}").view(dtype)
            )
            assert z == wrapped, (case.function.symbol, x, y)


def test_casts_saturate_and_minimum_propagates_nan(
    results: Callable[[str], list[list[np.ndarray]]],
) -> None:
    for case, arrays in zip(cases(), results("scalar"), strict=True):
        if case.function in CASTS:
            x, got = arrays
            info = np.iinfo(got.dtype)
            want = [
                0
                if v != v
                else min(
                    max(int(v) if abs(v) < 1e30 else int(np.sign(v)) * 10**30, info.min), info.max
                )
                for v in x.tolist()
            ]
            assert got.tolist() == want, case.function.symbol
        if case.function in FLOAT_BINARY:
            a, b, got = arrays
            numpy_op = np.minimum if "min" in case.function.symbol else np.maximum
            assert np.array_equal(got, numpy_op(a, b), equal_nan=True)


def test_half_precision_rounds_to_nearest_even(
    results: Callable[[str], list[list[np.ndarray]]],
) -> None:
    for case, arrays in zip(cases(), results("scalar"), strict=True):
        if case.function not in HALVES:
            continue
        x, got = arrays
        symbol = case.function.symbol
        with np.errstate(over="ignore"):
            if symbol == "loop_f32_from_f16":
                assert same_bits(got, x.view(np.float16).astype(np.float32))
            elif symbol == "loop_f32_from_bf16":
                assert same_bits(got, (x.astype(np.uint32) << 16).view(np.float32))
            elif "_f16_from" in symbol:
                want = x.astype(np.float16)
                nan = np.isnan(x)
                assert np.isnan(got.view(np.float16)[nan]).all()
                assert np.array_equal(got[~nan], want.view(np.uint16)[~nan])
            else:
                assert_nearest_bf16(x, got)


def assert_nearest_bf16(x: np.ndarray, got: np.ndarray) -> None:
    value = (got.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    wide, finite = x.astype(np.float64), np.isfinite(value)
    assert np.array_equal(np.isnan(wide), np.isnan(value))
    for step in (-1, 1):  # neither neighbour is nearer; on a tie ours is the even one
        other = ((got.astype(np.int64) + step).astype(np.uint32) << 16).view(np.float32)
        with np.errstate(invalid="ignore"):
            mine, theirs = np.abs(wide - value), np.abs(wide - other.astype(np.float64))
        ok = ~finite | (mine < theirs) | ((mine == theirs) & (got % 2 == 0)) | np.isnan(theirs)
        ok |= (got & 0x7FFF) == 0
        assert ok.all(), (x[~ok], got[~ok])


def test_at_least_one_vector_isa_ran() -> None:
    assert [isa for isa in ISAS if isa != "scalar" and why_not(isa) is None]
