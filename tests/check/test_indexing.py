"""Slices, positions, and index notation (E2201, E2204, E2209, E31xx)."""

from __future__ import annotations

import pytest

from check.programs import check, errors, only

SLICES = {
    "let a: Tensor[H; f32] = x[0, :]": [],
    "let a: Tensor[3; f32] = x[:, 0]": [],
    "let a: f32 = x[1, 0]": [],
    "let a: Tensor[3, H; f32] = x[:]": [],
    "let a: Tensor[2, H; f32] = x[1:3]": [],
    "let a: Tensor[2, H; f32] = x[1:]": [],
    "let a: Tensor[2, H; f32] = x[::2]": [],
    "let a: Tensor[1, H; f32] = x[1::2]": [],
    "let a: Tensor[3, H / 2; f32] = x[..., 1::2]": [],
    "let a: Tensor[3, (H + 1) / 2; f32] = x[..., 0::2]": [],
    "let a: Tensor[3, H / 2; f32] = x[..., 0::2]": ["E2202"],
    "let a: Tensor[2, H; f32] = x[1:9]": [],
    "let a: Tensor[3; f32] = x[..., H - 1]": [],
    "let a = x[3, 0]": ["E2209"],
    "let a = x[-1, 0]": ["E2209"],
    "let a = x[0, H]": ["E2209"],
    "let a = x[0, 0, 0]": ["E2204"],
    "let a = x[..., 0, ...]": ["E2204"],
    "let a = x[..., 0, 0, 0]": ["E2204"],
    "let a = x[-1:3]": ["E2209"],
    "let a = x[0:H - 1]": [],
    "let a = x[0:H - 2]": ["E2209"],
    "let a = x[0:n]": ["E2209"],
    "let a = x[::0]": ["E2209"],
    "let a = x[::n]": ["E2209"],
    "let a = x[0.5, 0]": ["E3104"],
    "let a = x[b, 0]": ["E3104"],
    "let a = x[*s]": ["E3106"],
    "let a: Tensor[H; f32] = x[n, :]": [],
    "let a: Tensor[2; f32] = x[n, 0:2]": ["E2202"],
    "let a: f32 = x[n, n]": [],
    "let a: Tensor[*S; f32] = p[..., 0]": [],
    "let a: Tensor[*S, 2; f32] = p[..., 1:3]": [],
    "let a = p[0]": ["E3106"],
    "let a = p[:, 0]": ["E3106"],
    "let a = n[0]": ["E2104"],
    "let a = (n, n)[0]": ["E2104"],
    "let a = none[0]": ["E2104"],
}


@pytest.mark.parametrize("statement", SLICES)
def test_slices(statement: str) -> None:
    head = (
        "fn f<H: Dim, *S: Shape>(x: Tensor[3, H; f32], p: Tensor[*S, 4; f32], n: i32, b: bool)"
        " -> f32 where H > 0"
    )
    assert errors(f"{head} {{ {statement} return 1.0 }}") == SLICES[statement]


