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
