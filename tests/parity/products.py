"""Trials of the linear kernels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from parity.harness import Case, Kernel, Operand
from parity.trial import Trial, empty, near, normal


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


KERNELS = (LINEAR, LINEAR_PLAIN, LINEAR_FIXED, LINEAR_ROW, *LINEAR_HALVES)
