"""Parse tables of `linnet.lark`, built once and kept.

lark reads the grammar and computes the LALR(1) tables; what the parser needs of them is plain
data, so it is kept as JSON in the user's cache folder under a name that depends on the
grammar. A warm start then reads one file and does not even import lark. Without a usable
cache folder the tables are built anew in each process, which takes about 0.2 s.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

GRAMMAR = Path(__file__).with_name("linnet.lark")
_FORMAT = "2"


@dataclass(frozen=True, slots=True)
class Rule:
    """One alternative: the symbol it makes, its action (None: hand on the first value), and
    how many symbols it takes."""

    origin: str
    action: str | None
    size: int


@dataclass(frozen=True, slots=True)
class Table:
    """`states[s][symbol]` is the move: `t >= 0` goes to state `t`, `m < 0` reduces by rule
    `-m - 1`. Symbols are terminals and, for the move after a reduction, rule names."""

    states: tuple[dict[str, int], ...]
    rules: tuple[Rule, ...]
    start: int
    end: int


@cache
def table() -> Table:
    """The tables, from the cache if they are there."""
    grammar = GRAMMAR.read_text(encoding="utf-8")
    path = _cache_file(grammar)
    data = _read(path)
    if data is None:
        data = build(grammar)
        _write(path, data)
    return Table(
        tuple(data["states"]),
        tuple(Rule(origin, action, size) for origin, action, size in data["rules"]),
        data["start"],
        data["end"],
    )


def build(grammar: str) -> dict[str, Any]:
    """Tables of a grammar as JSON-ready data. Raises lark's GrammarError if it is ambiguous
    beyond shift against reduce."""
    import lark

    class NoLexer(lark.lexer.Lexer):
        """lark insists on a lexer; this project brings its own and never calls this one."""

        def __init__(self, conf: Any) -> None:
            pass

        def lex(self, *_: Any) -> Any:
            return iter(())

    parser = lark.Lark(grammar, parser="lalr", lexer=NoLexer, keep_all_tokens=True)
    conf = parser.parse_interactive("").parser_state.parse_conf
    numbers = _number(conf)
    # Beside the rules there may be callbacks for terminals, under their names.
    rules: dict[Any, int] = {}
    for rule in conf.callbacks:
        if not isinstance(rule, str):
            rules[rule] = len(rules)
    states = [
        {
            str(symbol): -rules[target] - 1 if action.name == "Reduce" else numbers[target]
            for symbol, (action, target) in moves.items()
        }
        for moves in (conf.states[state] for state in numbers)
    ]
    return {
        "states": states,
        "rules": [[str(r.origin.name), r.alias, len(r.expansion)] for r in rules],
        "start": numbers[conf.start_state],
        "end": numbers[conf.end_state],
    }


def _number(conf: Any) -> dict[Any, int]:
    """Number the states by a walk from the start, as lark's own order changes from run to run."""
    numbers = {conf.start_state: 0}
    waiting = [conf.start_state]
    while waiting:
        moves = conf.states[waiting.pop()]
        for symbol in sorted(moves, key=str):
            action, target = moves[symbol]
            if action.name == "Shift" and target not in numbers:
                numbers[target] = len(numbers)
                waiting.append(target)
    return numbers


def _cache_file(grammar: str) -> Path:
    from platformdirs import user_cache_path

    folder = os.environ.get("LINNET_CACHE")
    usual = user_cache_path("linnet", appauthor=False)
    root = Path(os.path.expanduser(folder)) if folder else usual
    key = f"{_FORMAT}\0{grammar}"
    return root / "grammar" / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.json"


def _read(path: Path) -> dict[str, Any] | None:
    """What `_write` wrote; None if it is not there or not whole."""
    try:
        digest, _, text = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    if hashlib.sha256(text).hexdigest().encode() != digest:
        return None
    data: dict[str, Any] = json.loads(text)
    return data


def _write(path: Path, data: dict[str, Any]) -> None:
    """Atomically, and silently not at all where that is impossible: it is only a cache."""
    import tempfile  # slow to import, and a warm start never comes here

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(data, separators=(",", ":")).encode()
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(text).hexdigest().encode() + b"\n" + text)
            os.replace(name, path)
        except OSError:
            os.unlink(name)
            raise
    except OSError:
        return
