"""A source that declares a checkpoint's parameters, for a contributor to go on from.

In go the tree of tensors and a `Speller`; out comes a `Skeleton`: blocks as Linnet text, with one
entry that compiles, and the bindings from its parameters to the tensors. The shape follows the
names: a module is a block, numbered items of one form are an array, wrappers around a single
module are left out. What the model computes is for the contributor to write.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from linnet.nest.road.sizes import Speller
from linnet.nest.road.tensors import LETTERS, Node
from linnet.syntax.tokens import KEYWORDS, RESERVED

FLOATS = ("f16", "bf16", "f32", "f64")
TABLE_WORDS = r"vocab|embed_tokens|word_emb|token_emb|tok_emb|embed_in|wte"
MOSTLY = 0.6
"""A module that holds at least this share of all tensors is the model itself: its parts become
those of the root block."""

UNSEEN = ("Heads", "KvHeads", "HeadDim")
"""Sizes that a source needs whether a shape shows them or not."""

SYMBOL = re.compile(r"[A-Z]\w*")


@dataclass
class _Member:
    """A line of a block: a parameter (then `axes` is set) or a child block, `count` times."""

    name: str
    path: str
    axes: tuple[str, ...] = ()
    child: _Block | None = None
    count: str | None = None


@dataclass
class _Block:
    """A block in the making; `note` is the tensors it stands for."""

    name: str
    note: str
    members: list[_Member] = field(default_factory=list)

    @property
    def is_leaf(self) -> bool:
        return all(m.child is None and len(m.axes) <= 2 for m in self.members)


@dataclass(frozen=True)
class Skeleton:
    """`source` is the text after the module line. `bindings` maps parameter paths to tensors;
    `left_out` are the tensors that no parameter stands for, with the reason. `check` are sizes
    for the generics of the entry."""

    root: str
    source: str
    bindings: dict[str, str]
    left_out: dict[str, str]
    check: dict[str, int]


def skeleton(title: str, tree: Node, speller: Speller, tied: dict[str, str]) -> Skeleton:
    """The skeleton of the model `title` (a name in capitals and small letters). `tied` are
    tensors that another one stands for, by name."""
    return _Writer(speller, tied).write(title, tree)


class _Writer:
    def __init__(self, speller: Speller, tied: dict[str, str]) -> None:
        self._speller = speller
        self._tied = tied
        self._bindings: dict[str, str] = {}
        self._left_out: dict[str, str] = {}
        self._declared: dict[tuple[object, ...], str] = {}
        self._names: set[str] = set()
        self._texts: list[str] = []
        self._turned = False

    def write(self, title: str, tree: Node) -> Skeleton:
        root = Node("", "", _without_wrappers(tree))
        self._turned = _turned(root)
        self._names.add(title)
        block = self._block(title, root, "", "")
        text = self._root(block)
        source = "\n".join([*self._texts, text])
        check = {"B": 1, "S": 8} if "S: Dim>(tokens" in text else {"B": 1}
        return Skeleton(title, source, self._bindings, self._left_out, check)

    # From nodes to blocks.

    def _block(self, name: str, node: Node, path: str, pattern: str) -> _Block:
        block = _Block(name, pattern)
        taken: set[str] = set()
        for child in node.children.values():
            below = f"{pattern}.{child.name}" if pattern else child.path
            block.members += self._members(child, taken, path, below)
        return block

    def _members(self, node: Node, taken: set[str], path: str, pattern: str) -> list[_Member]:
        node, pattern = _unwrapped(node, pattern)
        own = _free(_identifier(node.name), taken)
        inner = f"{path}.{own}" if path else own
        if node.tensor is not None:
            found = self._parameter(node, own, inner, pattern)
            return [found] if found is not None else []
        if node.is_array:
            return self._array(node, own, inner, pattern)
        if node.children and all(map(str.isdigit, node.children)):
            # Items of different forms: each is a member by itself.
            return [
                member
                for child in node.children.values()
                for member in self._members(
                    Node(f"{own}_{child.name}", child.path, child.children, child.tensor),
                    taken,
                    path,
                    f"{pattern}.{child.name}",
                )
            ]
        block = self._block(_type_name(own), node, inner, pattern)
        return [_Member(own, inner, child=block)] if block.members else []

    def _array(self, node: Node, own: str, inner: str, pattern: str) -> list[_Member]:
        letter = LETTERS[min(inner.count("{"), len(LETTERS) - 1)]
        item, place = node.item, f"{{{letter}}}"
        if item.tensor is not None:
            # A list of bare tensors: the language has arrays of blocks only.
            item = Node(own, item.path, {"value": Node("value", item.path, {}, item.tensor)})
            block = _Block(_type_name(own), pattern)
            found = self._parameter(item, "value", f"{inner}.{place}.value", f"{pattern}.{place}")
            block.members = [found] if found is not None else []
        else:
            name = _type_name(_singular(own))
            block = self._block(name, item, f"{inner}.{place}", f"{pattern}.{place}")
        if not block.members:
            return []
        count = self._speller.count(node.path, len(node.children))
        return [_Member(own, inner, child=block, count=count)]

    def _parameter(self, node: Node, own: str, path: str, pattern: str) -> _Member | None:
        leaf = next(node.leaves())
        assert leaf.tensor is not None
        if leaf.path in self._tied:
            self._left_out[pattern] = f"the same values as `{self._tied[leaf.path]}`"
            return None
        if leaf.tensor.dtype not in FLOATS:
            self._left_out[pattern] = f"of dtype {leaf.tensor.dtype}: no weight"
            return None
        if not leaf.tensor.shape:
            self._left_out[pattern] = "a single number, without an axis"
            return None
        if path != pattern:
            self._bindings[path] = pattern
        return _Member(own, path, axes=self._speller.shape(leaf.path, leaf.tensor.shape))

    # From blocks to text.

    def _use(self, block: _Block) -> str:
        """The type that a `sub` of this block has; declares the block if it is new."""
        leaf = self._leaf_use(block) if block.is_leaf else None
        if leaf is not None:
            return leaf
        lines = [self._line(member) for member in block.members]
        symbols = _symbols(" ".join(line.partition(": ")[2] for line in lines))
        key = tuple(re.sub(r"///.*\n\s*", "", line) for line in lines)
        name = self._declared.get(key)
        if name is None:
            name = self._declared[key] = _free(block.name, self._names)
            generics = ", ".join([*(f"{s}: Dim" for s in symbols), "T: Float"])
            body = "\n".join(lines)
            self._texts.append(f"/// `{block.note}`\nblock {name}<{generics}> {{\n{body}\n}}\n")
        return f"{name}<{', '.join([*symbols, 'T'])}>"

    def _line(self, member: _Member) -> str:
        if member.child is None:
            return f"    param {member.name}: Tensor[{', '.join(member.axes)}; T]"
        type = self._use(member.child)
        if member.count is not None:
            type = f"[{type}; {member.count}]"
        return f"    sub {member.name}: {type}"

    def _leaf_use(self, block: _Block) -> str | None:
        """A block of one vector or matrix and its companions, in generics of its own and so
        shared by all of that form."""
        own = _own_axes(block, self._turned)
        if own is None:
            return None
        key = tuple((m.name, axes) for m, axes in zip(block.members, own, strict=True))
        name = self._declared.get(("leaf", key))
        if name is None:
            name = _free(_leaf_name(block), self._names)
            self._declared["leaf", key] = name
            symbols = sorted({a for axes in own for a in axes}, reverse=not self._turned)
            generics = ", ".join([*(f"{s}: Dim" for s in symbols), "T: Float"])
            body = "\n".join(
                f"    param {m.name}: Tensor[{', '.join(axes)}; T]"
                for m, axes in zip(block.members, own, strict=True)
            )
            self._texts.append(f"block {name}<{generics}> {{\n{body}\n}}\n")
        weight = next(m for m in block.members if m.name == "weight")
        return f"{name}<{', '.join([*weight.axes, 'T'])}>"

    def _root(self, block: _Block) -> str:
        lines = [self._line(member) for member in block.members]
        written = _symbols(" ".join(line.partition(": ")[2] for line in lines))
        # The number of heads is in no shape, and attention cannot do without it.
        symbols = [s for s in self._speller.sizes if s in written or s in UNSEEN]
        self._speller.used.update(symbols)
        table = _token_table(block)
        if table is not None:
            access, width = table
            entry = (
                "    /// Where the model begins. Everything after the table is yours to write.\n"
                "    pub entry forward<B: Dim, S: Dim>(tokens: Tensor[B, S; i32])"
                f" -> Tensor[B, S, {width}; T] {{\n        return embedding(tokens, {access})\n"
            )
        else:
            width = "H" if "H" in symbols else (symbols[0] if symbols else "1")
            entry = (
                "    /// Gives back what it gets: the place of what the model computes.\n"
                f"    pub entry forward<B: Dim>(x: Tensor[B, {width}; T])"
                f" -> Tensor[B, {width}; T] {{\n        return x\n"
            )
        generics = ",\n    ".join([*(f"{s}: Dim" for s in symbols), "T: Float = f32"])
        body = "\n".join(lines)
        head = f"/// The model.\npub block {block.name}<\n    {generics}\n>"
        return f"{head} {{\n{body}\n\n{entry}    }}\n}}\n"


def _without_wrappers(tree: Node) -> dict[str, Node]:
    """The parts of the model: what lies in wrappers around nearly everything is lifted out."""
    children = dict(tree.children)
    total = sum(1 for _ in tree.leaves())
    while True:
        for name, child in children.items():
            share = sum(1 for _ in child.leaves()) / max(total, 1)
            others = {n: c for n, c in children.items() if n != name}
            wrapper = child.tensor is None and not child.is_array
            if wrapper and share >= MOSTLY and not set(others) & set(child.children):
                if any(map(str.isdigit, child.children)):
                    continue
                children = {**child.children, **others}
                break
        else:
            return dict(sorted(children.items(), key=lambda item: _place(*item)))


def _place(name: str, node: Node) -> int:
    """Where a part of the model likely stands: tables first, heads last."""
    if re.search("emb|wte|wpe", name) and "out" not in name:
        return 0
    if re.search("head|classifier|pooler|out", name):
        return 3
    return 1 if any(child.is_array for child in _modules(node)) else 2


def _unwrapped(node: Node, pattern: str) -> tuple[Node, str]:
    """The node, or what it merely wraps, under the name that tells more."""
    while node.tensor is None and len(node.children) == 1 and not node.is_array:
        (child,) = node.children.values()
        if child.tensor is not None or child.name.isdigit():
            break
        pattern = f"{pattern}.{child.name}"
        name = child.name if child.is_array else node.name
        node = Node(name, child.path, child.children, child.tensor)
    return node, pattern


def _turned(root: Node) -> bool:
    """Whether matrices with a bias are stored [In, Out]: the bias has the length of the last
    axis, where the axes differ."""
    votes = []
    for node in _modules(root):
        weight, bias = (node.children.get(n) for n in ("weight", "bias"))
        if weight and bias and weight.tensor and bias.tensor and len(weight.tensor.shape) == 2:
            rows, columns = weight.tensor.shape
            if rows != columns:
                votes.append(bias.tensor.shape == (columns,))
    return bool(votes) and all(votes)


def _modules(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children.values():
        yield from _modules(child)


def _own_axes(block: _Block, turned: bool) -> list[tuple[str, ...]] | None:
    """The axes of a leaf's members in names of its own: In and Out of a matrix, N of a vector.
    None for a block that is no such leaf."""
    weight = next((m for m in block.members if m.name == "weight"), None)
    if weight is None or len(weight.axes) > 2:
        return None
    names = ("N",) if len(weight.axes) == 1 else ("In", "Out") if turned else ("Out", "In")
    long = weight.axes if len(weight.axes) == 1 else weight.axes[1:] if turned else weight.axes[:1]
    found: list[tuple[str, ...]] = []
    for member in block.members:
        if member is weight:
            found.append(names)
        elif member.axes == long:
            found.append(("N",) if len(names) == 1 else ("Out",))
        else:
            return None
    return found


def _leaf_name(block: _Block) -> str:
    members = [m.name for m in block.members]
    weight = next(m for m in block.members if m.name == "weight")
    if len(weight.axes) == 1:
        return "Scale" if members == ["weight"] else "ScaleAndShift"
    return "Matrix" if members == ["weight"] else "Projection"


def _token_table(block: _Block, within: str = "") -> tuple[str, str] | None:
    """How the root reaches the table of token vectors, and its width."""
    for member in block.members:
        if len(member.axes) == 2 and member.axes[0] == "Vocab":
            if re.search(TABLE_WORDS, member.path) or not re.search("head|bias", member.path):
                return f"{within}{member.name}", member.axes[1]
        elif member.child is not None and member.count is None:
            found = _token_table(member.child, f"{within}{member.name}.")
            if found is not None:
                return found
    return None


def _symbols(text: str) -> list[str]:
    """The generics that axes and counts use, in the order of their first use."""
    found = dict.fromkeys(SYMBOL.findall(re.sub(r"\b[A-Z]\w*(?=<)", "", text)))
    return [s for s in found if s not in ("T", "Tensor")]


def _identifier(name: str) -> str:
    word = re.sub(r"\W", "_", name)
    if not word or word[0].isdigit():
        word = f"item_{word}"
    return f"{word}_" if word in KEYWORDS | RESERVED else word


def _free(name: str, taken: set[str]) -> str:
    found, count = name, 1
    while found in taken:
        count += 1
        found = f"{name}{count}"
    taken.add(found)
    return found


def _type_name(name: str) -> str:
    words = [w for w in re.split(r"[^0-9A-Za-z]+", name) if w]
    joined = "".join(w[0].upper() + w[1:] for w in words) or "Part"
    # Single capitals are what generics are called.
    return joined if len(joined) > 1 else f"{joined}Part"


def _singular(name: str) -> str:
    return name[:-1] if name.endswith("s") and not name.endswith("ss") else name
