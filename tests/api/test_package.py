"""The names of the package, and what importing it costs."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import linnet
from linnet import errors

PUBLIC = {"Program", "Unit", "__version__", "compile", "nest"}


def test_public_names() -> None:
    kinds = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.LinnetError)
    }
    assert sorted(PUBLIC | kinds) == linnet.__all__
    assert all(getattr(linnet, name) is not None for name in linnet.__all__)
    assert dir(linnet) == linnet.__all__


def test_one_version() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
    assert linnet.__version__ == project["project"]["version"]


def test_importing_brings_in_nothing_heavy() -> None:
    heavy = ["numpy", "lark", "jinja2", "tokenizers", "huggingface_hub", "rich", "linnet.check"]
    code = (
        "import sys, linnet; from linnet import nest; "
        f"sys.exit(' '.join(m for m in {heavy} if m in sys.modules) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
