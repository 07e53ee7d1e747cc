"""A README as part of a page.

In goes a Markdown file; out comes HTML one heading level lower, without its title. Images that
lie beside it are copied; links to other files of the repository become plain text, as the pages
stand for themselves.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it.token import Token

PICTURES = (".svg", ".png", ".jpg", ".jpeg", ".webp", ".gif")
OUTSIDE = re.compile(r"https?://|mailto:")


@dataclass(frozen=True)
class Readme:
    file: Path
    text: str

    @staticmethod
    def of(file: Path) -> Readme | None:
        """The README, or None where there is none."""
        if not file.is_file():
            return None
        return Readme(file, file.read_text(encoding="utf-8", errors="replace"))

    def copied(self, folder: Path, name: str) -> str:
        """The HTML; pictures go into `folder`, with `name` before theirs."""
        from markdown_it import MarkdownIt

        reader = MarkdownIt("commonmark", {"html": False}).enable("table")
        tokens = reader.parse(re.sub(r"\A\s*# .*\n", "", self.text))
        self._headings(tokens)
        for token in tokens:
            self._links(token.children or [], folder, name)
        shown: str = reader.renderer.render(tokens, reader.options, {})
        return shown.replace("<table>", '<div class="wide"><table>').replace(
            "</table>", "</table></div>"
        )

    def _headings(self, tokens: Sequence[Token]) -> None:
        for token in tokens:
            if token.tag in ("h1", "h2", "h3", "h4", "h5") and token.type.startswith("heading"):
                token.tag = f"h{1 + int(token.tag[1])}"

    def _links(self, tokens: Sequence[Token], folder: Path, name: str) -> None:
        outside = [True]
        for token in tokens:
            if token.type == "link_open":
                outside.append(bool(OUTSIDE.match(str(token.attrGet("href") or ""))))
                if not outside[-1]:
                    token.tag, token.attrs = "span", {}
            elif token.type == "link_close":
                token.tag = token.tag if outside.pop() else "span"
            elif token.type == "image":
                token.attrSet("src", self._picture(str(token.attrGet("src") or ""), folder, name))

    def _picture(self, source: str, folder: Path, name: str) -> str:
        """Where a picture of the README is once it was copied; nothing for one that is not there
        or elsewhere."""
        file = self.file.parent / source
        inside = file.resolve().is_relative_to(self.file.parent.resolve())
        if not inside or file.suffix not in PICTURES or not file.is_file():
            return "data:,"
        target = f"{name}-{file.name}"
        shutil.copyfile(file, folder / target)
        return target
