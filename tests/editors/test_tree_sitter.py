"""The tree-sitter grammar reads what the compiler reads, and sees the same constructs in it.

The generated parser is compiled here with the C compiler; the command that generates it is not
needed.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import subprocess
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from tree_sitter import Language, Node, Parser, Query

from linnet.diag import Problems, Source
from linnet.syntax import tree
from linnet.syntax.parse import parse
from linnet.syntax.tokens import KEYWORDS

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "editors" / "tree-sitter-linnet"
FILES = sorted(
    path
    for folder in ("stdlib", "nest", "linnet/cli/starter", "tests")
    for path in (ROOT / folder).rglob("*.linnet")
)
# Constructs that stand for themselves in both trees.
SAME = {
    "call": tree.Call, "index": tree.Index, "reduction": tree.Reduction, "if": tree.If,
    "match": tree.Match, "attribute": tree.Attribute, "unary": tree.Unary,
    "function": tree.Function, "block": tree.Block, "member": tree.Member, "let": tree.Let,
    "index_let": tree.IndexLet, "tensor_type": tree.TensorType, "arm": tree.Arm,
    "static_for": tree.StaticFor, "slice": tree.Slice, "shape": tree.ShapeLiteral,
}  # fmt: skip


@pytest.fixture(scope="module")
def language(tmp_path_factory: pytest.TempPathFactory) -> Language:
    library = tmp_path_factory.mktemp("tree-sitter") / "linnet.so"
    sources = [FOLDER / "src" / "parser.c", FOLDER / "src" / "scanner.c"]
    command = [os.environ.get("CC", "cc"), "-O1", "-std=c11", "-shared", "-fPIC"]
    subprocess.run([*command, "-I", FOLDER / "src", *sources, "-o", library], check=True)
    make = ctypes.CDLL(str(library)).tree_sitter_linnet
    make.restype = ctypes.c_void_p
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # a pointer is what there is
        return Language(make())


def nodes(node: Node) -> Iterator[Node]:
    waiting = [node]
    while waiting:
        this = waiting.pop()
        yield this
        waiting.extend(this.children)


def without_parentheses(text: bytes, start: int, end: int) -> tuple[int, int]:
    """The compiler counts parentheses around an expression to its place."""
    while text[start : start + 1] == b"(" and text[end - 1 : end] == b")":
        depth = 0
        for at in range(start, end):
            depth += (text[at : at + 1] == b"(") - (text[at : at + 1] == b")")
            if depth == 0:
                break
        if at != end - 1:
            break
        inner = text[start + 1 : end - 1]
        start += 1 + len(inner) - len(inner.lstrip())
        end -= 1 + len(inner) - len(inner.rstrip())
    return start, end


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_sources_of_the_repository(language: Language, path: Path) -> None:
    text = path.read_bytes()
    problems = Problems()
    module = parse(Source("", text.decode("utf-8", "surrogateescape")), problems)
    root = Parser(language).parse(text).root_node
    if problems.has_errors:
        return  # it need only not crash
    assert not root.has_error
    if not text.isascii():
        return  # the places below are counted in bytes
    # The target of `a.b = …` is a path there.
    targets = {id(n.target) for n in tree.walk(module) if isinstance(n, tree.MemberAssign)}
    for kind, ours in SAME.items():
        theirs = {
            without_parentheses(text, node.start_byte, node.end_byte)
            for node in nodes(root)
            if node.type == kind and node.is_named
        }
        wanted = {
            without_parentheses(text, node.span.start, node.span.end)
            for node in tree.walk(module)
            if isinstance(node, ours) and id(node) not in targets
        }
        statements = {
            without_parentheses(text, node.start_byte, node.end_byte)
            for node in nodes(root)
            if kind == "call" and node.type == "call_statement"
        }
        assert theirs | statements == wanted, kind


def test_the_queries_name_what_the_grammar_has(language: Language) -> None:
    for query in (FOLDER / "queries").glob("*.scm"):
        Query(language, query.read_text("utf-8"))


def test_the_keywords_are_those_of_the_language() -> None:
    text = (FOLDER / "grammar.js").read_text("utf-8")
    rules = text[text.index("rules:") :]
    words = set(re.findall(r'"([a-z]+)"', rules)) | set(re.findall(r'"([a-z]+)"', text[:900]))
    fields = set(re.findall(r'field\("([a-z]+)"', rules)) | {"left", "right", "operator"}
    used = {word for word in words if re.search(rf'(?<!field\()"{word}"', rules)}
    assert KEYWORDS - used == {"self", "super", "extern"}  # which the compiler refuses
    places = {"grad", "grid", "warps", "stages"}
    assert used - KEYWORDS - fields == places


def test_the_parser_is_made_from_this_grammar() -> None:
    digest = hashlib.sha256((FOLDER / "grammar.js").read_bytes()).hexdigest()
    assert (FOLDER / "src" / "grammar.sha256").read_text() == f"{digest}  grammar.js\n"
