"""The compiler knows no model: nothing under linnet/ and codegen/ names a family.

What belongs to a family stands in nest/<name>/, and what other engines need to know of one in
bench/peers/.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SUFFIXES = (".py", ".lark", ".toml", ".j2", ".c", ".h", ".linnet", ".md", ".json", ".txt")
NAMES = re.compile(
    r"(?<![A-Za-z])"
    r"(gpt[-_ ]?2|gpt[-_ ]?neox|neox|llama|mistral|qwen\d*|bert|vit|pythia|phi|gemma\d*|minilm)"
    r"(?![A-Za-z])",
    re.IGNORECASE,
)
IN_CAPITALS = re.compile(r"\bOPT\b")
ENGINE = re.compile(
    r"llama[._-]cpp|(libllama|llama)_\w+\(|api\.llama_\w+|bench-llama", re.IGNORECASE
)
"""An engine that has one of the names in its own."""


def named(text: str) -> list[str]:
    """The families named in a text."""
    rest = ENGINE.sub("", text)
    return [m[0] for pattern in (NAMES, IN_CAPITALS) for m in pattern.finditer(rest)]


def test_the_search_finds_what_it_should() -> None:
    assert named('load("gpt2"), GPT-2, a Llama, gpt_neox, Qwen3, my-vit-base, the OPT family') == [
        *("gpt2", "GPT-2", "Llama", "gpt_neox", "Qwen3", "vit", "OPT"),
    ]
    assert named("llama.cpp by way of llama-cpp-python; import llama_cpp; opt, invite, alphi") == []


def test_no_file_of_the_product_names_a_family() -> None:
    found = []
    for folder in ("linnet", "codegen"):
        for file in sorted((ROOT / folder).rglob("*")):
            if file.suffix not in SUFFIXES or "_data" in file.parts:
                continue
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                found += [f"{file.relative_to(ROOT)}:{number}: {word}" for word in named(line)]
            found += [f"{file.relative_to(ROOT)}: {word}" for word in named(file.stem)]
    assert not found, "\n".join(found)
