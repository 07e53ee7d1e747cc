"""As much of a TextMate engine as our grammar uses: match, captures, begin/end, include."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Rule = dict[str, Any]


class Grammar:
    """Scopes of a text under a `.tmLanguage.json`. The patterns are those that Oniguruma and
    Python read alike."""

    def __init__(self, path: Path) -> None:
        self.data: Rule = json.loads(path.read_text("utf-8"))
        self.patterns: dict[str, re.Pattern[str]] = {}

    def scopes(self, text: str) -> list[str]:
        """For each character the innermost scope, empty for none."""
        found = [""] * len(text)
        stack: list[Rule] = [self.data]
        start = 0
        for line in text.splitlines(keepends=True):
            self._line(text, start, start + len(line.rstrip("\r\n")), stack, found)
            start += len(line)
        return found

    def _line(self, text: str, at: int, end: int, stack: list[Rule], found: list[str]) -> None:
        while at <= end:
            best: tuple[re.Match[str], Rule] | None = None
            closing = stack[-1].get("end")
            for rule in self._rules(stack[-1]):
                match = self._search(rule.get("match") or rule["begin"], text, at, end)
                if match and (best is None or match.start() < best[0].start()):
                    best = match, rule
            if closing is not None:
                match = self._search(closing, text, at, end)
                if match and (best is None or match.start() <= best[0].start()):
                    self._fill(found, at, match.end(), stack)
                    stack.pop()
                    at = match.end()
                    continue
            if best is None:
                self._fill(found, at, end, stack)
                return
            match, rule = best
            self._fill(found, at, match.start(), stack)
            assert match.end() > match.start(), rule
            if "begin" in rule:
                stack.append(rule)
                self._fill(found, match.start(), match.end(), stack)
            else:
                found[match.start() : match.end()] = [rule.get("name", "")] * len(match.group())
                for number, capture in rule.get("captures", {}).items():
                    first, last = match.span(int(number))
                    found[first:last] = [capture["name"]] * (last - first)
            at = match.end()

    def _fill(self, found: list[str], start: int, end: int, stack: list[Rule]) -> None:
        name = next((rule["name"] for rule in reversed(stack[1:]) if "name" in rule), "")
        found[start:end] = [name] * (end - start)

    def _rules(self, rule: Rule) -> Iterator[Rule]:
        for inner in rule.get("patterns", ()):
            if "include" in inner:
                inner = self.data["repository"][inner["include"].removeprefix("#")]
            if "match" in inner or "begin" in inner:
                yield inner
            else:
                yield from self._rules(inner)

    def _search(self, pattern: str, text: str, at: int, end: int) -> re.Match[str] | None:
        if pattern not in self.patterns:
            self.patterns[pattern] = re.compile(pattern)
        return self.patterns[pattern].search(text, at, end)

    def words(self, scope: str) -> set[str]:
        """The words that a rule of this scope lists between `(?:` and `)\\b`."""
        found: set[str] = set()
        for rule in self.data["repository"]["words"]["patterns"]:
            if rule.get("name", "").startswith(scope):
                found |= set(re.findall(r"[a-z]\w*|[A-Z]\w*", rule["match"].split("(?=")[0])) - {
                    "b"
                }
        return found
