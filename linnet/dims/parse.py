"""Read the text of a dimension or a comparison back: the inverse of `str(dim)`.

In: text in the source's own spelling (`B * P * (W / P)`, `min(a, b)`, `S - 1`, `numel(S)`) and
what each name stands for. Out: a `Dim` or a `Clause`. For the text form of the IR, the JSON of
artifacts and tests; the front end has its own grammar.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from linnet.dims.clause import COMPARISONS, Clause
from linnet.dims.expr import Dim, Numel

_TOKEN = re.compile(r"\s*(?:(\d+)|([A-Za-z_][A-Za-z0-9_]*)|(==|!=|<=|>=|[-+*/%(),<>]))")
_MAX_NESTING = 100


def parse(text: str, symbols: Mapping[str, Dim]) -> Dim:
    """The dimension that `text` spells. `symbols` says what each name stands for.

    `numel(S)` looks up `S`, which must stand for a bare element count.
    Raises ValueError for malformed text or an unknown name.
    """
    reader = _Reader(text, symbols)
    result = reader.sum()
    reader.end()
    return result


def parse_clause(text: str, symbols: Mapping[str, Dim], origin: object | None = None) -> Clause:
    """The comparison that `text` spells, with `text` as its words. Raises ValueError."""
    reader = _Reader(text, symbols)
    left = reader.sum()
    op = reader.take()
    if op not in COMPARISONS:
        raise ValueError(f"expected a comparison in `{text}`")
    right = reader.sum()
    reader.end()
    return Clause(op, left, right, text.strip(), origin)


class _Reader:
    """Recursive descent over the tokens; the empty string marks the end."""

    def __init__(self, text: str, symbols: Mapping[str, Dim]) -> None:
        self.text = text
        self.symbols = symbols
        self.tokens = self._split(text)
        self.at = 0
        self.nesting = 0

    def _split(self, text: str) -> list[str]:
        tokens: list[str] = []
        position, stop = 0, len(text.rstrip())
        while position < stop:
            match = _TOKEN.match(text, position)
            if match is None:
                raise ValueError(f"unexpected character at {position} of `{text}`")
            tokens.append(match.group(match.lastindex or 0))
            position = match.end()
        return [*tokens, ""]

    def peek(self) -> str:
        return self.tokens[self.at]

    def take(self) -> str:
        token = self.tokens[self.at]
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return token

    def expect(self, token: str) -> None:
        if self.take() != token:
            raise ValueError(f"expected `{token}` in `{self.text}`")

    def end(self) -> None:
        if self.peek():
            raise ValueError(f"unexpected `{self.peek()}` in `{self.text}`")

    def sum(self) -> Dim:
        total = self.product()
        while self.peek() in ("+", "-"):
            total = total + self.product() if self.take() == "+" else total - self.product()
        return total

    def product(self) -> Dim:
        total = self.signed()
        while self.peek() in ("*", "/", "%"):
            op, factor = self.take(), self.signed()
            if op == "*":
                total = total * factor
            else:
                total = total.floordiv(factor) if op == "/" else total.mod(factor)
        return total

    def signed(self) -> Dim:
        minus = False
        while self.peek() == "-":
            self.take()
            minus = not minus
        return -self.primary() if minus else self.primary()

    def primary(self) -> Dim:
        token = self.take()
        if token.isdigit():
            return Dim.const(int(token))
        if token == "(":
            return self.bracketed()
        if token in ("min", "max") and self.peek() == "(":
            self.take()
            left = self.nested()
            self.expect(",")
            right = self.bracketed()
            return left.minimum(right) if token == "min" else left.maximum(right)
        if token == "numel" and self.peek() == "(":
            self.take()
            count = self.bracketed()
            if not isinstance(next(iter(count.atoms()), None), Numel):
                raise ValueError(f"`numel` of something that is no pack in `{self.text}`")
            return count
        if token in self.symbols:
            return self.symbols[token]
        raise ValueError(f"unexpected `{token}` in `{self.text}`" if token else "text ends early")

    def nested(self) -> Dim:
        self.nesting += 1
        if self.nesting > _MAX_NESTING:
            raise ValueError("parentheses nest too deeply")
        inner = self.sum()
        self.nesting -= 1
        return inner

    def bracketed(self) -> Dim:
        inner = self.nested()
        self.expect(")")
        return inner
