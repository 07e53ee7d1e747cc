"""Values for constants of a source: the same as writing them there, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linnet
from linnet import driver
from linnet.errors import ConstantError, UsageError
from linnet.interp import run

SOURCE = """
module model

use crate.kinds::{Form}

pub const FORM = Form.Plain
pub const SCALE: f32 = 2.0
pub const SHIFT = 0.5
pub const STEPS: i32 = 1
pub const DOUBLE = false
pub const WIDTH = 3
const BOTH: f32 = SCALE * SHIFT
const HIDDEN: f32 = 1.0

pub entry bent<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] {
    let formed = match FORM {
        Plain => x
        Squared => x * x
        Shifted => x + SHIFT
    }
    let steps = cast<f32>(STEPS)
    let more = if DOUBLE { formed + formed } else { formed }
    return more * SCALE * steps + BOTH
}

pub entry first(x: Tensor[WIDTH; f32]) -> Tensor[WIDTH; f32] {
    return x * HIDDEN
}
"""
KINDS = "module model.kinds\n\npub enum Form { Plain, Squared, Shifted }\n"
PACKAGE = '[package]\nname = "model"\nversion = "0.1.0"\nlanguage = "0.1"\n'
X = np.array([1.0, -2.0, 3.5], np.float32)


def write(folder: Path, **constants: str) -> Path:
    """The source, with other values for `constants` written into it."""
    text = SOURCE
    for name, value in constants.items():
        line = next(line for line in text.splitlines() if line.startswith(f"pub const {name}"))
        text = text.replace(line, line.partition("=")[0] + f"= {value}")
    (folder / "src").mkdir(parents=True, exist_ok=True)
    (folder / "linnet.toml").write_text(PACKAGE)
    (folder / "src" / "kinds.linnet").write_text(KINDS)
    file = folder / "src" / "lib.linnet"
    file.write_text(text)
    return file


def interpreted(file: Path, constants: dict[str, Any]) -> np.ndarray:
    request = driver.Request(file, entries=("bent",), constants=constants)
    (graph,) = driver.lower(request, driver.check(file, constants).program)  # type: ignore[arg-type]
    (result,), _ = run(graph, {"x": X}, {}, {}, sizes={"N": 3})
    return np.asarray(result)


def bent(scale: float, shift: float, steps: int, form: str, double: bool) -> np.ndarray:
    formed = {"Plain": X, "Squared": X * X, "Shifted": X + np.float32(shift)}[form]
    return (formed * (2 if double else 1)) * np.float32(scale) * steps + np.float32(scale * shift)


@pytest.mark.parametrize(
    ("constants", "written"),
    [
        ({}, {}),
        ({"FORM": "Squared"}, {"FORM": "Form.Squared"}),
        ({"FORM": "Shifted", "SHIFT": 4}, {"FORM": "Form.Shifted", "SHIFT": "4.0"}),
        ({"SCALE": -0.25, "DOUBLE": True}, {"SCALE": "-0.25", "DOUBLE": "true"}),
        ({"STEPS": -3, "SHIFT": 1e-3}, {"STEPS": "-3", "SHIFT": "1e-3"}),
    ],
)
def test_as_if_written_in_the_source(
    tmp_path: Path, constants: dict[str, Any], written: dict[str, str]
) -> None:
    file, other = write(tmp_path / "a"), write(tmp_path / "b", **written)
    values = {"SCALE": 2.0, "SHIFT": 0.5, "STEPS": 1, "FORM": "Plain", "DOUBLE": False, **constants}
    expected = bent(**{name.lower(): value for name, value in values.items()})
    unit = linnet.compile(file, entries="bent", constants=constants)
    assert dict(unit.constants) == constants
    got = unit.bind().bent(X)
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(got, interpreted(file, constants))
    # Settled while compiling: no trace of the choice is left, as with the source's own values.
    lines = [line for line in unit.c().splitlines() if "//" not in line]
    own = linnet.compile(other, entries="bent").c().splitlines()
    assert lines == [line for line in own if "//" not in line]


def test_a_warm_start_tells_values_apart(tmp_path: Path) -> None:
    file = write(tmp_path / "a")
    for _ in range(2):
        for scale in (1.0, 3.0):
            unit = linnet.compile(file, entries="bent", constants={"SCALE": np.float32(scale)})
            np.testing.assert_array_equal(unit.bind().bent(X), X * scale + scale / 2)


@pytest.mark.parametrize(
    ("constants", "message"),
    [
        (
            {"SCALES": 1.0},
            "the source has no public constant `SCALES`; did you mean `SCALE`",
        ),
        ({"zzz": 1.0}, r"no public constant `zzz` \(there are FORM, SCALE, SHIFT, STEPS, DOUBLE"),
        ({"HIDDEN": 1.0}, "`HIDDEN` is not public"),
        ({"WIDTH": 4}, "`WIDTH` cannot be set: it is a size"),
        ({"FORM": "Square"}, "FORM = Square: it must be a variant of `Form`: Plain, .*`Squared`"),
        ({"FORM": 1}, "FORM = 1: it must be a variant"),
        ({"SCALE": "2"}, "SCALE = 2: it must be a number"),
        ({"SCALE": True}, "SCALE = true: it must be a number"),
        ({"SCALE": 1e39}, r"SCALE = 1e\+39: it must be at most 3.4028235e38 in magnitude"),
        ({"SHIFT": float("nan")}, "SHIFT = nan: it must be a finite number"),
        ({"SHIFT": 10**400}, "SHIFT = 1000.*: it must be a finite number"),
        ({"STEPS": 1.0}, "STEPS = 1.0: it must be a whole number"),
        ({"STEPS": 2**31}, "STEPS = 2147483648: it must be a whole number from -2147483648"),
        ({"DOUBLE": 1}, "DOUBLE = 1: it must be true or false"),
        ({"DOUBLE": None}, "DOUBLE = None must be a number"),
        ({3: 1.0}, "3 is no name"),
        ([1], "must be a dictionary"),
    ],
)
def test_refusals(tmp_path: Path, constants: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        linnet.compile(write(tmp_path / "a"), constants=constants)
    if isinstance(caught.value, ConstantError):
        assert caught.value.constant in constants
