"""`linnet.compile`, `Unit.bind` and calls, against numbers worked out by hand."""

from __future__ import annotations

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


def test_an_optional_weight_counts_when_it_is_there(unit: linnet.Unit) -> None:
    program = unit.bind({"weight": WEIGHT, "bias": BIAS, "spare": BIAS})
    np.testing.assert_array_equal(program.add(ROWS), SUMS + BIAS)
    assert program.ignored == ("spare",)


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
    with pytest.raises(AttributeError, match="did you mean 'add'"):
        program.ad  # noqa: B018 -- the look-up is the test
    with pytest.raises(linnet.UsageError, match="no state `seen`"):
        program.state("seen")


@pytest.mark.parametrize(
    ("weights", "bindings", "kind", "message"),
    [
        (3, None, linnet.UsageError, "weights must be"),
        ({"weight": [[1], [2, 3]]}, None, linnet.UsageError, "'weight' is no array"),
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
