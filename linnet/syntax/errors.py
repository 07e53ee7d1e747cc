"""Wording of syntax errors: from the state of the parser to one `Diagnostic`.

The parser describes where it stands in a `Situation`; the functions here look for the common
slips, in a fixed order, and fall back to "expected this, found that". They decide nothing
about recovery and never show the name of a terminal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from linnet.diag import Diagnostic, Label, Source, Span
from linnet.syntax.tokens import (
    END,
    ITEM_STARTS,
    KEYWORD_TYPES,
    MEMBER_STARTS,
    PUNCTUATION,
    STATEMENT_STARTS,
    Token,
    words,
)

_SPELLING: dict[str, str] = {
    **{kind: f"`{text}`" for text, kind in PUNCTUATION.items()},
    **{kind: f"`{word}`" for word, kind in KEYWORD_TYPES.items()},
    "NAME": "a name",
    "INT": "a number",
    "FLOAT": "a number",
    "STRING": "a string",
    "TENSOR": "`Tensor`",
    "REDUCE": "a reduction",
    "CALL_LESS": "`<`",
    "CALL_MORE": "`>`",
    "GRAD": "`grad`",
    "GRID": "`grid`",
    "HINT": "`warps`",
    END: "the end of the file",
}
_EXPRESSION = words("""
    NAME INT FLOAT STRING BROKEN TRUE FALSE NONE SOME LPAR LSQB REDUCE MINUS PLUS BANG IF MATCH FOR
""")
_TYPE = words("NAME TENSOR LPAR LSQB")
_PATTERN = words("NAME LPAR SOME NONE")
_CONTINUATION = words("""
    OR AND EQ NE LESS LE MORE GE VBAR CARET AMPERSAND PLUS MINUS STAR SLASH PERCENT
    LPAR LSQB DOT CALL_LESS QUESTION
