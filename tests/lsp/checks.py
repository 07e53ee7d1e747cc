"""What the tests of the language server share: asking everything at one place."""

from __future__ import annotations

from pathlib import Path

from linnet.diag import Source
from linnet.errors import LinnetError
from linnet.fmt import format_source
from linnet.lsp import actions, complete, hints, hover, navigate
from linnet.lsp.analysis import Analysis
from linnet.syntax import tree

ROOT = Path(__file__).parents[2]
GPT2 = ROOT / "nest" / "gpt2" / "gpt2.linnet"

Known = dict[Path, tree.Module]


def analysed(text: str, name: str = "/nowhere/test.linnet", known: Known | None = None) -> Analysis:
    return Analysis(Source(name, text, Path(name)), known)


def marked(text: str) -> tuple[str, list[int]]:
    """`text` without its `^` marks, and where they stood."""
    parts = text.split("^")
    places = [sum(map(len, parts[: k + 1])) for k in range(len(parts) - 1)]
    return "".join(parts), places


def applied(text: str, edits: list[tuple[int, int, str]]) -> str:
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def ask_everything(analysis: Analysis, offset: int, *, checked: bool) -> None:
    """Every question at one place. All answers must lie inside of the text."""
    source = analysis.source
    size = len(source.text)
    complete.complete(analysis, offset)
    list(analysis.symbol.below())
    for use in analysis.uses:
        assert 0 <= use.span.start <= use.span.end <= size
        assert use.span.source is source
    found = navigate.definition(analysis, offset)
    assert found is None or found.end <= len(found.source.text)
    list(hints.semantic_tokens(analysis))
    if not checked:
        return
    said = hover.hover(analysis, offset)
    assert said is None or 0 <= said[0].start <= said[0].end <= size
    for diagnostic in analysis.diagnostics:
        for label in (diagnostic.primary, *diagnostic.related):
            if label is not None:
                assert 0 <= label.span.start <= label.span.end <= len(label.span.source.text)
    for at, _ in hints.inlay_hints(analysis, 0, size):
        assert 0 <= at <= size
    for action in actions.actions(analysis, 0, size):
        assert 0 <= action.span.start <= action.span.end <= size
    try:
        format_source(source)
    except LinnetError:
        assert any(d.is_error for d in analysis.diagnostics)
