"""The roofline: well-formed, and with every point where its numbers say."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree

import pytest

from linnet.bench.plot import roofline
from tests.bench.made import made

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def drawing() -> ElementTree.Element:
    return ElementTree.fromstring(roofline(made()))


def _dots(drawing: ElementTree.Element) -> dict[str, tuple[float, float]]:
    """Where each dot with a tooltip stands."""
    found = {}
    for circle in drawing.iter(f"{SVG}circle"):
        title = circle.find(f"{SVG}title")
        if title is not None and title.text:
            found[title.text] = (float(circle.get("cx", "")), float(circle.get("cy", "")))
    return found


def test_points_stand_on_logarithmic_axes(drawing: ElementTree.Element) -> None:
    """A task on the limit would touch the roof; ours is log(0.9) and log(0.75) below it."""
    dots = _dots(drawing)
    decode = next(at for tip, at in dots.items() if tip.startswith("linnet") and "decode" in tip)
    prefill = next(at for tip, at in dots.items() if tip.startswith("linnet") and "prefill" in tip)
    path = next(
        p.get("d", "") for p in drawing.iter(f"{SVG}path") if (p.get("class") or "")[:4] == "roof"
    )
    corners = [tuple(map(float, part.split())) for part in path.lstrip("M ").split(" L ")]
    _, (x1, y1), (_, y2) = corners
    assert y1 == y2  # the arithmetic limit is flat
    scale = (prefill[0] - decode[0]) / math.log((90 / 0.5) / (0.25 / 0.5))
    vertical = (prefill[1] - y1) / math.log(1 / 0.75)
    # 0.25 GFLOP at 18 tokens a second, 90 GFLOP in 1.2 s
    rates = math.log((90e9 / 1.2) / (0.25e9 * 18))
    assert decode[1] - prefill[1] == pytest.approx(vertical * rates, abs=0.5)
    assert prefill[0] - x1 == pytest.approx(scale * math.log((90 / 0.5) / (100 / 10)), abs=0.5)


def test_what_is_not_believed_is_not_drawn(drawing: ElementTree.Element) -> None:
    engines = {tip.split(",")[0] for tip in _dots(drawing)}
    assert engines == {"linnet", "transformers (torch)"}


def test_all_is_inside_the_picture(drawing: ElementTree.Element) -> None:
    width, height = (float(drawing.get(name, "")) for name in ("width", "height"))
    for x, y in _dots(drawing).values():
        assert 0 < x < width
        assert 0 < y < height
