"""What programs of this folder compute, against values worked out by hand or by numpy.

The interpreter runs them here; `test_programs` holds the C of every target against it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from linnet.check import root_of
from linnet.interp import run
from linnet.lower import lower_entry
from linnet.runtime.boundary import NUMPY
from programs.agree import checked, name

HERE = Path(__file__).parent


def call(
    file: str,
    entry: str,
    *arguments: Any,
    root: str | None = None,
    sizes: Mapping[str, int] | None = None,
    generics: Mapping[str, int | str] | None = None,
    state: dict[str, Any] | None = None,
) -> list[Any]:
    """The results of one call, states kept in `state`. Sizes that no argument tells are given."""
    program = checked((HERE / file).read_text("utf-8"), file)
    graph = lower_entry(program, root_of(program, root), entry, dict(generics or {}))
    inputs = {
        name(node): np.asarray(argument, NUMPY[node.type.dtype])
        for node, argument in zip(graph.inputs, arguments, strict=True)
    }
    states = {} if state is None else state
    results, new = run(graph, inputs, {}, states, sizes=dict(sizes or {}))
    states.update(new)
    return [np.asarray(value).tolist() for value in results]


def test_choices_that_only_the_run_can_make() -> None:
    assert call("choices.linnet", "kinds", 4, 3.0) == [6.0, 9.0, True]
    assert call("choices.linnet", "kinds", 5, 3.0) == [9.0, 9.0, True]
    assert call("choices.linnet", "kinds", -1, 3.0) == [0.0, 9.0, False]
    assert call("choices.linnet", "above", [1.0, 5.0, 9.0], 2.0) == [1, 5.0]
    assert call("choices.linnet", "above", [1.0, 5.0, 9.0], 20.0) == [-1, 20.0]
    assert call("choices.linnet", "doubled", 3.0, True) == [4.0, 9.0]
    assert call("choices.linnet", "doubled", 3.0, False) == [-1.0, 0.5]


def test_loops_carry_tuples_enums_and_optionals() -> None:
    assert call("choices.linnet", "carried", 0) == [1, 0.5, 0, 3.0]
    assert call("choices.linnet", "carried", 2) == [9, 2.5, 2, 9.0]
    assert call("choices.linnet", "carried", 3) == [27, 3.5, -1, 3.0]
    assert call("choices.linnet", "carried", 4) == [81, 4.5, -1, 6.0]


def test_the_arm_that_is_not_taken_leaves_states_alone() -> None:
    state: dict[str, Any] = {}
    steps = [
        call("state.linnet", "count", n, root="Counter", generics={"N": 2}, state=state)
        for n in (2, -5, 3)
    ]
    assert steps == [[1, [1, 1]], [0, [1, 1]], [11, [11, 11]]]


def test_structs() -> None:
    x = [1.0, 2.0, 6.0]
    assert call("structs.linnet", "measure", x, True) == [3.0, [-2.0, -1.0, 3.0], 6.0, 1.0, 1.0]
    assert call("structs.linnet", "measure", x, False)[-1] == 0.0
    assert call("structs.linnet", "both", 1.0, 2.0) == [2.0, 1.0]
    assert call("structs.linnet", "fibonacci", 7) == [13, 21]
    assert call("structs.linnet", "fibonacci", 3) == [3, 2]
    x, y = [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], [2.0, 5.0]
    halved = [[0.0, 0.5], [1.0, 1.5], [2.0, 2.5]]
    got = call("structs.linnet", "configured", x, y, True)
    assert got == [halved, [1.0, 2.5], 2.0 + 2.0 + 5.0, 5.0]
    raised = [[0.5, 1.5], [2.5, 3.5], [4.5, 5.5]]
    assert call("structs.linnet", "configured", x, y, False)[0] == raised


def test_counted_loops_and_scans() -> None:
    x = [1.0, 2.0, 3.0, 4.0]
    assert call("counted.linnet", "polynomial", x, 2.0) == [49.0, 3]
    assert call("counted.linnet", "running", x) == [
        [1.0, 3.0, 6.0, 10.0],
        [[0, 0], [0, 1], [0, 2], [0, 3]],
        [True, False, True, False],
    ]
    assert call("counted.linnet", "running", []) == [[], [], []]
    grid = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    (table,) = call("counted.linnet", "table", grid)
    assert table == [[[1.0, 2.0], [2.0, 4.0]], [[3.0, 4.0], [6.0, 8.0]], [[5.0, 6.0], [10.0, 12.0]]]
    assert call("counted.linnet", "between", sizes={"N": 6}) == [[2, 3, 4, 5], 14]
    state: dict[str, Any] = {}
    given = {"root": "Walk", "generics": {"N": 3}, "state": state}
    assert call("state.linnet", "walk", 2.0, **given) == [[2.0, 4.0, 6.0], [6.0]]
    assert call("state.linnet", "walk", 1.0, **given) == [[7.0, 8.0, 9.0], [9.0]]


def test_running_sums() -> None:
    x = np.arange(12.0).reshape(3, 4)
    whole = (x.astype(np.int64) * 10**9 % 2**31).astype(np.int32)
    assert call("counted.linnet", "sums", x) == [
        np.cumsum(x, 0).tolist(),
        np.cumsum(x, 1).tolist(),
        np.cumsum(whole, 1, np.int32).tolist(),
    ]


INF, NAN = float("inf"), float("nan")


def test_integers_wrap_truncate_and_never_trap() -> None:
    a, b = [7, -7, -128, 5, 127, -1], [2, 2, -1, 0, 127, 0]
    assert call("meanings.linnet", "ints", a, b) == [
        [3, -3, -128, 0, 1, 0],
        [1, -1, 0, 0, 0, 0],
        [14, -14, -128, 0, 1, 0],
    ]


def test_shifts_by_the_width_or_more_leave_the_sign() -> None:
    a, u = [1, -1, 64, -128], [1, 255, 64, 128]

    def shifts(n: int) -> list[Any]:
        return call("meanings.linnet", "shifts", a, u, n, n % 256)

    assert shifts(0) == [a, a, u, u]
    assert shifts(1) == [[2, -2, -128, 0], [0, -1, 32, -64], [2, 254, 128, 0], [0, 127, 32, 64]]
    for n in (8, 100, -1):
        assert shifts(n) == [[0] * 4, [0, -1, 0, -1], [0] * 4, [0] * 4]


def test_casts_saturate_from_floats_and_wrap_between_integers() -> None:
    x = [1.9, -1.9, 300.0, -300.0, NAN, INF, -INF, 3e9]
    assert call("meanings.linnet", "casts", x) == [
        [1, -1, 127, -128, 0, 127, -128, 127],
        [1, 0, 255, 0, 0, 255, 0, 255],
        [1, -1, 300, -300, 0, 2**31 - 1, -(2**31), 2**31 - 1],
        [True] * 8,
        [1, 0, 300, 0, 0, 2**64 - 1, 0, 3_000_000_000],
        [1, -1, 300, -300, 0, 2**63 - 1, -(2**63), 3_000_000_000],
    ]
    assert call("meanings.linnet", "narrow", [-129, 65541, 0, 70000]) == [
        [127, 5, 0, 112],
        [65407, 5, 0, 4464],
        [True, True, False, True],
        [-129.0, INF, 0.0, INF],
    ]


def test_positions_outside_are_brought_inside() -> None:
    for at, value in ((-5, 1.0), (1, 2.0), (9, 3.0), (2**62, 3.0)):
        assert call("meanings.linnet", "outside", [1.0, 2.0, 3.0], [], at) == [value, value, 0.0]


def test_min_and_max_give_nan_where_there_is_one() -> None:
    got = call("meanings.linnet", "nans", [NAN, 1.0, 2.0], [1.0, NAN, 3.0])
    expected = [[NAN, NAN, 2.0], [NAN, NAN, 3.0], NAN, NAN]
    for value, wanted in zip(got, expected, strict=True):
        np.testing.assert_array_equal(value, wanted)


def test_each_operation_rounds_to_its_dtype() -> None:
    half = np.float16(1.001)
    assert call("meanings.linnet", "rounding", half, 0)[0] == float(half * half + half)


def test_reductions_over_nothing() -> None:
    ends = [-(2**31), 2**31 - 1]
    got = call("meanings.linnet", "empty", [], [], [])
    assert got == [0.0, 1.0, -INF, INF, *ends, False, True]


def test_running_sums_elsewhere_and_rows_written_one_by_one() -> None:
    z = np.arange(12).reshape(2, 2, 3)
    assert call("counted.linnet", "elsewhere", [1.0, 2.0], [3.0, 4.0, 5.0], z) == [
        [2.0, 6.0],
        [7.0, 14.0],
        np.cumsum(z, 1).tolist(),
    ]
    out, grid = call("counted.linnet", "slots", 4)
    assert out == [0, 1, 4, 9, -1, -1, -1, -1]
    assert grid == [[0.5] * 3, [1.5] * 3, [2.5] * 3, [3.5] * 3, [0.5] * 3]
    assert call("counted.linnet", "slots", 100)[0] == [k * k for k in range(8)]


def test_loops_inside_index_notation_run_for_each_element() -> None:
    assert call("lanes.linnet", "steps", [1, 2, 3, 6, 7, 27, 0]) == [[0, 1, 7, 8, 16, 60, 0]]
    assert call("lanes.linnet", "total", [[1, 2], [3, 7]]) == [24, [1, 16]]
    (roots,) = call("lanes.linnet", "roots", [3.0, 8.0], [0.5, 1.5, 100.0])
    np.testing.assert_allclose(roots, [[2.0, 3.0]] * 3, atol=1e-3)
    x, limits = [1.0, 5.0, 2.0, 7.0], [0.0, 2.0, 6.0, 9.0]
    assert call("lanes.linnet", "places", x, limits) == [[0, 1, 3, -1]]
    # Of the six rounds those with i >= 4 multiply twice where n allows it.
    assert call("lanes.linnet", "powers", [2.0, 2.0, 3.0], [5, 4, 0]) == [[256.0, 64.0, 1.0]]
    parts = [[1.0, 3.0, 5.0], [2.0, 5.0, 8.0]]
    expected = [sum(a * b for a, b in zip(p, p[::-1], strict=True)) for p in parts]
    assert call("lanes.linnet", "mixed", [1.0, 2.0], [1.0, 2.0, 3.0]) == [expected]
