"""A roofline as SVG: every task by its operations a byte and the rate it reached.

In goes a `Result`; out comes the text of one SVG file that stands alone, in light and in dark
surroundings. Both axes are logarithmic. Drawn with plain string templates.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from linnet.bench.results import OURS, Result, Row
from linnet.bench.workload import Task

WIDTH, HEIGHT = 880, 560
LEFT, RIGHT, TOP, BOTTOM = 76, 210, 76, 60
LABEL = 104
"""About the width of a task's name."""

STYLE = """
  svg { font-family: system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
  .paper { fill: #ffffff; } .ink { fill: #1d2433; } .soft { fill: #5b6478; }
  .grid { stroke: #e3e7ef; stroke-width: 1; } .frame { stroke: #aab2c3; fill: none; }
  .roof { fill: none; stroke-width: 2.2; stroke-linejoin: round; }
  .under { opacity: 0.06; }
  .t0 { color: #2563eb; } .t1 { color: #d9480f; } .t2 { color: #087f5b; } .t3 { color: #862e9c; }
  .roof { stroke: currentColor; } .under { fill: currentColor; } .mark { fill: currentColor; }
  .mark { stroke: #ffffff; stroke-width: 1.4; } .label { fill: currentColor; font-weight: 600; }
  .other { fill: none; stroke: currentColor; stroke-width: 1.3; opacity: 0.65; }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #12161f; } .ink { fill: #e7ebf3; } .soft { fill: #98a2b8; }
    .grid { stroke: #252c3a; } .frame { stroke: #4a556b; } .mark { stroke: #12161f; }
    .t0 { color: #6ea8fe; } .t1 { color: #ff9466; } .t2 { color: #40c796; } .t3 { color: #d08be8; }
    .under { opacity: 0.1; }
  }
"""

FILE = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" \
width="{width}" height="{height}" role="img" aria-label="{title}">
<style>{style}</style>
<rect class="paper" width="{width}" height="{height}" rx="8"/>
<text class="ink" x="{left}" y="34" font-size="18" font-weight="600">{title}</text>
<text class="soft" x="{left}" y="54" font-size="12">{subtitle}</text>
{body}
</svg>
"""


@dataclass(frozen=True)
class _Axis:
    """A logarithmic axis from `low` to `high`, drawn from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + (self.end - self.start) * share

    def ticks(self) -> Iterator[float]:
        """Powers of ten within the axis, and 2 and 5 times them where there is room."""
        steps = (1,) if self.high / self.low > 1e4 else (1, 2, 5)
        for power in range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1):
            for step in steps:
                value = step * 10.0**power
                if self.low <= value <= self.high:
                    yield value


def roofline(result: Result) -> str:
    """The SVG text."""
    points = [p for row in result.rows for p in _points(result, row)]
    x, y = _axes(result, points)
    body = [*_grid(x, y)]
    for place, threads in enumerate(result.threads):
        body += _roof(result, threads, place, x, y)
    body += _marks(points, x, y)
    body += _legend(result, points)
    limits = "; ".join(
        f"{_threads(t)}: {result.limit(t).bandwidth / 1e9:.1f} GB/s, "
        f"{result.limit(t).peak / 1e9:.0f} GFLOP/s"
        for t in result.threads
    )
    return FILE.format(
        width=WIDTH,
        height=HEIGHT,
        left=LEFT,
        style=STYLE,
        title=escape(f"{result.title} on {result.environment['machine']}", quote=True),
        subtitle=escape(f"limits measured in the same rounds: {limits}"),
        body="\n".join(body),
    )


@dataclass(frozen=True)
class _Point:
    row: Row
    task: Task
    place: int  # of the number of threads
    intensity: float  # operations a byte
    rate: float  # operations a second


def _points(result: Result, row: Row) -> Iterator[_Point]:
    if not row.is_believed:
        return
    for task in result.tasks:
        if task.key not in row.figures or task.key not in result.costs:
            continue
        cost, figure = result.costs[task.key], row.figures[task.key].median
        seconds = figure / 1000.0 if task.kind == "prefill" else task.rows / figure
        yield _Point(
            row,
            task,
            result.threads.index(row.threads),
            cost.operations / cost.read,
            cost.operations / seconds,
        )


def _axes(result: Result, points: list[_Point]) -> tuple[_Axis, _Axis]:
    limits = [result.limit(t) for t in result.threads]
    corners = [limit.peak / limit.bandwidth for limit in limits]
    across = [p.intensity for p in points] + corners
    peak = max(limit.peak for limit in limits)
    low, high = min(across) / 2.0, max(across) * 2.0
    lowest = min([p.rate for p in points] + [min(li.bandwidth for li in limits) * low])
    return (
        _Axis(low, high, LEFT, WIDTH - RIGHT),
        _Axis(lowest / 3.0, peak * 1.8, HEIGHT - BOTTOM, TOP),
    )


