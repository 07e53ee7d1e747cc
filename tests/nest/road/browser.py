"""A real browser, headless: what a page is once it has run, and what it said meanwhile."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

# Read when tests are collected: some take all such variables away while they run.
REQUIRED = bool(os.environ.get("LINNET_REQUIRE_BROWSER"))

NAMES = ("chromium", "chromium-browser", "google-chrome")


@dataclass(frozen=True)
class Visit:
    """`dom` is the document after its scripts ran, `console` what the page wrote there: errors
    of scripts, and files that could not be loaded."""

    dom: str
    console: tuple[str, ...]


def find() -> str:
    """The browser. Without one a test is skipped; with LINNET_REQUIRE_BROWSER it fails."""
    for name in NAMES:
        if found := shutil.which(name):
            return found
    message = f"no browser: none of {', '.join(NAMES)} is installed"
    if REQUIRED:
        pytest.fail(message)
    pytest.skip(message)


def visit(browser: str, address: str, profile: Path) -> Visit:
    done = subprocess.run(
        [
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--enable-logging=stderr",
            f"--user-data-dir={profile}",
            "--dump-dom",
            address,
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    said = re.findall(r"CONSOLE[^\]]*\] (.*)", done.stderr)
    return Visit(done.stdout, tuple(said))