INDEX = {
    # forms that are fine
    "let y[o] = sum[i] x[i] * w[o, i] let a: Tensor[M; f32] = y": [],
    "let y[j, i] = w[i, j] let a: Tensor[N, M; f32] = y": [],
    "let y = sum[i] q[i, i] let a: f32 = y": [],
    "let y[*l, c] = p[*l, at[c]] let a: Tensor[*S, M; f32] = y": [],
    "let y[a, b] = sum<f32>[k] cast<f32>(h[a, k]) * cast<f32>(h[b, k])": [],
    "let y[i] = iota<i64>(N)[i] * 2": [],
    "let y[i] = if b { x[i] } else { 0.0 }": [],
    "let y[i] = match o { some(v) => v * x[i] none => x[i] }": [],
    "let y[i] = exp(x[i]) + max(x[i], 0)": [],
    "let y[i] = w[0, i] + w[n, i]": [],
    "let y[i] = w[0, :][i]": [],
    "let y[i] = g(x[i])": [],
    "let y[i] = softly(x)[i]": [],
    "let y[i] = (sum[k] q[i, k]) + (max[k] q[k, i])": [],
    "let y[i] = sum[i] q[i, i] + x[i]": ["E3103"],
    "let y[i] = x[i] + sum[i] q[i, i]": [],
    "let y = any[i] x[i] > 0 let a: bool = y": [],
    "let y[x] = x[x] let a: Tensor[N; f32] = y": [],
    "let y[b, *s] = p[*s, b] let a: Tensor[4, *S; f32] = y": [],
    "let y[*s] = p[*s] let a: Tensor[*S, 4; f32] = y": [],
    "let y[*s] = w[*s] let a: Tensor[M, N; f32] = y": [],
    "let y[i] = table[ids[i], 0] let a: Tensor[M; f32] = y": [],
    "let y[i] = x[cast<i64>(at[i]) - 1] let a: Tensor[M; f32] = y": [],
    # extents
    "let y[i] = x[i] + v[i]": ["E2201"],
    "let y[i] = w[i, i]": ["E2201"],
    "let y[i] = x[i] + one[i]": ["E2201"],
    "let y[*s] = p[*s, 0] + x[*s]": ["E2201"],
    "let y[*s] = p[*s] + x[s]": ["E3106"],
    "let y[*s] = x[s]": ["E3106"],
    "let y[s] = x[*s]": ["E3106"],
    # how many
    "let y[i] = w[i]": ["E2204"],
    "let y[i] = x[i, 0]": ["E2204"],
    "let y[i] = x[i] + w[0]": ["E2204"],
    "let y[*s, a, b] = x[*s, a, b]": ["E2204"],
    # missing and superfluous indices
    "let y[i] = w[i, k]": ["E3101"],
    "let y[i] = q[i, k] + q[k, i]": ["E3101"],
    "let y[i] = p[*s, 0] + x[i]": ["E3101"],
    "let y[i, k] = x[i]": ["E3103"],
    "let y[i] = sum[k] x[i]": ["E3102"],
    "let y[i, i] = q[i, i]": ["E3105"],
    "let y = sum[i, i] q[i, i]": ["E3105"],
    "let y[*s, *r] = p[*s, 0] + p[*r, 0]": ["E3106"],
    # what a body and an index can be
    "let y[i] = x": ["E3104"],
    "let y[i] = x[i] + x": ["E3104"],
    "let y[i] = 1.0": ["E3104"],
    "let y[i] = o": ["E3104"],
    "let y = sum[i] 1": ["E3104"],
    "let y[i] = x[i] * i": ["E3104"],
    "let y[i] = x[i + 1]": ["E3104"],
    "let y[i] = x[i] + x[0.5]": ["E3104"],
    "let y[i] = x[i] + x[x]": ["E3104"],
    "let y[i] = x[i] + w[0, :][0:k]": ["E1201"],
    "let y[i] = x[i] + q[i, :][0]": ["E3104"],
    # packs and axes
    "let y[i, j] = p[i, j]": ["E3106"],
    "let y[*s] = p[*s, *s]": ["E3106"],
    "let y[*s, i] = p[*s, i] + table[s, i]": ["E3106", "E2201"],
    # reductions
    "let y = any[i] x[i]": ["E2104"],
    "let y = sum[i] m[i]": ["E2104"],
    "let y = sum<f64>[i] x[i]": ["E2103"],
    "let y = sum<N>[i] x[i]": ["E1208"],
    "let y = sum<gone>[i] x[i]": ["E1201"],
    # positions the checker can see
    "let y[i] = w[i, N]": ["E2209"],
    "let y[i] = w[i, -1]": ["E2209"],
    "let y[i] = w[i, N - 1]": [],
}

HEAD = (
    "fn g(x: f32) -> f32 { return x } fn softly<*S: Shape>(x: Tensor[*S; f32]) -> Tensor[*S; f32]"
    " { return x }"
    " fn f<N: Dim, M: Dim, *S: Shape>(x: Tensor[N; f32], v: Tensor[M; f32], w: Tensor[M, N; f32],"
    " q: Tensor[N, N; f32], h: Tensor[M, N; bf16], p: Tensor[*S, 4; f32], at: Tensor[M; i32],"
    " ids: Tensor[M; u8], table: Tensor[9, 2; f32], one: Tensor[1; f32], m: Tensor[N; bool],"
    " n: i32, b: bool, o: f32?) -> f32"
)


@pytest.mark.parametrize("statement", INDEX)
def test_index_notation(statement: str) -> None:
    assert errors(f"{HEAD} {{ {statement} return 1.0 }}") == INDEX[statement]


def test_both_uses_of_an_index_are_shown() -> None:
    found = only(
        "fn f<N: Dim, M: Dim>(x: Tensor[N; f32], v: Tensor[M; f32]) -> f32 {"
        " return sum[i] x[i] * v[i] }"
    )
    assert found.code == "E2201"
    assert found.primary is not None
    assert (found.primary.text, found.related[0].text) == ("over `M` here", "over `N` here")
    assert len(found.help) == 1


def test_a_missing_index_is_spelled() -> None:
    found = only("fn f(w: Tensor[2, 3; f32]) -> Tensor[2; f32] { let y[i] = w[i, j] return y }")
    assert found.help[0].startswith("reduce it, as in `sum[j] …`")


def test_comprehensions_know_their_domains() -> None:
    program = check(
        "fn f<*S: Shape, N: Dim>(x: Tensor[*S, N; f32]) -> Tensor[N, *S; f32]"
        " { let y[i, *s] = x[*s, i] return y }"
    ).program
    assert program is not None
    value = program.functions["t"]["f"].body[0].value  # type: ignore[attr-defined]
    plain, pack = value.outputs
    assert str(plain.domain) == "N"
    assert [axis.name for axis in pack.domain] == ["S"]
    assert value.body.components == (pack, plain)
