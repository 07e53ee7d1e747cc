"""The parser: from a `Source` to a `Module`, whatever the text.

Drives the tables of `table.py` over the tokens of `lexer.py` and `retag.py`, and lets
`actions.py` build the tree. A token that does not fit is explained by `errors.py`; then the
stack is cut back to the innermost list of statements, members or items where the text can be
picked up again, and what was lost becomes a damaged node. One damaged statement or head gives
one report, and none if the lexer has already reported something inside it.

The parser itself takes no recursion, so hostile nesting costs no stack here; it is bounded all
the same (E1101), for the sake of everybody who walks the tree.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import Any

from linnet.diag import Problems, Source, Span
from linnet.diag.frozen import no_collection
from linnet.syntax import errors, tree
from linnet.syntax.actions import Actions, Elements, Values, report_reserved
from linnet.syntax.lexer import lex
from linnet.syntax.retag import retag
from linnet.syntax.table import table
from linnet.syntax.tokens import (
    END,
    ITEM_STARTS,
    KEYWORD_TYPES,
    MEMBER_STARTS,
    RESERVED,
    STATEMENT_STARTS,
    Token,
    words,
)

MAX_NESTING = 200
MAX_REPORTS = 100

_LISTS = ("stmts", "members", "entries")
_HEADS = ITEM_STARTS | MEMBER_STARTS | {"USE"}
# What follows a keyword that starts a statement or item: a name, or one of these.
_AFTER = {
    "PUB": ITEM_STARTS,
    "USE": words("NAME CRATE"),
    "LET": words("NAME LPAR SOME NONE"),
    "STATIC": words("FOR"),
    "RETURN": words("NAME INT FLOAT LPAR LSQB IF MATCH RBRACE REDUCE MINUS"),
    "WHILE": words("NAME LPAR BANG TRUE"),
}
_CLOSING = words("RPAR RSQB RBRACE CALL_MORE")
_NESTING = words("LPAR LSQB LBRACE CALL_LESS LESS REDUCE FAT_ARROW")


def parse(source: Source, problems: Problems) -> tree.Module:
    """Parse one file. Every problem found is added to `problems`; the tree holds whatever could
    be read. Never raises on account of the text."""
    with no_collection():
        return _Parser(source, problems).run()


class _Context:
    """A list on the stack that parsing can go on in: `kind` is one of `_LISTS`, `index` where
    its value stands or would stand, `depth` the number of `{` open around its elements."""

    __slots__ = ("depth", "index", "kind")

    def __init__(self, kind: str, index: int, depth: int) -> None:
        self.kind = kind
        self.index = index
        self.depth = depth


class _Parser:
    def __init__(self, source: Source, problems: Problems) -> None:
        self.source = source
        self.problems = problems
        lexed = lex(source, problems)
        retag(lexed.tokens)
        self.comments = lexed.comments
        self.lexical_errors = lexed.errors
        end = len(source.text)
        self.tokens = [*lexed.tokens, Token(END, "", end, end)]
        self.actions = Actions(source, problems, self.tokens, lexed.docs, lexed.values)
        if lexed.errors and lexed.errors[0] <= self.tokens[0].start:
            self.actions.header_missing = True  # bad characters stand where it should be
        self.table = table()
        self.calls: list[tuple[Callable[[Values], Any] | None, int, str]] = [
            (getattr(self.actions, f"on_{r.action}") if r.action else None, r.size, r.origin)
            for r in self.table.rules
        ]
        self.at = 0
        self.states = [self.table.start]
        self.values: list[Any] = []
        self.hoisted: list[tree.Item] = []
        self.reports = 0
        self.nesting_reported = False
        self.end_reported = False
        self.member_reported = False
        self.damaged = False
        self.reserved: set[str] = set()  # keywords of later versions taken for names so far
        self.last_recovery = -1
        self.last_report = -1

    def run(self) -> tree.Module:
        tokens = self.tokens
        while True:
            token = tokens[self.at]
            if not self._feed(token):
                self._recover(token)
            elif token.type == END:
                return self._module()
            else:
                self.at += 1

    # --- the automaton --------------------------------------------------------------------

    def _feed(self, token: Token) -> bool:
        """Reduce, then shift `token`. False if it does not fit; the reductions stay done."""
        table_states, calls = self.table.states, self.calls
        states, values = self.states, self.values
        self.actions.at = self.at
        kind = token.type
        while True:
            move = table_states[states[-1]].get(kind)
            if move is None:
                return False
            if move >= 0:
                if len(values) > MAX_NESTING and kind in _NESTING and self._too_deep():
                    return False
                states.append(move)
                values.append(token)
                return True
            action, size, origin = calls[-move - 1]
            if size == 1:
                states.pop()
                if action is not None:
                    values[-1] = action(values[-1:])
            else:
                taken: Values = []
                if size:
                    taken = values[-size:]
                    del states[-size:], values[-size:]
                values.append(taken[0] if action is None else action(taken))
            states.append(table_states[states[-1]][origin])
            if kind == END and states[-1] == self.table.end:
                return True

    def _accepts(self) -> frozenset[str]:
        """Terminals that could be shifted now, found by trying them on a copy of the stack."""
        table_states, rules = self.table.states, self.table.rules
        found = set()
        for kind in table_states[self.states[-1]]:
            if not kind.isupper() and kind != END:
                continue
            states = self.states[:]
            while (move := table_states[states[-1]].get(kind)) is not None:
                if move >= 0:
                    found.add(kind)
                    break
                rule = rules[-move - 1]
                if rule.size:
                    del states[-rule.size :]
                states.append(table_states[states[-1]][rule.origin])
                if kind == END and states[-1] == self.table.end:
                    found.add(kind)
                    break
        return frozenset(found)

    def _too_deep(self) -> bool:
        level = 0
        for value in self.values:
            if isinstance(value, Token):
                level += (value.type in _NESTING) - (value.type in _CLOSING)
        return level >= MAX_NESTING

    def _open(self, opener: str, closer: str) -> list[Token]:
        """Tokens of one bracket on the stack that have no counterpart there yet."""
        found: list[Token] = []
        for value in self.values:
            if isinstance(value, Token):
                if value.type == opener:
                    found.append(value)
                elif value.type == closer:
                    found.pop()
        return found

    # --- reports --------------------------------------------------------------------------

    def _report(self, token: Token, contexts: list[_Context]) -> None:
        self.damaged = True
        if self._lexer_knows(token, contexts) or self.reports >= MAX_REPORTS:
            return
        if token.type in _NESTING and len(self.values) > MAX_NESTING and self._too_deep():
            if not self.nesting_reported:
                self.nesting_reported = True
                self.reports += 1
                self.problems.report(
                    "E1101",
                    f"nesting deeper than {MAX_NESTING} levels",
                    Span(self.source, token.start, token.end),
                    help="bind inner parts with `let`, or split the function",
                )
            return
        if token.type == END:
            if self.end_reported:
                return
            self.end_reported = True
        if "\n" not in self.source.text[self.last_report : token.start] and self.last_report >= 0:
            return  # one report a line: what follows in it is most likely its consequence
        self.last_report = token.start
        diagnostic = errors.explain(self._situation(token, contexts))
        if token.type == "RBRACE" and not diagnostic.related and self._follows_lost_head(contexts):
            return
        if token.type in MEMBER_STARTS and "only inside" in diagnostic.message:
            if self.member_reported:
                return
            self.member_reported = True
        self.reports += 1
        self.problems.add(diagnostic)

    def _follows_lost_head(self, contexts: list[_Context]) -> bool:
        """Whether a `}` among the items may belong to an item whose head could not be read."""
        if len(contexts) != 1 or contexts[0].index >= len(self.values):
            return False
        entries = self.values[contexts[0].index]
        return isinstance(entries, Elements) and entries.damaged

    def _situation(self, token: Token, contexts: list[_Context]) -> errors.Situation:
        opened = self._open("LBRACE", "RBRACE")
        return errors.Situation(
            self.source,
            token,
            self.tokens[self.at - 1] if self.at else None,
            self.tokens[min(self.at + 1, len(self.tokens) - 1)],
            self._accepts(),
            self.values,
            contexts[-1].kind if contexts else "entries",
            opened[-1] if opened else None,
        )

    def _lexer_knows(self, token: Token, contexts: list[_Context]) -> bool:
        """Whether the damaged element contains something the lexer has reported."""
        if not self.lexical_errors:
            return False
        start = 0
        if contexts:
            start = self.tokens[self._next_of(contexts[-1])].start
            if self._next_of(contexts[-1]) > 0:
                start = self.tokens[self._next_of(contexts[-1]) - 1].end
        found = bisect_left(self.lexical_errors, start)
        return found < len(self.lexical_errors) and self.lexical_errors[found] <= token.end

    # --- recovery -------------------------------------------------------------------------

    def _recover(self, token: Token) -> None:
        """Explain `token`, which does not fit, and get to a state where parsing can go on."""
        if self._start_without_header():
            return
        contexts = self._contexts()
        if self._repair(token, contexts):
            return
        self._report(token, contexts)
        before = self.tokens[self.at - 1] if self.at else None
        inside = errors.is_loop_as_operand(token, before, self._accepts(), self.source)
        self._settle("FN" if contexts[-1].kind == "entries" else "RBRACE")
        contexts = self._contexts()
        stuck = inside or self.last_recovery == self.at  # the loop's body goes with its head
        self.last_recovery = self.at
        self._resync(contexts, self.at + 1 if stuck and token.type != END else self.at)

    def _start_without_header(self) -> bool:
        """Before the header is read there is nothing to go on in, so one is made up. False if
        there was no need to."""
        goto = self.table.states[self.table.start]["header"]
        if self.states[1:2] == [goto]:
            return False
        if len(self.values) == 2:  # `module` and a path, or its only name: the header is whole
            keyword, path = self.values
            self.states[1:] = [goto]
            self.values[:] = [
                self.actions.on_header([keyword, path if isinstance(path, list) else [path]])
            ]
            return False
        unreported = not self.values
        if unreported:
            self.actions.on_missing_header([])
        else:
            self._report(self.tokens[self.at], [])
        self.damaged = True
        self.states[1:] = [goto]
        self.values[:] = [None]
        self.actions.header_missing = unreported
        self._resync(self._contexts(), self.at)
        return True

    def _repair(self, token: Token, contexts: list[_Context]) -> bool:
        """Mistakes that one token more or less mends, so that nothing needs to be dropped."""
        if token.type in ("COMMA", "SEMICOLON"):
            slip = errors.explain(self._situation(token, contexts))
            if slip.help and slip.help[0].startswith("delete the"):
                self._report(token, contexts)
                self.at += 1
                return True
            return False
        if token.text not in KEYWORD_TYPES or self.at == 0 or token.type in ("TRUE", "FALSE"):
            return False
        among_items = contexts[-1].kind == "entries"
        if token.type == "MODULE" and self.actions.header_missing and among_items:
            self.actions.header_missing = False
            self.at += 1
            while self.tokens[self.at].type in ("NAME", "DOT"):
                self.at += 1
            self._cut(contexts[-1], self.at, damage=False)
            return True
        accepts = self._accepts()
        if "NAME" not in accepts or not self._same_line(self.at):
            return False
        if token.text in RESERVED:
            used = "INT" in accepts and token.text in self.reserved
            if not used:  # where it was declared it has been reported
                report_reserved(self.problems, Span(self.source, token.start, token.end))
            self.reserved.add(token.text)
        elif {"INT", "LET"} & accepts or self.tokens[self.at + 1].type not in (
            "EQUAL", "COLON", "COMMA", "RPAR", "RSQB", "LPAR", "LESS", "LBRACE", "IN", "MORE",
        ):  # fmt: skip
            return False
        else:
            self._report(token, contexts)
        token.type = "NAME"
        return True

    def _settle(self, kind: str) -> None:
        """Finish the element before the error if it is whole, which shows in `kind`, a terminal
        from outside it, being welcome."""
        if kind in self._accepts():
            self._feed(Token(kind, "", 0, 0))
            self.states.pop()
            self.values.pop()

    def _contexts(self) -> list[_Context]:
        """The lists parsing could go on in, outermost first."""
        found = []
        depth = 0
        for index, state in enumerate(self.states):
            moves = self.table.states[state]
            for kind in _LISTS:
                if kind in moves:
                    found.append(_Context(kind, index, depth))
            if index < len(self.values):
                value = self.values[index]
                if isinstance(value, Token):
                    depth += (value.type == "LBRACE") - (value.type == "RBRACE")
        return found

    def _resync(self, contexts: list[_Context], start: int) -> None:
        """Find the next token that starts or ends an element of an open list, and go on there."""
        depth = len(self._open("LBRACE", "RBRACE"))
        brackets = self._open_brackets()
        skipped = 0  # braces opened since the error: what they enclose is dropped with it
        at = start
        while True:
            token = self.tokens[at]
            kind = token.type
            here = next(c for c in reversed(contexts) if c.depth <= depth)
            if kind == END:
                self._finish(contexts, at)
                return
            if skipped and not self._dedented_item(contexts, at):
                skipped += (kind == "LBRACE") - (kind == "RBRACE")
            elif kind == "LBRACE":
                skipped = 1
            elif kind == "RBRACE":
                if here.depth == depth and depth > 0:
                    self._cut(here, at)
                    return
                depth = max(depth - 1, 0)
                brackets = 0
            elif kind in STATEMENT_STARTS or self._starts_assignment(at, brackets):
                if here.kind == "stmts" and self._starts_element(at):
                    self._cut(here, at)
                    return
            elif kind in _HEADS and self._starts_element(at):
                target = self._item_target(contexts, depth, at)
                if target is not None:
                    self._resume_at_item(contexts, target, at)
                    return
            elif kind in ("LPAR", "LSQB"):
                brackets += 1
            elif kind in ("RPAR", "RSQB"):
                brackets = max(brackets - 1, 0)
            at += 1

    def _open_brackets(self) -> int:
        """Round and square brackets open since the innermost brace."""
        braces = self._open("LBRACE", "RBRACE")
        start = braces[-1].start if braces else -1
        opened = [*self._open("LPAR", "RPAR"), *self._open("LSQB", "RSQB")]
        return sum(token.start > start for token in opened)

    def _same_line(self, at: int) -> bool:
        return "\n" not in self.source.text[self.tokens[at - 1].end : self.tokens[at].start]

    def _first_on_line(self, at: int) -> bool:
        return at == 0 or not self._same_line(at)

    def _indent(self, offset: int) -> int:
        """Width of the blanks that start the line of `offset`."""
        text = self.source.text
        line = text.rfind("\n", 0, offset) + 1
        end = line
        while end < len(text) and text[end] in " \t":
            end += 1
        return end - line

    def _starts_element(self, at: int) -> bool:
        """Whether the keyword at `at` is really the start of something, and not a slip in the
        middle of a line."""
        kind, after = self.tokens[at].type, self.tokens[at + 1].type
        return self._first_on_line(at) or after in _AFTER.get(kind, ("NAME",))

    def _starts_assignment(self, at: int, brackets: int) -> bool:
        if self.tokens[at].type != "NAME" or brackets or not self._first_on_line(at):
            return False
        return self.tokens[at + 1].type == "EQUAL"

    def _dedented_item(self, contexts: list[_Context], at: int) -> bool:
        """An item at the start of a line that stands no deeper than the damaged element: the
        brace in between was never closed."""
        if self.tokens[at].type not in ITEM_STARTS or not self._first_on_line(at):
            return False
        if self.nesting_reported:
            return False  # nobody wrote that by hand, so indentation says nothing
        begin = self.tokens[min(self._next_of(contexts[-1]), at)].start
        return self._indent(self.tokens[at].start) <= self._indent(begin)

    def _item_target(self, contexts: list[_Context], depth: int, at: int) -> _Context | None:
        """The list that an item or member starting at `at` belongs to, or None to skip it."""
        kind = self.tokens[at].type
        if kind == "KERNEL" and not self._first_on_line(at) and self.tokens[at - 1].type != "PUB":
            return None  # the clause of an op, not an item
        if self.tokens[at - 1].type == "EXTERN":
            return None  # part of what is refused
        wanted = ("members",) if kind in MEMBER_STARTS else ("members", "entries")
        around = (c for c in reversed(contexts) if c.kind in wanted and c.depth <= depth)
        target = next(around, None)
        if kind == "USE":
            return target if target is not None and target.kind == "entries" else None
        return target

    def _resume_at_item(self, contexts: list[_Context], target: _Context, at: int) -> None:
        """Close the bodies in which the item stands, as their `}` must be missing."""
        start = self.tokens[at].start
        inner = [context for context in contexts if context.index > target.index]
        for context in reversed(inner):
            self._cut(context, at)
            if not self._feed(Token("RBRACE", "", start, start)):
                break
        if not inner or self.tokens[at].type not in self._accepts():
            self._cut(target, at)

    def _finish(self, contexts: list[_Context], at: int) -> None:
        """Close everything that is open at the end of the file."""
        end = self.tokens[at].start
        self.at = at
        for context in reversed(contexts[1:]):
            self._cut(context, at)
            if context.kind == "members":
                self._hoist(context)
            if not self._feed(Token("RBRACE", "", end, end)):
                break
        if END not in self._accepts():
            self._cut(contexts[0], at)

    def _hoist(self, context: _Context) -> None:
        """Take items that stand no deeper than their unclosed block's brace out of the block."""
        members = self.values[context.index]
        margin = self._indent(self.values[context.index - 1].start)
        for index, member in enumerate(members):
            if self._indent(member.span.start) <= margin and not isinstance(member, tree.Member):
                self.hoisted.extend(members[index:])
                del members[index:]
                return

    def _next_of(self, context: _Context) -> int:
        """Index of the token where the element being read in `context` starts."""
        if context.index < len(self.values):
            value = self.values[context.index]
            if isinstance(value, Elements):
                return value.next
        return self.at

    def _cut(self, context: _Context, at: int, damage: bool = True) -> None:
        """Cut the stack back to the list of `context` and go on at token `at`. What has been
        read since the last whole element becomes a damaged one."""
        index = context.index
        if index < len(self.values) and isinstance(self.values[index], Elements):
            elements = self.values[index]
        else:
            elements = Elements(self.at)
        del self.values[index:], self.states[index + 1 :]
        self.values.append(elements)
        self.states.append(self.table.states[self.states[-1]][context.kind])
        if damage:
            elements.damaged = True
            lost = self.tokens[elements.next : at]
            if lost:
                if context.kind == "stmts":
                    elements.append(self._damaged_statement(lost))
                else:
                    elements.extend(self._damaged_items(lost))
        elements.next = at
        self.at = at

    def _damaged_statement(self, lost: list[Token]) -> tree.DamagedStatement:
        names = []
        if lost[0].type in ("LET", "VAR"):
            for token in lost[1:]:
                if token.type in ("EQUAL", "COLON", "LSQB"):
                    break
                if token.type == "NAME":
                    names.append(self.actions.new_ident(token))
        return tree.DamagedStatement(self.actions.span(lost[0], lost[-1]), tuple(names))

    def _damaged_items(self, lost: list[Token]) -> list[tree.DamagedItem]:
        """What the lost tokens would have declared: the names of an import, or one item."""
        if lost[0].type == "USE":
            starts = [at for at, token in enumerate(lost) if token.type == "PATH_SEP"]
            names = lost[starts[0] :] if starts else []
        else:
            heads = (ITEM_STARTS | MEMBER_STARTS) - {"PUB"}
            starts = [at for at, token in enumerate(lost) if token.type in heads]
            names = lost[starts[0] + 1 : starts[0] + 2] if starts else []
        span = self.actions.span(lost[0], lost[-1])
        places = [(t.text, self.actions.token_span(t)) for t in names if t.type == "NAME"]
        return [
            tree.DamagedItem(span, name, place, False, "")
            for name, place in places or [("", span.before)]
        ]

    # --- the whole ------------------------------------------------------------------------

    def _module(self) -> tree.Module:
        header, entries = self.values[-1]
        for statement in self.actions.lone_calls:
            self.actions.error(
                f"expected a statement, found a call of `{statement.call.callee.span.text}`",
                statement.span,
                notes=("there are no expression statements: a result must be bound or returned",),
                help="bind it with `let`; `let _ = …` runs it for its effect alone",
            )
        uses, items = self._separate([*entries, *self.hoisted])
        keyword, path = header if header is not None else (None, ())
        return tree.Module(
            Span(self.source, 0, len(self.source.text)),
            self.source,
            path,
            "" if keyword is None else self.actions.docs.get(keyword.start, ""),
            uses,
            items,
            tuple(self.comments),
            tuple(self.tokens[:-1]),
            self.damaged or bool(self.lexical_errors) or bool(self.actions.lone_calls),
        )

    def _separate(self, entries: list[Any]) -> tuple[tuple[tree.Use, ...], tuple[tree.Item, ...]]:
        """Imports and items; an import behind an item is reported, once, and still counts."""
        uses = tuple(e for e in entries if isinstance(e, tree.Use))
        items = tuple(e for e in entries if isinstance(e, tree.Item))
        if uses and items:
            first = min(item.span.start for item in items)
            late = next((use for use in uses if use.span.start > first), None)
            if late is not None:
                self.actions.error(
                    "`use` must come before the items",
                    late.span,
                    help="move all `use` lines below the `module` line",
                )
        return uses, items
