"""What may not go in a circle: calls (E2119), and blocks that contain each other (E2122)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from linnet.check.context import CallEdge, Run
from linnet.check.entities import BlockItem
from linnet.check.typed import BlockDecl, FunctionDecl, Member
from linnet.check.types import Array, Block, Optional, Type
from linnet.diag import Label

NodeT = TypeVar("NodeT", bound=Hashable)
EdgeT = TypeVar("EdgeT")


def back_edges(
    nodes: Iterable[NodeT],
    edges: Callable[[NodeT], Sequence[tuple[NodeT, EdgeT]]],
) -> list[tuple[list[NodeT], EdgeT]]:
    """The edges that close a cycle in depth-first order, each with the path from the node it
    leads back to. Iterative: chains of calls can be long."""
    done: set[NodeT] = set()
    found: list[tuple[list[NodeT], EdgeT]] = []
    for root in nodes:
        if root in done:
            continue
        path = [root]
        waiting = [iter(edges(root))]
        on_path = {root: 0}
        while waiting:
            step = next(waiting[-1], None)
            if step is None:
                waiting.pop()
                last = path.pop()
                del on_path[last]
                done.add(last)
                continue
            target, edge = step
            if target in on_path:
                found.append((path[on_path[target] :], edge))
            elif target not in done:
                on_path[target] = len(path)
                path.append(target)
                waiting.append(iter(edges(target)))
    return found


def check_calls(run: Run) -> None:
    """E2119 at each call that closes a cycle."""
    calls: dict[FunctionDecl, list[tuple[FunctionDecl, CallEdge]]] = {}
    for edge in run.calls:
        calls.setdefault(edge.caller, []).append((edge.callee, edge))
    for path, edge in back_edges(calls, lambda f: calls.get(f, [])):
        names = [f"`{f.name}`" for f in (*path, path[0])]
        itself = len(path) == 1
        run.report(
            "E2119",
            f"`{path[0].name}` calls itself" if itself else "functions call each other in a circle",
            edge.span,
            "this call closes the circle",
            related=tuple(Label(f.span, "declared here") for f in path),
            notes=(f"the circle: {' → '.join(names)}",),
            help="there is no recursion: use `static for`, `while` or index notation",
        )
        path[0].ok = False


def check_blocks(run: Run) -> None:
    """E2122 at each `sub` that closes a cycle of blocks. The member's type becomes poison."""

    def subs(item: BlockItem) -> list[tuple[BlockItem, Member]]:
        found = []
        for _, member in item.members:
            decl = _block_of(member.type)
            if decl is not None and decl in run.blocks:
                found.append((run.blocks[decl], member))
        return found

    for path, member in back_edges(list(run.blocks.values()), subs):
        names = [f"`{b.decl.name}`" for b in (*path, path[0])]
        run.report(
            "E2122",
            f"block `{path[0].decl.name}` contains itself",
            member.span,
            "this child closes the circle",
            related=tuple(Label(b.decl.span, "declared here") for b in path),
            notes=(f"the circle: {' → '.join(names)}",),
            help="a block's size has to be finite: repeat it with an array, `[Layer<H>; Depth]`",
        )


def _block_of(type: Type) -> BlockDecl | None:
    match type:
        case Block(decl, _) | Array(Block(decl, _), _) | Optional(Block(decl, _)):
            return decl
        case _:
            return None
