"""Every diagnostic code, declared once.

A code is a number users can search for, a title that stands alone, and a short explanation
for documentation and tools. The wording of a single report is
the business of the stage that finds it. A number is never reused; codes that exist only here
have a 9 as their second digit, so that they never meet those of other Linnet compilers.

Ranges: E1 text, syntax, modules; E2 types and shapes; E3 index notation; E4 blocks;
E5 packages; W1 style.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Code:
    """`number` as printed (`E2203`), `title` without a final stop, `explanation` in sentences."""

    number: str
    title: str
    explanation: str

    @property
    def severity(self) -> Severity:
        return "warning" if self.number.startswith("W") else "error"


_TABLE: tuple[tuple[str, str, str], ...] = (
    # Text
    (
        "E1001",
        "characters that cannot occur in source",
        "Source is ASCII outside comments and strings. Delete the characters, or move the text "
        "into a comment.",
    ),
    (
        "E1002",
        "block comment is never closed",
        "Block comments nest, so each `/*` needs a `*/` of its own.",
    ),
    (
        "E1003",
        "string is not closed or has a bad escape",
        r"A string ends on the line it starts on. The escapes are \n \t \\ \" \0 and \u{hex}.",
    ),
    (
        "E1004",
        "reserved word used as a name",
        "The word is kept for a later version of the language. Add a `_` at its end.",
    ),
    (
        "E1005",
        "malformed number",
        "Integers are decimal without leading zeros, `0x…` or `0b…`, with `_` only between digits. "
        "Floats have digits on both sides of the dot, or an exponent.",
    ),
    # Syntax
    (
        "E1101",
        "another token was expected",
        "The text does not follow the grammar here; the message says what could have stood there.",
    ),
    (
        "E1102",
        "file does not begin with `module`",
        "A file is one module and says its name first: `module name`.",
    ),
    (
        "E1103",
        "syntax set aside for a later version",
        "The form is kept free for a later version and means nothing today.",
    ),
    # Modules and names
    (
        "E1201",
        "name is not in scope",
        "No local, parameter, generic, member, item, import or prelude function has this name.",
    ),
    (
        "E1202",
        "imported module does not exist",
        "The logical path of a `use` leads to no file. The places searched are listed.",
    ),
    (
        "E1203",
        "item is private to another module",
        "Only `pub` items and methods can be used outside their module.",
    ),
    (
        "E1204",
        "two items of a module share a name",
        "Items and imports of a module have one name space. Rename one or import it `as` another.",
    ),
    (
        "E1205",
        "name declared twice",
        "Parameters, generics, fields, members and variants need distinct names in their list.",
    ),
    ("E1206", "modules import each other in a circle", "Move what both need to a third module."),
    (
        "E1207",
        "prelude name cannot be declared",
        "The names of the prelude mean the same everywhere, so nothing else may take one.",
    ),
    (
        "E1208",
        "name of the wrong sort for this place",
        "For example a function without a call, a constant as a type, or a block as a value.",
    ),
    # Types
    (
        "E2101",
        "value of another type than required",
        "Nothing is converted implicitly, except that literals take the type around them.",
    ),
    (
        "E2102",
        "arguments do not fit the parameters",
        "Each parameter without a default needs exactly one argument.",
    ),
    (
        "E2103",
        "element types differ",
        "Both operands need one dtype. Write `cast<T>(…)` on the side that should change.",
    ),
    (
        "E2104",
        "operator or function does not take this type",
        "Each operation is defined for a class of dtypes; constrain the generic to that class.",
    ),
    (
        "E2105",
        "literal does not fit the dtype",
        "The value lies outside the range the dtype can hold.",
    ),
    (
        "E2106",
        "called thing is not a function",
        "Only functions, ops, entries, methods and the prelude's functions can be called.",
    ),
    (
        "E2107",
        "no field, member, method or variant of this name",
        "The type before the dot does not have it.",
    ),
    (
        "E2108",
        "assignment to something immutable",
        "Only a `var` in scope and a `state` of the same block can be assigned.",
    ),
    (
        "E2109",
        "assignment would change a type",
        "A `var` or `state` keeps the type it was declared with.",
    ),
    (
        "E2110",
        "generic cannot be worked out",
        "No argument determines it, so it has to be written at the call: `name<…>(…)`.",
    ),
    (
        "E2111",
        "wrong number or sort of generic arguments",
        "Dimensions, shapes and dtypes each fit their own kind of generic only.",
    ),
    (
        "E2112",
        "dtype outside the required class",
        "A dtype argument has to belong to the class the generic was declared with.",
    ),
    (
        "E2113",
        "`none` with no optional type around it",
        "Only the context says which optional it is. Annotate the binding.",
    ),
    (
        "E2114",
        "condition is not `bool` of the needed form",
        "`if` and `while` take one scalar `bool`. Use `select` for tensors.",
    ),
    (
        "E2115",
        "branches disagree in type",
        "All branches of an `if` and all arms of a `match` give one type.",
    ),
    (
        "E2116",
        "logical operator on something other than a scalar `bool`",
        "`&&`, `||` and `!` are for scalars; tensors take `&`, `|` and `^ true`.",
    ),
    (
        "E2117",
        "pattern does not fit here",
        "The value cannot match it, or it can fail where a binding must not.",
    ),
    (
        "E2118",
        "`match` leaves a case out",
        "Every value needs an arm; a name or `_` as the last arm catches the rest.",
    ),
    ("E2119", "recursive call", "The graph of calls has no cycles in this language. Write a loop."),
    (
        "E2120",
        "`return` is missing or misplaced",
        "A function with a result ends with `return`, and no `return` stands inside a loop.",
    ),
    (
        "E2121",
        "`static for` over something unknown at compile time",
        "It takes an array of blocks or a range `a..b` of dimensions.",
    ),
    (
        "E2122",
        "definition contains itself",
        "Blocks, constants, aliases and structs cannot be defined in terms of themselves.",
    ),
    (
        "E2123",
        "compile-time integer needed",
        "Use a literal, a `Dim` generic or a constant without a type annotation.",
    ),
    (
        "E2124",
        "`yield` or the value of a `for` in a wrong place",
        "`yield` is the last statement of a `for` that is the whole value of a binding.",
    ),
    (
        "E2125",
        "`grad` where it cannot be",
        "Only an op with one floating result can declare its gradient.",
    ),
    (
        "E2126",
        "kernel does not match its op, or is called",
        "A kernel takes the parameters of its op, writes its result, and is never called.",
    ),
    (
        "E2127",
        "rule of kernel bodies broken",
        "Memory is touched by loads and stores only, with one sort of write per result. This "
        "compiler reads no kernels yet and answers each with E2190, so it never gives this code.",
    ),
    (
        "E2190",
        "not supported by this compiler",
        "The language has it, this compiler does not have it yet.",
    ),
    # Shapes
    (
        "E2201",
        "index runs over different extents",
        "All axes an index addresses have to be provably equal; a size of 1 does not stretch.",
    ),
    (
        "E2202",
        "tensor has another shape than required",
        "Each pair of dimensions has to be provably equal.",
    ),
    (
        "E2203",
        "reshape may change the number of elements",
        "Both shapes need provably the same number of elements.",
    ),
    (
        "E2204",
        "wrong number of indices",
        "The brackets hold more or fewer components than the tensor has axes.",
    ),
    (
        "E2205",
        "divisor might not be positive",
        "A division of dimensions needs a divisor that is provably greater than zero.",
    ),
    (
        "E2206",
        "`where` item is not provable",
        "What the callee or block demands has to follow from what is known at this place.",
    ),
    (
        "E2207",
        "shapes may not broadcast",
        "Aligned from the right, each pair of dimensions is provably equal or one of them is 1.",
    ),
    ("E2208", "dimension is certainly negative", "No size can make this dimension zero or more."),
    (
        "E2209",
        "invalid index or slice bound",
        "Bounds are compile-time integers of at least 0; the last element is `x[N - 1]`.",
    ),
    (
        "E2210",
        "no such axis, or no permutation",
        "Axes count from 0; a permutation names each axis once.",
    ),
    # Index notation
    (
        "E3101",
        "index is neither an output nor reduced",
        "Every index is listed on the left or by a reduction such as `sum[j]`.",
    ),
    (
        "E3102",
        "reduction index indexes nothing",
        "It has no extent, so the reduction has no meaning. Remove it.",
    ),
    (
        "E3103",
        "output index indexes nothing",
        "It has no extent. Remove it, or stretch the tensor with `broadcast_to`.",
    ),
    (
        "E3104",
        "not allowed in index notation or as an index",
        "The body is a scalar: index every tensor. A position as a value is `iota(N)[i]`.",
    ),
    (
        "E3105",
        "index listed twice",
        "Each output and each index of one reduction has its own name.",
    ),
    (
        "E3106",
        "pack index for a plain axis, or the reverse",
        "A pack of axes is addressed by `*s` and only by it.",
    ),
    # Blocks
    (
        "E4101",
        "member of a type it cannot have",
        "`param` and `buffer` hold tensors or optional tensors, `state` tensors, `sub` blocks.",
    ),
    (
        "E4102",
        "parameter with a value in source",
        "Values come from the checkpoint; the only default is `= none` on an optional.",
    ),
    # Packages
    (
        "E5001",
        "`linnet.toml` cannot be read or is malformed",
        "The manifest names the package, its version, the language and its path dependencies.",
    ),
    # Style
    ("W1001", "unused import", "Nothing in the module uses the name. Remove it."),
    ("W1002", "unused local", "Nothing reads the name. Remove it or start it with `_`."),
    ("W1003", "unused member", "The block never uses the member. Remove it."),
    (
        "W1901",
        "catch-all pattern looks like a variant",
        "A name that is no variant catches every value. Check its spelling, or write `_`.",
    ),
    (
        "W1902",
        "comment that silences nothing",
        "`// linnet: allow(…)` names warnings of its own line or, alone on a line, of the next "
        "one. "
        "Here there is none of that code.",
    ),
)

CODES: dict[str, Code] = {row[0]: Code(*row) for row in _TABLE}
