"""The `where` items that diagnostics propose, put in as the editor's action puts them in.

For every rejected program, and for every diagnostic of it that proposes an item: with the item the
diagnostic is gone. An action may miss its mark where several things are wrong in one place, in at
most one case of ten.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from linnet.diag import Diagnostic, Source
from linnet.lsp.actions import Action, actions
from linnet.lsp.analysis import Analysis

HERE = Path(__file__).parent
PROGRAMS = sorted((HERE / "reject").glob("*.linnet")) + sorted(
    (HERE / "reject").glob("packages/*/src/*.linnet")
)


@dataclass(frozen=True)
class Repair:
    """A diagnostic for which an item was proposed. `left` is what is still wrong afterwards."""

    path: Path
    diagnostic: Diagnostic
    title: str
    left: str


def analysis_of(path: Path, text: str) -> Analysis:
    return Analysis(Source(str(path), text, path))


def repairs(path: Path) -> list[Repair]:
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    before = analysis_of(path, text)
    proposing = [d for d in before.diagnostics if any("to the where list" in h for h in d.help)]
    found = []
    for diagnostic in proposing:
        primary = diagnostic.primary
        if primary is None or primary.span.source is not before.source:
            continue
        offered = [
            a
            for a in actions(before, primary.span.start, primary.span.end)
            if a.diagnostic is diagnostic and a.title.startswith("Add `where")
        ]
        if not offered:
            found.append(Repair(path, diagnostic, "no action is offered", "itself"))
        for action in offered:
            remains = left(path, text, action, {(d.code, d.message) for d in before.diagnostics})
            found.append(Repair(path, diagnostic, action.title, remains))
    return found


def left(path: Path, text: str, action: Action, known: set[tuple[str, str]]) -> str:
    """What remains of the diagnostic, or is wrong with the edit itself, once the action is done;
    empty if nothing is. `known` was wrong before."""
    edit, primary = action.span, action.diagnostic.primary
    assert primary is not None
    after = analysis_of(path, text[: edit.start] + action.text + text[edit.end :])
    moved = len(action.text) - (edit.end - edit.start) if primary.span.start >= edit.end else 0
    place = primary.span.start + moved
    for other in after.diagnostics:
        if other.code.startswith("E1") and (other.code, other.message) not in known:
            return f"{other.code} {other.message}"
        same_place = other.primary is not None and other.primary.span.start == place
        if same_place and other.code == action.diagnostic.code:
            return f"{other.code} {other.message} ({'; '.join(other.help)})"
    return ""


def test_a_proposed_item_repairs_what_it_is_proposed_for() -> None:
    every = [repair for path in PROGRAMS for repair in repairs(path)]
    broken = [repair for repair in every if repair.left]
    shown = "\n".join(
        f"{r.path.name}: {r.diagnostic.code} {r.diagnostic.message}\n  {r.title}\n  left: {r.left}"
        for r in broken
    )
    print(f"{len(every) - len(broken)} of {len(every)} proposals repair")
    print(shown)
    assert len(every) >= 10
    assert len(broken) <= len(every) // 10, shown
