"""Instruction-set tables: spellings fill exactly their holes, lanes add up to sixteen."""

from __future__ import annotations

import pytest

from linnet.errors import UsageError
from linnet.targets.detect import TARGET_NAMES
from linnet.targets.target import load_target, target_names


def test_every_known_target_has_a_table() -> None:
    assert set(target_names()) == set(TARGET_NAMES)


def test_spellings_are_the_real_intrinsics() -> None:
    assert load_target("neon").f32.fma(a="x", b="w", c="s") == "vfmaq_f32(s, x, w)"
    assert load_target("avx512").f32.fma(a="x", b="w", c="s") == "_mm512_fmadd_ps(x, w, s)"


@pytest.mark.parametrize("name", TARGET_NAMES)
def test_registers_hold_sixteen_lanes(name: str) -> None:
    f32 = load_target(name).f32
    assert [r.at for r in f32.regs] == list(range(0, 16, f32.lanes))
    assert f32.each("s").split(", ") == [f"s{i}" for i in range(16 // f32.lanes)]
    first = f32.regs[0]
    assert (first.of("p"), first.left("n")) == ("p", "n")


def test_vector_targets_spell_the_same_operations() -> None:
    vector = [load_target(n) for n in TARGET_NAMES if n != "scalar"]
    assert len({frozenset(vars(t.f32)) for t in vector}) == 1
    assert len({frozenset(vars(t.i32)) for t in vector}) == 1


def test_a_wrong_hole_is_refused() -> None:
    with pytest.raises(TypeError, match="wants"):
        load_target("neon").f32.load(q="x")
    with pytest.raises(AttributeError, match="gather"):
        _ = load_target("neon").f32.gather


def test_an_unknown_target_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="sse9"):
        load_target("sse9")