""")
_STATEMENT_NOTE = "there are no expression statements: a result must be bound or returned"
_COMPOUND = words("PLUS MINUS STAR SLASH PERCENT AMPERSAND VBAR CARET")


@dataclass(frozen=True, slots=True)
class Situation:
    """Where the parser stands. `accepts` are the terminals that could come next; `values` its
    stack, of which only the tokens are looked at; `before` and `after` the tokens around the
    one that does not fit (`before` is None at the start of the file); `place` the innermost
    list it is in: "entries", "members" or "stmts"; `opened` the innermost `{` still open."""

    source: Source
    token: Token
    before: Token | None
    after: Token
    accepts: frozenset[str]
    values: list[Any]
    place: str
    opened: Token | None

    def span(self, token: Token) -> Span:
        return Span(self.source, token.start, token.end)

    @property
    def heads(self) -> list[str]:
        """Terminals of the tokens on the stack, innermost last."""
        return [value.type for value in self.values if isinstance(value, Token)]

    def same_line(self, first: Token, second: Token) -> bool:
        return "\n" not in self.source.text[first.end : second.start]


def explain(s: Situation) -> Diagnostic:
    """The diagnostic for a token that fits nowhere."""
    for slip in _SLIPS:
        found = slip(s)
        if found is not None:
            return found
    wanted = expected(s.accepts)
    return _error(s, f"expected {wanted}, found {found_text(s.token)}")


def found_text(token: Token) -> str:
    if token.type == END:
        return "the end of the file"
    text = token.text if len(token.text) <= 40 else token.text[:37] + "…"
    return f"`{text}`"


def expected(accepts: frozenset[str]) -> str:
    """The terminals in words: whole categories where they apply, a few spellings otherwise."""
    parts: list[str] = []
    left = set(accepts) - {"BROKEN"}
    if left >= STATEMENT_STARTS:
        parts.append("a statement")
        left -= STATEMENT_STARTS | {"NAME"}
    if left >= MEMBER_STARTS:
        parts.append("a member")
        left -= MEMBER_STARTS
    if {"FN", "OP", "ENTRY"} <= left:
        parts.append("an item")
        left -= ITEM_STARTS | {"USE"}
    if {"INT", "NAME", "MINUS"} <= left:
        parts.append("an expression")
        left -= _EXPRESSION
    elif left >= _PATTERN:
        parts.append("a name or a pattern")
        left -= _PATTERN
    elif left >= _TYPE:
        parts.append("a type")
        left -= _TYPE
    if parts and parts[0] in ("a statement", "a member", "an item"):
        # Behind a finished statement or member everything that could prolong it is possible
        # too; what is missing is the next one.
        left &= {"RBRACE"}
    elif {"STAR", "PLUS"} <= left:
        left = (left - _CONTINUATION) or {"PLUS"}
    parts.extend(sorted({_SPELLING[kind] for kind in left}))
    if len(parts) > 5:
        return "something else"
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} or {parts[-1]}"


def _error(
    s: Situation,
    message: str,
    label: str = "",
    *,
    at: Token | Span | None = None,
    related: Iterable[Label] = (),
    notes: Iterable[str] = (),
    help: str | None = None,
    code: str = "E1101",
) -> Diagnostic:
    where = s.token if at is None else at
    span = s.span(where) if isinstance(where, Token) else where
    tips = () if help is None else (help,)
    return Diagnostic(code, message, Label(span, label), tuple(related), tuple(notes), tips)


# --- the common slips -------------------------------------------------------------------


def _set_aside(s: Situation) -> Diagnostic | None:
    if s.token.type != "EXTERN":
        return None
    help = "write the operation as an `op` with a body"
    return _error(s, "`extern` is set aside for a later version", help=help, code="E1103")


def _unclosed_at_end(s: Situation) -> Diagnostic | None:
    if s.token.type != END or s.opened is None:
        return None
    return _error(
        s, "this `{` is never closed", "opened here", at=s.opened, help="add the missing `}`"
    )


def _unclosed_before_item(s: Situation) -> Diagnostic | None:
    item = s.token.type in ITEM_STARTS or s.token.type in MEMBER_STARTS
    if not item or s.place != "stmts" or s.opened is None or "RBRACE" not in s.accepts:
        return None
    return _error(
        s,
        f"expected `}}` before `{s.token.text}`",
        "a body ends before the next item",
        related=(Label(s.span(s.opened), "this `{` is not closed"),),
    )


def _stray_brace(s: Situation) -> Diagnostic | None:
    if s.token.type != "RBRACE" or s.opened is not None:
        return None
    return _error(s, "this `}` closes nothing", help="delete it, or add the `{` it belongs to")


def _semicolon(s: Situation) -> Diagnostic | None:
    if s.token.type != "SEMICOLON" or not ({"RBRACE", END} & s.accepts):
        return None
    return _error(s, "statements and items end without `;`", help="delete the `;`")


def _member_outside(s: Situation) -> Diagnostic | None:
    if s.token.type not in MEMBER_STARTS or s.place == "members" or "RBRACE" in s.accepts:
        return None
    if s.place == "entries" and s.heads and s.heads[-1] != "PUB":
        return None
    if "NAME" in s.accepts and s.before is not None and s.same_line(s.before, s.token):
        return None
    message = f"`{s.token.text}` stands only inside a `block`"
    return _error(s, message, help="move it between the braces of a block")


def _public_member(s: Situation) -> Diagnostic | None:
    if s.token.type not in MEMBER_STARTS or s.before is None or s.before.type != "PUB":
        return None
    return _error(
        s,
        "members have no visibility",
        at=s.before,
        help="delete `pub`; the members of a block can always be read as `child.member`",
    )


def _late_use(s: Situation) -> Diagnostic | None:
    if s.token.type != "USE" or s.place != "members" or "FN" not in s.accepts:
        return None
    help = "move the `use` to the top of the file"
    return _error(s, "`use` must come before the items", help=help)


def _second_module(s: Situation) -> Diagnostic | None:
    if s.token.type != "MODULE" or "FN" not in s.accepts:
        return None
    return _error(s, "a file holds one `module` line, as its first", help="delete this line")


def _keyword_as_name(s: Situation) -> Diagnostic | None:
    if "NAME" not in s.accepts or s.token.text not in KEYWORD_TYPES:
        return None
    if {"INT", "LET"} & s.accepts:
        return None
    message = f"expected a name, found the keyword `{s.token.text}`"
    return _error(s, message, "a keyword is no name", help=f"rename it, e.g. `{s.token.text}_`")


def _else_if(s: Situation) -> Diagnostic | None:
    if s.token.type != "IF" or s.before is None or s.before.type != "ELSE":
        return None
    return _error(
        s,
        "there is no `else if`",
        "the second `if` needs braces of its own",
        help="write `else { if … { … } else { … } }`",
    )


def _loop_as_operand(s: Situation) -> Diagnostic | None:
    if not is_loop_as_operand(s.token, s.before, s.accepts, s.source):
        return None
    label = Label(s.span(s.token), "it is the whole value of a statement, or a statement")
    help = ("bind it first: `let y = for …`",)
    return Diagnostic("E2124", "a `for` inside an expression", label, help=help)


def is_loop_as_operand(
    token: Token, before: Token | None, accepts: frozenset[str], source: Source
) -> bool:
    """Whether a `for` stands where an operand is wanted, and is no statement of the next line."""
    if token.type != "FOR" or before is None or not {"INT", "MINUS"} <= accepts:
        return False
    return "\n" not in source.text[before.end : token.start]


def _missing_else(s: Situation) -> Diagnostic | None:
    if s.accepts != {"ELSE"}:
        return None
    return _error(
        s,
        f"expected `else`, found {found_text(s.token)}",
        "an `if` is an expression and needs both branches",
        help="add `else { … }`",
    )


def _struct_comma(s: Situation) -> Diagnostic | None:
    if s.token.type != "COMMA" or "STRUCT" not in s.heads[-6:]:
        return None
    return _error(
        s, "struct fields take no commas", help="delete the `,`; each field is on its own"
    )


def _bracketed_arm(s: Situation) -> Diagnostic | None:
    arm = s.token.type == "FAT_ARROW" and s.before is not None and s.before.type == "RPAR"
    if not arm or "MATCH" not in s.heads:
        return None
    return _error(
        s,
        "a match arm cannot start with `(`",
        "the parentheses before this read as a call of the previous arm's value",
        at=s.before,
        help="match the parts one after another: `some((a, b))` or nested matches",
    )


def _first_bracketed_arm(s: Situation) -> Diagnostic | None:
    if s.token.type != "LPAR" or s.heads[-2:] != ["MATCH", "LBRACE"] or "INT" in s.accepts:
        return None
    return _error(s, "a match arm cannot start with `(`", help="bind the whole value by a name")


def _lone_expression(s: Situation) -> Diagnostic | None:
    """At the start of a statement: an expression, or the second word of `a b`."""
    if s.place != "stmts":
        return None
    name = s.values[-1] if s.values else None
    if s.accepts == {"EQUAL", "DOT"}:
        name = _target_start(s)
        help = "`let _ = …` runs it for its effect alone" if s.token.type == "LPAR" else None
        return _error(
            s,
            f"expected a statement, found `{name.text}`",
            at=name,
            notes=(_STATEMENT_NOTE,),
            help=help,
        )
    if isinstance(name, Token) and name.type == "NAME" and s.accepts == {"EQUAL", "LPAR", "DOT"}:
        if s.token.type == "LSQB":
            return _error(
                s,
                f"expected a statement, found `{name.text}`",
                at=name,
                notes=("a tensor is a value: its elements are not assigned",),
                help=f"build a new one in index notation: `let y[i] = … {name.text}[i] …`",
            )
        if s.token.type in _COMPOUND and s.after.type == "EQUAL":
            help = f"write `{name.text} = {name.text} {s.token.text} …`"
            return _error(s, f"there is no `{s.token.text}=`", help=help)
        return _error(
            s, f"expected a statement, found `{name.text}`", at=name, notes=(_STATEMENT_NOTE,)
        )
    if "LET" in s.accepts and s.token.type in _EXPRESSION | {"FALSE"}:
        return _error(
            s, f"expected a statement, found {found_text(s.token)}", notes=(_STATEMENT_NOTE,)
        )
    return None


def _target_start(s: Situation) -> Token:
    """The first name of the `a.b.c` that the stack ends with."""
    for at in range(len(s.values) - 2, -1, -1):
        here, dot = s.values[at : at + 2]
        if isinstance(here, Token) and isinstance(dot, Token) and dot.type == "DOT":
            before = s.values[at - 1] if at else None
            if not (isinstance(before, Token) and before.type == "DOT") and here.type == "NAME":
                return here
    return s.token


# Words that are operators elsewhere.
_OPERATOR_WORDS = {"and": "&&", "or": "||"}
# Words that start an item elsewhere, and what to write here.
_FOREIGN_ITEMS = {
    **dict.fromkeys(("def", "func", "function", "fun", "proc"), "a function is declared with `fn`"),
    **dict.fromkeys(
        ("import", "from", "include", "require", "using"),
        "an import is written `use module.path::{name}`, below the `module` line",
    ),
    **dict.fromkeys(("class", "impl", "trait"), "parameters and functions belong to a `block`"),
    **dict.fromkeys(("let", "var"), "a value of the module is a `const`; `let` and `var` stand "
                    "in functions"),
}  # fmt: skip


def _operator_word(s: Situation) -> Diagnostic | None:
    """`a and b`, `a or b`, `not a`: read so far, or the word stands on top of the stack."""
    top = s.values[-1] if s.values else None
    name = top if isinstance(top, Token) and top.type == "NAME" else None
    for word in (s.token, name):
        if word is None or word.text not in _OPERATOR_WORDS or word.type != "NAME":
            continue
        if word is s.token and {"NAME", "EQUAL", "COLON"} & s.accepts and "AND" not in s.accepts:
            continue
        sign = _OPERATOR_WORDS[word.text]
        return _error(s, f"there is no operator `{word.text}`", at=word, help=f"write `{sign}`")
    operand = s.token if s.before is not None and s.before.text == "not" else name
    if operand is None or operand.type not in _EXPRESSION:
        return None
    found = re.search(r"\bnot[ \t]+$", s.source.text[max(operand.start - 40, 0) : operand.start])
    if found is None:
        return None
    start = operand.start - len(found.group())
    at = Span(s.source, start, start + len("not"))
    return _error(s, "there is no operator `not`", at=at, help=f"write `!{operand.text}`")


def _foreign_item(s: Situation) -> Diagnostic | None:
    help = _FOREIGN_ITEMS.get(s.token.text)
    if help is None or s.place == "stmts" or "FN" not in s.accepts:
        return None
    return _error(s, f"expected an item, found `{s.token.text}`", help=help)


def _comma_before_dtype(s: Situation) -> Diagnostic | None:
    """`Tensor[N, f32]`."""
    if s.token.type != "RSQB" or "SEMICOLON" not in s.accepts:
        return None
    tokens = [value for value in reversed(s.values) if isinstance(value, Token)]
    opener = next((token for token in tokens if token.type == "LSQB"), None)
    if opener is None or not re.search(r"Tensor\s*$", s.source.text[: opener.start][-40:]):
        return None
    sizes, comma, dtype = s.source.text[opener.end : s.token.start].rpartition(",")
    written = f"{sizes}; {dtype.strip()}" if comma else f"{dtype.strip()}; f32"
    return _error(
        s,
        f"expected `;`, found {found_text(s.token)}",
        help=f"the element type follows a semicolon: `Tensor[{written}]`",
    )


def _kind_of_generic(s: Situation) -> Diagnostic | None:
    """`fn h<N>`, and `fn h(x)`."""
    name = s.values[-1] if s.values else None
    if s.accepts != {"COLON"} or not isinstance(name, Token) or name.type != "NAME":
        return None
    if s.token.type not in ("COMMA", "MORE", "RPAR", "EQUAL"):
        return None
    level = 0
    for kind in reversed(s.heads):
        level += kind in _CLOSERS
        if kind in _OPENERS:
            if level == 0:
                break
            level -= 1
    else:
        return None
    if kind == "LPAR":
        help = f"a parameter has a type: `{name.text}: f32`, `{name.text}: Tensor[N; f32]`"
    elif kind == "LESS":
        help = (
            f"say what it is: `{name.text}: Dim` for a size, `{name.text}: DType` for an "
            "element type"
        )
    else:
        return None
    return _error(s, f"expected `:`, found {found_text(s.token)}", help=help)


_OPENERS = words("LPAR LSQB LBRACE LESS")
_CLOSERS = words("RPAR RSQB RBRACE MORE")


def _place_in_tuple(s: Situation) -> Diagnostic | None:
    """`pair.0`."""
    number = s.token.type in ("INT", "FLOAT", "BROKEN") and s.token.text[:1].isdigit()
    if not number or s.before is None or s.before.type != "DOT" or s.accepts != {"NAME"}:
        return None
    return _error(
        s,
        f"expected a name, found {found_text(s.token)}",
        help="take a tuple apart with a pattern: `let (a, b) = t`",
    )


def _value_named_like_a_reduction(s: Situation) -> Diagnostic | None:
    """`all[..., 0]`, where `all` is a local."""
    heads = s.heads[-2:]
    if heads != ["REDUCE", "LSQB"] or s.accepts != {"NAME"} or s.before is None:
        return None
    word = next(v for v in reversed(s.values) if isinstance(v, Token) and v.type == "REDUCE").text
    return _error(
        s,
        f"expected the name of an index, found {found_text(s.token)}",
        notes=(f"`{word}[` starts a reduction, whatever else is called `{word}`",),
        help=f"to index a value called `{word}`, give it another name",
    )


def _no_self(s: Situation) -> Diagnostic | None:
    if s.token.type != "SELF":
        return None
    help = "inside a block, members and methods are bare names: `weight`, not `self.weight`"
    return _error(s, "there is no `self`", help=help)


def _comparison(s: Situation) -> Diagnostic | None:
    if s.token.type == "EQUAL" and "EQ" in s.accepts:
        return _error(s, "expected an operator, found `=`", help="equality is written `==`")
    if s.token.type == "EQ" and "EQUAL" in s.accepts:
        return _error(s, "expected `=`, found `==`", help="a binding is written with one `=`")
    return None


def _two_signs(s: Situation) -> Diagnostic | None:
    signs = ("MINUS", "PLUS", "BANG")
    if s.token.type not in signs or s.before is None or s.before.type not in signs:
        return None
    both = s.before.text + s.token.text
    help = f"write `{s.before.text}({s.token.text}…)`"
    return _error(s, f"`{both}` is not one operator, and a value takes one sign", help=help)


def _import_rename(s: Situation) -> Diagnostic | None:
    if s.token.type != "AS" or "USE" not in s.heads[-6:]:
        return None
    help = "put braces around it: `use path::{name as other}`"
    return _error(s, "`as` needs braces", help=help)


def _default_of_state(s: Situation) -> Diagnostic | None:
    kind = s.heads[-3:-1] if s.token.type == "EQUAL" else []
    if not kind or kind[0] not in ("BUFFER", "STATE"):
        return None
    help = "a state starts as zeros" if kind[0] == "STATE" else "a buffer comes from the checkpoint"
    return _error(s, f"a `{kind[0].lower()}` takes no value", help=help)


_SLIPS: tuple[Callable[[Situation], Diagnostic | None], ...] = (
    _set_aside,
    _unclosed_at_end,
    _unclosed_before_item,
    _stray_brace,
    _semicolon,
    _public_member,
    _member_outside,
    _late_use,
    _second_module,
    _else_if,
    _loop_as_operand,
    _missing_else,
    _struct_comma,
    _first_bracketed_arm,
    _bracketed_arm,
    _no_self,
    _operator_word,
    _foreign_item,
    _comma_before_dtype,
    _kind_of_generic,
    _place_in_tuple,
    _value_named_like_a_reduction,
    _import_rename,
    _default_of_state,
    _comparison,
    _two_signs,
    _keyword_as_name,
    _lone_expression,
)
