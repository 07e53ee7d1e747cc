"""From text to tokens, comments and documentation.

Takes a `Source`, gives a `Lexed`. Reports E1001 (characters), E1002 (comments), E1003
(strings), E1005 (numbers) and E2105 (numbers out of range); each leaves either no token or a
BROKEN one, which the parser accepts as an expression, so that no second report follows. A line
that nobody could read is E1101, and the file is not read. It knows nothing about the grammar
beyond the words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise

from linnet.diag import Diagnostic, Problems, Source
from linnet.syntax.tokens import KEYWORD_TYPES, PUNCTUATION, Token
from linnet.syntax.tree import Comment

_DIGITS = r"[0-9](?:[eE][+-](?=[0-9])|[0-9A-Za-z_])*"

_SCAN = re.compile(
    r"(?P<space>[ \t\r\n]+)"
    r"|(?P<word>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<line>//[^\r\n]*)"
    r"|(?P<block>/\*)"
    # A number takes every letter, digit and dot that touches it, to be judged as a whole.
    rf"|(?P<number>0[xXbB][0-9A-Za-z_]*|{_DIGITS}(?:\.{_DIGITS})*(?:\.(?![.0-9A-Za-z_]))?)"
    rf"|(?P<fraction>\.{_DIGITS})"
    r"|(?P<string>\")"
    r"|(?P<mark>\.\.\.|::|\.\.|->|=>|==|!=|<=|>=|&&|\|\||[()\[\]{},:;.=<>+\-*/%!?&|^])"
).match

_INTEGER = re.compile(
    r"(?:0|[1-9](?:_?[0-9])*)|0x(?P<hex>[0-9A-Fa-f](?:_?[0-9A-Fa-f])*)|0b(?P<bin>[01](?:_?[01])*)"
).fullmatch
_PLAIN = r"[0-9](?:_?[0-9])*"
_FLOAT = re.compile(
    rf"{_PLAIN}\.{_PLAIN}(?:[eE][+-]?{_PLAIN})?|{_PLAIN}[eE][+-]?{_PLAIN}"
).fullmatch

_COMMENT_MARK = re.compile(r"/\*|\*/")
_BAD_RUN = re.compile(r"[^\t\n\r !\"%&()*+,\-./0-9:;<=>?A-Z\[\]^_a-z{|}]+")
# What is wrong even inside comments and strings: control characters and undecodable bytes.
_CONTROL_RUN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]+")
_STRING_BODY = re.compile(r'(?:[^"\\\r\n]|\\[^\r\n])*')
_ESCAPE = re.compile(r"\\(?:u\{([0-9A-Fa-f]{1,6})\}|(.))", re.DOTALL)
_SIMPLE_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", '"': '"', "0": "\0"}

# The byte-order marks of UTF-16, as undecodable bytes.
_WIDE_MARKS = ("\udcff\udcfe", "\udcfe\udcff")

MAX_BAD_RUNS = 20
"""Runs of bad characters reported in one file: the first few hundred of a binary file say no
more than the first twenty."""

MAX_REPORTS = 100
MAX_LINE = 200_000
"""Reports of any kind in one file."""

_MAX_INT = 2**63 - 1
_INTEGER_HELP = "write integers as `42`, `1_000`, `0xff` or `0b101`"
_FLOAT_HELP = "write floats as `0.5`, `1e-5` or `2.5e3`, with digits on both sides of the dot"
# What is wrong with a character that other languages give a meaning.
_FOREIGN_HELP = {
    "@": "there is no matrix operator: write `sum[k] a[i, k] * b[k, j]`, or use "
    "`std.nn.linear::{linear}`",
    "#": "comments begin with `//`",
}


@dataclass(slots=True)
class Lexed:
    """`docs` maps the start of a token to the documentation that stands before it; `errors`
    are the offsets of the reports, in order; `values` maps the start of a number or string
    token to what it means."""

    tokens: list[Token] = field(default_factory=list)
    comments: list[Comment] = field(default_factory=list)
    docs: dict[int, str] = field(default_factory=dict)
    errors: list[int] = field(default_factory=list)
    values: dict[int, int | float | str] = field(default_factory=dict)


def lex(source: Source, problems: Problems) -> Lexed:
    """All tokens of `source`, without an end token. Never raises, whatever the text."""
    return _Lexer(source, problems).run()


class _Lexer:
    def __init__(self, source: Source, problems: Problems) -> None:
        self.source = source
        self.text = source.text
        self.problems = problems
        self.out = Lexed()
        self.doc_lines: list[str] = []
        self.bad_runs = 0
        self.foreign_comments = False
        self.has_controls = _CONTROL_RUN.search(source.text) is not None

    def run(self) -> Lexed:
        text, out = self.text, self.out
        if text.startswith(_WIDE_MARKS):
            self._report(
                "E1001", "this file is UTF-16", 0, min(len(text), 2), help="save the file as UTF-8"
            )
            return out
        if _is_no_text(text):
            self._report_no_text()
            return out
        if len(text) > MAX_LINE and self._report_long_line():
            return out
        tokens = out.tokens
        at = 1 if text.startswith("\ufeff") else 0
        end = len(text)
        while at < end:
            match = _SCAN(text, at)
            if match is None:
                at = self._bad_characters(at)
                continue
            kind = match.lastgroup
            stop = match.end()
            if kind == "space":
                at = stop
                continue
            if kind == "word":
                word = match.group()
                self._push(Token(KEYWORD_TYPES.get(word, "NAME"), word, at, stop))
            elif kind == "mark":
                mark = match.group()
                self._push(Token(PUNCTUATION[mark], mark, at, stop))
            elif kind == "number":
                self._number(at, stop)
            elif kind == "line":
                self._line_comment(at, stop)
            elif kind == "block":
                stop = self._block_comment(at)
            elif kind == "string":
                stop = self._string(at)
            elif tokens and tokens[-1].end == at and tokens[-1].type in ("NAME", "RPAR", "RSQB"):
                stop = at + 1  # `x.5` is a dot after a value, no fraction
                self._push(Token("DOT", ".", at, stop))
            else:
                self._number(at, stop)
            at = stop
        out.errors.sort()
        return out

    def _push(self, token: Token) -> None:
        if self.doc_lines:
            self.out.docs[token.start] = "\n".join(self.doc_lines)
            self.doc_lines = []
        self.out.tokens.append(token)

    def _report(
        self, code: str, message: str, start: int, end: int, label: str = "",
        help: str | tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        self.out.errors.append(start)
        if len(self.out.errors) > MAX_REPORTS:
            return
        self.problems.report(code, message, self.source.span(start, end), label, help=help)

    # --- characters -----------------------------------------------------------------------

    def _bad_characters(self, at: int) -> int:
        if self.text[at] == "#" and self.text[at + 1 : at + 2] not in ("[", "!"):
            return self._foreign_comment(at)
        match = _BAD_RUN.match(self.text, at)
        stop = match.end() if match is not None else at + 1
        run = self.text[at:stop]
        self._report_characters(run, at)
        tokens = self.out.tokens
        if not run.isalpha():
            return stop
        # A letter from beyond ASCII: keep the word together, so that one report is enough.
        tail = re.compile(r"[A-Za-z0-9_]*").match(self.text, stop)
        word_end = tail.end() if tail is not None else stop
        start = at
        if tokens and tokens[-1].end == at and tokens[-1].type == "NAME":
            start = tokens.pop().start
        self._push(Token("NAME", self.text[start:word_end], start, word_end))
        return word_end

    def _foreign_comment(self, at: int) -> int:
        """Skip a comment of another language. One report stands for all of a file."""
        if self.foreign_comments:
            self.out.errors.append(at)
        else:
            self._report_characters("#", at)
        self.foreign_comments = True
        line = re.compile(r"[^\r\n]*").match(self.text, at)
        return line.end() if line is not None else at + 1

    def _report_long_line(self) -> bool:
        """Whether a line is longer than anybody could read; reported once."""
        starts = [*self.source.line_starts, len(self.text) + 1]
        long = (a for a, b in pairwise(starts) if b - a > MAX_LINE)
        start = next(long, None)
        if start is None:
            return False
        self.out.errors.append(0)
        self.problems.report(
            "E1101",
            f"a line of more than {MAX_LINE} characters",
            self.source.span(start, start + 1),
            "this line",
            help="break it into several lines and statements",
        )
        return True

    def _report_no_text(self) -> None:
        """One report for a file of another kind, without drawing any of it."""
        self.out.errors.append(0)
        self.problems.add(
            Diagnostic(
                "E1001",
                "this is no text file",
                notes=("it holds bytes that occur in no UTF-8 text",),
                help=("give a file of Linnet source, whose name ends in `.linnet`",),
                file=self.source.name,
            )
        )

    def _report_characters(self, run: str, at: int) -> None:
        self.bad_runs += 1
        if self.bad_runs > MAX_BAD_RUNS:
            self.out.errors.append(at)
            return
        first = run[0]
        code = ord(first)
        if 0xD800 <= code <= 0xDFFF:
            message = "these bytes are not UTF-8" if len(run) > 1 else "this byte is not UTF-8"
            help = "save the file as UTF-8"
        elif code < 0x20 or 0x7F <= code <= 0x9F:
            message = f"control character U+{code:04X} in source"
            help = "delete it"
        elif code == 0xFEFF:
            message = "byte-order mark inside the file"
            help = "delete it; a mark is only skipped at the very beginning"
        elif code < 0x80:
            message = f"`{first}` has no meaning in source"
            help = _FOREIGN_HELP.get(first, "delete it")
        else:
            message = f"`{first}` (U+{code:04X}) cannot occur in source"
            help = "source is ASCII outside comments and strings; names use letters, digits and `_`"
        self._report("E1001", message, at, at + len(run), help=help)

    def _check_controls(self, start: int, end: int) -> None:
        """Report what is forbidden even in the comment or string from `start` to `end`."""
        if self.has_controls:
            for match in _CONTROL_RUN.finditer(self.text, start, end):
                self._report_characters(match.group(), match.start())

    # --- comments -------------------------------------------------------------------------

    def _line_comment(self, start: int, stop: int) -> None:
        text = self.text[start:stop]
        doc = text.startswith("///") and not text.startswith("////")
        self._check_controls(start, stop)
        self.out.comments.append(Comment(self.source.span(start, stop), text, doc))
        if doc:
            self.doc_lines.append(text[3:].removeprefix(" ").rstrip())

    def _block_comment(self, start: int) -> int:
        depth = 0
        stop = len(self.text)
        for match in _COMMENT_MARK.finditer(self.text, start):
            depth += 1 if match.group() == "/*" else -1
            if depth == 0:
                stop = match.end()
                break
        if depth:
            self._report(
                "E1002", "this block comment is never closed", start, start + 2, "opened here",
                help=f"add `{' '.join(['*/'] * min(depth, 3))}`"
                + ("; block comments nest" if depth > 1 else ""),
            )  # fmt: skip
        text = self.text[start:stop]
        # `/**/` is an empty comment and `/***` a ruler, neither of them documentation.
        doc = text.startswith("/**") and len(text) > 4 and text[3] != "*" and not depth
        self._check_controls(start, stop)
        self.out.comments.append(Comment(self.source.span(start, stop), text, doc))
        if doc:
            self.doc_lines.extend(_block_doc(text))
        return stop

    # --- numbers --------------------------------------------------------------------------

    def _number(self, start: int, stop: int) -> None:
        text = self.text[start:stop]
        value: int | float
        if integer := _INTEGER(text):
            value = _integer(text, integer.lastgroup)
            kind, fits, limit = "INT", value <= _MAX_INT, f"at most {_MAX_INT}"
        elif _FLOAT(text):
            value = float(text)  # underscores stand where Python allows them too
            kind, fits, limit = "FLOAT", value != float("inf"), "at most about 1.797e308"
        else:
            self._report(
                "E1005", f"`{_shorten(text)}` is not a well-formed number", start, stop,
                _number_fault(text), help=_number_help(text),
            )  # fmt: skip
            self._push(Token("BROKEN", text, start, stop))
            return
        if not fits:
            sort = "i64" if kind == "INT" else "f64"
            self._report(
                "E2105", f"`{_shorten(text)}` does not fit {sort}", start, stop,
                f"a literal is {limit}",
            )  # fmt: skip
            self._push(Token("BROKEN", text, start, stop))
            return
        self.out.values[start] = value
        self._push(Token(kind, text, start, stop))

    # --- strings --------------------------------------------------------------------------

    def _string(self, start: int) -> int:
        body = _STRING_BODY.match(self.text, start + 1)
        inner_end = body.end() if body is not None else start + 1
        if self.text[inner_end : inner_end + 1] != '"':
            line_end = inner_end
            while line_end < len(self.text) and self.text[line_end] not in "\r\n":
                line_end += 1
            self._report(
                "E1003", "this string is not closed", start, line_end, "opened here",
                help='close it with `"` on the same line',
            )  # fmt: skip
            self._push(Token("BROKEN", self.text[start:line_end], start, line_end))
            return line_end
        stop = inner_end + 1
        self._check_controls(start, stop)
        value = self._unescape(start + 1, inner_end)
        text = self.text[start:stop]
        if value is None:
            self._push(Token("BROKEN", text, start, stop))
        else:
            self.out.values[start] = value
            self._push(Token("STRING", text, start, stop))
        return stop

    def _unescape(self, start: int, end: int) -> str | None:
        """The value of the string body, or None after reporting its first bad escape."""
        parts: list[str] = []
        at = start
        for match in _ESCAPE.finditer(self.text, start, end):
            parts.append(self.text[at : match.start()])
            at = match.end()
            if match.group(1) is not None:
                char = int(match.group(1), 16)
                if char > 0x10FFFF or 0xD800 <= char <= 0xDFFF:
                    return self._bad_escape(match, "no character has this number")
                parts.append(chr(char))
            elif match.group(2) in _SIMPLE_ESCAPES:
                parts.append(_SIMPLE_ESCAPES[match.group(2)])
            else:
                return self._bad_escape(match, "not an escape")
        parts.append(self.text[at:end])
        return "".join(parts)

    def _bad_escape(self, match: re.Match[str], label: str) -> str | None:
        self._report(
            "E1003", f"`{match.group()}` is no escape of a string", match.start(), match.end(),
            label, help=r"the escapes are \n \t \\ \" \0 and \u{hex} with 1 to 6 hex digits",
        )  # fmt: skip
        return None


def _integer(text: str, base: str | None) -> int:
    digits = text.replace("_", "")
    if base is None and len(digits) > 40:
        return 10**40  # far out of range; converting thousands of digits would only cost time
    return int(digits, {"hex": 16, "bin": 2, None: 10}[base])


def _is_no_text(text: str) -> bool:
    """Whether a file is of another kind: it holds a NUL, or is hardly decodable."""
    if "\0" in text:
        return True
    sample = text[:4096]
    return sum("\ud800" <= char <= "\udfff" for char in sample) > len(sample) // 4 + 8


def _number_help(text: str) -> tuple[str, ...]:
    """How to write the sort of number that was meant."""
    if "." in text:
        return (_FLOAT_HELP,)
    if re.match("0[0-9_xXbB]", text):
        return (_INTEGER_HELP,)
    return (_FLOAT_HELP,) if re.match("[0-9_]+[eE]", text) else (_INTEGER_HELP, _FLOAT_HELP)


def _number_fault(text: str) -> str:
    """What is wrong with a malformed number, in a few words."""
    lower = text.lower()
    if text.startswith(("0X", "0B")):
        return f"the prefix is written `{text[:2].lower()}`"
    if lower.startswith("0x"):
        return "hexadecimal digits are 0-9 and a-f"
    if lower.startswith("0b"):
        return "binary digits are 0 and 1"
    if "__" in text or text.endswith("_") or "_." in text or "._" in text:
        return "`_` stands only between two digits"
    if text.startswith(".") or text.endswith("."):
        return "a dot needs a digit on both sides"
    if re.fullmatch(r"0[0-9_]+", text):
        return "no leading zeros"
    if re.fullmatch(r"[0-9._]+[eE]", text):
        return "the exponent has no digits"
    if text.count(".") > 1:
        return "a number has one dot at most"
    return "letters cannot follow the digits of a number"


def _block_doc(text: str) -> list[str]:
    """Lines of a `/** … */`, without the marks, a leading `*` and common blanks."""
    lines = [line.strip() for line in text[3:-2].splitlines()]
    lines = [lines[0], *(line.removeprefix("*").removeprefix(" ") for line in lines[1:])]
    while lines and not lines[0]:
        lines.pop(0)
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "…"
