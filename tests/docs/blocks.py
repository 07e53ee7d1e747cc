"""The code blocks of a Markdown page, and how each kind is run.

    python     run, all blocks of a page in one namespace; a `text` block right after one is
               what it prints
    linnet     checked. A line that ends in `// E2203: why` is reported with that code, and no
               other line is reported. A block without `module` gets one. A block that begins
               with `// name.linnet` is also written to a file of that name
    console    lines after `$ ` are run by a shell, the others are what they print; a line `...`
               stands for any lines
    py         code for another framework, set beside ours; not run
    sh         commands of set-up, which are not run: their `make` targets must exist
    others     excerpts of files of the repository: the block begins with a comment that names
               the file, and every other line of it stands there, in this order

A page is run in a folder of its own. With `update` what a block printed replaces what the page
says; without it a difference is a failure that names page and line.
"""

from __future__ import annotations

import contextlib
import difflib
import io
import os
import re
import subprocess
import sys
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linnet.check import check_file

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(\w*)\s*$")
FILE_NAME = re.compile(r"^// ([\w-]+\.linnet)\b")
EXPECTED = re.compile(r"// ([EW]\d{4})\b")
EXCERPT = re.compile(r"^\W+ ?([\w./-]+\.\w+)\b")
ANYTHING = "..."


@dataclass
class Block:
    """`line` is where its text begins in the page, from 1."""

    kind: str
    text: str
    line: int


def blocks_of(page: str) -> Iterator[Block | str]:
    """The page in order: blocks, and the text between them with the fences."""
    between: list[str] = []
    lines = iter(enumerate(page.splitlines(keepends=True), start=1))
    for number, line in lines:
        between.append(line)
        if found := FENCE.match(line):
            yield "".join(between)
            inside: list[str] = []
            for _, line in lines:
                if FENCE.match(line):
                    break
                inside.append(line)
            yield Block(found.group(1), "".join(inside), number + 1)
            between = [line]
    yield "".join(between)


