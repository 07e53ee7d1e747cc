"""The template environment: strict names, faithful layout, no support code that nothing uses."""

from __future__ import annotations

import jinja2
import pytest

from linnet.emit.env import environment, prelude
from linnet.targets.target import load_target


def test_a_misspelt_name_fails_at_render() -> None:
    with pytest.raises(jinja2.UndefinedError, match="vecc"):
        environment().from_string("{{ f32.vecc }}").render(**load_target("neon").context())


def test_only_used_support_functions_are_pasted() -> None:
    target = load_target("neon")
    text = prelude(target, "y = ln_tanh_f32(x);")
    assert "float ln_tanh_f32(float x)" in text
    assert "float ln_expm1_core_f32(float r)" in text  # which the former calls
    assert "ln_exp_f32" not in text
    assert "vfmaq" not in text
    assert "linnet_pool_run" in text
    assert "linnet_pack_panels" not in text


def test_packing_comes_when_asked_for() -> None:
    text = prelude(load_target("scalar"), "", ["linnet_pack_panels"])
    assert text.index("#include <sys/mman.h>") < text.index("void linnet_pack_panels(")


def test_output_does_not_vary() -> None:
    target = load_target("avx512")
    body = "ln_panels_64(); ln_exp_of(); ln_keys_64();"
    assert prelude(target, body) == prelude(target, body)
