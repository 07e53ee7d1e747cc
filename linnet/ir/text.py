"""The text form of the Core IR: `print_graph` and its inverse `parse_graph`.

Short enough for golden files and for `linnet inspect --core-ir`, exact enough to start a test
from. One line a node, arguments before users; Functions come first, each once:

    function @softmax std.nn.softmax::softmax<N = 8, S = [B], T = f32> {
      %0 = arg x: f32[B, 8]
      %1 = map (i: B) max[j: 8](%0[i, j])
      return %1
    }
    graph forward(B) {
      where B <= 4 "B <= Room" at pond.linnet:3:4
      %0 = input x: f32[B, 8]
      %1 = call @softmax(%0): f32[B]                         // pond.linnet:9:5 top in head
      return %1
      update seen = %1
    }

In a body, `%1[i, k]` loads an argument, `dim(S - 1)` is a dimension as a number, `sum[k: 8](..)`
reduces, `$0 = ..` names a shared part where it first stands. Numbers without a suffix are i64
or f32; others read `3:i32`. A map lists its arguments (`using %2, %1`) only where they are not
just those its body loads, in order. Symbols come back with uid 0.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from linnet.dims import Clause, Dim, Sym, parse, parse_clause
from linnet.ir.errors import BrokenIR
from linnet.ir.expr import Apply, Const, DimConst, Expr, Index, IndexRef, Load, Reduce, children
from linnet.ir.node import (
    NO_ATTRS,
    Attrs,
    CallAttrs,
    Function,
    GetAttrs,
    Graph,
    LoopAttrs,
    MapAttrs,
    Named,
    Node,
    Origin,
    TensorType,
    toposort,
)
from linnet.ir.numbers import round_float
from linnet.ir.ops import FLOAT_SIZES, REDUCTIONS, Op
from linnet.ir.verify import type_text

_COMMENT_COLUMN = 64

# --- printing ---------------------------------------------------------------------------


def print_graph(graph: Graph, *, origins: bool = True) -> str:
    """`graph` as text, with the Functions it calls. `origins` off: no trailing comments."""
    printer = _Printer(origins)
    body = printer.graph(graph)
    return "\n".join([*printer.functions, body]) + "\n"


@dataclass
class _Printer:
    origins: bool
    functions: list[str] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    taken: Counter[str] = field(default_factory=Counter)

    def graph(self, graph: Graph) -> str:
        lines = [f"graph {graph.name}({', '.join(graph.sizes)}) {{{self._origin(graph.origin)}"]
        for clause in graph.clauses:
            words = "" if clause.text == str(clause) else f" {json.dumps(clause.text)}"
            place = "" if clause.origin is None else str(clause.origin)
            lines.append(f"  where {clause}{words}" + (f" at {place}" if place else ""))
        numbers = self._nodes(lines, (*graph.inputs, *graph.outputs()))
        lines.append(f"  return {_list(graph.results, numbers, graph.tuple_result)}".rstrip())
        for path in sorted(graph.updates):
            lines.append(f"  update {path} = %{numbers[id(graph.updates[path])]}")
        return "\n".join([*lines, "}"])

    def function(self, function: Function) -> str:
        """The name of `function`, printing it when it is met first."""
        if id(function) not in self.names:
            base = "@" + re.split(r"::|\.", function.op)[-1]
            self.taken[base] += 1
            name = base if self.taken[base] == 1 else f"{base}.{self.taken[base]}"
            self.names[id(function)] = name
            generics = ", ".join(f"{k} = {_generic(v)}" for k, v in function.generics.items())
            head = f"function {name} {function.op}" + (f"<{generics}>" if generics else "")
            lines = [f"{head} {{{self._origin(function.origin)}"]
            numbers = self._nodes(lines, (*function.parameters, *function.results))
            lines.append(f"  return {_list(function.results, numbers, len(function.results) != 1)}")
            self.functions.append("\n".join([*lines, "}"]))
        return self.names[id(function)]

    def _nodes(self, lines: list[str], roots: Sequence[Node]) -> dict[int, int]:
        numbers: dict[int, int] = {}
        for node in toposort(roots):
            text = f"  %{len(numbers)} = {self._node(node, numbers)}"
            numbers[id(node)] = len(numbers)
            comment = self._origin(node.origin)
            lines.append(f"{text:<{_COMMENT_COLUMN}}{comment}" if comment else text)
        return numbers

    def _node(self, node: Node, numbers: Mapping[int, int]) -> str:
        args = [f"%{numbers[id(a)]}" for a in node.args]
        match node.attrs:
            case Named(name):
                return f"{node.op.value} {name}: {type_text(node.type)}"
            case MapAttrs(indices, body):
                return f"map {_Body(args).text(indices, body)}"
            case CallAttrs(function):
                name = self.function(function)
                return f"call {name}({', '.join(args)}): {type_text(node.type)}"
            case LoopAttrs(condition, body, carried):
                names = f"{self.function(condition)} {self.function(body)}"
                split = f"{', '.join(args[:carried])}; {', '.join(args[carried:])}"
                return f"loop {names}({split.strip('; ')})"
            case GetAttrs(position):
                return f"get {args[0]} {position}"
        return f"{node.op.value} {args[0]}: {type_text(node.type)}"

    def _origin(self, origin: Origin | None) -> str:
        if origin is None or not self.origins:
            return ""
        name = f" {origin.name}" if origin.name else ""
        path = f" in {origin.path}" if origin.path else ""
        return f" // {origin}{name}{path}"


def _list(nodes: Sequence[Node], numbers: Mapping[int, int], is_tuple: bool) -> str:
    inner = ", ".join(f"%{numbers[id(n)]}" for n in nodes)
    return f"({inner})" if is_tuple else inner


def _generic(value: Dim | tuple[Dim, ...] | str) -> str:
    return f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else str(value)


class _Body:
    """Prints one map's body. Works off a stack: bodies may be deep."""

    def __init__(self, args: Sequence[str]) -> None:
        self.args = args
        self.names: dict[Index, str] = {}
        self.parts: dict[int, str] = {}
        self.loaded: list[str] = []

    def text(self, indices: Sequence[Index], body: Expr) -> str:
        head = self._binders(indices)
        uses = _uses(body)
        out: list[str] = []
        stack: list[str | Expr] = [body]
        while stack:
            item = stack.pop()
            if isinstance(item, str):
                out.append(item)
            elif id(item) in self.parts:
                out.append(self.parts[id(item)])
            else:
                if uses[id(item)] > 1 and children(item):
                    self.parts[id(item)] = f"${len(self.parts)}"
                    out.append(f"{self.parts[id(item)]} = ")
                stack.extend(reversed(self._pieces(item)))
        listed = list(dict.fromkeys(self.loaded)) == list(self.args)
        using = "" if listed else f"using {', '.join(self.args)} "
        return f"({head}) {using}{''.join(out)}"

    def _binders(self, indices: Sequence[Index]) -> str:
        return ", ".join(f"{self._bind(i)}: {i.domain}" for i in indices)

    def _bind(self, index: Index) -> str:
        taken = set(self.names.values()) | REDUCTIONS
        name, k = index.name, 1
        while name in taken:
            k += 1
            name = f"{index.name}_{k}"
        self.names[index] = name
        return name

    def _pieces(self, expr: Expr) -> list[str | Expr]:
        match expr:
            case Const(dtype=dtype, value=value):
                return [_number(value, dtype)]
            case DimConst(dtype=dtype, dim=dim):
                return [f"dim({dim})" + ("" if dtype == "i64" else f":{dtype}")]
            case IndexRef(index=index):
                return [self.names[index]]
            case Load(operand=operand, at=at):
                self.loaded.append(self.args[operand])
                return [self.args[operand], *(_between("[", at, "]") if at else [])]
            case Apply(fn=fn, args=args):
                head = f"cast<{expr.dtype}>" if fn == "cast" else fn
                return [*_between(f"{head}(", args, ")")]
            case Reduce(kind=kind, indices=indices, body=body):
                return [f"{kind}[{self._binders(indices)}](", body, ")"]
        raise BrokenIR(f"no text for {expr!r}")


