"""`linnet.compile`, `Unit.bind` and calls, against numbers worked out by hand."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

import linnet

WEIGHT = np.array([1, 10, 100], np.float32)
BIAS = np.array([0.5, 0.25, 0.125], np.float32)
ROWS = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
SUMS = np.array([5, 70, 900], np.float32)


def test_a_unit_says_what_it_needs(unit: linnet.Unit) -> None:
    found = [(p.path, p.dtype, p.dims, p.optional) for p in unit.parameters]
    assert found == [("weight", "f32", (3,), False), ("bias", "f32", (3,), True)]
    assert unit.generics == {"N": 3, "T": "f32"}
    assert list(unit.entries) == ["add", "pick", "zeros"]
    assert unit.target != "native"
    assert "linnet_add" in unit.c() or "add" in unit.c()
    assert "add" in unit.explain()


def test_state_adds_up_until_it_is_reset(unit: linnet.Unit) -> None:
    with unit.bind({"weight": WEIGHT}) as program:
        np.testing.assert_array_equal(program.add(ROWS), SUMS)
        np.testing.assert_array_equal(program.add(x=ROWS), 2 * SUMS)
        np.testing.assert_array_equal(program.state("total"), 2 * SUMS)
        program.reset_state()
        np.testing.assert_array_equal(program.call("add", ROWS), SUMS)
        program.set_state("total", BIAS)
        np.testing.assert_array_equal(program.add(ROWS), SUMS + BIAS)


def test_an_optional_weight_counts_when_it_is_there(unit: linnet.Unit, tmp_path: Path) -> None:
    program = unit.bind({"weight": WEIGHT, "bias": BIAS})
    np.testing.assert_array_equal(program.add(ROWS), SUMS + BIAS)
    save_file({"weight": WEIGHT, "spare": BIAS}, tmp_path / "model.safetensors")
    program = unit.bind(tmp_path)
    np.testing.assert_array_equal(program.add(ROWS), SUMS)
    assert program.ignored == ("spare",)


@pytest.mark.parametrize(
    "weight",
    [[1, 10, 100], [1.0, 10.0, 100.0], WEIGHT.astype(">f4"), WEIGHT.astype(np.float16)],
    ids=["integers", "floats", "big-endian", "half"],
)
def test_weights_are_numbers_of_the_declared_dtype(unit: linnet.Unit, weight: object) -> None:
    program = unit.bind({"weight": weight})  # type: ignore[dict-item]
    np.testing.assert_array_equal(program.add(ROWS), SUMS)


def test_generics_are_whole_numbers_of_any_kind(source: Path) -> None:
    unit = linnet.compile(source, generics={"N": np.int64(3)}, bind={"B": np.uint8(2)})
    assert unit.generics["N"] == 3
    np.testing.assert_array_equal(unit.bind({"weight": WEIGHT}).add(ROWS), SUMS)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "no source file is named"),
        (".", r"\. is a folder"),
        ("gpt2-tales", r'is a model, not a source file\nhelp: .*nest\.load\("gpt2-tales"\)'),
        ("é" * 500, "no such file: é"),
        ("a\0b", "no such file"),
        (5, "named by a string or a path, not 5"),
    ],
)
def test_what_is_no_source(source: object, message: str) -> None:
    with pytest.raises(linnet.UsageError, match=message):
        linnet.compile(source)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"generics": 5}, "generics = 5: it must be a dictionary"),
        ({"generics": [("N", 3)]}, "generics = .* must be a dictionary"),
        ({"generics": {"N": 3}, "entries": 5}, "entries = 5"),
        ({"generics": {"N": 3}, "entries": [5]}, "entries = .5."),
        ({"generics": {5: 3}}, "generics: 5 is no name"),
        ({"generics": {"N": 3}, "bind": 5}, "bind = 5"),
        ({}, r'needs a value for `N`\nhelp: .*generics=\{"N": …\}, or --generic N=…'),
    ],
)
def test_wrong_values(source: Path, options: dict[str, object], message: str) -> None:
    with pytest.raises(linnet.UsageError, match=message):
        linnet.compile(source, **options)  # type: ignore[arg-type]


def test_entries_describe_themselves(unit: linnet.Unit) -> None:
    program = unit.bind({"weight": WEIGHT})
    assert str(inspect.signature(program.add)) == "(x)"
    assert str(inspect.signature(program.zeros)) == "(*, M)"
    assert program.add.__doc__ == "add(x: f32[B, 3]) -> f32[3]"
    assert program.add.__qualname__ == "Program.add"


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_program_cannot_be_copied(unit: linnet.Unit, copied: Callable[[object], object]) -> None:
    with pytest.raises(TypeError, match="cannot be copied or pickled"):
        copied(unit.bind({"weight": WEIGHT}))


@pytest.mark.parametrize("as_file", [False, True])
def test_weights_from_a_checkpoint_under_other_names(
    unit: linnet.Unit, tmp_path: Path, as_file: bool
) -> None:
    save_file({"w": WEIGHT, "b": BIAS}, tmp_path / "model.safetensors")
    bindings: object = {"weight": "w", "bias": "b"}
    if as_file:
        bindings = tmp_path / "bindings.json"
        bindings.write_text('{"weight": "w", "bias": "b"}')
    program = unit.bind(tmp_path, bindings)  # type: ignore[arg-type]
    np.testing.assert_array_equal(program.add(ROWS), SUMS + BIAS)


def test_bf16_weights_are_their_bits(source: Path) -> None:
    unit = linnet.compile(source, generics={"N": 3, "T": "bf16"}, entries="pick")
    bits = (WEIGHT.view(np.uint32) >> 16).astype(np.uint16)  # 1, 10 and 100 are exact
    program = unit.bind({"weight": bits})
    assert program.pick(2) == bits[2]


def test_an_index_is_clamped_by_the_language_and_refused_when_strict(unit: linnet.Unit) -> None:
    assert unit.bind({"weight": WEIGHT}).pick(7) == 100
    assert unit.bind({"weight": WEIGHT}).pick(-1) == 1
    with pytest.raises(linnet.ShapeError, match="`at` holds 7"):
        unit.bind({"weight": WEIGHT}, strict=True).pick(7)


def test_a_size_that_no_input_shows_goes_by_name(unit: linnet.Unit) -> None:
    program = unit.bind({"weight": WEIGHT})
    assert program.zeros(M=2).shape == (2, 3)
    with pytest.raises(linnet.UsageError, match="no input determines `M`"):
        program.zeros()


def test_bound_sizes_are_fixed(source: Path) -> None:
    unit = linnet.compile(source, generics={"N": 3}, entries=["add"], bind={"B": 2})
    program = unit.bind({"weight": WEIGHT})
    np.testing.assert_array_equal(program.add(ROWS), SUMS)
    with pytest.raises(linnet.ShapeError, match="2 elements"):
        program.add(ROWS[:1])


def test_all_misfits_are_reported_together(unit: linnet.Unit) -> None:
    with pytest.raises(linnet.CheckpointError) as caught:
        unit.bind({"wieght": WEIGHT, "bias": np.zeros((3, 1), np.float64)})
    text = str(caught.value)
    assert "`weight`: no such tensor" in text
    assert "`wieght`" in text
    assert "`bias`: shape [3, 1]" in text


def test_what_does_not_fit_says_how_it_might(tmp_path: Path) -> None:
    path = tmp_path / "layer.linnet"
    path.write_text(
        "module layer\npub block Layer { param up: Tensor[2, 3; f32] param shift: Tensor[2; f32]"
        " pub entry get() -> Tensor[2; f32] { return up[:, 0] + shift } }\n"
    )
    unit = linnet.compile(path)
    with pytest.raises(linnet.CheckpointError) as caught:
        unit.bind({"up": np.zeros((3, 2), np.float32), "shift": np.zeros(2)})
    text = str(caught.value)
    assert "`up`: shape [3, 2], the source needs [2, 3]: its axes are the other way round\n" in text
    assert "`shift`: dtype f64, the source needs f32; convert it first\n" in text
    assert "asked for by nothing" not in text
    with pytest.raises(linnet.CheckpointError) as caught:
        unit.bind({"layer.up": np.zeros((2, 3), np.float32), "b": np.zeros(2, np.float32)})
    assert "  there, and asked for by nothing: `b`, `layer.up`\n" in str(caught.value)


@pytest.mark.parametrize("size", [10**8, 10**12, 2**63 - 1])
@pytest.mark.parametrize("shape", ["N, N", "N * N"])
def test_sizes_beyond_all_memory(tmp_path: Path, size: int, shape: str) -> None:
    path = tmp_path / "wide.linnet"
    path.write_text(
        f"module wide\npub block Wide<N: Dim> {{ param up: Tensor[{shape}; f32]"
        " pub entry get(x: f32) -> f32 { return x } }\n"
    )
    with pytest.raises(linnet.ShapeError, match=r"`up` would have the shape .*, more than"):
        linnet.compile(path, generics={"N": size})


def test_a_clause_that_breaks_is_named(unit: linnet.Unit) -> None:
    program = unit.bind({"weight": WEIGHT})
    with pytest.raises(linnet.ShapeError, match=r"B <= 4.*\n.*scaled\.linnet.*B = 5"):
        program.add(np.zeros((5, 3), np.float32))


@pytest.mark.parametrize(
    ("args", "named", "message"),
    [
        ((), {}, "no value is given for `x`"),
        ((ROWS, ROWS), {}, "takes 1 input"),
        ((ROWS,), {"x": ROWS}, "given twice"),
        ((ROWS,), {"y": 1}, "no parameter 'y'"),
    ],
)
def test_wrong_calls(
    unit: linnet.Unit, args: tuple[object, ...], named: dict[str, object], message: str
) -> None:
    program = unit.bind({"weight": WEIGHT})
    with pytest.raises(linnet.UsageError, match=message):
        program.add(*args, **named)


def test_unknown_names(unit: linnet.Unit) -> None:
    program = unit.bind({"weight": WEIGHT})
    with pytest.raises(linnet.UsageError, match="did you mean 'add'"):
        program.call("ad")
    with pytest.raises(linnet.UsageError, match="no entry 5"):
        program.call(5)  # type: ignore[arg-type]
    for value in ("ab", [1e39] * 3, {}):
        with pytest.raises(linnet.UsageError, match="`total` holds float32"):
            program.set_state("total", value)  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match="did you mean 'add'"):
        program.ad  # noqa: B018 -- the look-up is the test
    with pytest.raises(linnet.UsageError, match="no state `seen`"):
        program.state("seen")


@pytest.mark.parametrize(
    ("weights", "bindings", "kind", "message"),
    [
        (3, None, linnet.UsageError, "weights must be"),
        ({"weight": [[1], [2, 3]]}, None, linnet.UsageError, "'weight' is no array"),
        ("", None, linnet.UsageError, "is empty"),
        ({"weight": WEIGHT}, 5, linnet.UsageError, "bindings must be .* not 5"),
        ({5: WEIGHT}, None, linnet.UsageError, "5 is no name"),
        ({"weight": WEIGHT, "bais": BIAS}, None, linnet.UsageError, "'bais'; did you mean 'bias'"),
        ({"weight": ["a"] * 3}, None, linnet.UsageError, "holds no numbers"),
        ({"weight": [1, 10, 1e39]}, None, linnet.UsageError, "1e.39 does not fit f32"),
        ({"weight": WEIGHT}, {"weigth": "w"}, linnet.CardError, "did you mean 'weight'"),
        ({"weight": WEIGHT}, {"weight": 3}, linnet.CardError, "must name a tensor"),
        ("nowhere", None, linnet.CheckpointError, "nowhere"),
    ],
)
def test_wrong_weights(
    unit: linnet.Unit,
    weights: object,
    bindings: object,
    kind: type[linnet.LinnetError],
    message: str,
) -> None:
    with pytest.raises(kind, match=message):
        unit.bind(weights, bindings)  # type: ignore[arg-type]


def test_a_source_with_errors_carries_its_diagnostics(tmp_path: Path) -> None:
    path = tmp_path / "wrong.linnet"
    path.write_text("module wrong\nfn f<N: Dim>(x: Tensor[N; f32]) -> f32 { return x }\n")
    with pytest.raises(linnet.SourceError, match=r"wrong\.linnet:2") as caught:
        linnet.compile(path)
    assert [d.code for d in caught.value.diagnostics] == ["E2101"]


def test_a_closed_program_says_so(unit: linnet.Unit) -> None:
    program = unit.bind({"weight": WEIGHT})
    program.close()
    program.close()
    with pytest.raises(linnet.UsageError, match="closed"):
        program.add(ROWS)
