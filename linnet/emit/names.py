"""C identifiers made from source names, which may be words that C has taken; line breaks."""

from __future__ import annotations

import re

_KEYWORDS = """
auto break case char const continue default do double else enum extern float for goto if inline
int long register restrict return short signed sizeof static struct switch typedef union unsigned
void volatile while asm typeof bool true false
"""
_LIBRARY = """
NAN INFINITY NULL EOF unix linux errno signal index time exp log sqrt sin cos tanh abs fabs pow
main free malloc read write y0 y1 yn j0 j1 jn gamma div round floor ceil stdin stdout stderr exit
"""
_FRAME = "w call arena scratch claim sync c hi row rows worker team single one alone"
_TAKEN = frozenset(f"{_KEYWORDS} {_LIBRARY} {_FRAME}".split())
_PREFIXES = ("ln_", "linnet_", "LN_", "kernel_", "loop_", "__", "_mm")
_PATTERN = re.compile(r"[^A-Za-z0-9_]")


def identifier(name: str) -> str:
    """A legal C identifier close to `name` that no header or frame of ours uses."""
    text = _PATTERN.sub("_", name) or "value"
    if text[0].isdigit():
        text = f"n{text}"
    taken = text in _TAKEN or text.startswith(_PREFIXES)
    return f"{text}_" if taken or (text[0] == "_" and len(text) == 1) else text


class Names:
    """Hands out identifiers that differ from all it gave before."""

    def __init__(self) -> None:
        self._given: set[str] = set()

    def fresh(self, name: str) -> str:
        base = identifier(name)
        text, count = base, 1
        while text in self._given:
            text, count = f"{base}_{count}", count + 1
        self._given.add(text)
        return text


def wrapped(text: str, indent: int = 0, width: int = 98) -> str:
    """A call or a function head, broken after commas where it is too long for a line that
    begins `indent` columns in. Later lines stand under the first argument."""
    if len(text) + indent <= width or "(" not in text:
        return text
    head, _, rest = text.partition("(")
    lines: list[str] = []
    line = f"{head}("
    column = indent + len(line)
    for k, part in enumerate(rest.split(", ")):
        piece = part if k == 0 else f", {part}"
        if k > 0 and len(line) + len(piece) + indent * (not lines) > width - 1:
            lines.append(f"{line},")
            line = " " * column + part
        else:
            line += piece
    return "\n".join([*lines, line])
