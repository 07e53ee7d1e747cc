"""A comment that silences a warning goes on silencing it, however its line is broken."""

from __future__ import annotations

import pytest
from fmt.checks import formatted

from linnet.check import check_source
from linnet.diag import Source

IMPORTS = ", ".join(f"linear as number_{n}" for n in range(8))
WIDE = ", ".join(["Wide + 1"] * 12)
LONG = " + ".join(["x * 2.0"] * 16)

CASES = {
    "behind a statement": f"""module m
fn f(x: f32) -> f32 {{
    let unused = {LONG} // linnet: allow(W1002)
    return x
}}
""",
    "inside of a statement": f"""module m
fn f(x: f32) -> f32 {{
    let unused = ( // linnet: allow(W1002)
        {LONG})
    return x
}}
""",
    "above a statement": f"""module m
fn f(x: f32) -> f32 {{
    // linnet: allow(W1002)
    let unused = {LONG}
    return x
}}
""",
    "behind an import": f"""module m
use std.nn.linear::{{{IMPORTS}}} // linnet: allow(W1001)
fn f(x: f32) -> f32 {{
    return x
}}
""",
    "above a member": f"""module m
block B<Wide: Dim> {{
    // linnet: allow(W1003)
    param weight: Tensor[{WIDE}; f32]
    entry go(x: f32) -> f32 {{
        return x
    }}
}}
""",
    "behind a function on one line": """module m
fn f(x: f32) -> f32 { let unused = 2.0 * x return x } // linnet: allow(W1002)
""",
    "behind the head of a loop": """module m
fn f(x: f32) -> f32 {
    var y = x
    static for index in 0..3 { // linnet: allow(W1002)
        y = y * 2.0
    }
    return y
}
""",
}


def warnings(text: str) -> list[str]:
    return [f"{d.code} {d.message}" for d in check_source(Source("m.linnet", text)).problems]


@pytest.mark.parametrize("case", CASES)
def test_silence_survives_formatting(case: str) -> None:
    text = CASES[case]
    without = text.replace("// linnet: allow", "//")
    assert warnings(without) != []
    assert warnings(text) == []
    once = formatted(text)
    assert once != text or case == "behind the head of a loop"
    assert warnings(once) == []


def test_a_neighbour_is_not_silenced() -> None:
    text = """module m
fn f(x: f32) -> f32 {
    let one = x // linnet: allow(W1002)
    let two = x
    return x
}
"""
    assert warnings(text) == ["W1002 local `two` is never used"]
    assert warnings(formatted(text)) == warnings(text)
