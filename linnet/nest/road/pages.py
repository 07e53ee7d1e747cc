"""`linnet nest index`: the zoo as static pages.

In go cards and a folder; out come `index.html` with an item for each entry, `<name>.html` for
each, their drawings, a style sheet and the script of the filter. The pages load nothing from
anywhere else, work from a disk, and without the script lack nothing but the filter. What an
entry's files do not say is left out; what is wrong with them is said on its page.
"""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from linnet import driver
from linnet.artifact import Parameter
from linnet.check.typed import BlockDecl
from linnet.errors import LinnetError
from linnet.nest.card import Card
from linnet.nest.config import Config
from linnet.nest.request import request_for
from linnet.nest.road.drawn import Drawings
from linnet.nest.road.prose import Readme
from linnet.nest.road.samples import Sample, load_samples
from linnet.nest.settings import resolve_settings

ASSETS = Path(__file__).parent / "assets"
METRICS = (
    ("decode_tok_s", "decode, tokens a second"),
    ("ttft_ms", "first token, ms"),
    ("load_s", "load, s"),
    ("peak_memory_mib", "memory, MiB"),
)
"""What a page shows of bench.json: its keys, and what they are called."""


@dataclass(frozen=True)
class Facts:
    """What a page is made from. `problem` says why there is no more than the card."""

    card: Card
    root: BlockDecl | None = None
    manifest: tuple[Parameter, ...] = ()
    generics: tuple[tuple[str, int | str], ...] = ()
    problem: str | None = None

    @property
    def count(self) -> int:
        """The numbers in all parameters that a checkpoint must have."""
        return sum(math.prod(p.dims) for p in self.manifest if not p.optional)


def write_pages(cards: Sequence[Card], folder: Path) -> list[Path]:
    """Write the pages of `cards` into `folder`; returns the pages. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    for asset in ("zoo.css", "zoo.js"):
        shutil.copyfile(ASSETS / asset, folder / asset)
    facts = [_facts(card) for card in cards]
    pages = [_written(folder / "index.html", _index(facts))]
    for fact in facts:
        pages.append(_written(folder / f"{fact.card.name}.html", _page(fact, folder)))
    return pages


def _written(file: Path, text: str) -> Path:
    file.write_text(text, encoding="utf-8")
    return file


def _facts(card: Card) -> Facts:
    try:
        request = request_for(card, resolve_settings(card, Config({})))
        program = driver.check(card.source.path).program
        assert program is not None
        root = driver.root_block(program, card.source.root)
        generics = tuple(driver.bound_generics(request, program).items())
        return Facts(card, root, driver.manifest(request), generics)
    except LinnetError as error:
        return Facts(card, problem=error.message)


# --- the page of all ------------------------------------------------------------------------


def _index(facts: Sequence[Facts]) -> str:
    tasks = sorted({f.card.about.task for f in facts if f.card.about.task})
    options = "".join(f"<option>{escape(task)}</option>" for task in tasks)
    noun = "model" if len(facts) == 1 else "models"
    body = f"""<h1>The zoo</h1>
