"""The filter between lexer and parser: tokens whose terminal depends on what follows them.

    Tensor [                       TENSOR      a tensor type
    sum [     sum < T > [          REDUCE      a reduction, likewise the other five words
    name < … > (                   CALL_LESS … CALL_MORE   generic arguments, no comparison
    } grad (                       GRAD        the gradient of an op
    grid (  warps (  stages (      GRID, HINT  between `kernel` and its body

Changes `Token.type` in place and reports nothing. Time is linear in the number of tokens:
the walk to a matching `>` gives up on deep nesting, which the parser refuses anyway.
"""

from __future__ import annotations

from linnet.syntax.tokens import ITEM_STARTS, MEMBER_STARTS, STATEMENT_STARTS, Token, words

_REDUCTIONS = words("sum prod max min any all")
_HEADS = words("FN OP ENTRY KERNEL BLOCK STRUCT ENUM TYPE")
_OPENERS = words("LPAR LSQB LBRACE")
_CLOSERS = words("RPAR RSQB RBRACE")
_NO_ARGUMENT = (
    words("AND OR EQ NE LE GE EQUAL LBRACE RBRACE FAT_ARROW ARROW SEMICOLON QUESTION CALL_MORE")
    | ITEM_STARTS
    | MEMBER_STARTS
    | STATEMENT_STARTS
)
_MAX_ANGLES = 16
_MAX_BRACKETS = 256


def retag(tokens: list[Token]) -> None:
    """Give the tokens of one file their final terminals."""
    in_kernel_head = False
    previous = ""
    for at in range(len(tokens) - 1):
        token = tokens[at]
        kind = token.type
        if kind == "NAME" and previous != "DOT":
            following = tokens[at + 1].type
            if following == "LSQB":
                if token.text == "Tensor":
                    token.type = "TENSOR"
                elif token.text in _REDUCTIONS and previous != "LET":
                    token.type = "REDUCE"
            elif following == "LESS":
                if token.text in _REDUCTIONS and _starts_typed_reduction(tokens, at):
                    token.type = "REDUCE"
                elif previous not in _HEADS:
                    _retag_call(tokens, at + 1)
            elif following == "LPAR":
                if token.text == "grad" and previous == "RBRACE":
                    token.type = "GRAD"
                elif in_kernel_head and token.text == "grid":
                    token.type = "GRID"
                elif in_kernel_head and token.text in ("warps", "stages"):
                    token.type = "HINT"
        elif kind == "NAME":
            if tokens[at + 1].type == "LESS":
                _retag_call(tokens, at + 1)
        elif kind == "KERNEL":
            in_kernel_head = True
        elif kind == "LBRACE":
            in_kernel_head = False
        previous = kind


def _starts_typed_reduction(tokens: list[Token], at: int) -> bool:
    shape = [token.type for token in tokens[at + 2 : at + 5]]
    return shape == ["NAME", "MORE", "LSQB"]


def _retag_call(tokens: list[Token], less: int) -> None:
    """Retag the `<` at index `less` and its `>` if they enclose generic arguments of a call."""
    angles, brackets = 1, 0
    for at in range(less + 1, len(tokens) - 1):
        kind = tokens[at].type
        if brackets == 0:
            if kind == "LESS":
                angles += 1
                if angles > _MAX_ANGLES:
                    return
            elif kind == "MORE":
                angles -= 1
                if angles == 0:
                    if tokens[at + 1].type == "LPAR":
                        tokens[less].type = "CALL_LESS"
                        tokens[at].type = "CALL_MORE"
                    return
            elif kind in _NO_ARGUMENT:
                return
        if kind in _OPENERS:
            brackets += 1
            if brackets > _MAX_BRACKETS:
                return
        elif kind in _CLOSERS:
            brackets -= 1
            if brackets < 0:
                return
