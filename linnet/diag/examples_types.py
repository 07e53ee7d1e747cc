"""Examples for codes of types, sizes and index notation; see `examples`."""

from __future__ import annotations

from linnet.diag.example import Example, programs

TYPES: dict[str, Example] = {
    "E2101": programs(
        "fn level(x: f32) -> i32 {\n    return x\n}\n",
        "fn level(x: f32) -> i32 {\n    return cast<i32>(x)\n}\n",
        "Say the conversion: `cast<T>(…)`. Or declare the type that the value has.",
    ),
    "E2102": programs(
        "fn mix(a: f32, b: f32) -> f32 {\n    return a * b\n}\n\n"
        "fn level(x: f32) -> f32 {\n    return mix(x)\n}\n",
        "fn mix(a: f32, b: f32 = 0.5) -> f32 {\n    return a * b\n}\n\n"
        "fn level(x: f32) -> f32 {\n    return mix(x) + mix(x, b = 2.0)\n}\n",
        "Give each parameter one argument, or the parameter a default.",
    ),
    "E2103": programs(
        "fn level<N: Dim>(x: Tensor[N; f32], n: f64) -> Tensor[N; f32] {\n    return x * n\n}\n",
        "fn level<N: Dim>(x: Tensor[N; f32], n: f64) -> Tensor[N; f32] {\n"
        "    return x * cast<f32>(n)\n}\n",
        "Convert the side that should change. Literals need no conversion: they take the type of "
        "the other side.",
    ),
    "E2110": programs(
        "fn zeros<N: Dim>() -> Tensor[N; f32] {\n    return fill<f32>([N], 0.0)\n}\n\n"
        "fn level<M: Dim>(x: Tensor[M; f32]) -> Tensor[M; f32] {\n    return x + zeros()\n}\n",
        "fn zeros<N: Dim>() -> Tensor[N; f32] {\n    return fill<f32>([N], 0.0)\n}\n\n"
        "fn level<M: Dim>(x: Tensor[M; f32]) -> Tensor[M; f32] {\n    return x + zeros<M>()\n}\n",
        "Write the generic at the call. Only arguments determine generics, never the result that "
        "is expected; products and quotients of sizes are compared, never solved.",
    ),
    "E2115": programs(
        "fn level(x: f32) -> f32 {\n    return if x > 0.0 { x } else { cast<f64>(x) }\n}\n",
        "fn level(x: f32) -> f32 {\n    return if x > 0.0 { x } else { -x }\n}\n",
        "Bring both branches to one type; for tensors the shapes must be provably equal too.",
    ),
    "E2201": programs(
        "fn dot<I: Dim, J: Dim>(x: Tensor[I; f32], y: Tensor[J; f32]) -> f32 {\n"
        "    return sum[i] x[i] * y[i]\n}\n",
        "fn dot<I: Dim, J: Dim>(x: Tensor[I; f32], y: Tensor[J; f32]) -> f32\n"
        "where I == J {\n    return sum[i] x[i] * y[i]\n}\n",
        "State that the sizes are equal, `where I == J`, or give both the same generic.",
    ),
    "E2202": programs(
        "fn pair<N: Dim, M: Dim>(x: Tensor[N; f32]) -> Tensor[M; f32] {\n    return x\n}\n",
        "fn pair<N: Dim, M: Dim>(x: Tensor[N; f32]) -> Tensor[M; f32]\n"
        "where N == M {\n    return x\n}\n",
        "Use one generic for what is one size, or state the equality: `where N == M`.",
    ),
    "E2203": programs(
        "fn part<W: Dim, P: Dim>(x: Tensor[W; f32]) -> Tensor[P, W / P; f32]\n"
        "where P > 0 {\n    return reshape(x, [P, W / P])\n}\n",
        "fn part<W: Dim, P: Dim>(x: Tensor[W; f32]) -> Tensor[P, W / P; f32]\n"
        "where P > 0, W % P == 0 {\n    return reshape(x, [P, W / P])\n}\n",
        "`W / P` rounds down, so say that P divides W: `where W % P == 0`. Or start from the "
        "parts: take `Tensor[P * Q; f32]` and reshape it to `[P, Q]`.",
    ),
    "E2205": programs(
        "fn part<W: Dim, P: Dim>(x: Tensor[W; f32]) -> Tensor[W / P; f32] {\n"
        "    return x[0:W / P]\n}\n",
        "fn part<W: Dim, P: Dim>(x: Tensor[W; f32]) -> Tensor[W / P; f32]\n"
        "where P > 0 {\n    return x[0:W / P]\n}\n",
        "State that the divisor is positive: `where P > 0`.",
    ),
    "E2206": programs(
        "fn last<N: Dim>(x: Tensor[N; f32]) -> f32\nwhere N > 0 {\n    return x[N - 1]\n}\n\n"
        "fn level<M: Dim>(x: Tensor[M; f32]) -> f32 {\n    return last(x)\n}\n",
        "fn last<N: Dim>(x: Tensor[N; f32]) -> f32\nwhere N > 0 {\n    return x[N - 1]\n}\n\n"
        "fn level<M: Dim>(x: Tensor[M; f32]) -> f32\nwhere M > 0 {\n    return last(x)\n}\n",
        "Hand the demand on to your own callers: repeat it in the `where` list in terms of your "
        "generics. An `entry` checks its list against the real sizes of each call.",
    ),
    "E2207": programs(
        "fn shift<N: Dim, M: Dim>(x: Tensor[N, M; f32], b: Tensor[N; f32]) -> Tensor[N, M; f32] {\n"
        "    return x + b\n}\n",
        "fn shift<N: Dim, M: Dim>(x: Tensor[N, M; f32], b: Tensor[N; f32]) -> Tensor[N, M; f32] {\n"
        "    return x + reshape(b, [N, 1])\n}\n",
        "Shapes are aligned from the right. Add an axis of size 1 where one is missing, or use "
        "index notation: `let y[n, m] = x[n, m] + b[n]`.",
    ),
    "E2208": programs(
        "fn tail<N: Dim>(x: Tensor[N; f32]) -> Tensor[0 - 1; f32] {\n    return x\n}\n",
        "fn tail<N: Dim>(x: Tensor[N; f32]) -> Tensor[N - 1; f32]\n"
        "where N > 0 {\n    return x[1:N]\n}\n",
        "Look for the smallest sizes that are allowed: with `where N > 0` in scope, `N - 1` is "
        "never negative.",
    ),
    "E2209": programs(
        "fn last<N: Dim>(x: Tensor[N; f32]) -> f32 {\n    return x[-1]\n}\n",
        "fn last<N: Dim>(x: Tensor[N; f32]) -> f32 {\n    return x[N - 1]\n}\n",
        "Nothing counts from the end: the last element is `x[N - 1]`, the last three are "
        "`x[N - 3:N]`, with `where N >= 3`.",
    ),
    "E3101": programs(
        "fn rows<N: Dim, M: Dim>(x: Tensor[N, M; f32]) -> Tensor[N; f32] {\n"
        "    let y[n] = x[n, m]\n    return y\n}\n",
        "fn rows<N: Dim, M: Dim>(x: Tensor[N, M; f32]) -> Tensor[N; f32] {\n"
        "    let y[n] = sum[m] x[n, m]\n    return y\n}\n",
        "Reduce the index, `sum[m] …`, or list it among the outputs, `let y[n, m] = …`.",
    ),
    "E3102": programs(
        "fn level<N: Dim>(x: Tensor[N; f32]) -> f32 {\n    return sum[i, j] x[i]\n}\n",
        "fn level<N: Dim>(x: Tensor[N; f32]) -> f32 {\n    return sum[i] x[i]\n}\n",
        "Remove the index, or index a tensor with it: that is where its extent comes from.",
    ),
    "E3104": programs(
        "fn ramp<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] {\n"
        "    let y[n] = x[n] * n\n    return y\n}\n",
        "fn ramp<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] {\n"
        "    let y[n] = x[n] * iota<f32>(N)[n]\n    return y\n}\n",
        "An index is no value: its position is `iota<T>(N)[n]`. A tensor in the body needs an "
        "index for each of its axes.",
    ),
}
