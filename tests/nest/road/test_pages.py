"""`linnet nest index` in a real browser: pages load without a complaint, every link leads
somewhere, the filter shows what was asked for, and nothing comes from the network."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from linnet.nest import registry
from linnet.nest.card import Card
from linnet.nest.road.pages import write_pages
from tests.nest.road.browser import find, visit


class Links(HTMLParser):
    """What a page refers to: `loads` are files it needs, `leads` what a reader may click."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.leads: list[str] = []
        self.ids: list[str] = []
        self.alone: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if found.get("id"):
            self.ids.append(str(found["id"]))
        if tag in ("img", "script") and "src" in found:
            self.loads.append(str(found["src"]))
        elif tag == "link":
            self.loads.append(str(found["href"]))
        elif tag == "a":
            self.leads.append(str(found["href"]))
        if tag == "img" and not found.get("alt"):
            self.alone.append(str(found.get("src")))


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Card], Path]:
    folder = tmp_path_factory.mktemp("pages") / "zoo"
    cards = registry.readable()
    write_pages(cards, folder)
    return cards, folder


def test_every_link_leads_somewhere(zoo: tuple[list[Card], Path]) -> None:
    cards, folder = zoo
    pages = sorted(folder.glob("*.html"))
    assert {p.stem for p in pages} == {"index", *(card.name for card in cards)}
    for page in pages:
        links = Links(page.read_text(encoding="utf-8"))
        for place in links.loads:
            assert place == "data:," or (folder / place).is_file(), (page.name, place)
        for place in links.leads:
            inside = place.removeprefix("#") in links.ids if place.startswith("#") else None
            there = (folder / place).is_file() if inside is None else inside
            assert there or place.startswith("https://"), (page.name, place)
        assert len(links.ids) == len(set(links.ids)), page.name
        assert not links.alone, "pictures without words"
    index = (folder / "index.html").read_text(encoding="utf-8")
    assert [c for c in cards if f'href="{c.name}.html"' not in index] == []


def test_pages_load_in_a_browser_without_a_complaint(
    zoo: tuple[list[Card], Path], tmp_path: Path
) -> None:
    browser = find()
    bad = tmp_path / "bad.html"
    bad.write_text('<img src="gone.png"><script>throw new Error("seen")</script>')
    said = visit(browser, bad.as_uri(), tmp_path / "profile").console
    assert any("seen" in line for line in said), "the browser's complaints are not seen"
    for page in sorted(zoo[1].glob("*.html")):
        seen = visit(browser, page.as_uri(), tmp_path / "profile")
        assert seen.console == (), page.name
        assert "<h1>" in seen.dom


def test_the_filter_shows_what_was_asked_for(zoo: tuple[list[Card], Path], tmp_path: Path) -> None:
    browser = find()
    cards, folder = zoo
    address = (folder / "index.html").as_uri()
    for words, task in (("fairy TALES", ""), ("", "text-generation"), ("nothing like it", "")):
        state = f"#q={words.replace(' ', '+')}&task={task}"
        dom = visit(browser, address + state, tmp_path / "profile").dom
        items = re.findall(r"<li data-words=.*?>", dom)
        assert len(items) == len(cards)
        shown = {
            card.name for card, item in zip(cards, items, strict=True) if 'hidden=""' not in item
        }
        expected = {
            card.name
            for card in cards
            if (not task or card.about.task == task)
            and all(
                word.lower()
                in " ".join(
                    [card.name, card.about.title, card.about.summary, *card.about.tags]
                ).lower()
                for word in words.split()
            )
        }
        assert shown == expected, state
        noun = "model" if len(expected) == 1 else "models"
        assert f">{len(expected)} {noun}</output>" in dom
        assert '<form class="filter" role="search">' in dom


def test_a_broken_entry_is_said_on_its_page(tmp_path: Path) -> None:
    card = next(c for c in registry.readable() if c.name == "gpt2-tales")
    broken = tmp_path / "broken.linnet"
    broken.write_text("module broken\nblock B { param x: Nothing }\n")
    text = card.file.read_text().replace('"../gpt2/gpt2.linnet"', f'"{broken}"')
    (tmp_path / "nest.toml").write_text(text.replace('"../gpt2/bindings.json"', '"b.json"'))
    (tmp_path / "samples.json").write_text("{}")
    (tmp_path / "bench.json").write_text("[]")
    from linnet.nest.card import load_card

    write_pages([load_card(tmp_path)], tmp_path / "zoo")
    page = (tmp_path / "zoo" / "gpt2-tales.html").read_text()
    assert "E21" in page or "Nothing" in page
    assert "must hold a JSON list of samples" in page
