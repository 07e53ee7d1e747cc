"""Conversions come from outside the product, by the checkpoint's model_type."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from linnet.bench import conversions
from linnet.bench.engine import NotForThisModelError


def _checkpoint(folder: Path, config: object) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    return str(folder)


def _peers(root: Path) -> Path:
    """A checkout with a conversion of finches for one engine."""
    folder = root / "bench" / "peers" / "finch-2"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "shared.py").write_text("SONG = 'tweet'\n")
    (folder / "openvino.py").write_text(
        "from .shared import SONG\n\n\ndef convert(checkpoint, file):\n    file.write_text(SONG)\n"
    )
    (root / "linnet").mkdir()
    return root / "linnet"


def test_a_conversion_is_found_by_model_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversions, "PACKAGE", _peers(tmp_path))
    checkpoint = _checkpoint(tmp_path / "weights", {"model_type": "finch-2"})
    found = conversions.conversion(checkpoint, "openvino")
    found.convert(Path(checkpoint), tmp_path / "out")
    assert (tmp_path / "out").read_text() == "tweet"
    with pytest.raises(NotForThisModelError, match="no conversion of finch-2 for it here"):
        conversions.conversion(checkpoint, "llama_cpp")


def test_an_installed_wheel_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = _peers(tmp_path)
    (package / "_data").mkdir()
    monkeypatch.setattr(conversions, "PACKAGE", package)
    checkpoint = _checkpoint(tmp_path / "weights", {"model_type": "finch-2"})
    with pytest.raises(NotForThisModelError, match="no conversion of finch-2"):
        conversions.conversion(checkpoint, "openvino")


@pytest.mark.parametrize("config", [{}, [], {"model_type": 3}])
def test_a_config_that_says_nothing(tmp_path: Path, config: object) -> None:
    with pytest.raises(NotForThisModelError, match="does not say what model"):
        conversions.model_type(_checkpoint(tmp_path, config))


@pytest.mark.parametrize("kind", ["../gpt2", "gpt2/..", "/etc", "", "nothing_like_it"])
def test_a_model_type_leads_nowhere_else(tmp_path: Path, kind: str) -> None:
    checkpoint = _checkpoint(tmp_path, {"model_type": kind})
    with pytest.raises(NotForThisModelError, match="no conversion of"):
        conversions.conversion(checkpoint, "openvino")
