"""Examples for codes of text, syntax, names, modules and packages; see `examples`."""

from __future__ import annotations

from linnet.diag.example import Example, programs

_MANIFEST = '[package]\nname = "pond"\nversion = "0.1.0"\nlanguage = "0.1"\n'

NAMES: dict[str, Example] = {
    "E1001": programs(
        "fn area(π: f32, r: f32) -> f32 {\n    return π * r * r\n}\n",
        "// π is written in letters\nfn area(pi: f32, r: f32) -> f32 {\n    return pi * r * r\n}\n",
        "Names are ASCII letters, digits and `_`. Comments and strings may hold anything.",
    ),
    "E1002": programs(
        "/* levels of the pond\nconst DEPTH = 4\n",
        "/* levels of the pond */\nconst DEPTH = 4\n",
        "Comments nest: a `/*` inside one needs a `*/` of its own.",
    ),
    "E1003": programs(
        'fn level(x: f32) -> f32 {\n    let _ = "reed\n    return x\n}\n',
        "// reed\nfn level(x: f32) -> f32 {\n    return x\n}\n",
        r"A string ends on its line, and knows the escapes \n \t \\ \" \0 and \u{hex}. No function "
        "takes one yet: text belongs in comments.",
    ),
    "E1004": programs(
        "fn level(kernel: f32) -> f32 {\n    return kernel\n}\n",
        "fn level(kernel_: f32) -> f32 {\n    return kernel_\n}\n",
        "The word is kept for a later version of the language. Any other name will do.",
    ),
    "E1005": programs(
        "const DEPTH = 08\n",
        "const DEPTH = 8\n",
        "Integers are decimal without leading zeros, `0x…` or `0b…`, with `_` only between digits; "
        "floats have a digit on both sides of the dot.",
    ),
    "E1101": programs(
        "fn level<N>(x: Tensor[N, f32]) -> f32 {\n    return 0.0\n}\n",
        "fn level<N: Dim>(x: Tensor[N; f32]) -> f32 {\n    return sum[i] x[i]\n}\n",
        "A generic has a kind, and the element type of a tensor follows a semicolon. Where the "
        "message names a token, look at what stands just before it.",
    ),
    "E1102": Example(
        "fn level(x: f32) -> f32 {\n    return x\n}\n",
        "module pond\n\nfn level(x: f32) -> f32 {\n    return x\n}\n",
        "Comments may stand before the `module` line, nothing else.",
    ),
    "E1103": programs(
        "fn level(x: Tensor[; f32]) -> f32 {\n    return x\n}\n",
        "fn level(x: f32) -> f32 {\n    return x\n}\n",
        "A tensor without axes is a scalar and written as its dtype. `extern`, `use self`, "
        "`use super` and variants with values are kept for later.",
    ),
    "E1201": programs(
        "fn level(x: Tensor[N; f32]) -> f32 {\n    return sum[i] x[i]\n}\n",
        "fn level<N: Dim>(x: Tensor[N; f32]) -> f32 {\n    return sum[i] x[i]\n}\n",
        "Declare a size as a generic: `<N: Dim>`. Import an item of another module: "
        "`use std.nn.softmax::{softmax}`.",
    ),
    "E1202": programs(
        "use std.nn.linaer::{linear}\n\n"
        "fn level(x: Tensor[4; f32], w: Tensor[2, 4; f32]) -> Tensor[2; f32] {\n"
        "    return linear(x, w)\n}\n",
        "use std.nn.linear::{linear}\n\n"
        "fn level(x: Tensor[4; f32], w: Tensor[2, 4; f32]) -> Tensor[2; f32] {\n"
        "    return linear(x, w)\n}\n",
        "`std.a.b` is `a/b.linnet` of the library, `crate.a.b` is `src/a/b.linnet` below the "
        "nearest "
        "`linnet.toml`; the message lists where it was looked for.",
    ),
    "E1203": programs(
        "use std.random::{turned}\n\n"
        "fn level(x: Tensor[4; i64]) -> Tensor[4; i64] {\n    return turned(x, 3)\n}\n",
        "fn level(x: Tensor[4; i64]) -> Tensor[4; i64] {\n    return shl(x, 3)\n}\n",
        "Items and methods belong to their module alone unless they are `pub`.",
    ),
    "E1204": programs(
        "use std.nn.softmax::{softmax}\n\n"
        "fn softmax(x: Tensor[4; f32]) -> Tensor[4; f32] {\n    return x\n}\n",
        "use std.nn.softmax::{softmax as even}\n\n"
        "fn softmax(x: Tensor[4; f32]) -> Tensor[4; f32] {\n    return even(x)\n}\n",
        "Items and imports of a module share one set of names. Rename one, or import it `as` "
        "something else; there is no overloading.",
    ),
    "E1205": programs(
        "fn level<N: Dim>(x: Tensor[N; f32], x: f32) -> f32 {\n    return sum[i] x[i]\n}\n",
        "fn level<N: Dim>(x: Tensor[N; f32], y: f32) -> f32 {\n    return y + sum[i] x[i]\n}\n",
        "Parameters, generics, fields, members and variants have one name each.",
    ),
    "E1206": Example(
        "module lib\n\nuse crate.reed::{tall}\n\n"
        "pub fn wide(x: f32) -> f32 {\n    return tall(x) * 2.0\n}\n",
        "module lib\n\nuse crate.reed::{tall}\n\n"
        "pub fn wide(x: f32) -> f32 {\n    return tall(x) * 2.0\n}\n",
        "Move what both need into a third module that imports neither.",
        {
            "linnet.toml": (_MANIFEST, _MANIFEST),
            "src/reed.linnet": (
                "module reed\n\nuse crate::{wide}\n\n"
                "pub fn tall(x: f32) -> f32 {\n    return x\n}\n\n"
                "pub fn both(x: f32) -> f32 {\n    return wide(x)\n}\n",
                "module reed\n\npub fn tall(x: f32) -> f32 {\n    return x\n}\n",
            ),
        },
    ),
    "E1207": programs(
        "fn level(exp: f32) -> f32 {\n    return exp\n}\n",
        "fn level(power: f32) -> f32 {\n    return power\n}\n",
        "Dtypes, `Tensor`, the kinds of generics and the functions of the prelude keep their names "
        "everywhere.",
    ),
    "E1208": programs(
        "block Reed<H: Dim> {\n    param weight: Tensor[H; f32]\n}\n\n"
        "fn level(x: f32) -> f32 {\n    return x + Reed\n}\n",
        "block Reed<H: Dim> {\n    param weight: Tensor[H; f32]\n\n"
        "    fn level(x: Tensor[H; f32]) -> Tensor[H; f32] {\n        return x + weight\n"
        "    }\n}\n",
        "Functions, blocks, packs and dtypes are no values: call the function, declare a `sub` of "
        "the block.",
    ),
    "E5001": Example(
        "module lib\n\nuse crate.reed::{tall}\n\n"
        "pub fn wide(x: f32) -> f32 {\n    return tall(x)\n}\n",
        "module lib\n\nuse crate.reed::{tall}\n\n"
        "pub fn wide(x: f32) -> f32 {\n    return tall(x)\n}\n",
        "A package names itself, its version and the language: three strings below `[package]`. "
        'A dependency is `name = { path = "…" }` below `[dependencies]`.',
        {
            "linnet.toml": ('[package]\nname = "pond"\nlanguage = "0.1"\n', _MANIFEST),
            "src/reed.linnet": (
                "module reed\n\npub fn tall(x: f32) -> f32 {\n    return x\n}\n",
                "module reed\n\npub fn tall(x: f32) -> f32 {\n    return x\n}\n",
            ),
        },
    ),
    "W1001": programs(
        "use std.nn.softmax::{softmax}\n\nfn level(x: f32) -> f32 {\n    return x\n}\n",
        "fn level(x: f32) -> f32 {\n    return x\n}\n",
        "Remove the import, or the name from its list. A warning can be silenced where it is "
        "meant: "
        "`// linnet: allow(W1001)` at the end of the line or on the line before.",
    ),
    "W1002": programs(
        "fn level(x: f32) -> f32 {\n    let twice = x * 2.0\n    return x\n}\n",
        "fn level(x: f32) -> f32 {\n    let twice = x * 2.0\n    return twice\n}\n",
        "Use it, remove it, or begin its name with `_`.",
    ),
    "W1003": programs(
        "block Reed {\n    param weight: Tensor[4; f32]\n    param bias: Tensor[4; f32]\n\n"
        "    fn level(x: Tensor[4; f32]) -> Tensor[4; f32] {\n        return x * weight\n"
        "    }\n}\n",
        "block Reed {\n    param weight: Tensor[4; f32]\n    param bias: Tensor[4; f32]\n\n"
        "    fn level(x: Tensor[4; f32]) -> Tensor[4; f32] {\n"
        "        return x * weight + bias\n    }\n}\n",
        "A forgotten bias is the usual cause. Where a checkpoint has a tensor that the model does "
        "not need, leave the member out: tensors nobody names are ignored.",
    ),
    "W1901": programs(
        "enum Kind { Sharp, Smooth, }\n\n"
        "fn bend(k: Kind, x: f32) -> f32 {\n"
        "    return match k {\n        Sharp => x\n        Smoth => -x\n    }\n}\n",
        "enum Kind { Sharp, Smooth, }\n\n"
        "fn bend(k: Kind, x: f32) -> f32 {\n"
        "    return match k {\n        Sharp => x\n        Smooth => -x\n    }\n}\n",
        "A name that is no variant matches everything. Correct its spelling, or write `_`.",
    ),
    "W1902": programs(
        "fn level(x: f32) -> f32 {\n    let y = x * 2.0 // linnet: allow(W1002)\n    return y\n}\n",
        "fn level(x: f32) -> f32 {\n    let y = x * 2.0\n    return y\n}\n",
        "Remove the comment, or the codes of it that silence nothing. It stands at the end of the "
        "line that is warned about, or alone on the line before.",
    ),
}
