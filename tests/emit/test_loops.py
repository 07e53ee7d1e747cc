"""Loop nests, as a reader meets them."""

from __future__ import annotations

import re

from support.compiled import generate

from linnet.ir.text import parse_graph


def loops_of(text: str) -> str:
    """The C of the loop functions of a graph."""
    _, c = generate([parse_graph(text)], "scalar")
    return c[c.index("ln_floor_mod(int64_t a") : c.index("// entry")]


def test_joined_parts_are_read_without_clamps() -> None:
    c = loops_of("""
graph joined() {
  %0 = input a: f32[4]
  %1 = input b: f32[8]
  %2 = map (j: 12) select(lt(j, 4), %0[j], %1[sub(j, 4)])
  return %2
}""")
    assert "out[j] = (j < 4) ? a[j] : b[j - 4];" in c
    assert "ln_index" not in c


def test_a_load_that_would_leave_its_side_keeps_its_clamp() -> None:
    c = loops_of("""
graph shared() {
  %0 = input a: f32[4]
  %1 = map (j: 12) %0[j]
  %2 = map (j: 12) add(select(lt(j, 4), %0[j], 0.0), %0[j])
  return %2
}""")
    assert "a[ln_index(j, 4)]" in c


def test_an_axis_that_may_be_empty_is_asked_once() -> None:
    c = loops_of("""
graph pick(N) {
  %0 = input a: f32[N, N]
  %1 = input k: i64
  %2 = map (i: 3) mul(%0[%1, %1], 2.0)
  return %2
}""")
    assert c.count("N > 0") == 1
    assert "(int64_t)N" not in c


def test_a_long_statement_is_broken_after_its_target() -> None:
    text = "%0[i]"
    for _ in range(12):
        text = f"add({text}, %1[i])"
    c = loops_of(f"""
graph long() {{
  %0 = input the_first_of_two_inputs: f32[8]
  %1 = input the_second_of_two_inputs: f32[8]
  %2 = map (i: 8) {text}
  return %2
}}""")
    assert re.search(r"out\[i\] =\n +\w|const float t\d+ = ", c)


def test_a_row_written_in_place_is_the_only_one_visited() -> None:
    c = loops_of("""
graph put(N) {
  %0 = state kept: f32[300, 8]
  %1 = input row: f32[8]
  %2 = input k: i32
  %3 = map (i: 300, j: 8) select(eq(cast<i32>(i), %2), %1[j], %0[i, j])
  return %2
  update kept = %3
}""")
    assert "if (i >= 0 && i < 300) {" in c
    assert re.search(r"for \(int64_t i ", c) is None
    assert len(re.findall(r"for \(", c)) == 1


def test_a_row_that_is_copied_elsewhere_is_written_with_all_others() -> None:
    c = loops_of("""
graph put(N) {
  %0 = input kept: f32[300, 8]
  %1 = input row: f32[8]
  %2 = input k: i64
  %3 = map (i: 300, j: 8) select(eq(i, %2), %1[j], %0[i, j])
  return %3
}""")
    assert "if (i" not in c