def _between(opening: str, items: Sequence[Expr], closing: str) -> list[str | Expr]:
    out: list[str | Expr] = [opening]
    for k, item in enumerate(items):
        out += [", ", item] if k else [item]
    return [*out, closing]


def _uses(body: Expr) -> Counter[int]:
    uses: Counter[int] = Counter()
    stack = [body]
    while stack:
        expr = stack.pop()
        uses[id(expr)] += 1
        if uses[id(expr)] == 1:
            stack.extend(children(expr))
    return uses


def _number(value: int | float | bool, dtype: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value) if dtype == "i64" else f"{value}:{dtype}"
    text = _shortest(value, dtype)
    return text if dtype == "f32" else f"{text}:{dtype}"


def _shortest(value: float, dtype: str) -> str:
    """The shortest decimal that rounds to `value`, always with a point, exponent or letter."""
    if not math.isfinite(value):
        return str(value)
    for digits in range(1, 18):
        short = float(f"{value:.{digits}g}")
        if round_float(short, dtype) == value:
            break
    return repr(short)


# --- parsing ----------------------------------------------------------------------------


def parse_graph(text: str) -> Graph:
    """The graph that `text` spells. Raises `BrokenIR` with the line for anything else."""
    parser = _Parser()
    for number, line in enumerate(text.splitlines(), 1):
        try:
            parser.line(line)
        except (BrokenIR, ValueError, KeyError, IndexError) as error:
            raise BrokenIR(f"IR text, line {number}: {error!r} in `{line.strip()}`") from error
    if parser.graph is None:
        raise BrokenIR("IR text without a graph")
    return parser.graph


