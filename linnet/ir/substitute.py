"""Rebuild scalar expressions, bottom-up and each shared part once.

What does not change is kept, so an untouched expression comes back as the same object.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

from linnet.ir.expr import Apply, Expr, Index, IndexRef, Load, Reduce, walk


def rewrite_expr(
    root: Expr, rule: Callable[[Expr], Expr], indices: Mapping[Index, Index] | None = None
) -> Expr:
    """Rebuild a scalar expression; `rule` sees each sub-expression with its parts rebuilt.

    `indices` renames the loop variables of reductions."""
    renamed = indices or {}
    done: dict[int, Expr] = {}
    for expr in walk(root):
        done[id(expr)] = rule(_with_children(expr, done, renamed))
    return done[id(root)]


def _with_children(expr: Expr, done: Mapping[int, Expr], indices: Mapping[Index, Index]) -> Expr:
    match expr:
        case Apply(args=args) if any(done[id(a)] is not a for a in args):
            return dataclasses.replace(expr, args=tuple(done[id(a)] for a in args))
        case Load(at=at) if any(done[id(a)] is not a for a in at):
            return dataclasses.replace(expr, at=tuple(done[id(a)] for a in at))
        case Reduce(indices=own, body=body):
            renamed = tuple(indices.get(i, i) for i in own)
            if done[id(body)] is not body or renamed != own:
                return dataclasses.replace(expr, indices=renamed, body=done[id(body)])
    return expr


def substitute(root: Expr, positions: Mapping[Index, Expr]) -> Expr:
    """Put an expression in the place of each given index; reductions inside get fresh indices,
    so that one body may be placed twice in a nest."""
    fresh = {
        index: Index(index.name, index.domain)
        for expr in walk(root)
        if isinstance(expr, Reduce)
        for index in expr.indices
    }
    refs = {index: IndexRef("i64", new) for index, new in fresh.items()}

    def rule(expr: Expr) -> Expr:
        if isinstance(expr, IndexRef):
            return positions.get(expr.index) or refs.get(expr.index, expr)
        return expr

    return rewrite_expr(root, rule, fresh)
