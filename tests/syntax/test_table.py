"""The grammar against the tables that are written by hand beside it."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
from pathlib import Path

import lark
import pytest

from linnet.syntax import table as tables
from linnet.syntax.actions import Actions
from linnet.syntax.tokens import END, KEYWORD_TYPES, PUNCTUATION

SPECIAL = {"NAME", "INT", "FLOAT", "STRING", "BROKEN", "TENSOR", "REDUCE", "CALL_LESS", "CALL_MORE",
           "GRAD", "GRID", "HINT", END}  # fmt: skip


def test_terminals_are_those_of_the_lexer() -> None:
    used = {s for moves in tables.table().states for s in moves if s.isupper() or s == END}
    made = SPECIAL | set(KEYWORD_TYPES.values()) | set(PUNCTUATION.values())
    assert used == made - {"EXTERN"}  # which is refused everywhere


def test_punctuation_is_spelt_as_in_the_grammar() -> None:
    grammar = tables.GRAMMAR.read_text(encoding="utf-8")
    assert not re.search(r"^[A-Z_]+: ", grammar.split("// --- terminals")[0], re.MULTILINE)
    for text, name in PUNCTUATION.items():
        assert f'\n{name}: "{text}"\n' in grammar


def test_every_action_is_used_and_every_use_is_an_action() -> None:
    used = {rule.action for rule in tables.table().rules if rule.action is not None}
    assert used == {name.removeprefix("on_") for name in dir(Actions) if name.startswith("on_")}


def test_alternatives_without_action_have_one_symbol_that_matters() -> None:
    for rule in tables.table().rules:
        assert rule.action is not None or rule.size == 1 or rule.origin.startswith("list{")


def test_conflicts_come_only_from_reductions_and_bare_return(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    original = lark.Lark
    monkeypatch.setattr(lark, "Lark", lambda *args, **rest: original(*args, debug=True, **rest))
    level = lark.logger.level
    lark.logger.setLevel(logging.DEBUG)
    lark.logger.addHandler(caplog.handler)
    grammar = tables.GRAMMAR.read_text(encoding="utf-8")
    try:
        tables.build(grammar)
        with_reductions = len(caplog.records)
        caplog.clear()
        tables.build("\n".join(line for line in grammar.splitlines() if "| REDUCE " not in line))
    finally:
        lark.logger.setLevel(level)
        lark.logger.removeHandler(caplog.handler)
    left = [record.getMessage().strip() for record in caplog.records]
    assert with_reductions > len(left)
    assert {message for message in left if message.startswith("*")} == {"* <stmt : RETURN>"}


def test_tables_are_cached_and_a_damaged_cache_is_rebuilt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINNET_CACHE", str(tmp_path))
    tables.table.cache_clear()
    try:
        first = tables.table()
        (file,) = (tmp_path / "grammar").iterdir()
        whole = file.read_bytes()
        assert json.loads(whole.partition(b"\n")[2])["states"] == list(first.states)
        for content in (b"", whole[:-1], whole.replace(b"LPAR", b"RPAR", 1)):
            file.write_bytes(content)
            tables.table.cache_clear()
            assert tables.table() == first
            assert file.read_bytes() not in (b"", content)
    finally:
        tables.table.cache_clear()


def test_an_unusable_cache_folder_costs_only_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_text("")
    monkeypatch.setenv("LINNET_CACHE", str(file))
    tables.table.cache_clear()
    try:
        assert tables.table().states
    finally:
        tables.table.cache_clear()


def test_a_warm_start_does_not_import_lark() -> None:
    tables.table()
    program = (
        "import sys; from linnet.diag import Problems, Source\n"
        "from linnet.syntax.parse import parse\n"
        "parse(Source('t', 'module a'), Problems()); print('lark' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_the_cache_folder_may_begin_with_a_tilde(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LINNET_CACHE", "~/kept")
    assert tables._cache_file("g").parent == tmp_path / "kept" / "grammar"