_ORIGIN = re.compile(r"// (.+?):(\d+):(\d+)(?: (\S+))?(?: in (\S+))?$")
_PLACE = re.compile(r"(.+):(\d+):(\d+)$")
_HEAD = re.compile(r"(?:function (@[\w.]+) ([\w.:]+?)(?:<(.*)>)?|graph (\w+)\((.*)\)) \{")
_NODE = re.compile(r"%(\d+) = (\w+) (.*)$")


@dataclass
class _Section:
    """One `function` or `graph` while its lines are read."""

    function: str = ""
    op: str = ""
    generics: dict[str, Dim | tuple[Dim, ...] | str] = field(default_factory=dict)
    name: str = ""
    sizes: tuple[str, ...] = ()
    origin: Origin | None = None
    nodes: dict[str, Node] = field(default_factory=dict)
    results: tuple[Node, ...] = ()
    tuple_result: bool = False
    updates: dict[str, Node] = field(default_factory=dict)
    clauses: list[Clause] = field(default_factory=list)

    def leaves(self, op: Op) -> tuple[Node, ...]:
        return tuple(n for n in self.nodes.values() if n.op is op)


class _Symbols(dict[str, Dim]):
    """Any name is a symbol."""

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str)

    def __missing__(self, name: str) -> Dim:
        self[name] = Dim.sym(Sym(name))
        return self[name]