def _grid(x: _Axis, y: _Axis) -> Iterator[str]:
    for value in x.ticks():
        at = x.at(value)
        yield f'<line class="grid" x1="{at:.1f}" y1="{y.start}" x2="{at:.1f}" y2="{y.end}"/>'
        yield _text(at, y.start + 18, f"{value:g}", "soft", anchor="middle")
    for value in y.ticks():
        at = y.at(value)
        yield f'<line class="grid" x1="{x.start}" y1="{at:.1f}" x2="{x.end}" y2="{at:.1f}"/>'
        yield _text(x.start - 8, at + 4, f"{value / 1e9:g}", "soft", anchor="end")
    width, height = x.end - x.start, y.start - y.end
    yield f'<rect class="frame" x="{x.start}" y="{y.end}" width="{width}" height="{height}"/>'
    yield _text((x.start + x.end) / 2, y.start + 42, "operations per byte read", "soft", "middle")
    turn = f'transform="rotate(-90 22 {(y.start + y.end) / 2:.0f})"'
    yield _text(22, (y.start + y.end) / 2, "GFLOP/s", "soft", "middle", turn)


def _roof(result: Result, threads: int, place: int, x: _Axis, y: _Axis) -> Iterator[str]:
    """The line that no task can be above: memory to the left of the corner, arithmetic right."""
    limit = result.limit(threads)
    corner = min(x.high, limit.peak / limit.bandwidth)
    start = max(x.low, y.low / limit.bandwidth)
    line = [(start, start * limit.bandwidth), (corner, limit.peak), (x.high, limit.peak)]
    path = " L ".join(f"{x.at(a):.1f} {y.at(b):.1f}" for a, b in line)
    ground = f"L {x.end} {y.start} L {x.at(start):.1f} {y.start} Z"
    yield f'<path class="under t{place % 4}" d="M {path} {ground}"/>'
    yield f'<path class="roof t{place % 4}" d="M {path}"/>'


def _marks(points: list[_Point], x: _Axis, y: _Axis) -> Iterator[str]:
    """Other engines as rings, ours as dots on top, each with its numbers as a tooltip."""
    for point in sorted(points, key=lambda p: p.row.engine == OURS):
        ours = point.row.engine == OURS
        at, up = x.at(point.intensity), y.at(point.rate)
        kind = f"{'mark' if ours else 'other'} t{point.place % 4}"
        figure = point.row.figures[point.task.key].median
        tip = (
            f"{point.row.title}, {_threads(point.row.threads)}, {point.task.title}: "
            f"{figure:.3g} {point.task.unit}, {point.rate / 1e9:.3g} GFLOP/s"
        )
        yield (
            f'<circle class="{kind}" cx="{at:.1f}" cy="{up:.1f}" r="{6 if ours else 4}">'
            f"<title>{escape(tip)}</title></circle>"
        )
    yield from _labels(points, x, y)


def _labels(points: list[_Point], x: _Axis, y: _Axis) -> Iterator[str]:
    """Names of tasks below their lowest points, moved down where they would overlap."""
    lowest: dict[str, _Point] = {}
    for point in points:
        if point.task.key not in lowest or point.rate < lowest[point.task.key].rate:
            lowest[point.task.key] = point
    taken: list[tuple[float, float]] = []
    for point in sorted(lowest.values(), key=lambda p: p.rate):
        at, up = x.at(point.intensity), y.at(point.rate) + 20
        at = min(max(at, x.start + LABEL / 2), x.end - LABEL / 2)
        while any(abs(at - a) < LABEL and abs(up - b) < 14 for a, b in taken):
            up += 14
        taken.append((at, up))
        yield _text(at, up, point.task.title, "ink", "middle")


def _legend(result: Result, points: list[_Point]) -> Iterator[str]:
    at, up = WIDTH - RIGHT + 24, TOP + 12
    for place, threads in enumerate(result.threads):
        kind = f"t{place % 4}"
        yield f'<line class="roof {kind}" x1="{at}" y1="{up - 4}" x2="{at + 22}" y2="{up - 4}"/>'
        yield _text(at + 30, up, f"limit, {_threads(threads)}", f"label {kind}")
        yield f'<circle class="mark {kind}" cx="{at + 11}" cy="{up + 16}" r="6"/>'
        yield _text(at + 30, up + 20, f"linnet, {_threads(threads)}", f"label {kind}")
        up += 52
    others = sorted({p.row.title for p in points if p.row.engine != OURS})
    if others:
        yield f'<circle class="other t0" cx="{at + 11}" cy="{up - 4}" r="4"/>'
        yield _text(at + 30, up, "other engines:", "soft")
        for line, name in enumerate(others, 1):
            yield _text(at + 30, up + 17 * line, name, "soft")
        up += 17 * len(others)
    if result.is_random:
        yield _text(at, HEIGHT - BOTTOM, "random weights", "soft")


def _text(x: float, y: float, words: str, kind: str, anchor: str = "start", more: str = "") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text class="{kind}" {place} font-size="12" {more}>{escape(words)}</text>'


def _threads(count: int) -> str:
    return f"{count} thread" if count == 1 else f"{count} threads"
