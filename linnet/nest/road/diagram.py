"""`linnet nest diagram`: an entry drawn as SVG.

In goes the `Box` of an entry; out comes one SVG document that needs nothing else: light and dark
by the reader's choice, with a title and a description. Steps stand in layers from top to bottom,
side by side where neither needs the other; blocks are boxes around their steps, named as the
source names them, and a block array is one box with its length. Lines are values; one that skips
steps runs along the left side.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from html import escape

from linnet.nest.road.flow import Box, Chip, Step

CHAR, SMALL = 7.3, 6.3
"""Widths of a character, in pixels, of titles and of what stands below them."""

LINE = 15.0
PAD = 16.0
GAP = 26.0
"""Between layers; lines turn in it."""

BESIDE = 18.0
LANE = 9.0
HEAD = 30.0
PORT = 18.0

STYLE = """
svg { --page: #ffffff; --box: #f6f8fa; --edge: #d0d7de; --ink: #1f2328; --soft: #59636e;
  --line: #8c959f; --op: #ffffff; --param: #0969da; --state: #8250df; --view: #eff2f5;
  --badge: #ddf4ff; font-family: ui-monospace, SFMono-Regular, Menlo, Consolas,
  "DejaVu Sans Mono", monospace; }
@media (prefers-color-scheme: dark) { svg { --page: #0d1117; --box: #151b23; --edge: #3d444d;
  --ink: #f0f6fc; --soft: #9198a1; --line: #656c76; --op: #212830; --param: #4493f8;
  --state: #ab7df8; --view: #1c232b; --badge: #121d2f; } }
.page { fill: var(--page); } .box { fill: var(--box); stroke: var(--edge); }
.inner { fill: var(--page); stroke: var(--edge); }
.op { fill: var(--op); stroke: var(--line); } .view { fill: var(--view); stroke: var(--edge); }
.port { fill: var(--page); stroke: var(--line); }
.line { fill: none; stroke: var(--line); stroke-width: 1.4; }
.tip { fill: var(--line); } .badge { fill: var(--badge); stroke: var(--param); }
.t { fill: var(--ink); font-size: 12px; font-weight: 600; } .m { fill: var(--soft);
  font-size: 10.5px; } .h { fill: var(--ink); font-size: 14px; font-weight: 700; }
.param { fill: var(--param); font-size: 10.5px; } .state { fill: var(--state);
  font-size: 10.5px; } .times { fill: var(--param); font-size: 11px; font-weight: 700; }
"""


def draw(box: Box, title: str, values: Mapping[str, object], unused: Iterable[str] = ()) -> str:
    """The document. `values` are the generics with what the card gives them; `unused` are
    members of the block that this entry does not touch."""
    placed = _Placed(box, 0, values)
    legend = _legend(values, list(unused), max(placed.width, 420.0))
    width = max(placed.width, 420.0) + 2 * PAD
    top = 52.0
    left = PAD + (width - 2 * PAD - placed.width) / 2
    shapes = placed.draw(left, top + PORT / 2)
    foot = top + PORT / 2 + placed.height + 30
    height = foot + LINE * len(legend) + PAD
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img" aria-labelledby="title desc">',
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="desc">{escape(_described(box))}</desc>',
        f"<style>{STYLE}</style>",
        f'<rect class="page" width="{width:.0f}" height="{height:.0f}"/>',
        f'<text class="h" x="{PAD}" y="28">{escape(title)}</text>',
        *shapes,
    ]
    for number, (kind, text) in enumerate(legend):
        y = foot + LINE * number
        out.append(f'<text class="{kind}" x="{PAD}" y="{y:.1f}">{escape(text)}</text>')
    return "\n".join([*out, "</svg>", ""])


def _legend(values: Mapping[str, object], unused: list[str], width: float) -> list[tuple[str, str]]:
    """Lines below the drawing."""
    lines = [("param", "■ parameter"), ("state", "■ state kept between calls")]
    lines += [("m", "? where the checkpoint has it    ← written by the step")]
    sizes = [f"{name} = {value}" for name, value in values.items()]
    lines += [("m", text) for text in _wrapped(sizes, width)]
    if unused:
        lines += [
            ("m", text) for text in _wrapped([f"not used here: {unused[0]}", *unused[1:]], width)
        ]
    return lines


def _wrapped(words: list[str], width: float) -> list[str]:
    lines: list[str] = []
    for word in words:
        if lines and (len(lines[-1]) + len(word) + 3) * SMALL <= width:
            lines[-1] += f" · {word}"
        else:
            lines.append(word)
    return lines


def _described(box: Box) -> str:
    """The drawing in words: the steps in their order."""
    inputs = ", ".join(f"{p.title} {p.shape}".strip() for p in box.ports)
    steps = ", then ".join(
        step.title + (f" ({step.inner.times} times)" if step.inner and step.inner.times else "")
        for step in box.steps
    )
    results = ", ".join(step.shape for step in box.results)
    return f"{box.title} takes {inputs or 'nothing'}; {steps or 'no step'}; gives {results}."


def _chip_text(chip: Chip) -> str:
    mark = "?" if chip.optional else ""
    return f"■ {chip.name}{mark} {chip.shape}{' ←' if chip.written else ''}"


@dataclass
class _Item:
    """A step with its size, and its place in the box around it."""

    step: Step
    width: float
    height: float
    inner: _Placed | None = None
    layer: int = 0
    x: float = 0.0
    y: float = 0.0
    entries: dict[Step, float] = field(default_factory=dict)

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


class _Placed:
    """A box with all that is in it, placed from its own corner."""

    def __init__(self, box: Box, depth: int, values: Mapping[str, object]) -> None:
        self.box, self.depth, self.values = box, depth, values
        number = f" = {values[box.times]}" if box.times in values else ""
        self.times = f"× {box.times}{number}" if box.times else ""
        self.items = {step: self._item(step) for step in (*box.ports, *box.steps)}
        self._layers()
        self.skips = self._skips()
        self._place()

    # Sizes.

    def _item(self, step: Step) -> _Item:
        if step.inner is not None:
            inner = _Placed(step.inner, self.depth + 1, self.values)
            return _Item(step, inner.width, inner.height, inner)
        if step.kind == "input":
            text = f"{step.title} {step.shape}" if self.depth == 0 else step.title
            return _Item(step, len(text) * SMALL + 16, PORT)
        texts = [_chip_text(chip) for chip in step.chips] + [step.shape]
        width = max([len(step.title) * CHAR, *(len(text) * SMALL for text in texts)]) + 20
        return _Item(step, max(width, 44.0), 12 + LINE * (1 + len(texts)))

    def _layers(self) -> None:
        """As early as inputs allow; what has no inputs stands right above its first use."""
        for step in self.box.steps:
            above = [self.items[s].layer for s in step.inputs if s in self.items]
            self.items[step].layer = 1 + max(above, default=0)
        for step in reversed(self.box.steps):
            users = [o for o in self.box.steps if step in o.inputs]
            if users and not step.inputs:
                self.items[step].layer = max(1, min(self.items[u].layer for u in users) - 1)

    def _skips(self) -> dict[tuple[Step, Step], int]:
        """Lines that pass a layer, each with its lane, 0 nearest to the steps."""
        found: dict[tuple[Step, Step], int] = {}
        spans: list[list[tuple[int, int]]] = []
        lines = [(s, step) for step in self.box.steps for s in step.inputs if s in self.items]
        for source, step in sorted(lines, key=lambda p: self._span(*p)[1] - self._span(*p)[0]):
            first, last = self._span(source, step)
            if last - first <= 1:
                continue
            free = (n for n, taken in enumerate(spans) if _fits(first, last, taken))
            lane = next(free, len(spans))
            if lane == len(spans):
                spans.append([])
            spans[lane].append((first, last))
            found[source, step] = lane
        return found

    def _span(self, source: Step, step: Step) -> tuple[int, int]:
        return self.items[source].layer, self.items[step].layer

    # Places.

    def _place(self) -> None:
        rows: dict[int, list[_Item]] = {}
        for item in self.items.values():
            rows.setdefault(item.layer, []).append(item)
        widths = {n: sum(i.width for i in row) + BESIDE * (len(row) - 1) for n, row in rows.items()}
        lanes = 1 + max(self.skips.values(), default=-1)
        side = PAD + (LANE * lanes + 8 if lanes else 0)
        # The title stands left of the line that comes in at the middle, the badge right of it.
        head = 12 + len(self.box.title) * CHAR + 8 + len(self.box.note) * SMALL + 14
        badge = 22 + len(self.times) * CHAR + 14 if self.times else 0.0
        inner = max([*widths.values(), 2 * max(head, badge) - 2 * side, 90.0])
        self.width = inner + 2 * side
        self.lanes = [side - 10 - LANE * lane for lane in range(lanes)]
        ports = rows.pop(0, [])
        self._row(ports, side + (inner - widths.get(0, 0.0)) / 2, -PORT / 2)
        y = HEAD + 16
        for layer in sorted(rows):
            row = rows[layer]
            self._row(row, side + (inner - widths[layer]) / 2, y)
            y += max(item.height for item in row) + GAP
        self.height = y - GAP + 18 if rows else HEAD + 18

    def _row(self, row: list[_Item], x: float, y: float) -> None:
        for item in row:
            item.x, item.y = x, y
            x += item.width + BESIDE

    def entry(self, port: int) -> tuple[float, float]:
        """Where the line to an input of the box ends, from the box's corner."""
        item = self.items[self.box.ports[port]]
        return item.middle, item.y

    # Drawing.

    def draw(self, x: float, y: float) -> list[str]:
        kind = "box" if self.depth % 2 == 0 else "inner"
        out = [_rect(kind, x, y, self.width, self.height, 8)]
        if self.depth:
            title = f'<tspan class="t">{escape(self.box.title)}</tspan>'
            note = f'<tspan class="m" dx="8">{escape(self.box.note)}</tspan>'
            out.append(f'<text x="{x + 12:.1f}" y="{y + 20:.1f}">{title}{note}</text>')
        if text := self.times:
            wide = len(text) * CHAR + 14
            out.append(_rect("badge", x + self.width - wide - 8, y + 7, wide, 18, 9))
            place = f'x="{x + self.width - wide / 2 - 8:.1f}" y="{y + 20:.1f}"'
            out.append(f'<text class="times" {place} text-anchor="middle">{escape(text)}</text>')
        out += self._lines(x, y)
        for item in self.items.values():
            out += self._item_drawn(item, x + item.x, y + item.y)
        return out

    def _item_drawn(self, item: _Item, x: float, y: float) -> list[str]:
        step, middle = item.step, x + item.width / 2
        if item.inner is not None:
            return item.inner.draw(x, y)
        if step.kind == "input":
            text = f"{step.title} {step.shape}" if self.depth == 0 else step.title
            return [
                _rect("port", x, y, item.width, PORT, 9),
                f'<text class="m" x="{middle:.1f}" y="{y + 12.5:.1f}" text-anchor="middle">'
                f"{escape(text)}</text>",
            ]
        out = [_rect("view" if step.kind == "view" else "op", x, y, item.width, item.height, 6)]
        lines = [("t", step.title)]
        lines += [("state" if c.kind == "state" else "param", _chip_text(c)) for c in step.chips]
        lines.append(("m", step.shape))
        for number, (kind, text) in enumerate(lines):
            place = f'x="{middle:.1f}" y="{y + 18 + LINE * number:.1f}"'
            out.append(f'<text class="{kind}" {place} text-anchor="middle">{escape(text)}</text>')
        return out

    def _lines(self, x: float, y: float) -> list[str]:
        out = []
        for step in self.box.steps:
            item = self.items[step]
            inputs = [s for s in step.inputs if s in self.items]
            for number, source in enumerate(inputs):
                ends = self._end(item, source, number, len(inputs))
                out += self._line(x, y, self.items[source], step, ends)
        bottom = self.height
        for step in self.box.results:
            if step in self.items:
                item = self.items[step]
                start = (x + item.middle, y + item.y + item.height)
                out += _curve(*start, x + self.width / 2, y + bottom)
        return out

    def _end(self, item: _Item, source: Step, number: int, count: int) -> tuple[float, float]:
        if item.inner is not None:
            ports = [p for p, s in enumerate(item.step.inputs) if s is source]
            dx, dy = item.inner.entry(ports[0])
            return item.x + dx, item.y + dy
        room = min(14.0, item.width / (count + 1))
        return item.middle + room * (number - (count - 1) / 2), item.y

    def _line(
        self, x: float, y: float, source: _Item, step: Step, end: tuple[float, float]
    ) -> list[str]:
        start = (x + source.middle, y + source.y + source.height)
        goal = (x + end[0], y + end[1])
        lane = self.skips.get((source.step, step))
        if lane is None:
            # Straight down first, where others of its layer are taller.
            return _curve(*start, *goal, low=y + self._below(source) if source.layer else 0.0)
        at = x + self.lanes[lane]
        # Where the layer below the source ends, lines of a wide row must not cross its items.
        low = y + self._below(source) + 6 + 2 * lane
        high = goal[1] - 12 - 2 * lane
        path = (
            f"M {start[0]:.1f} {start[1]:.1f} V {low - 6:.1f} Q {start[0]:.1f} {low:.1f} "
            f"{start[0] - 6:.1f} {low:.1f} H {at + 6:.1f} Q {at:.1f} {low:.1f} {at:.1f} "
            f"{low + 6:.1f} V {high - 6:.1f} Q {at:.1f} {high:.1f} {at + 6:.1f} {high:.1f} "
            f"H {goal[0] - 6:.1f} Q {goal[0]:.1f} {high:.1f} {goal[0]:.1f} {high + 5:.1f} "
            f"V {goal[1]:.1f}"
        )
        return [f'<path class="line" d="{path}"/>', _tip(*goal)]

    def _below(self, source: _Item) -> float:
        """The height at which nothing of the source's layer is in the way any more."""
        if source.layer == 0:
            return HEAD
        row = [i for i in self.items.values() if i.layer == source.layer]
        return max(i.y + i.height for i in row)


def _fits(first: int, last: int, taken: list[tuple[int, int]]) -> bool:
    return all(last <= a or b <= first for a, b in taken)


def _curve(x1: float, y1: float, x2: float, y2: float, low: float = 0.0) -> list[str]:
    """A line from one point to another below it, straight down to `low` if that is below too."""
    head = f"M {x1:.1f} {y1:.1f}" + (f" V {low:.1f}" if low > y1 else "")
    y1 = max(y1, low)
    bend = max(10.0, (y2 - y1) / 2)
    path = f"{head} C {x1:.1f} {y1 + bend:.1f} {x2:.1f} {y2 - bend:.1f} "
    return [f'<path class="line" d="{path}{x2:.1f} {y2:.1f}"/>', _tip(x2, y2)]


def _tip(x: float, y: float) -> str:
    return f'<path class="tip" d="M {x:.1f} {y:.1f} l -3.5 -6 h 7 z"/>'


def _rect(kind: str, x: float, y: float, width: float, height: float, radius: float) -> str:
    return (
        f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
        f'height="{height:.1f}" rx="{radius:.0f}"/>'
    )