@dataclass
class _Parser:
    functions: dict[str, Function] = field(default_factory=dict)
    section: _Section = field(default_factory=_Section)
    graph: Graph | None = None
    symbols: _Symbols = field(default_factory=_Symbols)

    def line(self, line: str) -> None:
        """Take in one line of the text."""
        code, origin = _split_origin(line)
        word = code.split(" ", 1)[0]
        if not code:
            return
        if word in ("function", "graph"):
            self._head(code, origin)
        elif code == "}":
            self._close()
        elif word == "where":
            self.section.clauses.append(self._clause(code.removeprefix("where ")))
        elif word == "return":
            listed = code.removeprefix("return").strip()
            self.section.tuple_result = listed.startswith("(")
            self.section.results = self._args(listed.strip("()"))
        elif word == "update":
            path, value = code.removeprefix("update ").split(" = ")
            self.section.updates[path] = self.section.nodes[value]
        else:
            self._node(code, origin)

    def _head(self, code: str, origin: Origin | None) -> None:
        match = _HEAD.fullmatch(code)
        if match is None:
            raise BrokenIR("malformed head")
        function, op, generics, name, sizes = match.groups()
        self.section = _Section(function or "", op or "", name=name or "", origin=origin)
        self.section.sizes = tuple(_split(sizes or ""))
        for item in _split(generics or ""):
            key, value = item.split(" = ")
            self.section.generics[key] = self._generic(value)

    def _generic(self, text: str) -> Dim | tuple[Dim, ...] | str:
        if text.startswith("["):
            return self._dims(text[1:-1])
        return text if text in FLOAT_SIZES or _is_dtype(text) else parse(text, self.symbols)

    def _dims(self, text: str) -> tuple[Dim, ...]:
        return tuple(parse(item, self.symbols) for item in _split(text))

    def _close(self) -> None:
        s = self.section
        if s.function:
            self.functions[s.function] = Function(
                s.op, s.generics, s.leaves(Op.ARG), s.results, s.origin
            )
            return
        self.graph = Graph(
            s.name,
            s.leaves(Op.INPUT),
            s.results,
            s.updates,
            s.sizes,
            tuple(s.clauses),
            s.tuple_result,
            s.origin,
        )

    def _clause(self, code: str) -> Clause:
        match = re.fullmatch(r'([^"]*?)(?: ("(?:[^"\\]|\\.)*"))?(?: at (.+))?', code)
        if match is None:
            raise BrokenIR("malformed clause")
        place = _PLACE.match(match[3]) if match[3] else None
        origin = Origin(place[1], int(place[2]), int(place[3])) if place else None
        clause = parse_clause(match[1], self.symbols, origin)
        words = json.loads(match[2]) if match[2] else clause.text
        return Clause(clause.op, clause.left, clause.right, words, origin)

    def _args(self, text: str) -> tuple[Node, ...]:
        return tuple(self.section.nodes[item] for item in _split(text))

    def _node(self, code: str, origin: Origin | None) -> None:
        match = _NODE.fullmatch(code)
        if match is None:
            raise BrokenIR("malformed node")
        op, rest = Op(match[2]), match[3]
        args, type, attrs = self._value(op, rest)
        self.section.nodes[f"%{match[1]}"] = Node(op, args, type, attrs, origin)

    def _value(self, op: Op, rest: str) -> tuple[tuple[Node, ...], TensorType, Attrs]:
        match op:
            case Op.MAP:
                indices, args, body = _BodyParser(rest, self).map()
                dims = tuple(i.domain for i in indices)
                return args, TensorType(body.dtype, dims), MapAttrs(indices, body)
            case Op.CALL:
                name, listed, type = _matched(r"(@[\w.]+)\((.*)\): (.*)", rest)
                return self._args(listed), self._type(type), CallAttrs(self.functions[name])
            case Op.LOOP:
                first, second, carried, others = _matched(
                    r"(@[\w.]+) (@[\w.]+)\(([^;]*)(?:; (.*))?\)", rest
                )
                own = self._args(carried)
                functions = self.functions[first], self.functions[second]
                attrs = LoopAttrs(*functions, len(own))
                return (*own, *self._args(others or "")), own[0].type, attrs
            case Op.GET:
                name, position = rest.split(" ")
                (loop,) = self._args(name)
                return (loop,), loop.args[int(position)].type, GetAttrs(int(position))
            case Op.RESHAPE:
                name, type = rest.split(": ", 1)
                return self._args(name), self._type(type), NO_ATTRS
        name, type = rest.split(": ", 1)
        return (), self._type(type), Named(name)

    def _type(self, text: str) -> TensorType:
        dtype, dims = _matched(r"(\w+)(?:\[(.*)\])?", text)
        return TensorType(dtype, self._dims(dims or ""))


_DTYPE = re.compile(r"bool|bf16|[iuf]\d+")


def _is_dtype(text: str) -> bool:
    return _DTYPE.fullmatch(text) is not None


def _matched(pattern: str, text: str) -> tuple[str, ...]:
    match = re.fullmatch(pattern, text)
    if match is None:
        raise BrokenIR(f"expected {pattern}")
    return match.groups()


def _split_origin(line: str) -> tuple[str, Origin | None]:
    match = _ORIGIN.search(line)
    if match is None:
        return line.strip(), None
    file, row, column, name, path = match.groups()
    origin = Origin(file, int(row), int(column), name or "", path or "")
    return line[: match.start()].strip(), origin


def _split(text: str) -> Iterator[str]:
    """The items of a list at commas outside brackets."""
    depth, start = 0, 0
    for at, char in enumerate(text):
        depth += (char in "([<") - (char in ")]>")
        if char == "," and depth == 0:
            yield text[start:at].strip()
            start = at + 1
    if text[start:].strip():
        yield text[start:].strip()


