"""Examples for codes of values, calls, statements and blocks; see `examples`."""

from __future__ import annotations

from linnet.diag.example import Example, programs

RULES: dict[str, Example] = {
    "E2104": programs(
        "fn level<T: DType>(x: Tensor[4; T]) -> Tensor[4; T] {\n    return x + x\n}\n",
        "fn level<T: Numeric>(x: Tensor[4; T]) -> Tensor[4; T] {\n    return x + x\n}\n",
        "Constrain the generic to a class that has the operation (`Numeric`, `Integer`, "
        "`Float`), or "
        "cast the operand.",
    ),
    "E2105": programs(
        "fn level(x: u8) -> u8 {\n    return x + 256\n}\n",
        "fn level(x: u8) -> u16 {\n    return cast<u16>(x) + 256\n}\n",
        "Take a dtype that holds the number.",
    ),
    "E2106": programs(
        "fn level(x: f32) -> f32 {\n    return x(2.0)\n}\n",
        "fn level(x: f32) -> f32 {\n    return x * 2.0\n}\n",
        "A product has its sign; brackets after a name are a call.",
    ),
    "E2107": programs(
        "block Reed {\n    param weight: Tensor[4; f32]\n}\n\n"
        "block Pond {\n    sub reed: Reed\n\n"
        "    fn level() -> Tensor[4; f32] {\n        return reed.wieght\n    }\n}\n",
        "block Reed {\n    param weight: Tensor[4; f32]\n}\n\n"
        "block Pond {\n    sub reed: Reed\n\n"
        "    fn level() -> Tensor[4; f32] {\n        return reed.weight\n    }\n}\n",
        "The message lists what there is. Tensors have no methods: write `exp(x)`, not `x.exp()`.",
    ),
    "E2108": programs(
        "fn level(x: f32) -> f32 {\n    let y = x\n    y = y * 2.0\n    return y\n}\n",
        "fn level(x: f32) -> f32 {\n    var y = x\n    y = y * 2.0\n    return y\n}\n",
        "`var` can be assigned, `let` cannot; of members only a `state` can, by the functions of "
        "its "
        "own block.",
    ),
    "E2109": programs(
        "fn level(x: f32) -> f32 {\n    var y = x\n    y = cast<f64>(x)\n    return x\n}\n",
        "fn level(x: f32) -> f32 {\n    var y = x\n    y = x * 2.0\n    return y\n}\n",
        "The first value fixes the type of a `var`. Take another name for another type.",
    ),
    "E2111": programs(
        "block Reed<H: Dim, T: Float> {\n    param weight: Tensor[H; T]\n\n"
        "    fn level() -> Tensor[H; T] {\n        return weight\n    }\n}\n\n"
        "block Pond {\n    sub reed: Reed<4>\n\n"
        "    fn level() -> Tensor[4; f32] {\n        return reed.level()\n    }\n}\n",
        "block Reed<H: Dim, T: Float> {\n    param weight: Tensor[H; T]\n\n"
        "    fn level() -> Tensor[H; T] {\n        return weight\n    }\n}\n\n"
        "block Pond {\n    sub reed: Reed<4, f32>\n\n"
        "    fn level() -> Tensor[4; f32] {\n        return reed.level()\n    }\n}\n",
        "Types take all their generics, in order, but for those with a default. Sizes go where "
        "`Dim` "
        "stands, dtypes where their class stands, shapes in brackets.",
    ),
    "E2112": programs(
        "fn half<T: Float>(x: Tensor[4; T]) -> Tensor[4; T] {\n    return x * 0.5\n}\n\n"
        "fn level(x: Tensor[4; i32]) -> Tensor[4; i32] {\n    return half(x)\n}\n",
        "fn half<T: Float>(x: Tensor[4; T]) -> Tensor[4; T] {\n    return x * 0.5\n}\n\n"
        "fn level(x: Tensor[4; i32]) -> Tensor[4; f32] {\n    return half(cast<f32>(x))\n}\n",
        "Cast the argument, or widen the class of the generic if the body allows it.",
    ),
    "E2113": programs(
        "fn level(x: f32) -> f32 {\n    let y = none\n"
        "    return match y { some(v) => v  none => x }\n}\n",
        "fn level(x: f32) -> f32 {\n    let y: f32? = none\n"
        "    return match y { some(v) => v  none => x }\n}\n",
        "Annotate the binding: `let y: f32? = none`.",
    ),
    "E2114": programs(
        "fn level(x: Tensor[4; f32]) -> Tensor[4; f32] {\n"
        "    return if x > 0.0 { x } else { -x }\n}\n",
        "fn level(x: Tensor[4; f32]) -> Tensor[4; f32] {\n    return select(x > 0.0, x, -x)\n}\n",
        "`if` and `while` take one truth value. `select` chooses by element; `any[i] m[i]` and "
        "`all[i] m[i]` make one of many.",
    ),
    "E2116": programs(
        "fn inside(x: Tensor[4; f32]) -> Tensor[4; bool] {\n    return x > 0.0 && x < 1.0\n}\n",
        "fn inside(x: Tensor[4; f32]) -> Tensor[4; bool] {\n    return (x > 0.0) & (x < 1.0)\n}\n",
        "For tensors write `&`, `|` and `m ^ true`, with brackets around comparisons: `&` binds "
        "tighter than they do.",
    ),
    "E2117": programs(
        "fn level(x: f32?) -> f32 {\n    let some(y) = x\n    return y\n}\n",
        "fn level(x: f32?) -> f32 {\n    return match x {\n"
        "        some(y) => y\n        none => 0.0\n    }\n}\n",
        "`let` takes names and tuples of them; what can fail to match belongs in a `match`.",
    ),
    "E2118": programs(
        "fn level(x: f32?) -> f32 {\n    return match x {\n        some(y) => y\n    }\n}\n",
        "fn level(x: f32?) -> f32 {\n    return match x {\n"
        "        some(y) => y\n        none => 0.0\n    }\n}\n",
        "Add the arms that the message names, or `_ => …` for the rest.",
    ),
    "E2119": programs(
        "fn level(n: i32) -> i32 {\n    return if n > 9 { level(n / 10) } else { n }\n}\n",
        "fn level(n: i32) -> i32 {\n    var k = n\n    while k > 9 {\n        k = k / 10\n    }\n"
        "    return k\n}\n",
        "Calls never come back to where they began. Write a loop.",
    ),
    "E2120": programs(
        "fn first(x: Tensor[4; f32]) -> f32 {\n    var k: i32 = 0\n    while k < 4 {\n"
        "        k = k + 1\n        return x[k]\n    }\n    return 0.0\n}\n",
        "fn first(x: Tensor[4; f32]) -> f32 {\n    var k: i32 = 0\n"
        "    while k < 4 && x[k] <= 0.0 {\n        k = k + 1\n    }\n    return x[k]\n}\n",
        "A function with a result ends with `return`, and has it nowhere else. In a loop assign a "
        "`var` and let the condition end it.",
    ),
    "E2121": programs(
        "fn level(x: Tensor[4; f32], n: i64) -> f32 {\n    var y: f32 = 0.0\n"
        "    static for k in 0..n {\n        y = y + x[k]\n    }\n    return y\n}\n",
        "fn level(x: Tensor[4; f32], n: i64) -> f32 {\n    var y: f32 = 0.0\n    var k = 0\n"
        "    while k < n {\n        y = y + x[k]\n        k = k + 1\n    }\n    return y\n}\n",
        "`static for` is written out when compiling, so its bounds are dimensions. For a number of "
        "rounds that only the run knows, write `while`.",
    ),
    "E2122": programs(
        "block Reed {\n    sub inner: Reed\n}\n",
        "block Reed {\n    sub inner: Leaf\n\n"
        "    fn level() -> Tensor[4; f32] {\n        return inner.weight\n    }\n}\n\n"
        "block Leaf {\n    param weight: Tensor[4; f32]\n}\n",
        "Blocks, structs, aliases and constants are built from others, never from themselves.",
    ),
    "E2123": programs(
        "fn zeros(n: i64) -> Tensor[4; f32] {\n    return fill<f32>([n], 0.0)\n}\n",
        "fn zeros<N: Dim>() -> Tensor[N; f32] {\n    return fill<f32>([N], 0.0)\n}\n",
        "Sizes are dimensions: literals, `Dim` generics, constants without a type, and "
        "arithmetic on "
        "them. A value of run time is none, nor is `const N: i64 = 4`.",
    ),
    "E2124": programs(
        "fn squares<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] {\n"
        "    return exp(for i in 0..N { yield x[i] * x[i] })\n}\n",
        "fn squares<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] {\n"
        "    let y = for i in 0..N { yield x[i] * x[i] }\n    return exp(y)\n}\n",
        "A `for` with a value stands alone behind `=` or `return`, and `yield` ends its body.",
    ),
    "E2125": programs(
        "fn twice(x: f32) -> f32 {\n    return x + x\n} grad(y, dy) {\n    return dy + dy\n}\n",
        "op twice(x: f32) -> f32 {\n    return x + x\n}\n",
        "Only an op has a gradient of its own, and this compiler, which runs models and does not "
        "train them, has no use for it.",
    ),
    "E2126": programs(
        "fn fast(x: f32) -> f32 {\n    return x + x\n}\n\n"
        "op twice(x: f32) -> f32 kernel fast {\n    return x + x\n}\n",
        "op twice(x: f32) -> f32 {\n    return x + x\n}\n",
        "What stands after `kernel` is the name of a `kernel` item. Leave it out: the body of "
        "the op "
        "is its meaning, and the compiler has kernels of its own.",
    ),
    "E2190": programs(
        "fn wider(x: Tensor[4; f32]) -> Tensor[6; f32] {\n    return pad(x, 1)\n}\n",
        "fn wider(x: Tensor[4; f32]) -> Tensor[6; f32] {\n"
        "    return concat(fill<f32>([1], 0.0), x, fill<f32>([1], 0.0), axis = 0)\n}\n",
        "The language has it, this compiler does not yet. The message says what to write in its "
        "place.",
    ),
    "E2204": programs(
        "fn first(x: Tensor[4, 3; f32]) -> f32 {\n    return x[0, 0, 0]\n}\n",
        "fn first(x: Tensor[4, 3; f32]) -> f32 {\n    return x[0, 0]\n}\n",
        "One component an axis; outside index notation the last ones may be left out.",
    ),
    "E2210": programs(
        "fn turned(x: Tensor[4, 3; f32]) -> Tensor[3, 4; f32] {\n"
        "    return permute(x, [1, 1])\n}\n",
        "fn turned(x: Tensor[4, 3; f32]) -> Tensor[3, 4; f32] {\n"
        "    return permute(x, [1, 0])\n}\n",
        "Axes count from 0, each once in a permutation. `concat` and `cumsum` count from the back "
        "with -1.",
    ),
    "E3103": programs(
        "fn rows<N: Dim, M: Dim>(x: Tensor[N; f32]) -> Tensor[N, M; f32] {\n"
        "    let y[n, m] = x[n]\n    return y\n}\n",
        "fn rows<N: Dim, M: Dim>(x: Tensor[N; f32]) -> Tensor[N, M; f32] {\n"
        "    return broadcast_to(reshape(x, [N, 1]), [N, M])\n}\n",
        "An output gets its extent from what it indexes. To repeat values, broadcast them.",
    ),
    "E3105": programs(
        "fn traces(x: Tensor[4, 4; f32]) -> f32 {\n    return sum[i, i] x[i, i]\n}\n",
        "fn traces(x: Tensor[4, 4; f32]) -> f32 {\n    return sum[i] x[i, i]\n}\n",
        "List each index once; it may be used as often as needed.",
    ),
    "E3106": programs(
        "fn twice<*S: Shape>(x: Tensor[*S, 4; f32]) -> Tensor[*S, 4; f32] {\n"
        "    let y[s, i] = x[s, i] * 2.0\n    return y\n}\n",
        "fn twice<*S: Shape>(x: Tensor[*S, 4; f32]) -> Tensor[*S, 4; f32] {\n"
        "    let y[*s, i] = x[*s, i] * 2.0\n    return y\n}\n",
        "A pack of axes is addressed by `*s` in index notation, and skipped by `...` in a slice.",
    ),
    "E4101": programs(
        "block Reed {\n    param weight: f32\n\n    fn level() -> f32 {\n"
        "        return weight\n    }\n}\n",
        "block Reed {\n    param weight: Tensor[1; f32]\n\n"
        "    fn level() -> f32 {\n        return weight[0]\n    }\n}\n",
        "`param` and `buffer` hold tensors or optional tensors, `state` tensors, `sub` blocks.",
    ),
    "E4102": programs(
        "block Reed {\n    param weight: Tensor[2; f32] = fill<f32>([2], 1.0)\n\n"
        "    fn level() -> Tensor[2; f32] {\n        return weight\n    }\n}\n",
        "block Reed {\n    param weight: Tensor[2; f32]? = none\n\n"
        "    fn level() -> Tensor[2; f32] {\n        return match weight {\n"
        "            some(w) => w\n            none => fill<f32>([2], 1.0)\n        }\n    }\n}\n",
        "Weights come from the checkpoint. What is used where it has none, is said where the "
        "weight "
        "is read.",
    ),
}
