"""Constructors fold what is exact and refuse what is wrong."""

from __future__ import annotations

import math

import pytest

from linnet.dims import Dim, Sym
from linnet.ir import build
from linnet.ir.errors import BrokenIR
from linnet.ir.expr import Index

N = Dim.sym(Sym("N"))
X = build.input_node("x", build.tensor("f32", [N, 3]))
I = Index("i", N)  # noqa: E741 (the name of a loop variable)


def test_folding_keeps_only_what_is_exact() -> None:
    width = build.cast(build.dim_const(Dim.const(64)), "f32")
    scale = build.apply("div", build.const(1, "f32"), build.apply("sqrt", width))
    assert isinstance(scale, build.Const)
    assert scale.value == 0.125
    assert isinstance(build.apply("exp", width), build.Apply)
    x = build.Operands().load(X, (build.index_ref(I), build.const(0, "i64")))
    assert build.cast(x, "f32") is x
    assert build.select(build.const(False, "bool"), width, x) is x


def test_wrong_use_is_refused() -> None:
    with pytest.raises(BrokenIR):
        build.apply("and", build.const(1.0, "f32"), build.const(1.0, "f32"))
    with pytest.raises(BrokenIR):
        build.apply("add", build.const(1, "i32"), build.const(1, "i64"))
    with pytest.raises(BrokenIR):
        build.reduce("any", (I,), build.const(1, "i32"))


def test_reshapes_join_and_vanish() -> None:
    assert build.reshape(X, [N, 3]) is X
    flat = build.reshape(X, [3 * N])
    assert build.reshape(flat, [N, 3]) is X
    assert build.reshape(flat, [3, N]).args == (X,)


def test_neutral_elements() -> None:
    assert build.neutral("max", "i8") == -128
    assert build.neutral("min", "u8") == 255
    assert build.neutral("max", "f32") == -math.inf
    assert build.neutral("prod", "f16") == 1.0
    assert build.neutral("all", "bool") is True