<p class="lead">Models written in Linnet: each is a source, a card and the files around them.</p>
<form class="filter" role="search" hidden>
<label>Search <input type="search" id="words" autocomplete="off"></label>
<label>Task <select id="task"><option value="">all</option>{options}</select></label>
<output id="count" aria-live="polite">{len(facts)} {noun}</output>
</form>
<ul class="cards">
{"".join(map(_item, facts))}</ul>
<script src="zoo.js"></script>"""
    return _html("The zoo", body)


def _item(facts: Facts) -> str:
    card = facts.card
    words = " ".join(
        [card.name, card.about.title, card.about.summary, card.about.family or "", *card.about.tags]
    )
    rows = [
        ("task", card.about.task or "none stated"),
        ("parameters", _large(facts.count) if facts.manifest else "unknown"),
        ("licence", card.about.license),
    ]
    details = "".join(f"<div><dt>{k}</dt><dd>{escape(v)}</dd></div>" for k, v in rows)
    return (
        f'<li data-words="{escape(words.lower())}" data-task="{escape(card.about.task or "")}">\n'
        f'<h2><a href="{escape(card.name)}.html">{escape(card.about.title)}</a></h2>\n'
        f"<p>{escape(card.about.summary)}</p>\n<dl>{details}</dl>\n{_tags(card)}</li>\n"
    )


def _tags(card: Card) -> str:
    tags = "".join(f"<li>{escape(tag)}</li>" for tag in card.about.tags)
    return f'<ul class="tags" aria-label="tags">{tags}</ul>\n' if tags else ""


# --- the page of one ------------------------------------------------------------------------


def _page(facts: Facts, folder: Path) -> str:
    card = facts.card
    parts = [
        '<nav><a href="index.html">The zoo</a></nav>',
        f"<h1>{escape(card.about.title)}</h1>",
        f'<p class="lead">{escape(card.about.summary)}</p>',
        _tags(card),
    ]
    if facts.problem:
        parts.append(f'<p class="problem" role="note">{escape(facts.problem)}</p>')
    parts += [*_sections(facts, folder)]
    return _html(f"{card.about.title} · the zoo", "\n".join(parts))


def _sections(facts: Facts, folder: Path) -> Iterator[str]:
    yield _section("At a glance", _table(("", ""), _glance(facts), head=False))
    if facts.root is not None:
        yield _section("Entries", _entries(facts.root))
        yield _section("Drawings", "".join(_drawings(facts, folder)))
    yield _section("Sizes", _sizes(facts))
    yield _section("Benchmarks", _bench(facts.card))
    yield _section("Samples", _samples(facts.card))
    readme = Readme.of(facts.card.folder / "README.md")
    if readme is not None:
        copied = readme.copied(folder, facts.card.name)
        yield f'<section class="readme">\n<h2>About</h2>\n{copied}</section>'
    if facts.card.source.path.is_file():
        text = facts.card.source.path.read_text(encoding="utf-8", errors="replace")
        shown = f"<details><summary>{escape(facts.card.source.path.name)}</summary>{_code(text)}"
        yield _section("Linnet source", f"{shown}</details>")


def _section(title: str, body: str) -> str:
    return f"<section>\n<h2>{escape(title)}</h2>\n{body}\n</section>" if body else ""


def _glance(facts: Facts) -> Iterator[tuple[str, str]]:
    card = facts.card
    yield "name", f"<code>{escape(card.name)}</code>"
    yield "task", escape(card.about.task or "none stated")
    if facts.manifest:
        size = facts.count
        yield "parameters", f"{size:,} in {_tensors(facts.manifest)}"
        yield "weights in memory", f"{_bytes(4 * size)} in f32, {_bytes(2 * size)} in bf16"
    yield "licence", escape(card.about.license)
    weights = card.weights
    if all((card.folder / name).is_file() for name in weights.files):
        yield "weights", "with the entry"
    elif weights.repo is not None:
        yield "weights", f"<code>{escape(weights.repo)}</code> at <code>{weights.revision}</code>"
    else:
        yield "weights", "none published: give a checkpoint"
    links = vars(card.links).items()
    known = [(name, url) for name, url in links if url and url.startswith("https://")]
    named = ", ".join(f'<a href="{escape(url)}" rel="noopener">{name}</a>' for name, url in known)
    if named:
        # Without weights from there, those pages are about a relative and not about this.
        yield ("links" if weights.repo else "see also"), named


def _tensors(manifest: Sequence[Parameter]) -> str:
    fixed = sum(not p.optional for p in manifest)
    more = len(manifest) - fixed
    return f"{fixed} tensors" + (f", and {more} that a checkpoint may have" if more else "")


def _entries(root: BlockDecl) -> str:
    from linnet.check import show

    rows = []
    for entry in root.entries:
        head = f"<dt><code>{escape(show.signature(entry))}</code></dt>"
        words = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(" ".join(entry.doc.split())))
        rows.append(f"{head}<dd>{words}</dd>")
    return f'<dl class="entries">{"".join(rows)}</dl>' if rows else ""


def _drawings(facts: Facts, folder: Path) -> Iterator[str]:
    card, root = facts.card, facts.root
    assert root is not None
    first = card.source.entry or root.entries[0].name
    drawings = Drawings(card)
    for entry in root.entries:
        file = f"{card.name}-{entry.name}.svg"
        (folder / file).write_text(drawings.of(entry.name), encoding="utf-8")
        opened = " open" if entry.name == first else ""
        words = f"The steps of the entry {entry.name} and the values between them"
        yield (
            f"<details{opened}><summary>{escape(entry.name)}</summary>\n"
            f'<div class="drawing"><img src="{escape(file)}" alt="{escape(words)}" loading="lazy">'
            "</div></details>\n"
        )


def _sizes(facts: Facts) -> str:
    card = facts.card
    rows = []
    for name, value in facts.generics or tuple(card.generics.items()):
        source = card.config_generics.get(name)
        origin = f"<code>{escape(source.key.text)}</code>" if source else ""
        rows.append((f"<code>{escape(name)}</code>", escape(str(value)), origin))
    for name, constant in card.constants.items():
        given = card.config_constants.get(name)
        origin = f"<code>{escape(given.key.text)}</code>" if given else ""
        rows.append((f"<code>{escape(name)}</code>", escape(str(constant)), origin))
    return _table(("generic or constant", "here", "key of config.json"), rows) if rows else ""


def _bench(card: Card) -> str:
    try:
        data = json.loads((card.folder / "bench.json").read_bytes())
        methods = [m for m in data.get("methods", ()) if not m.get("error")]
        rows = [
            (escape(m["method"]), *(_figure(m["metrics"].get(key)) for key, _ in METRICS))
            for m in methods
        ]
    except (OSError, ValueError, AttributeError, KeyError, TypeError):
        return ""
    if not rows:
        return ""
    machine = (data.get("environment") or {}).get("machine")
    note = f"<p>{escape(str(machine))}, {escape(str(data.get('date'))[:10])}.</p>"
    return (note if machine else "") + _table(("engine", *(t for _, t in METRICS)), rows)


def _figure(value: Any) -> str:
    return f"{value:,.4g}" if isinstance(value, int | float) else "—"


def _samples(card: Card) -> str:
    try:
        samples = load_samples(card.folder)
    except LinnetError as error:
        return f'<p class="problem" role="note">{escape(error.message)}</p>'
    if not samples:
        reason = card.samples_not_run
        return f"<p>None: {escape(reason)}.</p>" if reason else ""
    return "".join(map(_sample, samples))


def _sample(sample: Sample) -> str:
    rows = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in sample.lines())
    return f'<dl class="sample">{rows}</dl>\n'


# --- pieces ---------------------------------------------------------------------------------


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, head: bool = True) -> str:
    """Cells are HTML; the first of a row is its heading."""
    top = "".join(f'<th scope="col">{escape(h)}</th>' for h in heads)
    body = "".join(
        f'<tr><th scope="row">{row[0]}</th>' + "".join(f"<td>{c}</td>" for c in row[1:]) + "</tr>\n"
        for row in rows
    )
    first = f"<thead><tr>{top}</tr></thead>\n" if head else ""
    return f'<div class="wide"><table>{first}<tbody>\n{body}</tbody></table></div>'


def _code(text: str) -> str:
    from pygments import highlight
    from pygments.formatters import HtmlFormatter

    from linnet.highlight import LinnetLexer

    shown: str = highlight(text, LinnetLexer(), HtmlFormatter(nowrap=True))
    return f'<pre class="code" tabindex="0"><code>{shown}</code></pre>'


def _large(count: int) -> str:
    for unit, size in (("billion", 10**9), ("million", 10**6), ("thousand", 10**3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return str(count)


def _bytes(count: int) -> str:
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} bytes"


def _html(title: str, body: str) -> str:
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(title)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="zoo.css">
</head>
<body>
<a class="skip" href="#main">To the content</a>
<main id="main">
{body}
</main>
</body>
</html>
"""