class Page:
    """Runs the blocks of one page. `problems` holds what is not as the page says."""

    def __init__(self, path: Path, folder: Path, environment: dict[str, str]) -> None:
        self.title = path.relative_to(ROOT)
        self.folder = folder
        self.environment = environment
        self.problems: list[str] = []
        self._names: dict[str, Any] = {"__name__": "__main__"}
        self._printed: str | None = None

    def run(self, page: str, *, update: bool = False) -> str:
        """Run all blocks; the page with their actual output if `update`, else as it was."""
        parts = []
        for part in blocks_of(page):
            if isinstance(part, str):
                parts.append(part)
                # Only blank lines may stand between a block and what it prints.
                if part.replace("```text", "").replace("```", "").strip():
                    self._printed = None
                continue
            actual = self._run(part)
            parts.append(actual if update else part.text)
        return "".join(parts)

    def _run(self, block: Block) -> str:
        printed, self._printed = self._printed, None
        match block.kind:
            case "python":
                self._printed = self._python(block)
            case "text" if printed is not None:
                return self._compare(block.line, block.text, printed)
            case "text":
                pass
            case "linnet":
                self._linnet(block)
            case "console":
                return self._console(block)
            case "sh":
                self._set_up(block)
            case "py":
                pass
            case "":
                self._problem(block.line, "a code block without a language")
            case _:
                self._excerpt(block)
        return block.text

    def _python(self, block: Block) -> str:
        out = io.StringIO()
        # Padded, so that a traceback shows the line of the page.
        padded = "\n" * (block.line - 1) + block.text
        with contextlib.redirect_stdout(out), contextlib.chdir(self.folder):
            try:
                exec(compile(padded, str(self.title), "exec"), self._names)
            except Exception:
                self._problem(block.line, traceback.format_exc(limit=-3))
        return out.getvalue()

    def _linnet(self, block: Block) -> None:
        named = FILE_NAME.match(block.text)
        path = self.folder / (named.group(1) if named else f"block{block.line}.linnet")
        own_module = re.search(r"^module ", block.text, re.MULTILINE)
        path.write_text(block.text if own_module else f"module example\n{block.text}", "utf-8")
        first = block.line if own_module else block.line - 1
        wanted = Counter(
            (block.line + offset, code)
            for offset, line in enumerate(block.text.splitlines())
            for code in EXPECTED.findall(line)
        )
        found = Counter(
            (first - 1 + (problem.primary.span.line if problem.primary else 1), problem.code)
            for problem in check_file(path).problems
        )
        for line, code in (found - wanted).elements():
            self._problem(line, f"the checker reports {code} here")
        for line, code in (wanted - found).elements():
            self._problem(line, f"the checker does not report {code} here")

    def _console(self, block: Block) -> str:
        actual: list[str] = []
        for line, command, expected in _commands(block):
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            if done.returncode and "error" not in done.stdout:
                self._problem(line, f"{command!r} ended with {done.returncode}: {done.stdout}")
            actual += [f"$ {command}\n", self._compare(line + 1, expected, done.stdout)]
        return "".join(actual)

    def _set_up(self, block: Block) -> None:
        known = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
        for target in re.findall(r"^make (\w+)", block.text, re.MULTILINE):
            if target not in known:
                self._problem(block.line, f"the Makefile has no target {target}")

    def _excerpt(self, block: Block) -> None:
        head, *wanted = block.text.splitlines()
        named = EXCERPT.match(head)
        if named is None or not (ROOT / named.group(1)).is_file():
            self._problem(block.line, "the first line must be a comment that names a file")
            return
        there = iter((ROOT / named.group(1)).read_text("utf-8").splitlines())
        for offset, line in enumerate(wanted, start=1):
            if line.strip() and line.strip(" #/") != ANYTHING and line not in there:
                self._problem(block.line + offset, f"{named.group(1)} has no such line (here)")
                return

    def _compare(self, line: int, expected: str, actual: str) -> str:
        """Report a difference; the text that the page should have."""
        if matches(expected, actual):
            return expected
        diff = difflib.unified_diff(
            expected.splitlines(), actual.splitlines(), "the page", "now", lineterm=""
        )
        self._problem(line, "\n".join(diff))
        return actual

    def _problem(self, line: int, what: str) -> None:
        self.problems.append(f"{self.title}:{line}: {what}")


def _commands(block: Block) -> Iterator[tuple[int, str, str]]:
    """Each command of a console block with its line and what it prints."""
    command, at, output = "", block.line, ""
    for offset, line in enumerate(block.text.splitlines(keepends=True)):
        if line.startswith("$ "):
            if command:
                yield at, command, output
            command, at, output = line.removeprefix("$ ").rstrip("\n"), block.line + offset, ""
        else:
            output += line
    yield at, command, output


def matches(expected: str, actual: str) -> bool:
    """Whether `actual` is `expected`, blanks at the ends of lines aside; a line `...` stands
    for any lines."""
    lines = [line.rstrip() for line in expected.strip("\n").splitlines()]
    pattern = "".join(
        r"(?:.*\n)*?" if line == ANYTHING else re.escape(line) + r"[ ]*\n" for line in lines
    )
    text = actual.strip("\n")
    return re.fullmatch(pattern, text + "\n" if text else "") is not None


def environment(folder: Path) -> dict[str, str]:
    """Variables for console blocks: `linnet` is this checkout's, the cache is `folder`'s own,
    and no model has been downloaded."""
    shim = folder / "bin" / "linnet"
    shim.parent.mkdir(parents=True)
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m linnet.cli "$@"\n', "utf-8")
    shim.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LINNET_")}
    return kept | {
        "PATH": f"{shim.parent}{os.pathsep}{kept.get('PATH', os.defpath)}",
        "PYTHONPATH": str(ROOT),
        "LINNET_CACHE": str(folder / "cache"),
        "HF_HOME": str(folder / "hub"),
        "HF_HUB_OFFLINE": "1",
        "NO_COLOR": "1",
        "COLUMNS": "100",
        "LC_ALL": "C.UTF-8",
    }