_TOKEN = re.compile(
    r"\s*(%\d+|\$\d+|-?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|inf|nan)(?![\w.])|\w+|[\[\](),:<>=])"
)


class _BodyParser:
    """Recursive descent over one map; dims inside are cut out and handed to `dims.parse`."""

    def __init__(self, text: str, parser: _Parser) -> None:
        self.text = text
        self.at = 0
        self.parser = parser
        self.indices: dict[str, Index] = {}
        self.parts: dict[str, Expr] = {}
        self.args: dict[str, int] = {}
        self.nodes: list[Node] = []

    def map(self) -> tuple[tuple[Index, ...], tuple[Node, ...], Expr]:
        indices = self._binders("(")
        if self._peek() == "using":
            self._take()
            while self._peek().startswith("%"):
                self._operand(self._take())
                if self._peek() != ",":
                    break
                self._take()
        body = self._expr()
        if self.text[self.at :].strip():
            raise BrokenIR(f"`{self.text[self.at :]}` after the body")
        return indices, tuple(self.nodes), body

    def _operand(self, name: str) -> int:
        if name not in self.args:
            self.args[name] = len(self.nodes)
            self.nodes.append(self.parser.section.nodes[name])
        return self.args[name]

    def _peek(self) -> str:
        match = _TOKEN.match(self.text, self.at)
        return match[1] if match else ""

    def _take(self, wanted: str | None = None) -> str:
        match = _TOKEN.match(self.text, self.at)
        if match is None or (wanted is not None and match[1] != wanted):
            raise BrokenIR(f"expected `{wanted or 'a token'}` at `{self.text[self.at :]}`")
        self.at = match.end()
        return match[1]

    def _enclosed(self, opening: str) -> str:
        """The text up to the bracket that closes `opening`."""
        self._take(opening)
        start, depth = self.at, 1
        while depth:
            depth += (self.text[self.at] in "([") - (self.text[self.at] in ")]")
            self.at += 1
        return self.text[start : self.at - 1]

    def _binders(self, opening: str) -> tuple[Index, ...]:
        found = []
        for item in _split(self._enclosed(opening)):
            name, domain = item.split(": ")
            self.indices[name] = Index(name, parse(domain, self.parser.symbols))
            found.append(self.indices[name])
        return tuple(found)

    def _suffix(self, default: str) -> str:
        if self._peek() != ":":
            return default
        self._take()
        return self._take()

    def _list(self, closing: str) -> tuple[Expr, ...]:
        items: list[Expr] = []
        while self._peek() != closing:
            items.append(self._expr())
            if self._peek() == ",":
                self._take()
        self._take(closing)
        return tuple(items)

    def _expr(self) -> Expr:
        token = self._take()
        if token.startswith("%"):
            operand = self._operand(token)
            at: tuple[Expr, ...] = ()
            if self._peek() == "[":
                self._take()
                at = self._list("]")
            return Load(self.nodes[operand].type.dtype, operand, at)
        if token.startswith("$"):
            if self._peek() == "=":
                self._take()
                self.parts[token] = self._expr()
            return self.parts[token]
        if token in self.indices:
            return IndexRef("i64", self.indices[token])
        if token in ("true", "false"):
            return Const("bool", token == "true")
        if re.match(r"-?(\d|inf$|nan$)", token):
            return self._number(token)
        if token == "dim":
            dim = parse(self._enclosed("("), self.parser.symbols)
            return DimConst(self._suffix("i64"), dim)
        if token in REDUCTIONS and self._peek() == "[":
            indices = self._binders("[")
            self._take("(")
            (body,) = self._list(")")
            return Reduce(body.dtype, token, indices, body)
        return self._apply(token)

    def _number(self, token: str) -> Const:
        if re.fullmatch(r"-?\d+", token):
            return Const(self._suffix("i64"), int(token))
        dtype = self._suffix("f32")
        return Const(dtype, round_float(float(token), dtype))

    def _apply(self, fn: str) -> Apply:
        dtype = ""
        if self._peek() == "<":
            self._take()
            dtype = self._take()
            self._take(">")
        self._take("(")
        args = self._list(")")
        if not dtype:
            compared = fn in ("eq", "ne", "lt", "le", "gt", "ge")
            dtype = "bool" if compared else args[-1].dtype
        return Apply(dtype, fn, args)
